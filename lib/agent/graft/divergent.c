/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code at a kernel's exit, or at a memory access, runs while other threads of the same warp may
 * be anywhere in the kernel, or come there later.  What a warp has only once
 * must not be disturbed: convergence barriers and uniform registers.
 *
 * Without convergence barriers threads that part in the stub stay apart, so what
 * they do as a group must be done before they part.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/agent/graft/stub.h"

#define WHERE(stub, begin, end) \
	((stub)->point == GT_POINT_EXIT ? begin "at exit" end : begin "at memory accesses" end)

static bool is_bmov(gt_word word)
{
	unsigned proper = gt_op_proper(word);

	return proper >= GT_OPP_BMOV && proper <= GT_OPP_BMOV + 2;
}

static const char *drop_convergence(struct gt_graft_stub *stub)
{
	for (unsigned i = 0; i < stub->count; i++) {
		gt_word word = stub->words[i];

		if (gt_op_proper(word) == GT_OPP_MATCH || gt_op_proper(word) == GT_OPP_REDUX ||
		    gt_is_collective(word))
			return WHERE(stub, "the probes' machine code needs the threads of a warp together ", "");
		if (gt_op(word) == GT_OP_BSSY || gt_op(word) == GT_OP_BSYNC || gt_op(word) == GT_OP_BREAK ||
		    is_bmov(word) || gt_op_proper(word) == GT_OPP_WARPSYNC)
			stub->words[i] = gt_make_nop_like(word);
	}
	stub->convergence = 0;
	return NULL;
}

/* ---- what has not been seen to work ---- */

/* Loads have it in compilers' code without a descriptor, these do not. */
static bool reaches_below(gt_word word)
{
	unsigned proper = gt_op_proper(word);

	return (proper == 0x180 || proper == 0x185 || proper == 0x186 || proper == 0x18e || proper == 0x1a8) && gt_bits(word, 63, 1);
}

static const char *drop_descriptors(struct gt_graft_stub *stub)
{
	for (unsigned i = 0; i < stub->count; i++) {
		gt_word word = gt_without_descriptor(stub->words[i]);

		if (word != stub->words[i] && reaches_below(word))
			return WHERE(stub, "the probes' machine code reaches below an address, which ", " has not been seen to work");
		stub->words[i] = word;
	}
	return NULL;
}

/* Hash tables do: threads that change one wait for each other. */
static const char *check_waiting(const struct gt_graft_stub *stub)
{
	for (unsigned i = 0; i < stub->count; i++)
		if (gt_op_proper(stub->words[i]) == GT_OPP_NANOSLEEP)
			return WHERE(stub, "the probes' machine code waits for other threads, which ", " has not been seen to work");
	return NULL;
}

/* ---- what threads do as a group ---- */


static bool may_leave(gt_word word)
{
	return gt_has_target(word) || gt_is_exit(word) || gt_is_relative(word);
}

/* Who is there: a vote that gives a mask. */
static bool asks_who(gt_word word)
{
	return gt_op_proper(word) == GT_OPP_VOTE && gt_bits(word, 16, 8) != GT_RZ && gt_unguarded(word);
}

/*
 * Threads that were found together are still together as long as the code goes
 * straight on; what they do with one another must happen there.
 */
static bool groups_stay_together(const struct gt_graft_stub *stub, const bool *targets)
{
	bool known = false;

	for (unsigned i = 0; i < stub->count; i++) {
		unsigned proper = gt_op_proper(stub->words[i]);

		if (targets[i] || !i || may_leave(stub->words[i - 1]))
			known = false;
		known |= asks_who(stub->words[i]);
		if ((proper == GT_OPP_VOTE || proper == GT_OPP_SHFL) && !(known && gt_unguarded(stub->words[i])))
			return false;
	}
	return true;
}

int gt_stub_make_divergent(struct gt_graft_stub *stub, const char **ret_why)
{
	bool *targets;

	*ret_why = check_waiting(stub);
	if (!*ret_why)
		*ret_why = drop_convergence(stub);
	if (!*ret_why && stub->arch >= 90 && stub->arch < GT_UR_WIDE_SINCE)
		*ret_why = drop_descriptors(stub);
	if (!*ret_why)
		*ret_why = gt_stub_make_private(stub);
	if (*ret_why)
		return -EINVAL;
	targets = gt_stub_find_targets(stub);
	if (!targets)
		*ret_why = "out of memory";
	else if (!groups_stay_together(stub, targets))
		*ret_why = WHERE(stub, "the probes' machine code needs the threads of a warp together ", "");
	free(targets);
	return *ret_why ? -EINVAL : 0;
}
