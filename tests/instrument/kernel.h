/* SPDX-License-Identifier: Apache-2.0 */
/* Runs kernels, with probes or without, on the software device. */
#ifndef TEST_INSTRUMENT_KERNEL_H
#define TEST_INSTRUMENT_KERNEL_H

#include <stdint.h>

#include "tests/instrument/common.h"
#include "tests/sim/plain.h"

/* Loads the text and runs one kernel of it. */
static inline void run(const char *text, const char *kernel, unsigned blocks, unsigned threads, const void *params)
{
	const struct sim_launch launch = {
		.grid = { blocks, 1, 1 }, .block = { threads, 1, 1 }, .dynamic_shared = 4096,
		.params = params,
	};
	const struct sim_device device = plain_device();
	struct sim_module *module = NULL;
	struct sim_error error = { .text = "" };
	struct sim_kernel *found;

	ck_assert_msg(!sim_module_load(&device, text, strlen(text), &module, &error), "%s", error.text);
	found = sim_module_find_kernel(module, kernel);
	ck_assert_ptr_nonnull(found);
	ck_assert_msg(!sim_kernel_run(found, &launch, &error), "%s", error.text);
	sim_module_unload(module);
}

/* A kernel's parameters with the hidden one behind them. */
struct block {
	_Alignas(16) uint8_t bytes[256];
};

/* What the kernel's probes are told: which links are on, and where they count. */
static inline void hide(const char *text, const char *kernel, uint64_t switches, struct block *block, const void *counters)
{
	struct gt_ptx *ptx = parse(text);
	uint64_t hidden[3] = { 5 | switches << 48, (uint64_t)(uintptr_t)counters, 0 };
	unsigned k;

	for (k = 0; k < gt_ptx_kernel_count(ptx); k++)
		if (!strcmp(gt_ptx_kernel(ptx, k)->name, kernel))
			memcpy(block->bytes + gt_ptx_kernel(ptx, k)->hidden_offset, hidden, sizeof(hidden));
	gt_ptx_free(ptx);
}

/* Pointer and number: the parameters of most kernels here. */
static inline struct block pointer_and(const void *pointer, int n)
{
	struct block block = { .bytes = { 0 } };

	memcpy(block.bytes, &pointer, sizeof(pointer));
	memcpy(block.bytes + 8, &n, sizeof(n));
	return block;
}

#endif
