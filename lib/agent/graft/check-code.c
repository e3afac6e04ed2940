/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads grafted code without knowing how it came about: the kernel's own
 * instructions are where and what they were, and from the stubs there is no way
 * but back to the second instruction or to the end of the thread.
 */
#include "lib/agent/graft/check.h"

#include "lib/agent/graft/writer.h"

static gt_word word_at(const uint8_t *code, uint64_t at)
{
	return gt_word_read(code + at);
}

static bool is_branch_to(const struct gt_code_pair *pair, uint64_t at, uint64_t target)
{
	gt_word word = word_at(pair->after, at);

	return gt_op(word) == GT_OP_BRA && gt_target(word, pair->arch, (int64_t)at) == (int64_t)target;
}

bool gt_check_always_branches(const struct gt_code_pair *pair, uint64_t at, uint64_t target)
{
	gt_word word = word_at(pair->after, at);

	return is_branch_to(pair, at, target) && gt_unguarded(word) &&
	       word == gt_make_branch(pair->arch, (int64_t)at, (int64_t)target);
}

static bool same_but(gt_word a, gt_word b, unsigned at, unsigned count)
{
	return gt_with(a, at, count, 0) == gt_with(b, at, count, 0);
}

/* ---- the kernel's own instructions ---- */

static bool exit_was_redirected(const struct gt_code_pair *pair, uint64_t at, uint64_t target)
{
	gt_word old = word_at(pair->before, at), new = word_at(pair->after, at);

	return is_branch_to(pair, at, target) && gt_bits(old, 12, 4) == gt_bits(new, 12, 4) &&
	       gt_bits(old, 87, 4) == gt_bits(new, 87, 4) &&
	       new == gt_make_branch_like(old, pair->arch, (int64_t)at, (int64_t)target);
}

static bool only_waits_longer(gt_word old, gt_word new)
{
	return gt_reads_late(old) && same_but(old, new, 113, 3) && gt_read_barrier(new) == GT_LATE_BARRIER;
}

/* What the kernel does late is announced; and no operand is kept over the detour of an access that follows. */
static bool only_announced(const struct gt_code_pair *pair, uint64_t at)
{
	gt_word expected = gt_settled(word_at(pair->before, at));

	if (gt_check_detours_at(pair, at + GT_WORD))
		expected = gt_with(expected, 122, 4, 0);
	return word_at(pair->after, at) == expected;
}

static const char *check_own(const struct gt_code_pair *pair, uint64_t entry, uint64_t exit)
{
	for (uint64_t at = 0; at < pair->before_size; at += GT_WORD) {
		gt_word old = word_at(pair->before, at), new = word_at(pair->after, at);

		if (!at && pair->entry) {
			if (!gt_check_always_branches(pair, 0, entry))
				return "the first instruction does not lead to the probes";
		} else if (pair->exit && gt_is_exit(old)) {
			if (!exit_was_redirected(pair, at, exit))
				return "an exit does not lead to the probes";
		} else if (pair->detours) {
			if (!gt_check_detours_at(pair, at) && !only_announced(pair, at))
				return "an instruction of the kernel has changed";
		} else if (old != new && !(pair->exit && only_waits_longer(old, new))) {
			return "an instruction of the kernel has changed";
		} else if (pair->exit && gt_reads_late(new)) {
			return "an instruction may still be reading when the probes begin";
		}
	}
	return NULL;
}

/* ---- stubs ---- */

/* Leads to where it says or to the next instruction, or back from a call. */
static bool stays_within(const struct gt_code_pair *pair, uint64_t at, const struct gt_code_region *region)
{
	gt_word word = word_at(pair->after, at);
	int64_t target;

	if (gt_has_target(word)) {
		target = gt_target(word, pair->arch, (int64_t)at);
		return target >= (int64_t)region->begin && target < (int64_t)region->end && !(target % GT_WORD);
	}
	switch (gt_op_proper(word)) {
	case GT_OPP_BRA:
	case GT_OPP_CALL:
	case GT_OPP_CALL_ABS:
	case GT_OPP_BRX:
	case GT_OPP_BRXU:
	case GT_OPP_JMP:
	case GT_OPP_JMX:
	case GT_OPP_LEPC:
	case GT_OPP_USETMAXREG:
		return false;
	}
	return true;
}

static bool reads_place_holder(gt_word word)
{
	unsigned special = gt_bits(word, 72, 8);

	return gt_op(word) == GT_OP_S2R && (special == GT_SR_LANEMASK_LE || special == GT_SR_LANEMASK_GT);
}

/* A parameter that is not the hidden one, or constants of another bank. */
static bool reads_others(const struct gt_code_pair *pair, gt_word word)
{
	unsigned at = gt_constant_at(word);

	if (gt_op(word) == GT_OP_LDCU)
		return gt_bits(word, 54, 5) || gt_uniform_constant_at(word) >= gt_elf_param_base(pair->arch);
	if (gt_op(word) != GT_OP_MOV_CONSTANT && gt_op_proper(word) != (GT_OP_LDC & 0x1ff))
		return false;
	return gt_bits(word, 54, 5) || (at >= gt_elf_param_base(pair->arch) &&
					(at < pair->hidden || at >= pair->hidden + sizeof(struct gt_launch_param)));
}

const char *gt_check_stub(const struct gt_code_pair *pair, const struct gt_code_region *region, uint64_t way_back)
{
	for (uint64_t at = region->begin; at < region->end; at += GT_WORD) {
		if (at != way_back && !stays_within(pair, at, region))
			return "the probes' code leads out of itself";
		if (reads_place_holder(word_at(pair->after, at)))
			return "a number is missing in the probes' code";
		if (at + GT_WORD != way_back && reads_others(pair, word_at(pair->after, at)))
			return "the probes' code reads constants that are not theirs";
	}
	return NULL;
}

/* Nothing falls into the padding: behind the last instruction is a branch to itself. */
bool gt_check_padding(const struct gt_code_pair *pair, uint64_t at, uint64_t end)
{
	if (at >= end || !gt_check_always_branches(pair, at, at))
		return false;
	for (at += GT_WORD; at < end; at += GT_WORD)
		if (gt_op(word_at(pair->after, at)) != GT_OP_NOP)
			return false;
	return true;
}

/* The only branch out of the entry stub; 0: there is none, or more than one. */
static uint64_t find_way_back(const struct gt_code_pair *pair, const struct gt_code_region *region)
{
	uint64_t found = 0;

	for (uint64_t at = region->begin; at < region->end; at += GT_WORD) {
		if (!is_branch_to(pair, at, GT_WORD))
			continue;
		if (found || !gt_check_always_branches(pair, at, GT_WORD))
			return 0;
		found = at;
	}
	return found;
}

static const char *check_entry(const struct gt_code_pair *pair, const struct gt_code_region *region)
{
	uint64_t back = find_way_back(pair, region);
	gt_word first = gt_with(word_at(pair->before, 0), 122, 4, 0);

	if (pair->detours)
		first = gt_settled(first);
	if (pair->kept && word_at(pair->after, region->begin) != gt_make_read_special(pair->kept, GT_SR_TID))
		return "the probes at entry do not keep what those at exit need";
	if (back < region->begin + 2 * GT_WORD)
		return "there is no way back from the probes at entry";
	if (word_at(pair->after, back - GT_WORD) != first)
		return "the kernel's first instruction is not where it should be";
	if (word_at(pair->after, back - 2 * GT_WORD) != gt_make_nop(GT_WAIT_ALL))
		return "the probes at entry do not wait for their own accesses";
	if (!gt_check_padding(pair, back + GT_WORD, region->end))
		return "there is code behind the probes at entry";
	for (uint64_t at = region->begin; at < back; at += GT_WORD) {
		if (gt_op_proper(word_at(pair->after, at)) == (GT_OP_EXIT & 0x1ff))
			return "the probes at entry may end the thread";
		if (at < back - 2 * GT_WORD && gt_reads_late(word_at(pair->after, at)))
			return "the probes at entry may still be reading when the kernel begins";
	}
	return gt_check_stub(pair, region, back);
}

static bool disturbs_warp(gt_word word)
{
	unsigned proper = gt_op_proper(word), op = gt_op(word);

	return op == GT_OP_BSSY || op == GT_OP_BSYNC || op == GT_OP_BREAK || proper == GT_OPP_WARPSYNC ||
	       (proper >= GT_OPP_BMOV && proper <= GT_OPP_BMOV + 2);
}

/* Uniform registers are the warp's, of which other threads may be in the kernel. */
const char *gt_check_uniform(const struct gt_code_pair *pair, const struct gt_code_region *region)
{
	bool used[GT_UR_COUNT] = { false };
	struct gt_uniform places[GT_UNIFORM_MAX];

	for (uint64_t at = 0; at < pair->before_size; at += GT_WORD)
		gt_uniform_mark(word_at(pair->before, at), used);
	for (uint64_t at = region->begin; at < region->end; at += GT_WORD) {
		gt_word word = word_at(pair->after, at);
		int count = gt_uniform_places(word, places);

		if (count < 0 || disturbs_warp(word))
			return "the probes may disturb threads that are elsewhere in the kernel";
		for (int k = 0; k < count; k++) {
			unsigned number = gt_bits(word, places[k].at, 6);

			if (places[k].written && number != GT_URZ &&
			    (used[number] || used[(number + places[k].width - 1u) % GT_UR_COUNT]))
				return "the probes write a uniform register of the kernel";
		}
	}
	return NULL;
}

static const char *check_exit(const struct gt_code_pair *pair, const struct gt_code_region *region)
{
	uint64_t at = region->end;
	const char *wrong;

	if (word_at(pair->after, region->begin) != gt_make_nop(GT_WAIT_ALL))
		return "the probes at exit do not wait for the kernel's accesses";
	while (at > region->begin && !gt_check_always_branches(pair, at - GT_WORD, at - GT_WORD))
		at -= GT_WORD;
	if (at == region->begin || !gt_check_padding(pair, at - GT_WORD, region->end))
		return "there is no end to the probes at exit";
	wrong = gt_check_stub(pair, region, 0);
	return wrong ? wrong : gt_check_uniform(pair, region);
}

/* What code is closed with, and what it is padded with. */
static bool ends_code(const struct gt_code_pair *pair, uint64_t at)
{
	return gt_check_always_branches(pair, at, at) || word_at(pair->after, at) == gt_make_nop(0);
}

/* Where the exit stub begins: where the exits lead; without any, behind the entry stub. */
static uint64_t find_exit_stub(const struct gt_code_pair *pair, uint64_t from, uint64_t end)
{
	for (uint64_t at = pair->entry ? GT_WORD : 0; at < pair->before_size; at += GT_WORD)
		if (gt_is_exit(word_at(pair->before, at)))
			return (uint64_t)gt_target(word_at(pair->after, at), pair->arch, (int64_t)at);
	if (!pair->entry)
		return from;
	for (uint64_t at = from + 128; at < end; at += 128)
		if (word_at(pair->after, at) == gt_make_nop(GT_WAIT_ALL) && ends_code(pair, at - GT_WORD))
			return at;
	return 0;
}

const char *gt_check_code(const struct gt_code_pair *pair)
{
	uint64_t begin = (pair->before_size + 127) & ~(uint64_t)127, end = pair->detours ? pair->detours : pair->after_size;
	uint64_t exit = end;
	bool nothing = !pair->entry && !pair->exit && !pair->detours;	/* no accesses that programs are meant for */
	const char *wrong;

	if (pair->after_size % 128 || pair->after_size < begin || (pair->after_size == begin) != nothing ||
	    pair->before_size < 2 * GT_WORD || end % 128 || end < begin || end > pair->after_size)
		return "the code's size is wrong";
	for (uint64_t at = pair->before_size; at < begin; at += GT_WORD)
		if (word_at(pair->after, at) != gt_make_nop(0))
			return "there is code between the kernel and the probes";
	if (pair->exit) {
		exit = find_exit_stub(pair, begin, end);
		if (exit % 128 || exit < begin || exit >= end || (!pair->entry && exit != begin))
			return "the probes at exit are not where they should be";
	}
	wrong = check_own(pair, begin, exit);
	if (!wrong && pair->entry)
		wrong = check_entry(pair, &(struct gt_code_region){ begin, exit });
	if (!wrong && pair->exit)
		wrong = check_exit(pair, &(struct gt_code_region){ exit, end });
	if (!wrong && pair->detours)
		wrong = gt_check_detours(pair);
	return wrong;
}
