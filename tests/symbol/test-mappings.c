/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/util/mappings.h"
#include "tests/suite.h"

static struct gt_mappings mappings;

static int read_text(const char *text)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int r = gt_mappings_read(&mappings, f);

	fclose(f);
	return r;
}

START_TEST(test_lines)
{
	const struct gt_mapping *m;

	ck_assert_int_eq(read_text(
		"00400000-00401000 r--p 00000000 103:02 77    /usr/bin/program\n"
		"00401000-00403000 r-xp 00001000 103:02 77    /usr/bin/program\n"
		"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
		"7f0000001000-7f0000002000 r-xp 00002000 08:01 18446744073709551615 /a b/lib c.so (deleted)\n"
		"7fff00000000-7fff00002000 r-xp 00000000 00:00 0                    [vdso]\n"), 0);
	ck_assert_uint_eq(mappings.count, 4);
	ck_assert_ptr_null(gt_mappings_find(&mappings, 0x400fff));
	m = gt_mappings_find(&mappings, 0x401000);
	ck_assert_str_eq(m->path, "/usr/bin/program");
	ck_assert_uint_eq(m->offset, 0x1000);
	ck_assert_uint_eq(m->inode, 77);
	ck_assert_uint_eq(m->device, 0x10300000002);
	ck_assert_ptr_eq(gt_mappings_find(&mappings, 0x402fff), m);
	ck_assert_ptr_null(gt_mappings_find(&mappings, 0x403000));
	ck_assert_str_eq(gt_mappings_find(&mappings, 0x7f0000000fff)->path, "");
	m = gt_mappings_find(&mappings, 0x7f0000001000);
	ck_assert_str_eq(m->path, "/a b/lib c.so");
	ck_assert_uint_eq(m->inode, UINT64_MAX);
	ck_assert_str_eq(gt_mappings_find(&mappings, 0x7fff00000001)->path, "[vdso]");
	ck_assert_ptr_null(gt_mappings_find(&mappings, UINT64_MAX));
	gt_mappings_free(&mappings);
}
END_TEST

START_TEST(test_nonsense)
{
	ck_assert_int_eq(read_text("\n-\n5000-4000 r-xp 0 0:0 0 /backwards\nzz-yy r-xp 0 0:0 0\n"
				   "1000-2000 r-xp\n1000-2000 rwx"), 0);
	ck_assert_uint_eq(mappings.count, 0);
	ck_assert_ptr_null(gt_mappings_find(&mappings, 0x1000));
	gt_mappings_free(&mappings);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("mappings");

	tcase_add_test(t, test_lines);
	tcase_add_test(t, test_nonsense);
	return run_case("mappings", t);
}
