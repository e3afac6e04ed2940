/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_IMAGE_COMMON_H
#define TEST_IMAGE_COMMON_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fixture.h"
#include "tests/suite.h"

#ifndef TEST_DATA
#error "TEST_DATA must name the folder of the fixtures"
#endif

static inline void *load(const char *name, size_t *ret_size)
{
	return load_fixture(TEST_DATA, name, ret_size);
}

#endif
