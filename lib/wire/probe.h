/* SPDX-License-Identifier: Apache-2.0 */
/* Where a program runs in a kernel, and for which threads. */
#ifndef GT_WIRE_PROBE_H
#define GT_WIRE_PROBE_H

#include <stdint.h>

enum gt_point {
	GT_POINT_ENTRY,
	GT_POINT_EXIT,		/* every way out of every thread */
	GT_POINT_LOAD,
	GT_POINT_STORE,
	GT_POINT_ATOMIC,
	GT_POINT_INST,		/* instructions by opcode pattern */
	GT_POINT_BLOCK,		/* basic blocks */
};

/*
 * The elected thread of a warp is the one with lane 0, of a thread block the
 * one with thread index (0,0,0): both exist always, so each runs the program
 * exactly once at entry and once at exit, whatever the kernel's control flow.
 * GT_PER_GROUP is for the timeline: at exit, one of the threads that leave
 * together runs it.
 */
enum gt_granularity { GT_PER_THREAD, GT_PER_WARP, GT_PER_BLOCK, GT_PER_GROUP };

#define GT_PROBES_MAX 64

#define GT_PROBE_WANTS_PARAMS 1u	/* pass the address of the kernel's parameters */
#define GT_PROBE_ADDS_LATER 2u		/* nobody on the GPU reads what it adds to: it need not add at once */

struct gt_probe {
	uint32_t point;		/* enum gt_point */
	uint32_t granularity;	/* enum gt_granularity */
	uint32_t link;		/* its bit in gt_launch_param.launch, 0..GT_LINKS_MAX-1 */
	uint32_t flags;		/* GT_PROBE_* */
	const char *function;	/* .func in the probe text */
	const char *kernel;	/* glob over mangled or demangled kernel names */
	const char *opcode;	/* GT_POINT_INST: glob over opcodes, else NULL */
	uint32_t number;	/* 0..GT_PROBES_MAX-1, its own among the target's */
};

#endif
