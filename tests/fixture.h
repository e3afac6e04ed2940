/* SPDX-License-Identifier: Apache-2.0 */
/* Files that tests are made of. */
#ifndef GT_TESTS_FIXTURE_H
#define GT_TESTS_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* A file's bytes, with a NUL behind them; malloc'd. */
static inline void *load_fixture(const char *folder, const char *name, size_t *ret_size)
{
	char path[4096], *bytes;
	long size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	ck_assert_msg(file != NULL, "%s", path);
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	bytes = calloc(1, (size_t)size + 1);
	ck_assert_ptr_nonnull(bytes);
	ck_assert_uint_eq(fread(bytes, 1, (size_t)size, file), (size_t)size);
	fclose(file);
	*ret_size = (size_t)size;
	return bytes;
}

#endif
