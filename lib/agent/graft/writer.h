/* SPDX-License-Identifier: Apache-2.0 */
/* Writes code behind a kernel's own, instruction by instruction. */
#ifndef GT_GRAFT_WRITER_H
#define GT_GRAFT_WRITER_H

#include "lib/agent/graft/edit.h"

#define GT_CODE_ALIGN 128u	/* as compilers pad it */

struct gt_writer {
	struct gt_new_code *code;
	unsigned arch;
	uint32_t kernel_id, hidden_number;
	const struct gt_graft_stub *stub;		/* at hand */
	unsigned descriptor;				/* the first of two uniform registers for it */
	unsigned kept;					/* see struct gt_graft_result; at accesses 0 */
	/* Cycles: since the last result that may not be there yet, and by which moves at hand follow faster than compiled. */
	unsigned since, owed;
};

static inline uint32_t gt_here(const struct gt_writer *w)
{
	return (uint32_t)w->code->text.size;
}

static inline void gt_put(struct gt_writer *w, gt_word word)
{
	gt_bytes_add_word(&w->code->text, word);
}

static inline void gt_pad(struct gt_writer *w)
{
	while (gt_here(w) % GT_CODE_ALIGN && !w->code->text.failed)
		gt_put(w, gt_make_nop(0));
}

/* Behind code that never falls through. */
static inline void gt_close_code(struct gt_writer *w)
{
	gt_put(w, gt_make_branch(w->arch, gt_here(w), gt_here(w)));
	gt_pad(w);
}

static inline void gt_take_stub(struct gt_writer *w, const struct gt_graft_stub *stub)
{
	w->stub = stub;
	w->since = GT_STALL_RESULT;
	w->owed = 0;
}

/* The instructions of the stub, one by one, with what this kernel has in place of what stands for it. */
gt_word gt_fill_in(struct gt_writer *w, unsigned index);

/* At accesses, in place of what asks for it: see GT_SR_INDEX. */
gt_word gt_read_stack(const struct gt_writer *w, gt_word like);

/* What follows may overwrite registers: wait until they have been read. */
gt_word gt_guard_late_reads(gt_word word);

/* Of the kernel's own, where programs at accesses come in between: it announces all that it does late. */
gt_word gt_settled(gt_word word);

/* Code for the accesses that were found, behind all else, and branches to it in their places. */
void gt_write_detours(struct gt_writer *w, const struct gt_graft_plan *plan, const struct gt_sites *sites);

#endif
