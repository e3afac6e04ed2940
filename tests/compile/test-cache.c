/* SPDX-License-Identifier: Apache-2.0 */
/* The compile cache on disk. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/compile/cache-folder.h"
#include "lib/compile/compile.h"
#include "lib/compile/sha256.h"
#include "lib/object/object.h"
#include "tests/compile/common.h"

static char home[] = "/tmp/gputrace-cache-XXXXXX";

static void setup(void)
{
	strcpy(home + strlen(home) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(home));
	setenv("XDG_CACHE_HOME", home, 1);
}

/* Calls fn for each file of the cache; their number. */
static unsigned each_file(void (*fn)(const char *path))
{
	char path[600];
	struct dirent *dirent;
	unsigned count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/gputrace", home);
	dir = opendir(path);
	while (dir && (dirent = readdir(dir))) {
		if (*dirent->d_name == '.')
			continue;
		count++;
		snprintf(path, sizeof(path), "%s/gputrace/%s", home, dirent->d_name);
		if (fn)
			fn(path);
	}
	if (dir)
		closedir(dir);
	return count;
}

static void delete_file(const char *path)
{
	unlink(path);
}

static void teardown(void)
{
	char path[600];

	each_file(delete_file);
	snprintf(path, sizeof(path), "%s/gputrace", home);
	rmdir(path);
	rmdir(home);
}

static struct gputrace_image *compile_cached(struct gputrace_object *object, const char *name)
{
	struct gputrace_image *image = NULL;

	ck_assert_int_eq(gputrace_compile_ptx(gputrace_object_find_program(object, name), NULL, &image), 0);
	return image;
}

/* The least processor time that one of 20 compilations takes, in ns. */
static uint64_t cost(struct gputrace_object *object, const char *name, uint32_t flags)
{
	struct gputrace_compile_opts opts = { .size = sizeof(opts), .flags = flags };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		struct gputrace_image *image;
		struct timespec from, to;
		uint64_t ns;

		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
		ck_assert_int_eq(gputrace_compile_ptx(gputrace_object_find_program(object, name), &opts, &image), 0);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
		gputrace_image_unref(image);
		ns = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000u + (uint64_t)(to.tv_nsec - from.tv_nsec);
		least = ns < least ? ns : least;
	}
	return least;
}

START_TEST(digest)
{
	/* FIPS 180-4's examples */
	static const uint8_t abc[] = { 0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
				       0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
				       0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad };
	static const uint8_t two_blocks[] = { 0x24, 0x8d, 0x6a, 0x61, 0xd2, 0x06, 0x38, 0xb8, 0xe5, 0xc0, 0x26,
					      0x93, 0x0c, 0x3e, 0x60, 0x39, 0xa3, 0x3c, 0xe4, 0x59, 0x64, 0xff,
					      0x21, 0x67, 0xf6, 0xec, 0xed, 0xd4, 0x19, 0xdb, 0x06, 0xc1 };
	const char *text = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	uint8_t got[GT_SHA256_BYTES];
	struct gt_sha256 sha;

	gt_sha256_begin(&sha);
	gt_sha256_add(&sha, "abc", 3);
	gt_sha256_end(&sha, got);
	ck_assert_mem_eq(got, abc, sizeof(abc));
	gt_sha256_begin(&sha);
	gt_sha256_add(&sha, text, 10);
	gt_sha256_add(&sha, text + 10, strlen(text) - 10);
	gt_sha256_end(&sha, got);
	ck_assert_mem_eq(got, two_blocks, sizeof(two_blocks));
}
END_TEST

START_TEST(from_cache)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *first = compile_cached(object, "table_storm"), *second;
	static const struct gt_link_env env;
	struct gt_map_place where = { .offset = 4096 };
	char *one, *two, *name;

	ck_assert_uint_eq(each_file(NULL), 1);
	ck_assert_uint_lt(cost(object, "table_storm", 0), cost(object, "table_storm", GPUTRACE_COMPILE_UNCACHED));
	ck_assert_uint_eq(each_file(NULL), 1);
	second = compile_cached(object, "table_storm");
	ck_assert_str_eq(gputrace_image_get_ptx(first), gputrace_image_get_ptx(second));
	ck_assert_uint_eq(gt_image_wants(first), gt_image_wants(second));
	gt_map_set_place(gputrace_object_find_map(object, "table"), &where);
	gt_map_set_place(gputrace_object_find_map(object, "counts"), &where);
	ck_assert_int_eq(gt_image_link(first, 1, &env, &one, &name), 0);
	free(name);
	ck_assert_int_eq(gt_image_link(second, 1, &env, &two, &name), 0);
	ck_assert_str_eq(one, two);
	free(name);
	free(one);
	free(two);
	gputrace_image_unref(first);
	gputrace_image_unref(second);
	gputrace_object_unref(object);
}
END_TEST

/* What differs has a file of its own; what is not to be kept has none. */
START_TEST(different)
{
	struct gputrace_compile_opts opts = { .size = sizeof(opts), .optimize = 1 };
	struct gputrace_object *object = open_probes();
	struct gputrace_program *program = gputrace_object_find_program(object, "count");
	struct gputrace_image *image;

	gputrace_image_unref(compile_cached(object, "count"));
	gputrace_image_unref(compile_cached(object, "globals"));
	ck_assert_uint_eq(each_file(NULL), 2);
	ck_assert_int_eq(gputrace_compile_ptx(program, &opts, &image), 0);
	gputrace_image_unref(image);
	ck_assert_uint_eq(each_file(NULL), 3);
	gputrace_image_unref(compile_cached(object, "count"));
	ck_assert_uint_eq(each_file(NULL), 3);
	each_file(delete_file);
	opts.flags = GPUTRACE_COMPILE_UNCACHED;
	ck_assert_int_eq(gputrace_compile_ptx(program, &opts, &image), 0);
	gputrace_image_unref(image);
	opts.flags = GPUTRACE_COMPILE_UNVERIFIED;
	ck_assert_int_eq(gputrace_compile_ptx(program, &opts, &image), 0);
	gputrace_image_unref(image);
	gputrace_image_unref(compile_probe(object, "count", false));
	ck_assert_uint_eq(each_file(NULL), 0);
	gputrace_object_unref(object);
}
END_TEST

static size_t scribble_at;

static void scribble(const char *path)
{
	int fd = open(path, O_RDWR);
	char byte = 0;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, &byte, 1, (off_t)scribble_at), 1);
	byte ^= 0x40;
	ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)scribble_at), 1);
	close(fd);
}

static void cut(const char *path)
{
	ck_assert_int_eq(truncate(path, (off_t)scribble_at), 0);
}

/* A damaged file is as good as none, and is replaced. */
START_TEST(damaged)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *image = compile_cached(object, "count"), *again;

	for (scribble_at = 0; scribble_at < 400; scribble_at += 13) {
		each_file(scribble_at % 2 ? scribble : cut);
		again = compile_cached(object, "count");
		ck_assert_str_eq(gputrace_image_get_ptx(image), gputrace_image_get_ptx(again));
		gputrace_image_unref(again);
		ck_assert_uint_eq(each_file(NULL), 1);
	}
	gputrace_image_unref(image);
	gputrace_object_unref(object);
}
END_TEST

/* A folder that others may write is not used; no folder, no home: neither an error. */
START_TEST(not_ours)
{
	struct gputrace_object *object = open_probes();
	char path[600];

	snprintf(path, sizeof(path), "%s/gputrace", home);
	ck_assert_int_eq(mkdir(path, 0777), 0);
	ck_assert_int_eq(chmod(path, 0777), 0);
	gputrace_image_unref(compile_cached(object, "count"));
	ck_assert_uint_eq(each_file(NULL), 0);
	setenv("XDG_CACHE_HOME", "/does/not/exist", 1);
	gputrace_image_unref(compile_cached(object, "count"));
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	gputrace_image_unref(compile_cached(object, "count"));
	gputrace_object_unref(object);
}
END_TEST

/* Old files go when there is too much; what was used last stays. */
START_TEST(bounded)
{
	static char block[1 << 20];
	struct timespec old[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };
	int folder = gt_cache_folder_open(true);
	unsigned i, limit = GT_CACHE_BYTES >> 20;
	char name[32];

	ck_assert_int_ge(folder, 0);
	for (i = 0; i < limit + 1; i++) {
		snprintf(name, sizeof(name), "%u", i);
		gt_cache_folder_write(folder, name, block, sizeof(block));
		old[1].tv_sec = 1000000 + i;
		ck_assert_int_eq(utimensat(folder, name, old, 0), 0);
	}
	ck_assert_uint_eq(each_file(NULL), limit + 1);
	gt_cache_folder_trim(folder);
	ck_assert_uint_eq(each_file(NULL), limit / 4 * 3);
	ck_assert_int_eq(faccessat(folder, name, R_OK, 0), 0);
	ck_assert_int_ne(faccessat(folder, "0", R_OK, 0), 0);
	close(folder);
}
END_TEST

static void *compile_often(void *data)
{
	struct gputrace_object *object = open_probes();
	unsigned i;

	for (i = 0; i < 10; i++) {
		gputrace_image_unref(compile_cached(object, "count"));
		if (data)
			each_file(delete_file);
	}
	gputrace_object_unref(object);
	return NULL;
}

START_TEST(at_once)
{
	pthread_t threads[3];
	unsigned i;

	for (i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, compile_often, i ? NULL : threads), 0);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_le(each_file(NULL), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cache");
	TCase *tcase = tcase_create("cache");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, digest);
	tcase_add_test(tcase, from_cache);
	tcase_add_test(tcase, different);
	tcase_add_test(tcase, damaged);
	tcase_add_test(tcase, not_ours);
	tcase_add_test(tcase, bounded);
	tcase_add_test(tcase, at_once);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
