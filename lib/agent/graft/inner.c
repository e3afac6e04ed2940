/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code at memory accesses runs where the kernel has its stack: the pointer to it must be what it was
 * when the code ends, and where it is in between must be known throughout.  So the room that the code makes
 * for itself, in one place and for good, is made at once by whoever uses it.
 */
#include "lib/agent/graft/stack.h"
#include "lib/agent/graft/stub.h"

#define ARCH_KNOWN 90u

/* Kernels keep their stack at multiples of 8 bytes, a stub's own may be at multiples of 16. */
static bool needs_alignment(gt_word word)
{
	switch (gt_op_proper(word)) {
	case 0x180:	/* LD */
	case 0x183:	/* LDL */
	case 0x185:	/* ST */
	case 0x187:	/* STL */
		return gt_bits(word, 73, 3) > 5;
	}
	return false;
}

static const char *make_room_at_once(struct gt_graft_stub *stub, unsigned index)
{
	int32_t moved = gt_stack_moved(stub->words[index]);

	if (moved >= 0 || moved < -65536 || stub->own_stack)
		return "the probes' machine code uses its stack in an unknown way";
	for (unsigned i = 1; i < index; i++)
		if (gt_may_read_stack_pointer(stub->words[i]) || gt_has_target(stub->words[i]))
			return "the probes' machine code uses its stack in an unknown way";
	stub->own_stack = (uint32_t)-moved;
	stub->words[index] = gt_make_nop_like(stub->words[index]);
	return NULL;
}

const char *gt_stub_make_inner(struct gt_graft_stub *stub)
{
	const char *why = NULL;

	if (stub->arch != ARCH_KNOWN)
		return "probes at memory accesses are not known in machine code of this compute capability";
	if (stub->descriptor)
		return "the probes' machine code needs uniform registers, which it may not use at memory accesses";
	if (!stub->count || !gt_loads_stack_pointer(stub->words[0]))
		return "the probes' machine code does not begin with its stack pointer";
	for (unsigned i = 1; i < stub->count && !why; i++) {
		if (gt_upsets_stack(stub->words[i]))
			why = "the probes' machine code uses its stack in an unknown way";
		else if (needs_alignment(stub->words[i]))
			why = "the probes' machine code uses its stack by 16 bytes at a time";
		else if (gt_moves_stack_pointer(stub->words[i]))
			why = make_room_at_once(stub, i);
	}
	if (!why && (stub->frame > stub->own_stack || stub->min_stack > stub->own_stack))
		why = "the probes' machine code uses its stack in an unknown way";
	return why;
}
