/* SPDX-License-Identifier: Apache-2.0 */
/* Files as they are written, read back by gzip(1) where they are compressed. */
#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/export/output.h"
#include "lib/util/error.h"
#include "tests/suite.h"

/* Longer than any buffer on the way, and nothing that could be made shorter. */
#define BYTES 300000u

static char folder[] = "/tmp/gputrace-output-XXXXXX", path[64];
static char noise[BYTES], back[2 * BYTES];

static void set_up(void)
{
	uint32_t seed = 1;

	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (unsigned i = 0; i < BYTES; i++) {
		seed = seed * 1664525u + 1013904223u;
		noise[i] = (char)(seed >> 24);
	}
}

static void tear_down(void)
{
	unlink(path);
	rmdir(folder);
}

static struct gt_output *open_output(const char *name)
{
	struct gt_output *output = NULL;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	ck_assert_msg(!gt_output_open(path, &output), "%s", gt_error_text());
	return output;
}

/* What a command prints of the file, which it must like. */
static size_t print(const char *command)
{
	char line[128];
	FILE *pipe;
	size_t size;

	snprintf(line, sizeof(line), "%s <%s", command, path);
	pipe = popen(line, "re");
	ck_assert_ptr_nonnull(pipe);
	size = fread(back, 1, sizeof(back), pipe);
	ck_assert_int_eq(pclose(pipe), 0);
	return size;
}

/* One byte, then all of them, then those behind the first ten. */
static void write_noise(struct gt_output *output)
{
	ck_assert_int_eq(gt_output_write(output, noise, 1), 0);
	ck_assert_int_eq(gt_output_write(output, noise, BYTES), 0);
	ck_assert_int_eq(gt_output_write(output, noise + 10, 50000), 0);
	ck_assert_int_eq(gt_output_close(output), 0);
}

static const struct {
	const char *name, *command;
} files[] = {
	{ "trace.json", "cat" }, { "trace", "cat" }, { "gz", "cat" }, { "trace.gz.json", "cat" },
	{ "trace.json.gz", "gzip -dc" }, { "x.folded.GZ", "gzip -dc" }, { ".gz", "gzip -dc" },
};

START_TEST(files_are_what_they_are_called)
{
	write_noise(open_output(files[_i].name));
	ck_assert_uint_eq(print(files[_i].command), 1 + BYTES + 50000);
	ck_assert_int_eq(back[0], noise[0]);
	ck_assert(!memcmp(back + 1, noise, BYTES));
	ck_assert(!memcmp(back + 1 + BYTES, noise + 10, 50000));
}
END_TEST

START_TEST(compressed_files_are_short)
{
	struct gt_output *output = open_output("trace.json.gz");

	for (unsigned i = 0; i < 10000; i++)
		ck_assert_int_eq(gt_output_write(output, "0123456789", 10), 0);
	ck_assert_int_eq(gt_output_close(output), 0);
	ck_assert_uint_lt(print("cat"), 2000);
	ck_assert_uint_eq(print("gzip -dc"), 100000);
	ck_assert(!memcmp(back, "01234567890", 11));
	ck_assert(!memcmp(back + 99990, "0123456789", 10));
}
END_TEST

START_TEST(an_empty_file)
{
	ck_assert_int_eq(gt_output_close(open_output("trace.json.gz")), 0);
	ck_assert_uint_eq(print("gzip -dc"), 0);
}
END_TEST

static const char *const promises[] = {
	".zst", ".zstd", ".xz", ".lzma", ".bz2", ".lz4", ".br", ".gzip", ".tgz", ".zip", ".7z", ".ZST",
};

/* And no file is made, or emptied. */
START_TEST(other_compressions_are_refused)
{
	struct gt_output *output;
	char text[160];

	snprintf(path, sizeof(path), "%s/trace.json%s", folder, promises[_i]);
	ck_assert_int_eq(gt_output_open(path, &output), -EINVAL);
	snprintf(text, sizeof(text), "%s: a file is compressed here when its name ends in .gz, and not as %s", path, promises[_i]);
	ck_assert_str_eq(gt_error_text(), text);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

/* Shown at once where it is found, and again at the end. */
START_TEST(a_full_disk)
{
	struct gt_output *output;

	snprintf(path, sizeof(path), "%s/trace.json.gz", folder);
	ck_assert_int_eq(symlink("/dev/full", path), 0);
	output = open_output("trace.json.gz");
	ck_assert_int_eq(gt_output_write(output, noise, BYTES), -ENOSPC);
	ck_assert_int_eq(gt_output_write(output, noise, 1), -ENOSPC);
	ck_assert_int_eq(gt_output_close(output), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(gt_error_text(), "trace.json.gz: No space left on device"));
	/* What is short is written at the end alone. */
	output = open_output("trace.json.gz");
	ck_assert_int_eq(gt_output_write(output, noise, 1), 0);
	ck_assert_int_eq(gt_output_close(output), -ENOSPC);
}
END_TEST

int main(void)
{
	TCase *group = tcase_create("output");

	tcase_add_checked_fixture(group, set_up, tear_down);
	tcase_add_loop_test(group, files_are_what_they_are_called, 0, sizeof(files) / sizeof(files[0]));
	tcase_add_test(group, compressed_files_are_short);
	tcase_add_test(group, an_empty_file);
	tcase_add_loop_test(group, other_compressions_are_refused, 0, sizeof(promises) / sizeof(promises[0]));
	tcase_add_test(group, a_full_disk);
	return run_case("output", group);
}
