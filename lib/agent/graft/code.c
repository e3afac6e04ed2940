/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel's new code: its own, where it was; then the stub for its entry, then
 * the one for its exits.  Nothing of the kernel moves but its first instruction,
 * so whatever counts offsets into it stays true.
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

#include "lib/agent/graft/edit.h"

#define CODE_ALIGN 128u		/* as compilers pad it */
#define OUTER_BARRIER 15u	/* where the threads meet again after the entry stub */

struct writer {
	struct gt_new_code *code;
	unsigned arch;
	uint32_t kernel_id, hidden_number;
	const struct gt_graft_stub *stub;		/* at hand */
	unsigned descriptor;				/* the first of two uniform registers for it */
};

static uint32_t here(const struct writer *w)
{
	return (uint32_t)w->code->text.size;
}

static void put(struct writer *w, gt_word word)
{
	gt_bytes_add_word(&w->code->text, word);
}

static void pad(struct writer *w)
{
	while (here(w) % CODE_ALIGN && !w->code->text.failed)
		put(w, gt_make_nop(0));
}

/* Behind code that never falls through. */
static void close_stub(struct writer *w)
{
	put(w, gt_make_branch(w->arch, here(w), here(w)));
	pad(w);
}

/* The special registers that stand for our numbers. */
static gt_word fill_in(const struct writer *w, gt_word word)
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
static gt_word guard_late_reads(gt_word word)
{
	if (!gt_reads_late(word))
		return word;
	word = gt_with_read_barrier(word, GT_LATE_BARRIER);
	return gt_bits(word, 105, 4) < 2 ? gt_with(word, 105, 4, 2) : word;
}

static void write_entry(struct writer *w, gt_word first)
{
	const struct gt_graft_stub *stub = w->stub;
	uint32_t end;

	w->code->entry_at = here(w);
	w->code->entry_body = here(w) + (stub->branches ? GT_WORD : 0);
	end = w->code->entry_body + stub->count * GT_WORD;
	if (stub->branches)
		put(w, gt_make_bssy(w->arch, OUTER_BARRIER, here(w), end + GT_WORD));
	for (unsigned i = 0; i < stub->count; i++) {
		gt_word word = stub->words[i];

		put(w, gt_is_exit(word) ? gt_make_branch_like(word, w->arch, here(w), end) :
					  guard_late_reads(fill_in(w, word)));
	}
	if (stub->branches)
		put(w, gt_make_bsync(w->arch, OUTER_BARRIER));
	put(w, gt_make_nop(GT_WAIT_ALL));
	put(w, gt_with(first, 122, 4, 0));	/* no operand is kept over the detour */
	put(w, gt_make_branch(w->arch, here(w), GT_WORD));
	close_stub(w);
}

/* ---- exit ---- */

/* All that is left of uniform registers is the descriptor. */
static gt_word place_descriptor(const struct writer *w, gt_word word)
{
	struct gt_uniform places[GT_UNIFORM_MAX];
	int count = gt_uniform_places(word, places);

	for (int k = 0; k < count; k++)
		word = gt_with(word, places[k].at, 6, w->descriptor);
	return word;
}

/* False: the kernel may name them all. */
static bool choose_descriptor(struct writer *w, const struct gt_scan *scan)
{
	for (int pair = GT_UR_COUNT - 4; pair >= 0; pair -= 2) {	/* the last holds the one that is always 0 */
		if (scan->uniform[pair] || scan->uniform[pair + 1])
			continue;
		w->descriptor = (unsigned)pair;
		return true;
	}
	return false;
}

static void write_exit(struct writer *w)
{
	const struct gt_graft_stub *stub = w->stub;

	w->code->exit_at = here(w);
	put(w, gt_make_nop(GT_WAIT_ALL));
	w->code->exit_body = here(w);
	for (unsigned i = 0; i < stub->count; i++) {
		gt_word word = stub->words[i];
		uint32_t at = here(w);

		if (gt_is_exit(word))
			gt_bytes_add(&w->code->exits, &at, sizeof(at));
		put(w, place_descriptor(w, fill_in(w, word)));
	}
	close_stub(w);
}

/* ---- the kernel's own ---- */

static void redirect_entry(struct writer *w)
{
	gt_word_write(w->code->text.data, gt_make_branch(w->arch, 0, w->code->entry_at));
}

static void redirect_exits(struct writer *w, uint32_t size)
{
	uint8_t *text = w->code->text.data;

	for (uint32_t at = 0; at < size; at += GT_WORD) {
		gt_word word = gt_word_read(text + at);

		if (gt_is_exit(word))
			word = gt_make_branch_like(word, w->arch, at, w->code->exit_at);
		else if (gt_reads_late(word))
			word = gt_with_read_barrier(word, GT_LATE_BARRIER);
		else
			continue;
		gt_word_write(text + at, word);
	}
}

int gt_write_code(const struct gt_elf *elf, const struct gt_elf_kernel *kernel, const struct gt_graft_plan *plan,
		  const struct gt_scan *scan, uint32_t hidden_number, struct gt_new_code *ret_code,
		  const char **ret_why)
{
	const uint8_t *text = gt_elf_bytes(elf, kernel->text);
	uint32_t size = (uint32_t)elf->sections[kernel->text].sh_size;
	struct gt_new_code code = { 0 };
	struct writer w = {
		.code = &code, .arch = elf->arch, .kernel_id = plan->kernel_id, .hidden_number = hidden_number,
	};

	gt_bytes_add(&code.text, text, size);
	pad(&w);
	if (plan->entry) {
		w.stub = plan->entry;
		write_entry(&w, gt_word_read(text));
	}
	if (plan->exit) {
		w.stub = plan->exit;
		if (plan->exit->descriptor && !choose_descriptor(&w, scan)) {
			gt_new_code_free(&code);
			*ret_why = "this kernel may use every uniform register, and the probes at exit need two";
			return -EINVAL;
		}
		write_exit(&w);
	}
	if (code.text.failed || code.exits.failed) {
		gt_new_code_free(&code);
		return -ENOMEM;
	}
	/* Exits first: the first instruction may be a store. */
	if (plan->exit)
		redirect_exits(&w, size);
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
