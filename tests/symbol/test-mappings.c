/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/util/mapping_file.h"
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
	ck_assert_uint_eq(mappings.count, 5);
	/* There is something, but no code. */
	ck_assert_ptr_null(gt_mappings_find(&mappings, 0x400fff));
	ck_assert(!mappings.list[0].executable);
	ck_assert_uint_eq(mappings.list[0].start, 0x400000);
	ck_assert_uint_eq(mappings.list[0].end, 0x401000);
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

/* Its own: this function is in it, and so is the C library, by its soname. */
START_TEST(test_of_this_process)
{
	const struct gt_mapping *m;
	char path[PATH_MAX];
	struct stat own, found;

	ck_assert_int_eq(gt_mappings_of_process(&mappings, getpid()), 0);
	m = gt_mappings_find(&mappings, (uintptr_t)read_text);
	ck_assert_ptr_nonnull(m);
	ck_assert(gt_mapping_find_file(getpid(), m, path, sizeof(path)));
	ck_assert_int_eq(stat("/proc/self/exe", &own), 0);
	ck_assert_int_eq(stat(path, &found), 0);
	ck_assert(own.st_ino == found.st_ino && own.st_dev == found.st_dev);
	m = gt_mappings_find(&mappings, (uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
	ck_assert_ptr_nonnull(m);
	ck_assert(gt_mapping_is_library(m, "libc.so.6"));
	/* A name that leads nowhere, or to a file that is not the one mapped. */
	ck_assert(!gt_mapping_find_file(getpid(), &(struct gt_mapping){ .inode = 1, .path = (char[]){ "/nowhere" } },
					path, sizeof(path)));
	ck_assert(!gt_mapping_find_file(getpid(), &(struct gt_mapping){ .inode = own.st_ino, .path = (char[]){ "/" } },
					path, sizeof(path)));
	gt_mappings_free(&mappings);
	ck_assert_int_eq(gt_mappings_of_process(&mappings, 0x3fffffff), -ENOENT);
}
END_TEST

START_TEST(test_names_of_libraries)
{
	static const struct {
		const char *path, *soname;
		bool is;
	} names[] = {
		{ "/usr/lib/libcuda.so.1", "libcuda.so.1", true },
		{ "/usr/lib/libcuda.so.550.54.15", "libcuda.so.1", true },
		{ "/usr/lib/libcuda.so", "libcuda.so.1", true },
		{ "/a b/libc.so.6", "libc.so.6", true },
		{ "/lib/libc-2.31.so", "libc.so.6", true },
		{ "/lib/libdl-2.31.so", "libdl.so.2", true },
		{ "/memfd:libgputrace-agent.so", "memfd:libgputrace-agent.so", true },
		{ "/usr/bin/python3", "python3", true },
		{ "/usr/lib/libcudart.so.12", "libcuda.so.1", false },
		{ "/usr/lib/libcuda-copy.so", "libcuda.so.1", false },
		{ "/usr/lib/libcuda-.so", "libcuda.so.1", false },
		{ "/usr/lib/libc-2.31", "libc.so.6", false },
		{ "/usr/lib/libcuda.sold", "libcuda.so.1", false },
		{ "/usr/lib/libcuda.so.1/program", "libcuda.so.1", false },
		{ "/usr/bin/python3.11", "python3", false },
		{ "[vdso]", "vdso", false },
		{ "", "libcuda.so.1", false },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64];

		strcpy(path, names[i].path);
		ck_assert_msg(gt_mapping_is_library(&(struct gt_mapping){ .path = path }, names[i].soname) == names[i].is,
			      "%s for %s", path, names[i].soname);
	}
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("mappings");

	tcase_add_test(t, test_lines);
	tcase_add_test(t, test_nonsense);
	tcase_add_test(t, test_of_this_process);
	tcase_add_test(t, test_names_of_libraries);
	return run_case("mappings", t);
}
