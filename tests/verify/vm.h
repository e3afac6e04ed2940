/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine that runs a program and trusts nothing: every register and every
 * byte of memory knows whether it was set and whether it is part of a pointer,
 * and every access is checked against the object that its pointer came from.
 * It shares no code with the verifier.
 */
#ifndef GT_TESTS_VERIFY_VM_H
#define GT_TESTS_VERIFY_VM_H

#include <stdint.h>

#include "lib/object/prog.h"
#include "lib/verify/verify.h"
#include "tests/verify/random.h"

struct gt_range_log;

/* What happened. */
enum vm_end {
	VM_DONE,
	VM_FAULT,	/* vm.why, vm.pc */
	VM_ENOUGH,	/* still running after `patience` steps */
};

struct vm_value {
	uint8_t set, is_pointer;
	uint16_t object;	/* pointers */
	uint64_t number;	/* pointers: offset */
};

struct vm {
	const struct gt_prog *prog;
	const struct gt_verify_result *claims;
	const struct gt_range_log *ranges;	/* NULL: not checked */
	uint64_t seed;			/* of everything that a program cannot know */
	/* Not 0: what the threads of a warp see alike comes from this number instead. */
	uint64_t warp_seed;
	uint64_t warp_calls, warp_trace;	/* helpers for warps that were called, and where */
	uint64_t steps, patience;
	uint32_t rounds_left;		/* of loops that a countdown ends */
	unsigned pc;
	char why[128];
	unsigned object_count;
	unsigned held;			/* ring records */
	struct vm_object *objects;
	uint64_t result;
};

enum vm_end vm_run(struct vm *vm);

#endif
