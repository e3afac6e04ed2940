/* SPDX-License-Identifier: Apache-2.0 */
/* The stubs of the tests: which probes at which point. */
#ifndef TESTS_GRAFT_STUBS_H
#define TESTS_GRAFT_STUBS_H

#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/graft.h"
#include "lib/compile/compile.h"
#include "tests/graft/probes.h"

struct test_stub {
	const char *name;
	uint32_t point, granularity, flags;
	const char *functions[3];
};

/* Where the timeline's probes are told to find things. */
#define TEST_SLOTS 65536u
#define TEST_RING (1u << 20)
#define TEST_RING_SIZE (1u << 20)

#define TEST_ALONE 0x80000000u	/* in flags: each thread by itself at exit */

#define TEST_STUBS 25
static const struct test_stub test_stubs[TEST_STUBS] = {
	{ "entry", GT_POINT_ENTRY, GT_PER_THREAD, 0, { "entry" } },
	{ "entry-warp", GT_POINT_ENTRY, GT_PER_WARP, 0, { "entry" } },
	{ "entry-two", GT_POINT_ENTRY, GT_PER_BLOCK, 0, { "first", "second" } },
	{ "entry-params", GT_POINT_ENTRY, GT_PER_THREAD, GT_PROBE_WANTS_PARAMS, { "params" } },
	{ "entry-big", GT_POINT_ENTRY, GT_PER_THREAD, 0, { "big_entry" } },
	{ "entry-ring", GT_POINT_ENTRY, GT_PER_THREAD, 0, { "ring" } },
	{ "exit", GT_POINT_EXIT, GT_PER_THREAD, 0, { "leave" } },
	{ "exit-warp", GT_POINT_EXIT, GT_PER_WARP, 0, { "leave" } },
	{ "exit-block", GT_POINT_EXIT, GT_PER_BLOCK, 0, { "leave" } },
	{ "exit-params", GT_POINT_EXIT, GT_PER_THREAD, GT_PROBE_WANTS_PARAMS, { "params" } },
	{ "exit-big", GT_POINT_EXIT, GT_PER_THREAD, 0, { "big_exit" } },
	{ "exit-ring", GT_POINT_EXIT, GT_PER_THREAD, TEST_ALONE, { "ring" } },
	{ "entry-aggregate", GT_POINT_ENTRY, GT_PER_THREAD, 0, { "aggregate" } },
	{ "exit-aggregate", GT_POINT_EXIT, GT_PER_THREAD, 0, { "aggregate" } },
	{ "exit-group", GT_POINT_EXIT, GT_PER_GROUP, 0, { "group" } },
	{ "entry-literal", GT_POINT_ENTRY, GT_PER_BLOCK, 0, { "literal" } },
	{ "exit-literal", GT_POINT_EXIT, GT_PER_BLOCK, 0, { "literal" } },
	{ "entry-divide", GT_POINT_ENTRY, GT_PER_THREAD, 0, { "divide" } },
	{ "exit-divide", GT_POINT_EXIT, GT_PER_THREAD, 0, { "divide" } },
	{ "entry-generic", GT_POINT_ENTRY, GT_PER_THREAD, 0, { "generic" } },
	{ "exit-generic", GT_POINT_EXIT, GT_PER_THREAD, 0, { "generic" } },
	{ "entry-uniform", GT_POINT_ENTRY, GT_PER_THREAD, 0, { "uniform_entry" } },
	{ "exit-uniform", GT_POINT_EXIT, GT_PER_THREAD, 0, { "uniform_exit" } },
	{ "entry-timeline", GT_POINT_ENTRY, GT_PER_BLOCK, 0, { "__gt_timeline_entry" } },
	{ "exit-timeline", GT_POINT_EXIT, GT_PER_GROUP, 0, { "__gt_timeline_exit" } },
};

/* At memory accesses, for sm_90 alone. */
#define TEST_ACCESSES 6
static const struct test_stub test_accesses[TEST_ACCESSES] = {
	{ "load", GT_POINT_LOAD, GT_PER_THREAD, 0, { "told_load" } },
	{ "store", GT_POINT_STORE, GT_PER_THREAD, 0, { "told_store" } },
	{ "atomic", GT_POINT_ATOMIC, GT_PER_THREAD, 0, { "told_atomic" } },
	{ "load-big", GT_POINT_LOAD, GT_PER_THREAD, 0, { "big_exit" } },
	{ "load-params", GT_POINT_LOAD, GT_PER_THREAD, GT_PROBE_WANTS_PARAMS, { "params" } },
	{ "store-aggregate", GT_POINT_STORE, GT_PER_THREAD, 0, { "aggregate" } },
};

/* Stubs with programs of tests/compile/probes.bpf.c that call functions. */
#define TEST_PROGRAMS 6
static const struct test_program {
	const char *stub, *program;
	enum gt_exit_form form;		/* at exit */
} test_programs[TEST_PROGRAMS] = {
	{ "entry-functions", "functions", 0 }, { "exit-functions", "functions", GT_EXIT_ALONE },
	{ "entry-table", "table_storm", 0 }, { "exit-table", "table_storm", GT_EXIT_ALONE },
	{ "entry-print", "print", 0 }, { "exit-print", "print", GT_EXIT_OPAQUE },
};

static inline bool test_program_is_at_exit(const struct test_program *program)
{
	return !strncmp(program->stub, "exit", 4);
}

/* The stub's PTX; malloc'd. */
static inline int test_stub_text(const struct test_stub *stub, unsigned arch, char **ret_text, char why[GT_GRAFT_WHY])
{
	bool timeline = !strncmp(stub->functions[0], "__gt_timeline", 13);
	char *text = timeline ? gt_timeline_link(TEST_SLOTS, TEST_RING, TEST_RING_SIZE) : NULL;
	struct gt_probe probes[3];
	unsigned which[3], count;
	int r;

	for (count = 0; count < 3 && stub->functions[count]; count++) {
		probes[count] = (struct gt_probe){
			.point = stub->point, .granularity = stub->granularity, .flags = stub->flags & ~TEST_ALONE,
			.link = count, .function = stub->functions[count], .kernel = "*",
		};
		which[count] = count;
	}
	r = gt_graft_stub_text(timeline ? text : test_probes, probes, count, which, count, stub->point, stub->flags & TEST_ALONE ? GT_EXIT_ALONE : GT_EXIT_TOGETHER,
			       arch, ret_text, why);
	free(text);
	return r;
}

#endif
