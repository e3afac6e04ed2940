/* SPDX-License-Identifier: Apache-2.0 */
/* A device without a driver, for kernels whose addresses are right: all of this process's memory is its memory. */
#ifndef TESTS_SIM_PLAIN_H
#define TESTS_SIM_PLAIN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/ptx.h"

static inline int plain_check(void *data, uint64_t addr, uint64_t size, uint64_t *ret_base, uint64_t *ret_size)
{
	(void)data;
	*ret_base = addr;
	*ret_size = size;
	return 0;
}

static inline void *plain_alloc(void *data, size_t size)
{
	void *memory = NULL;

	(void)data;
	if (posix_memalign(&memory, 256, size + 1))
		return NULL;
	return memset(memory, 0, size);
}

static inline void plain_release(void *data, void *addr)
{
	(void)data;
	free(addr);
}

static inline uint64_t plain_timer(void *data)
{
	struct timespec now;

	(void)data;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void plain_print(void *data, const char *text, size_t length)
{
	(void)data;
	fwrite(text, 1, length, stdout);
}

static inline struct sim_device plain_device(void)
{
	return (struct sim_device){
		.arch = 90, .sm_count = 4, .max_shared_per_block = 100 << 10, .check = plain_check,
		.alloc = plain_alloc, .release = plain_release, .globaltimer = plain_timer, .print = plain_print,
	};
}

#endif
