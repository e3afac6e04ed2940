/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel's new code: its own, where it was; then the stub for its entry, then
 * the one for its exits, and what detour.c writes for its memory accesses.  Nothing of the
 * kernel moves but its first instruction and those accesses, so whatever counts offsets into it stays true.
 *
 *	kernel:	branch to entry		in place of the first instruction
 *		...
 *		branch to exit		in place of every EXIT
 *	entry:	probes
 *		wait for all that is in flight
 *		the first instruction
 *		branch to the second
 *	exit:	wait for all that is in flight
 *		probes
 *		EXIT
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/agent/graft/writer.h"

/* The special registers that stand for our numbers. */
gt_word gt_fill_in(const struct gt_writer *w, gt_word word)
{
	if (gt_op(word) != GT_OP_S2R)
		return word;
	switch (gt_bits(word, 72, 8)) {
	case GT_SR_HIDDEN:
		return gt_make_mov_like(word, w->hidden_number);
	case GT_SR_KERNEL:
		return gt_make_mov_like(word, w->kernel_id | GT_KERNEL_BIT);
	}
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
	w->code->body[GT_POINT_ENTRY] = gt_here(w) + (stub->branches ? GT_WORD : 0);
	end = w->code->body[GT_POINT_ENTRY] + stub->count * GT_WORD;
	if (stub->branches)
		gt_put(w, gt_make_bssy(w->arch, GT_OUTER_BARRIER, gt_here(w), end + GT_WORD));
	for (unsigned i = 0; i < stub->count; i++) {
		gt_word word = stub->words[i];

		gt_put(w, gt_is_exit(word) ? gt_make_branch_like(word, w->arch, gt_here(w), end) :
					  gt_guard_late_reads(gt_fill_in(w, word)));
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
		gt_word word = stub->words[i];
		uint32_t at = gt_here(w);

		if (gt_is_exit(word))
			gt_bytes_add(&w->code->exits, &at, sizeof(at));
		gt_put(w, place_descriptor(w, gt_fill_in(w, word)));
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
		w->stub = plan->entry;
		write_entry(w, first);
	}
	if (plan->exit) {
		w->stub = plan->exit;
		if (plan->exit->descriptor && !choose_descriptor(w, scan))
			return false;
		write_exit(w);
	}
	return true;
}

int gt_write_code(const struct gt_elf *elf, const struct gt_elf_kernel *kernel, const struct gt_graft_plan *plan,
		  const struct gt_scan *scan, const struct gt_sites *sites, uint32_t hidden_number,
		  struct gt_new_code *ret_code, const char **ret_why)
{
	const uint8_t *text = gt_elf_bytes(elf, kernel->text);
	uint32_t size = (uint32_t)elf->sections[kernel->text].sh_size;
	struct gt_new_code code = { 0 };
	struct gt_writer w = {
		.code = &code, .arch = elf->arch, .kernel_id = plan->kernel_id, .hidden_number = hidden_number,
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
