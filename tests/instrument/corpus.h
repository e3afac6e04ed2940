/* SPDX-License-Identifier: Apache-2.0 */
/* The files in corpus/ and how many of each point they have, counted by hand and by script. */
#ifndef TEST_INSTRUMENT_CORPUS_H
#define TEST_INSTRUMENT_CORPUS_H

#include "tests/fixture.h"
#include "tests/instrument/common.h"

struct corpus_file {
	const char *name;
	unsigned kernels, exits, loads, stores, atomics;
	const char *archs[2];		/* that ptxas is asked for */
};

static const struct corpus_file corpus[] = {
	{ "vecadd.ptx", 1, 1, 2, 1, 0, { "sm_75", "sm_90" } },
	{ "vecadd.lineinfo.ptx", 1, 1, 2, 1, 0, { "sm_75", "sm_90" } },
	{ "vecadd.debug.ptx", 1, 1, 2, 1, 0, { "sm_75", "sm_90" } },
	/* ret and exit of the kernels, one that falls off, one exit in a function. */
	{ "exits.ptx", 6, 7 + 1 + 1, 9, 13, 0, { "sm_75", "sm_90" } },
	{ "exits.lineinfo.ptx", 6, 7 + 1 + 1, 9, 13, 0, { "sm_75", "sm_90" } },
	{ "exits.debug.ptx", 6, 8 + 1 + 1, 10, 13, 0, { "sm_75", "sm_90" } },
	{ "memory.ptx", 1, 1, 25, 10, 6, { "sm_75", "sm_90" } },
	{ "memory.lineinfo.ptx", 1, 1, 25, 10, 6, { "sm_75", "sm_90" } },
	{ "memory.debug.ptx", 1, 1, 19, 13, 6, { "sm_75", "sm_90" } },
	{ "memory.sm120.ptx", 1, 1, 25, 10, 6, { "sm_120", NULL } },
	{ "asm.ptx", 1, 1, 2, 3, 1, { "sm_75", "sm_90" } },
	{ "asm.lineinfo.ptx", 1, 1, 2, 3, 1, { "sm_75", "sm_90" } },
	{ "asm.debug.ptx", 1, 1, 2, 3, 1, { "sm_75", "sm_90" } },
	{ "async.ptx", 1, 1, 3, 1, 1, { "sm_90", NULL } },
	{ "async.debug.ptx", 1, 1, 3, 1, 1, { "sm_90", NULL } },
	{ "calls.ptx", 3, 3, 12, 8, 0, { "sm_75", "sm_90" } },
	{ "calls.lineinfo.ptx", 3, 3, 12, 8, 0, { "sm_75", "sm_90" } },
	{ "calls.debug.ptx", 3, 3, 13, 8, 0, { "sm_75", "sm_90" } },
	{ "templates.ptx", 4, 4, 12, 12, 0, { "sm_75", "sm_90" } },
	{ "templates.lineinfo.ptx", 4, 4, 12, 12, 0, { "sm_75", "sm_90" } },
	{ "templates.debug.ptx", 4, 4, 12, 26, 0, { "sm_75", "sm_90" } },
	{ "bins.ptx", 1, 1, 32 + 1, 1, 32 + 1, { "sm_75", "sm_90" } },
	{ "tiles.ptx", 1, 1, 2 + 32, 1 + 2, 0, { "sm_75", "sm_90" } },
	{ "wgmma.ptx", 1, 1, 1, 2, 0, { "sm_90a", NULL } },
	{ "triton.ptx", 1, 1, 3, 2, 0, { "sm_90a", NULL } },
	/* ret and exit, three that fall off, one exit in a function. */
	{ "corner.ptx", 4, 2 + 3 + 1, 1, 5, 2, { "sm_75", "sm_90" } },
};

#define CORPUS_COUNT ((int)(sizeof(corpus) / sizeof(corpus[0])))

static inline char *corpus_load(const struct corpus_file *file)
{
	size_t size;

	return load_fixture(TEST_DATA, file->name, &size);
}

#endif
