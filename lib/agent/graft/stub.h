/* SPDX-License-Identifier: Apache-2.0 */
/* What is inside a stub, for the parts of this library. */
#ifndef GT_GRAFT_STUB_H
#define GT_GRAFT_STUB_H

#include "lib/agent/graft/elf.h"
#include "lib/agent/graft/graft.h"
#include "lib/agent/graft/insn.h"

/*
 * The stub's text reads special registers that nobody else reads.  The compiler
 * takes them for different in every thread, so what depends on them stays out
 * of registers that a warp shares.  One holds a number of ours once the reading
 * instruction has become a move.
 */
#define GT_SR_HIDDEN GT_SR_LANEMASK_GT		/* see gt_hidden_number() */
/*
 * The other is what compilers add to the addresses of values, below; nobody needs it once the values are there.
 * At accesses it holds the kernel's stack pointer: what the program is told lies below, see keep.h.
 */
#define GT_SR_INDEX GT_SR_LANEMASK_LE

/*
 * Where the hidden parameter is, counted from where the stub takes the
 * parameters to be, and above it how far the kernel has moved its parameters
 * from there (older architectures keep large ones elsewhere) and, in the three
 * bits that are 0 in both, how many bytes lie between its last parameter and the
 * hidden one.
 */
static inline uint32_t gt_hidden_number(uint32_t hidden_offset, uint32_t moved, uint32_t param_bytes)
{
	return (moved | (hidden_offset - param_bytes)) << 16 | (hidden_offset + moved);
}

/*
 * Compilers keep values that a whole block has in common in uniform registers,
 * which a warp has only once and, at exit, the kernel may still need.  So the text of
 * stubs reads them from places in a constant bank that no stub has, at addresses
 * that compilers take for different in every thread.  Such a load goes to the
 * thread's own register and takes its time, and what takes its place may do so, too,
 * or be a move, of the hidden parameter from where this kernel has it.
 */
#define GT_VALUE_BANK 3u
#define GT_VALUE_FIRST 4096u
#define GT_VALUE_STEP 64u	/* so far apart that no two loads are made one */

enum gt_value {
	GT_VALUE_BLOCK_SIZE = 0,	/* x, y, z */
	GT_VALUE_GRID_SIZE = 3,		/* x, y, z */
	GT_VALUE_BLOCK = 6,		/* its index: x, y, z */
	GT_VALUE_LAUNCH = 9,		/* the words of the hidden parameter */
	GT_VALUE_THREAD = 15,		/* the thread's index in its block, packed */
	GT_VALUE_SM = 16,		/* the multiprocessor */
	GT_VALUE_VIRTUAL = 17,		/* the lane and the multiprocessor, packed */
	GT_VALUE_KERNEL = 18,		/* the kernel's id; known when the stub goes into the kernel */
	GT_VALUES = 19,
};
_Static_assert(GT_VALUE_LAUNCH + sizeof(struct gt_launch_param) / 4 == GT_VALUE_THREAD, "6 words");

/*
 * Compilers do not ask so for the thread's index: z above 26 bits, y above 16 bits, x. Nor for lane and multiprocessor
 * at once: the lane in the lowest 5 bits, the multiprocessor above 20 bits. Seen on compute capability 9.0.
 */
#define GT_PACKED_SINCE 90u
#define GT_VIRTUAL_SM_AT "20"
#define GT_VIRTUAL_LANE "31"

/* Lists of code offsets that .nv.info.KERNEL has; the stub's are added to the kernel's. */
enum gt_list { GT_LIST_S2RCTAID, GT_LIST_LD_CACHEMOD, GT_LIST_ATOM_SYS, GT_LIST_COOP, GT_LIST_WARP_WIDE, GT_LISTS };
extern const uint8_t gt_list_attribute[GT_LISTS];

struct gt_offsets {
	uint32_t *values;
	unsigned count;
};

struct gt_graft_stub {
	uint32_t point;
	unsigned arch;
	gt_word *words;			/* up to and with the last that can be reached */
	unsigned count;
	unsigned registers;
	uint32_t frame, min_stack, max_stack;
	struct gt_offsets lists[GT_LISTS];
	struct gt_offsets coop_masks;	/* goes with GT_LIST_COOP */
	uint32_t sw_war;
	bool ctaidz;			/* it reads the block's third index */
	bool branches;			/* threads may part */
	bool *targets;			/* by word: something leads there */
	bool reads_thread;		/* GT_VALUE_THREAD */
	unsigned convergence;		/* one more than the highest convergence barrier it names */
	bool descriptor;		/* at exit: its accesses need one, in a pair of uniform registers */
	uint32_t own_stack;		/* at accesses: bytes that it takes on the stack, which its first word does not do yet */
};

/* A word of the hidden parameter, as if the kernel had no others. */
static inline bool gt_reads_launch(gt_word word, unsigned arch)
{
	unsigned base = gt_elf_param_base(arch), at = gt_constant_at(word);

	return gt_loads_constant(word, 0, false) && at >= base && at < base + sizeof(struct gt_launch_param);
}

static inline bool gt_reads_index(gt_word word)
{
	return gt_op(word) == GT_OP_S2R && gt_bits(word, 72, 8) == GT_SR_INDEX;
}

/* The thread's index in its block. */
static inline bool gt_reads_thread(gt_word word)
{
	return gt_op(word) == GT_OP_S2R && gt_bits(word, 72, 8) == GT_SR_TID;
}

/* By word: something leads there; malloc'd.  NULL: out of memory. */
bool *gt_stub_find_targets(const struct gt_graft_stub *stub);

/* The kernel's id. */
static inline bool gt_reads_kernel(gt_word word)
{
	return gt_loads_constant(word, GT_VALUE_BANK, true) &&
	       gt_constant_at(word) == GT_VALUE_FIRST + GT_VALUE_STEP * GT_VALUE_KERNEL;
}

/* Puts in place of those loads what they stand for, but for the kernel's id.  NULL, or why not. */
const char *gt_stub_fill_values(struct gt_graft_stub *stub);

/* An access with a descriptor, which a pair of uniform registers holds, and no other use of these. */
bool gt_takes_descriptor(gt_word word, unsigned arch);

/* The same without it, up to compute capability 9.0; any other instruction as it is. */
gt_word gt_without_descriptor(gt_word word);

/* The thread's own registers in place of uniform ones, but for descriptors.  NULL, or why not. */
const char *gt_stub_make_private(struct gt_graft_stub *stub);

/* For stubs at accesses: the kernel's stack is theirs.  NULL, or why not. */
const char *gt_stub_make_inner(struct gt_graft_stub *stub);

/* For stubs that run while other threads of the warp are elsewhere; *ret_why when they may not. */
int gt_stub_make_divergent(struct gt_graft_stub *stub, const char **ret_why);

#endif
