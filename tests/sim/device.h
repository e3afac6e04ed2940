/* SPDX-License-Identifier: Apache-2.0 */
/* A device of malloc'ed memory, to run the PTX machine without the driver API. */
#ifndef TESTS_SIM_DEVICE_H
#define TESTS_SIM_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "sim/ptx.h"

struct test_device {
	struct sim_device dev;
	struct test_piece *pieces;
	char printed[65536];	/* what device printf wrote */
	size_t printed_length;
	size_t allocated, limit;	/* bytes */
	uint64_t timer;		/* %globaltimer counts up from here, 32 a read */
};

void test_device_init(struct test_device *device);
void test_device_done(struct test_device *device);

/* Zeroed device memory. */
void *test_alloc(struct test_device *device, size_t size);
void test_release(struct test_device *device, void *addr);

#endif
