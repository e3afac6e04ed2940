/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/symbol/perf_map.h"
#include "tests/suite.h"

static FILE *file;
static struct gt_perf_map map;

static void setup(void)
{
	file = tmpfile();
	ck_assert_ptr_nonnull(file);
}

static void teardown(void)
{
	fclose(file);
	gt_perf_map_free(&map);
}

static void append(const char *text)
{
	fputs(text, file);
	fflush(file);
	ck_assert_int_eq(gt_perf_map_read(&map, fileno(file)), 0);
}

static const char *name(uint64_t address)
{
	const struct gt_perf_entry *entry = gt_perf_map_find(&map, address);

	return entry ? entry->name : "none";
}

START_TEST(test_lookup)
{
	append("7f10 10 py::work:/srv/a b.py\n0x7f40 8 prefixed\n1000 20 first\n");
	ck_assert_str_eq(name(0x7f0f), "none");
	ck_assert_str_eq(name(0x7f10), "py::work:/srv/a b.py");
	ck_assert_str_eq(name(0x7f1f), "py::work:/srv/a b.py");
	ck_assert_str_eq(name(0x7f20), "none");
	ck_assert_str_eq(name(0x7f47), "prefixed");
	ck_assert_str_eq(name(0x1000), "first");
	ck_assert_str_eq(name(0), "none");
	ck_assert_str_eq(name(UINT64_MAX), "none");
}
END_TEST

/* Half a line counts when its other half has come; memory that was used again has its latest name. */
START_TEST(test_growing)
{
	append("1000 20 old\n2000 20 ha");
	ck_assert_str_eq(name(0x1000), "old");
	ck_assert_str_eq(name(0x2000), "none");
	append("lf\n1000 10 new\n");
	ck_assert_str_eq(name(0x2000), "half");
	ck_assert_str_eq(name(0x1000), "new");
	ck_assert_uint_eq(map.count, 3);
}
END_TEST

/* What a process that had the number before has left, longer or shorter, is not added to but written over. */
START_TEST(test_written_over)
{
	append("1000 20 left behind\n2000 20 left behind too\n");
	ck_assert_str_eq(name(0x2000), "left behind too");
	ck_assert_int_eq(ftruncate(fileno(file), 0), 0);
	rewind(file);
	append("1000 20 new\n");
	ck_assert_str_eq(name(0x1000), "new");
	ck_assert_str_eq(name(0x2000), "none");
	ck_assert_int_eq(ftruncate(fileno(file), 0), 0);
	rewind(file);
	append("3000 20 newer\n4000 20 longer than the one before\n");
	ck_assert_str_eq(name(0x1000), "none");
	ck_assert_str_eq(name(0x3000), "newer");
	ck_assert_str_eq(name(0x4000), "longer than the one before");
}
END_TEST

START_TEST(test_nonsense)
{
	append("\n \n1000\n1000 10\n1000 10 \nzz 10 name\n1000 zz name\n1000 0 empty\nffffffffffffffff 10 end\n");
	ck_assert_uint_eq(map.count, 1);
	ck_assert_str_eq(name(UINT64_MAX), "end");
	ck_assert_str_eq(name(5), "none");
}
END_TEST

/* A line longer than what is read at a time neither stops the reading nor fills the memory. */
START_TEST(test_long_line)
{
	fputs("1000 10 ", file);
	for (int i = 0; i < 200000; i++)
		fputc('x', file);
	append("\n2000 10 after\n");
	ck_assert_str_eq(name(0x2000), "after");
	if (gt_perf_map_find(&map, 0x1000))
		ck_assert_uint_lt(strlen(name(0x1000)), 4096);
}
END_TEST

/* One line between two questions: those that came last count, in order yet or not. */
START_TEST(test_line_by_line)
{
	char line[64];

	for (unsigned i = 0; i < 3000; i++) {
		snprintf(line, sizeof(line), "%x 10 name%u\n", 0x1000 + (i % 1000) * 0x10, i);
		append(line);
		snprintf(line, sizeof(line), "name%u", i);
		ck_assert_str_eq(name(0x1008 + (i % 1000) * 0x10), line);
		ck_assert_str_eq(name(0x1008), i < 1000 ? "name0" : i < 2000 ? "name1000" : "name2000");
	}
}
END_TEST

/* More lines than anybody needs, as short as they can be. */
START_TEST(test_too_many_lines)
{
	fputs("1000 20 first\n", file);
	for (unsigned i = 0; i < GT_PERF_ENTRIES_MAX; i++)
		fputs("1 1 x\n", file);
	append("2000 20 last\n");
	ck_assert_uint_eq(map.count, GT_PERF_ENTRIES_MAX);
	ck_assert(map.full);
	ck_assert_str_eq(name(0x1000), "first");
	ck_assert_str_eq(name(0x2000), "none");
}
END_TEST

/* A file of 256 MB without anything in it, and one that ends in the middle of a line. */
START_TEST(test_sparse)
{
	ck_assert_int_eq(ftruncate(fileno(file), 300 << 20), 0);
	append("1000 10 x");
	ck_assert(map.full);
	ck_assert_uint_eq(map.count, 0);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("perf map");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_lookup);
	tcase_add_test(t, test_growing);
	tcase_add_test(t, test_written_over);
	tcase_add_test(t, test_nonsense);
	tcase_add_test(t, test_long_line);
	tcase_add_test(t, test_line_by_line);
	tcase_add_test(t, test_too_many_lines);
	tcase_add_test(t, test_sparse);
	return run_case("perf map", t);
}
