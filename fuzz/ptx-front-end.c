/* SPDX-License-Identifier: Apache-2.0 */
/* The software device's PTX front end: lexer, parser, checks, layout, lowering. */
#include <stdlib.h>
#include <string.h>

#include "sim/ptx.h"

#define LIMIT ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check(void *data, uint64_t addr, uint64_t size, uint64_t *ret_base, uint64_t *ret_size)
{
	(void)data;
	(void)addr;
	(void)size;
	(void)ret_base;
	(void)ret_size;
	return -1;
}

static void *take(void *data, size_t size)
{
	void *addr = NULL;

	(void)data;
	if (size > LIMIT || posix_memalign(&addr, 256, size))
		return NULL;
	return memset(addr, 0, size);
}

static void give(void *data, void *addr)
{
	(void)data;
	free(addr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sim_device dev = {
		.arch = 90, .sm_count = 1, .max_shared_per_block = 49152,
		.check = check, .alloc = take, .release = give,
	};
	struct sim_module *module;
	struct sim_error err;

	if (!sim_module_load(&dev, (const char *)data, size, &module, &err))
		sim_module_unload(module);
	else if (!err.text[0] || err.kind == SIM_OK)
		abort();	/* a failure without a word */
	return 0;
}
