/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_IMAGE_COMMON_H
#define TEST_IMAGE_COMMON_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/suite.h"

#ifndef TEST_DATA
#error "TEST_DATA must name the folder of the fixtures"
#endif

/* A fixture's bytes, with a NUL behind them; malloc'd. */
static inline void *load(const char *name, size_t *ret_size)
{
	char path[4096];
	char *data;
	long size;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", TEST_DATA, name);
	f = fopen(path, "rb");
	ck_assert_msg(f != NULL, "%s", path);
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	data = calloc(1, (size_t)size + 1);
	ck_assert_ptr_nonnull(data);
	ck_assert_uint_eq(fread(data, 1, (size_t)size, f), (size_t)size);
	fclose(f);
	*ret_size = (size_t)size;
	return data;
}

#endif
