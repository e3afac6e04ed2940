/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/uprobe/find_library.h"
#include "lib/uprobe/ld_cache.h"
#include "lib/util/error.h"
#include "tests/suite.h"

static char root[64], list[1024];

static void make_directory(const char *name, char *ret_path)
{
	sprintf(ret_path, "%s/%s", root, name);
	ck_assert_int_eq(mkdir(ret_path, 0700), 0);
	strcat(ret_path, "/libcuda.so.1");
}

static void setup(void)
{
	char path[128];
	FILE *f;

	strcpy(root, "/tmp/gt-find-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	make_directory("text", path);
	f = fopen(path, "w");
	fputs("no library", f);
	fclose(f);
	make_directory("pipe", path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	make_directory("real", path);
	ck_assert_int_eq(symlink(FAKECUDA, path), 0);
	make_directory("empty", path);
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", root);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(test_library_path)
{
	char want[128], *path = NULL;

	sprintf(list, "/nonexistent:%s/empty:%s/text:%s/pipe:%s/real", root, root, root, root);
	sprintf(want, "%s/real/libcuda.so.1", root);
	ck_assert_int_eq(gt_find_library_in(GT_LIBCUDA, list, &path), 0);
	ck_assert_str_eq(path, want);
	free(path);
	setenv("LD_LIBRARY_PATH", list, 1);
	ck_assert_int_eq(gt_find_library(GT_LIBCUDA, 0, &path), 0);
	ck_assert_str_eq(path, want);
	free(path);
	/* An empty element means the working directory. */
	sprintf(want, "%s/real", root);
	ck_assert_int_eq(chdir(want), 0);
	ck_assert_int_eq(gt_find_library_in(GT_LIBCUDA, "/nonexistent:", &path), 0);
	ck_assert_str_eq(path, "./libcuda.so.1");
	free(path);
}
END_TEST

/* Whatever the machine has: the loader's own answer and ours agree. */
START_TEST(test_as_the_loader)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map;
	char *path = NULL;
	int r;

	unsetenv("LD_LIBRARY_PATH");
	r = gt_find_library(GT_LIBCUDA, 0, &path);
	if (!library) {
		ck_assert_int_eq(r, -ENOENT);
		ck_assert_ptr_nonnull(strstr(gt_error_text(), "libcuda.so.1"));
		ck_assert_ptr_null(path);
		return;
	}
	ck_assert_int_eq(r, 0);
	ck_assert_int_eq(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	ck_assert_str_eq(path, map->l_name);
	free(path);
	dlclose(library);
}
END_TEST

static int accept_all(const char *path)
{
	return path != NULL;
}

/* The C library is in every machine's cache, where the loader found it. */
START_TEST(test_cache)
{
	static char cache[4 << 20];
	char loaded[PATH_MAX], found[PATH_MAX];
	FILE *f = fopen("/etc/ld.so.cache", "r");
	const char *value;
	Dl_info info;
	size_t size;

	ck_assert_ptr_nonnull(f);
	size = fread(cache, 1, sizeof(cache), f);
	fclose(f);
	value = gt_ld_cache_find(cache, size, "libc.so.6", accept_all);
	ck_assert_ptr_nonnull(value);
	ck_assert_int_ne(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info), 0);
	ck_assert_ptr_nonnull(realpath(value, found));
	ck_assert_ptr_nonnull(realpath(info.dli_fname, loaded));
	ck_assert_str_eq(found, loaded);
	ck_assert_ptr_null(gt_ld_cache_find(cache, size, "libnothing.so.0", accept_all));
	/* Damaged: cut anywhere, and with a count that is not so. */
	for (size_t cut = 0; cut < size; cut += 61) {
		char *copy = malloc(cut + 1);

		memcpy(copy, cache, cut);
		value = gt_ld_cache_find(copy, cut, "libnothing.so.0", accept_all);
		ck_assert_ptr_null(value);
		free(copy);
	}
	memset((char *)memmem(cache, size, "glibc-ld.so.cache1.1", 20) + 20, 0xff, 4);
	ck_assert_ptr_null(gt_ld_cache_find(cache, size, "libc.so.6", accept_all));
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("find-libcuda");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_library_path);
	tcase_add_test(t, test_as_the_loader);
	tcase_add_test(t, test_cache);
	return run_case("find-libcuda", t);
}
