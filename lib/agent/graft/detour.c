/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs at memory accesses.  A branch takes the access's place; the detour works the address out,
 * calls the routine that all accesses of one kind have in common, and does the access:
 *
 *	routine: keep all registers and predicates that the probes may change
 *		probes
 *		restore them
 *		return
 *	detour:	wait for all that is in flight
 *		threads that do not do the access wait at the end of this
 *		keep four registers; address; branch to the routine
 *		restore those four
 *		the access
 *		branch to what follows it
 *
 * Nothing is assumed of which registers the kernel needs, and threads that were together are so again.
 */
#include "lib/agent/graft/keep.h"
#include "lib/agent/graft/registers.h"
#include "lib/agent/graft/stack.h"
#include "lib/agent/graft/writer.h"

/* Results of matrix instructions come after a fixed time, some 35 cycles: this many pauses are sure. */
#define MATRIX_PAUSES 6

enum { WORK_0 = GT_WORK_FIRST, WORK_1, WORK_2, WORK_3 };

unsigned gt_detour_registers(const struct gt_graft_stub *stub)
{
	unsigned least = GT_WORK_FIRST + GT_WORK_COUNT + GT_REGISTERS_UNNAMED;

	return stub->registers > least ? stub->registers : least;
}

uint32_t gt_detour_stack(const struct gt_graft_stub *stub)
{
	return gt_kept_bytes(gt_detour_registers(stub) - GT_REGISTERS_UNNAMED) + ((stub->own_stack + 15) & ~15u);
}

/* Those of which compilers make no use at a kernel's end. */
static bool reads_shared_late(gt_word word)
{
	unsigned proper = gt_op_proper(word);

	return (proper == 0x044 || proper == 0x1a7 || proper == 0x1bd) &&	/* STSM, SYNCS, STAS */
	       gt_read_barrier(word) == GT_BARRIER_NONE && gt_write_barrier(word) == GT_BARRIER_NONE;
}

gt_word gt_settled(gt_word word)
{
	if (gt_answers_late(word))
		return gt_with(word, 110, 3, GT_LATE_BARRIER);
	return gt_reads_late(word) || reads_shared_late(word) ? gt_with_read_barrier(word, GT_LATE_BARRIER) : word;
}

/* ---- the routine ---- */

/* The kernel's stack pointer with the timing of what read a special register. */
gt_word gt_read_stack(const struct gt_writer *w, gt_word like)
{
	gt_word word = gt_make_add(gt_bits(like, 16, 8), GT_STACK_POINTER, (int32_t)gt_detour_stack(w->stub));

	if (gt_stall(like) > gt_stall(word))
		word = gt_with_stall(word, gt_stall(like));
	word = gt_with(word, 12, 4, gt_bits(like, 12, 4));
	return gt_with(word, 116, 6, gt_bits(like, 116, 6));
}

static void write_probes(struct gt_writer *w, uint32_t stack)
{
	const struct gt_graft_stub *stub = w->stub;
	uint32_t end = gt_here(w) + stub->count * GT_WORD;

	gt_put(w, gt_make_add(GT_STACK_POINTER, GT_STACK_POINTER, -(int32_t)stack));	/* in place of loading it */
	for (unsigned i = 1; i < stub->count; i++) {
		gt_word word = stub->words[i];

		if (gt_is_exit(word))
			gt_put(w, gt_make_branch_like(word, w->arch, gt_here(w), end));
		else
			gt_put(w, gt_guard_late_reads(gt_fill_in(w, i)));
	}
	gt_put(w, gt_make_add(GT_STACK_POINTER, GT_STACK_POINTER, (int32_t)stack));
}

static bool is_kept(unsigned reg)
{
	return reg != GT_STACK_POINTER && !gt_is_work(reg);
}

static void write_routine(struct gt_writer *w, unsigned point)
{
	unsigned registers = gt_detour_registers(w->stub) - GT_REGISTERS_UNNAMED;

	w->code->at[point] = gt_here(w);
	for (unsigned reg = 0; reg < registers; reg++)
		if (is_kept(reg))
			gt_put(w, gt_make_keep(reg, GT_KEPT_REGISTERS + 4 * reg));
	gt_put(w, gt_make_keep(WORK_0, GT_KEPT_RETURN));
	gt_put(w, gt_make_keep(WORK_2, GT_KEPT_INFO));
	gt_put(w, gt_make_keep_predicates(WORK_3));
	gt_put(w, gt_make_keep(WORK_3, GT_KEPT_PREDICATES));
	gt_put(w, gt_make_pause(GT_WAIT_ALL));
	w->code->body[point] = gt_here(w);
	write_probes(w, gt_detour_stack(w->stub));
	gt_put(w, gt_make_pause(GT_WAIT_ALL));
	gt_put(w, gt_make_restore(WORK_3, GT_KEPT_PREDICATES));
	gt_put(w, gt_make_restore(WORK_0, GT_KEPT_RETURN));
	gt_put(w, gt_make_number(WORK_1, 0));
	for (unsigned reg = 0; reg < registers; reg++)
		if (is_kept(reg))
			gt_put(w, gt_make_restore(reg, GT_KEPT_REGISTERS + 4 * reg));
	gt_put(w, gt_make_pause(GT_WAIT_ALL));
	gt_put(w, gt_make_restore_predicates(WORK_3));
	gt_put(w, gt_make_pause(0));
	gt_put(w, gt_make_return(gt_here(w), WORK_0));
	gt_close_code(w);
}

/* ---- detours ---- */

/* Once those that are being kept have been read. */
static gt_word after_keeping(gt_word word)
{
	return gt_with(word, 116, 6, 1u << GT_LATE_BARRIER);
}

static void write_call(struct gt_writer *w, const struct gt_insn_access *access)
{
	unsigned pair = access->address == WORK_0 ? WORK_2 : WORK_0;

	for (unsigned i = 0; i < GT_WORK_COUNT; i++)
		gt_put(w, gt_make_keep(WORK_0 + i, GT_KEPT_WORK - 4 * i));
	gt_put(w, after_keeping(gt_make_number(pair, 1)));
	gt_put(w, gt_make_add_wide(pair, access->address, access->offset));
	gt_put(w, gt_make_keep(pair, GT_KEPT_ADDRESS));
	gt_put(w, gt_make_keep(pair + 1, GT_KEPT_ADDRESS - 4));
	gt_put(w, after_keeping(gt_make_number(WORK_2, access->bytes | access->space << GT_INFO_SPACE_AT)));
	gt_put(w, gt_make_number(WORK_1, 0));
	gt_put(w, gt_make_number(WORK_0, gt_here(w) + 2 * GT_WORD));
	gt_put(w, gt_make_branch(w->arch, gt_here(w), w->code->at[access->point]));
	gt_put(w, gt_make_pause(0));	/* comes back here */
	for (unsigned i = 0; i < GT_WORK_COUNT; i++)
		gt_put(w, gt_make_restore(WORK_0 + i, GT_KEPT_WORK - 4 * i));
}

#define CALL_WORDS (2 * GT_WORK_COUNT + 9)

/* Those whose condition does not hold. */
static gt_word go_round(const struct gt_writer *w, gt_word access, uint32_t target)
{
	return gt_with(gt_make_branch(w->arch, gt_here(w), target), 12, 4, gt_bits(access, 12, 4) ^ 8);
}

static void write_detour(struct gt_writer *w, const struct gt_site *site, gt_word access, unsigned pauses)
{
	bool guarded = !gt_unguarded(access);
	uint32_t meet;

	for (unsigned i = 0; i < pauses; i++)
		gt_put(w, gt_make_pause(GT_WAIT_ALL));
	meet = gt_here(w) + (1 + guarded + CALL_WORDS) * GT_WORD;
	gt_put(w, gt_make_bssy(w->arch, GT_OUTER_BARRIER, gt_here(w), meet + GT_WORD));
	if (guarded)
		gt_put(w, go_round(w, access, meet));
	write_call(w, &site->access);
	gt_put(w, gt_make_bsync(w->arch, GT_OUTER_BARRIER));
	gt_put(w, gt_make_pause(GT_WAIT_ALL));
	gt_put(w, gt_with(access, 122, 4, 0));	/* no operand is kept over the detour */
	gt_put(w, gt_make_branch(w->arch, gt_here(w), site->at + GT_WORD));
}

static void redirect(struct gt_writer *w, const struct gt_site *site, uint32_t target)
{
	uint8_t *place = w->code->text.data + site->at;

	gt_word_write(place, gt_make_branch(w->arch, site->at, target));
	gt_word_write(place - GT_WORD, gt_with(gt_word_read(place - GT_WORD), 122, 4, 0));
}

/* One for each kind of access that there is. */
static void write_routines(struct gt_writer *w, const struct gt_graft_plan *plan, const struct gt_sites *sites)
{
	for (unsigned i = 0; i < sites->count; i++) {
		unsigned point = sites->list[i].access.point;

		if (w->code->at[point])
			continue;
		gt_take_stub(w, gt_graft_plan_stub(plan, point));
		write_routine(w, point);
	}
}

void gt_write_detours(struct gt_writer *w, const struct gt_graft_plan *plan, const struct gt_sites *sites)
{
	if (!sites->count)
		return;
	w->code->detours = gt_here(w);
	write_routines(w, plan, sites);
	for (unsigned i = 0; i < sites->count && !w->code->text.failed; i++) {
		const struct gt_site *site = &sites->list[i];
		gt_word access = gt_word_read(w->code->text.data + site->at);
		uint32_t detour = gt_here(w);

		write_detour(w, site, access, sites->matrix ? MATRIX_PAUSES : 1);
		if (!w->code->text.failed)
			redirect(w, site, detour);
	}
	gt_close_code(w);
}
