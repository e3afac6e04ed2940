/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel's new code: its own, where it was; then the stub for its entry, then
 * the one for its exits, and what detour.c writes for its memory accesses.  Nothing of the
 * kernel moves but its first instruction and those accesses, so whatever counts offsets into it stays true.
 *
 *	kernel:	branch to entry		in place of the first instruction
 *		...
 *		branch to exit		in place of every EXIT
 *	entry:	the thread's index, if it is kept for the exit
 *		probes
 *		wait for all that is in flight
 *		the first instruction
 *		branch to the second
 *	exit:	wait for all that is in flight
 *		probes
 *		EXIT
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/agent/graft/stack.h"
#include "lib/agent/graft/writer.h"

#define NO_CONSTANTS_SINCE 100u	/* as operands of arithmetic */

static gt_word copy_kept(const struct gt_writer *w, gt_word word)
{
	word = gt_make_copy_like(word, w->kept);
	/* At entry it may be on its way. */
	return w->stub->point == GT_POINT_ENTRY ? gt_with(word, 116 + GT_LATE_BARRIER, 1, 1) : word;
}

/* The special registers that stand for our numbers, or for what is known from the entry. */
static gt_word fill_in_special(const struct gt_writer *w, gt_word word)
{
	if (gt_bits(word, 72, 8) == GT_SR_HIDDEN)
		return gt_make_mov_like(word, w->hidden_number);
	if (gt_reads_index(word))
		return w->stub->point < GT_POINT_LOAD ? gt_make_nop_like(word) : gt_read_stack(w, word);
	if (gt_reads_thread(word) && w->kept)
		return copy_kept(w, word);
	return word;
}

/*
 * A load from a constant bank takes some 25 cycles and its turn, arithmetic reads the same at once: on an H200 one less
 * for all warps at their entry and exit makes a vector addition of 4.5 us by 4 % shorter.
 */
static gt_word fill_in_constant(const struct gt_writer *w, gt_word word)
{
	if (gt_reads_launch(word, w->arch))
		word = gt_with(word, 38, 16, gt_constant_at(word) + (w->hidden_number & 0xffff));
	if (w->arch >= NO_CONSTANTS_SINCE || gt_loads_stack_pointer(word))
		return word;
	return gt_make_constant_like(word, gt_constant_at(word));
}

static gt_word fill_in(const struct gt_writer *w, gt_word word)
{
	if (gt_op(word) == GT_OP_S2R)
		return fill_in_special(w, word);
	if (gt_reads_kernel(word))
		return gt_make_mov_like(word, w->kernel_id);
	return gt_loads_constant(word, 0, false) ? fill_in_constant(w, word) : word;
}

/* Reads no register that the stub writes, nor a predicate. */
static bool reads_nothing(const struct gt_writer *w, gt_word word)
{
	if (!gt_unguarded(word))
		return false;
	switch (gt_op(word)) {
	case GT_OP_S2R:
	case GT_OP_NOP:
	case GT_OP_ULDC:
	case GT_OP_MOV_CONSTANT:
	case GT_OP_MOV_IMM:
		return true;
	case GT_OP_MOV:
		return w->kept && gt_bits(word, 32, 8) == w->kept;
	}
	return false;
}

/* What it announces cannot be waited for in the very next cycle. */
static bool waits_for(gt_word word, gt_word before)
{
	unsigned barrier = gt_write_barrier(before);

	return barrier != GT_BARRIER_NONE && gt_bits(word, 116, 6) >> barrier & 1;
}

/* As long as there were between what was before and what reads it, or until it is sure to be there. */
static unsigned still_due(const struct gt_writer *w)
{
	unsigned rest = w->since < GT_STALL_RESULT ? GT_STALL_RESULT - w->since : 0;

	return w->owed < rest ? w->owed : rest;
}

/* In a run of those only what comes behind it has to wait: for them, and for what was there before. */
static unsigned stall_in_run(const struct gt_writer *w, unsigned index, gt_word word)
{
	unsigned stall = still_due(w), moved = w->arch < 80 ? GT_STALL_MOVE_75 : GT_STALL_MOVE;

	if (index + 1 < w->stub->count && !w->stub->targets[index + 1]) {
		gt_word next = fill_in(w, w->stub->words[index + 1]);

		if (reads_nothing(w, next))
			return waits_for(next, word) ? 2 : 1;
	}
	return stall > moved ? stall : moved;
}

gt_word gt_fill_in(struct gt_writer *w, unsigned index)
{
	gt_word word = fill_in(w, w->stub->words[index]);
	bool in_run = reads_nothing(w, word), jumps = gt_op(word) == GT_OP_BRA || gt_is_exit(word);

	/* What it gives is there after a fixed time. */
	if (w->stub->targets[index] || gt_op(word) == GT_OP_ULDC || !(in_run || jumps)) {
		w->owed = still_due(w);
		w->since = 0;
	}
	if (w->stub->targets[index] || !in_run)
		w->owed = 0;
	if (in_run) {
		w->owed += gt_stall(w->stub->words[index]);
		word = gt_with_stall(word, stall_in_run(w, index, word));
		w->owed -= w->owed < gt_stall(word) ? w->owed : gt_stall(word);
	}
	w->since += gt_stall(word);
	return word;
}

/* ---- entry ---- */

/* What follows may overwrite registers: wait until they have been read. */
gt_word gt_guard_late_reads(gt_word word)
{
	if (!gt_reads_late(word))
		return word;
	word = gt_with_read_barrier(word, GT_LATE_BARRIER);
	return gt_bits(word, 105, 4) < 2 ? gt_with(word, 105, 4, 2) : word;
}

/* The kernel's first instruction comes at its end. */
static void write_entry(struct gt_writer *w, gt_word first)
{
	const struct gt_graft_stub *stub = w->stub;
	uint32_t end;

	w->code->at[GT_POINT_ENTRY] = gt_here(w);
	if (w->kept)
		gt_put(w, gt_make_read_special(w->kept, GT_SR_TID));
	w->code->body[GT_POINT_ENTRY] = gt_here(w) + (stub->branches ? GT_WORD : 0);
	end = w->code->body[GT_POINT_ENTRY] + stub->count * GT_WORD;
	if (stub->branches)
		gt_put(w, gt_make_bssy(w->arch, GT_OUTER_BARRIER, gt_here(w), end + GT_WORD));
	for (unsigned i = 0; i < stub->count; i++) {
		gt_word word = gt_fill_in(w, i);

		if (!gt_is_exit(word))
			gt_put(w, gt_guard_late_reads(word));
		else if (i + 1 < stub->count || !gt_unguarded(word))
			gt_put(w, gt_make_branch_like(word, w->arch, gt_here(w), end));
		else
			gt_put(w, gt_make_nop_like(word));
	}
	if (stub->branches)
		gt_put(w, gt_make_bsync(w->arch, GT_OUTER_BARRIER));
	gt_put(w, gt_make_nop(GT_WAIT_ALL));
	gt_put(w, gt_with(first, 122, 4, 0));	/* no operand is kept over the detour */
	gt_put(w, gt_make_branch(w->arch, gt_here(w), GT_WORD));
	gt_close_code(w);
}

/* ---- exit ---- */

/* All that is left of uniform registers is the descriptor. */
static gt_word place_descriptor(const struct gt_writer *w, gt_word word)
{
	struct gt_uniform places[GT_UNIFORM_MAX];
	int count = gt_uniform_places(word, places);

	for (int k = 0; k < count; k++)
		word = gt_with(word, places[k].at, 6, w->descriptor);
	return word;
}

/* False: the kernel may name them all. */
static bool choose_descriptor(struct gt_writer *w, const struct gt_scan *scan)
{
	for (int pair = GT_UR_COUNT - 4; pair >= 0; pair -= 2) {	/* the last holds the one that is always 0 */
		if (scan->uniform[pair] || scan->uniform[pair + 1])
			continue;
		w->descriptor = (unsigned)pair;
		return true;
	}
	return false;
}

static void write_exit(struct gt_writer *w)
{
	const struct gt_graft_stub *stub = w->stub;

	w->code->at[GT_POINT_EXIT] = gt_here(w);
	gt_put(w, gt_make_nop(GT_WAIT_ALL));
	w->code->body[GT_POINT_EXIT] = gt_here(w);
	for (unsigned i = 0; i < stub->count; i++) {
		uint32_t at = gt_here(w);

		if (gt_is_exit(stub->words[i]))
			gt_bytes_add(&w->code->exits, &at, sizeof(at));
		gt_put(w, place_descriptor(w, gt_fill_in(w, i)));
	}
	gt_close_code(w);
}

/* ---- the kernel's own ---- */

static void redirect_entry(struct gt_writer *w)
{
	gt_word_write(w->code->text.data, gt_make_branch(w->arch, 0, w->code->at[GT_POINT_ENTRY]));
}

/* What the kernel does late it announces, for the code that now comes behind it. */
static gt_word announced(const struct gt_graft_plan *plan, const struct gt_sites *sites, gt_word word)
{
	if (sites->count)
		return gt_settled(word);
	if (plan->exit && gt_reads_late(word))
		return gt_with_read_barrier(word, GT_LATE_BARRIER);
	return word;
}

static void rewrite_own(struct gt_writer *w, const struct gt_graft_plan *plan, const struct gt_sites *sites, uint32_t size)
{
	uint8_t *text = w->code->text.data;

	for (uint32_t at = 0; at < size; at += GT_WORD) {
		gt_word word = gt_word_read(text + at);

		if (plan->exit && gt_is_exit(word))
			word = gt_make_branch_like(word, w->arch, at, w->code->at[GT_POINT_EXIT]);
		else
			word = announced(plan, sites, word);
		gt_word_write(text + at, word);
	}
}

/* False: there are no uniform registers left. */
static bool write_stubs(struct gt_writer *w, const struct gt_graft_plan *plan, const struct gt_scan *scan, gt_word first)
{
	if (plan->entry) {
		gt_take_stub(w, plan->entry);
		write_entry(w, first);
	}
	if (plan->exit) {
		gt_take_stub(w, plan->exit);
		if (plan->exit->descriptor && !choose_descriptor(w, scan))
			return false;
		write_exit(w);
	}
	return true;
}

int gt_write_code(const struct gt_elf *elf, const struct gt_elf_kernel *kernel, const struct gt_graft_plan *plan,
		  const struct gt_scan *scan, const struct gt_sites *sites, uint32_t hidden_number, unsigned kept,
		  struct gt_new_code *ret_code, const char **ret_why)
{
	const uint8_t *text = gt_elf_bytes(elf, kernel->text);
	uint32_t size = (uint32_t)elf->sections[kernel->text].sh_size;
	struct gt_new_code code = { 0 };
	struct gt_writer w = {
		.code = &code, .arch = elf->arch, .kernel_id = plan->kernel_id, .hidden_number = hidden_number,
		.kept = kept,
	};

	gt_bytes_add(&code.text, text, size);
	gt_pad(&w);
	if (!write_stubs(&w, plan, scan, sites->count ? gt_settled(gt_word_read(text)) : gt_word_read(text))) {
		gt_new_code_free(&code);
		*ret_why = "this kernel may use every uniform register, and the probes at exit need two";
		return -EINVAL;
	}
	if (!code.text.failed) {
		/* Accesses, which are moved as they then are; exits; and the first instruction, which may be any. */
		rewrite_own(&w, plan, sites, size);
		w.kept = 0;
		gt_write_detours(&w, plan, sites);
	}
	if (code.text.failed || code.exits.failed) {
		gt_new_code_free(&code);
		return -ENOMEM;
	}
	if (plan->entry)
		redirect_entry(&w);
	*ret_code = code;
	return 0;
}

void gt_new_code_free(struct gt_new_code *code)
{
	free(code->text.data);
	free(code->exits.data);
	*code = (struct gt_new_code){ 0 };
}
