/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the code that was added for memory accesses: routines, then one detour for each access, in order.
 * A detour is followed step by step: what is in its four registers and on the stack, from where the access was to
 * where it is now, and what the routine is told.  Of a routine: whatever the probes may change is put back.
 */
#include "lib/agent/graft/access.h"
#include "lib/agent/graft/check.h"
#include "lib/agent/graft/keep.h"
#include "lib/agent/graft/stack.h"
#include "lib/agent/graft/stub.h"
#include "lib/agent/graft/writer.h"

static gt_word word_at(const struct gt_code_pair *pair, uint64_t at)
{
	return gt_word_read(pair->after + at);
}

bool gt_check_detours_at(const struct gt_code_pair *pair, uint64_t at)
{
	int64_t target;

	if (!pair->detours || !at || at >= pair->before_size ||
	    gt_insn_access(gt_word_read(pair->before + at)).kind != GT_ACCESS_KNOWN || gt_op(word_at(pair, at)) != GT_OP_BRA)
		return false;
	target = gt_target(word_at(pair, at), pair->arch, (int64_t)at);
	return target >= (int64_t)pair->detours && target < (int64_t)pair->after_size &&
	       gt_check_always_branches(pair, at, (uint64_t)target);
}

/* ---- one detour ---- */

enum what {
	NOTHING_KNOWN,
	KERNELS,	/* register `number` as the kernel has it */
	NUMBER,
	ADDRESS_LOW,
	ADDRESS_HIGH,
};

struct value {
	enum what what;
	uint32_t number;
};

#define SLOTS 9u	/* of 4 bytes below the stack pointer */

struct detour {
	const struct gt_code_pair *pair;
	uint64_t at;			/* the instruction at hand */
	struct gt_insn_access access;
	struct value registers[GT_WORK_COUNT], slots[SLOTS];
	unsigned read;			/* bits of registers: a store may still be reading them */
	uint64_t routine;		/* 0: it has not been called yet */
};

static bool is(struct value value, enum what what, uint32_t number)
{
	return value.what == what && value.number == number;
}

/* The slot that a load or store means; SLOTS: none of them. */
static unsigned slot_of(gt_word word)
{
	unsigned below = -(gt_bits(word, 40, 24) | 0xff000000u);

	return below && below % 4 == 0 && below / 4 <= SLOTS ? below / 4 - 1 : SLOTS;
}

static bool keep(struct detour *d, gt_word word)
{
	unsigned reg = gt_bits(word, 32, 8), slot = slot_of(word);

	if (slot == SLOTS || !gt_is_work(reg) || word != gt_make_keep(reg, 4 * slot + 4))
		return false;
	d->slots[slot] = d->registers[reg - GT_WORK_FIRST];
	d->read |= 1u << reg;
	return true;
}

static bool restore(struct detour *d, gt_word word)
{
	unsigned reg = gt_bits(word, 16, 8), slot = slot_of(word);

	if (slot == SLOTS || !gt_is_work(reg) || word != gt_make_restore(reg, 4 * slot + 4))
		return false;
	if (d->read >> reg & 1)
		return false;
	d->registers[reg - GT_WORK_FIRST] = d->slots[slot];
	return true;
}

static bool set_number(struct detour *d, gt_word word)
{
	unsigned reg = gt_bits(word, 16, 8), wait = d->read ? 1u << GT_LATE_BARRIER : 0;

	if (!gt_is_work(reg) || word != gt_with(gt_make_number(reg, gt_bits(word, 32, 32)), 116, 6, wait))
		return false;
	d->read = 0;
	d->registers[reg - GT_WORK_FIRST] = (struct value){ NUMBER, gt_bits(word, 32, 32) };
	return true;
}

/* 1 times the access's offset, and its pair of registers as the kernel has them. */
static bool work_out(struct detour *d, gt_word word)
{
	unsigned reg = gt_bits(word, 16, 8), from = d->access.address;
	struct value *pair;

	if ((reg != GT_WORK_FIRST && reg != GT_WORK_FIRST + 2) || word != gt_make_add_wide(reg, from, d->access.offset) ||
	    d->read >> reg & 3)
		return false;
	pair = &d->registers[reg - GT_WORK_FIRST];
	if (!is(pair[0], NUMBER, 1))
		return false;
	for (unsigned i = 0; i < 2; i++)
		if (gt_is_work(from + i) && !is(d->registers[from + i - GT_WORK_FIRST], KERNELS, from + i))
			return false;
	pair[0] = (struct value){ ADDRESS_LOW, 0 };
	pair[1] = (struct value){ ADDRESS_HIGH, 0 };
	return true;
}

static bool call(struct detour *d, gt_word word)
{
	uint32_t info = d->access.bytes | d->access.space << GT_INFO_SPACE_AT;
	int64_t target = gt_op(word) == GT_OP_BRA ? gt_target(word, d->pair->arch, (int64_t)d->at) : 0;

	if (target <= 0 || d->routine || !gt_check_always_branches(d->pair, d->at, (uint64_t)target))
		return false;
	d->routine = (uint64_t)target;
	return is(d->registers[0], NUMBER, (uint32_t)d->at + GT_WORD) && is(d->registers[1], NUMBER, 0) &&
	       is(d->registers[2], NUMBER, info) && is(d->slots[GT_KEPT_ADDRESS / 4 - 1], ADDRESS_LOW, 0) &&
	       is(d->slots[GT_KEPT_ADDRESS / 4 - 2], ADDRESS_HIGH, 0);
}

/* Up to where threads meet again. */
static bool follow(struct detour *d, uint64_t end)
{
	for (; d->at < end; d->at += GT_WORD) {
		gt_word word = word_at(d->pair, d->at);

		if (!keep(d, word) && !restore(d, word) && !set_number(d, word) && !work_out(d, word) && !call(d, word) &&
		    word != gt_make_pause(0))
			return false;
	}
	for (unsigned i = 0; i < GT_WORK_COUNT; i++)
		if (!is(d->registers[i], KERNELS, GT_WORK_FIRST + i))
			return false;
	return d->routine;
}

/* From the access's conditions on: those who do not do it are to meet the others. */
static bool check_meeting(struct detour *d, gt_word access, uint64_t *ret_meet)
{
	const struct gt_code_pair *pair = d->pair;
	gt_word word = word_at(pair, d->at);
	int64_t after = gt_op(word) == GT_OP_BSSY ? gt_target(word, pair->arch, (int64_t)d->at) : 0;

	if (after <= (int64_t)d->at + (int64_t)GT_WORD || after >= (int64_t)pair->after_size || after % GT_WORD ||
	    word != gt_make_bssy(pair->arch, GT_OUTER_BARRIER, (int64_t)d->at, after))
		return false;
	*ret_meet = (uint64_t)after - GT_WORD;
	d->at += GT_WORD;
	if (!gt_unguarded(access)) {
		word = gt_make_branch(pair->arch, (int64_t)d->at, (int64_t)*ret_meet);
		if (word_at(pair, d->at) != gt_with(word, 12, 4, gt_bits(access, 12, 4) ^ 8))
			return false;
		d->at += GT_WORD;
	}
	return true;
}

/* The detour of the access at `at`, which begins at d->at; past its end there then. */
static const char *check_detour(struct detour *d, uint64_t at)
{
	const struct gt_code_pair *pair = d->pair;
	gt_word access = gt_word_read(pair->before + at);
	uint64_t meet, begin = d->at;

	d->access = gt_insn_access(access);
	for (unsigned i = 0; i < GT_WORK_COUNT; i++)
		d->registers[i] = (struct value){ KERNELS, GT_WORK_FIRST + i };
	while (d->at < pair->after_size && word_at(pair, d->at) == gt_make_pause(GT_WAIT_ALL))
		d->at += GT_WORD;
	if (d->at == begin || d->at + 8 * GT_WORD > pair->after_size || !check_meeting(d, access, &meet) ||
	    meet + 4 * GT_WORD > pair->after_size || !follow(d, meet))
		return "code at a memory access is not right";
	if (word_at(pair, meet) != gt_make_bsync(pair->arch, GT_OUTER_BARRIER) ||
	    word_at(pair, meet + GT_WORD) != gt_make_pause(GT_WAIT_ALL) ||
	    word_at(pair, meet + 2 * GT_WORD) != gt_with(gt_settled(access), 122, 4, 0) ||
	    !gt_check_always_branches(pair, meet + 3 * GT_WORD, at + GT_WORD))
		return "a memory access is not where it should be";
	d->at = meet + 4 * GT_WORD;
	return NULL;
}

/* ---- a routine ---- */

/* Registers kept at its beginning, from 0 on, the stack pointer and those of the detour left out. */
static unsigned count_kept(const struct gt_code_pair *pair, uint64_t *at, uint64_t end, bool keep)
{
	unsigned reg = 0;

	for (; *at < end; reg++) {
		unsigned below = GT_KEPT_REGISTERS + 4 * reg;

		if (reg == GT_STACK_POINTER || gt_is_work(reg))
			continue;
		if (word_at(pair, *at) != (keep ? gt_make_keep(reg, below) : gt_make_restore(reg, below)))
			break;
		*at += GT_WORD;
	}
	return reg;
}

static bool expect(const struct gt_code_pair *pair, uint64_t *at, const gt_word *words, unsigned count)
{
	for (unsigned i = 0; i < count; i++, *at += GT_WORD)
		if (*at >= pair->after_size || word_at(pair, *at) != words[i])
			return false;
	return true;
}

static bool is_control_flow(gt_word word)
{
	return gt_has_target(word) || (gt_op_proper(word) >= 0x140 && gt_op_proper(word) < 0x160);
}

/* They change no register above those that are kept, and the stack pointer at their two ends alone, alike. */
static const char *check_probes(const struct gt_code_pair *pair, const struct gt_code_region *probes, unsigned registers)
{
	gt_word first = word_at(pair, probes->begin), last = word_at(pair, probes->end - GT_WORD);
	int32_t room = gt_stack_moved(last);

	if (room < (int32_t)gt_kept_bytes(registers) || first != gt_make_add(GT_STACK_POINTER, GT_STACK_POINTER, -room) ||
	    last != gt_make_add(GT_STACK_POINTER, GT_STACK_POINTER, room))
		return "the probes at accesses do not leave the stack as it was";
	for (uint64_t at = probes->begin + GT_WORD; at < probes->end - GT_WORD; at += GT_WORD) {
		gt_word word = word_at(pair, at);
		unsigned result = gt_bits(word, 16, 8);

		if (gt_moves_stack_pointer(word) || gt_upsets_stack(word))
			return "the probes at accesses do not leave the stack as it was";
		if (gt_op_proper(word) == (GT_OP_EXIT & 0x1ff))
			return "the probes at accesses may end the thread";
		if (gt_reads_late(word) || gt_reads_index(word))
			return "the probes at accesses may still be reading when they have ended";
		if (!is_control_flow(word) && result != GT_RZ && result >= registers)
			return "the probes at accesses change registers of the kernel";
	}
	return NULL;
}

/* Where its probes end: behind them all is put back. */
static uint64_t find_restoring(const struct gt_code_pair *pair, uint64_t at)
{
	gt_word restores = gt_make_restore(GT_WORK_FIRST + 3, GT_KEPT_PREDICATES);

	while (at + GT_WORD < pair->after_size &&
	       !(word_at(pair, at) == gt_make_pause(GT_WAIT_ALL) && word_at(pair, at + GT_WORD) == restores))
		at += GT_WORD;
	return at;
}

/* The routine at `at`; past its end in *ret_end. */
static const char *check_routine(const struct gt_code_pair *pair, uint64_t at, uint64_t *ret_end)
{
	const unsigned work = GT_WORK_FIRST;
	const gt_word begin[] = {
		gt_make_keep(work, GT_KEPT_RETURN), gt_make_keep(work + 2, GT_KEPT_INFO), gt_make_keep_predicates(work + 3),
		gt_make_keep(work + 3, GT_KEPT_PREDICATES), gt_make_pause(GT_WAIT_ALL),
	};
	const gt_word middle[] = {
		gt_make_pause(GT_WAIT_ALL), gt_make_restore(work + 3, GT_KEPT_PREDICATES),
		gt_make_restore(work, GT_KEPT_RETURN), gt_make_number(work + 1, 0),
	};
	const gt_word end[] = { gt_make_pause(GT_WAIT_ALL), gt_make_restore_predicates(work + 3), gt_make_pause(0) };
	struct gt_code_region probes;
	const char *wrong;
	unsigned kept = count_kept(pair, &at, pair->after_size, true);

	if (kept < GT_WORK_FIRST + GT_WORK_COUNT || !expect(pair, &at, begin, 5))
		return "the probes at accesses do not keep the kernel's registers";
	probes.begin = at;
	probes.end = at = find_restoring(pair, at);
	if (probes.end < probes.begin + 2 * GT_WORD || !expect(pair, &at, middle, 4) ||
	    count_kept(pair, &at, pair->after_size, false) != kept || !expect(pair, &at, end, 3) ||
	    at + GT_WORD >= pair->after_size || word_at(pair, at) != gt_make_return((int64_t)at, work))
		return "the probes at accesses do not put the kernel's registers back";
	*ret_end = (at + 2 * GT_WORD + GT_CODE_ALIGN - 1) & ~(uint64_t)(GT_CODE_ALIGN - 1);
	if (*ret_end > pair->after_size || !gt_check_padding(pair, at + GT_WORD, *ret_end))
		return "there is code behind the probes at accesses";
	wrong = check_probes(pair, &probes, kept);
	if (!wrong)
		wrong = gt_check_stub(pair, &probes, 0);
	return wrong ? wrong : gt_check_uniform(pair, &probes);
}

/* ---- all of them ---- */

#define ROUTINES 3u	/* at most: one for each kind of access */

struct routines {
	uint64_t at[ROUTINES], end;
	unsigned count;
	uint32_t point[ROUTINES];	/* of the accesses that come to it; 0: none yet */
};

/* One routine after another, up to the first detour. */
static const char *check_routines(const struct gt_code_pair *pair, struct routines *routines)
{
	gt_word detour = gt_make_pause(GT_WAIT_ALL);
	const char *wrong = NULL;

	routines->end = pair->detours;
	while (!wrong && routines->end < pair->after_size && word_at(pair, routines->end) != detour) {
		if (routines->count == ROUTINES)
			return "there are too many probes at accesses";
		routines->at[routines->count++] = routines->end;
		wrong = check_routine(pair, routines->end, &routines->end);
	}
	return wrong;
}

/* Accesses of one kind come to one routine, of different kinds to different ones. */
static bool is_its_routine(struct routines *routines, const struct detour *d)
{
	for (unsigned i = 0; i < routines->count; i++) {
		if (routines->at[i] != d->routine)
			continue;
		if (!routines->point[i])
			routines->point[i] = d->access.point;
		return routines->point[i] == d->access.point;
	}
	return false;
}

const char *gt_check_detours(const struct gt_code_pair *pair)
{
	struct routines routines = { 0 };
	const char *wrong = check_routines(pair, &routines);
	uint64_t next = routines.end;
	unsigned found = 0;

	for (uint64_t at = GT_WORD; !wrong && at < pair->before_size; at += GT_WORD) {
		struct detour d = { .pair = pair, .at = next };

		if (!gt_check_detours_at(pair, at))
			continue;
		found++;
		if (gt_target(word_at(pair, at), pair->arch, (int64_t)at) != (int64_t)next)
			return "an access does not lead to its probes";
		wrong = check_detour(&d, at);
		if (!wrong && !is_its_routine(&routines, &d))
			wrong = "an access does not lead to its probes";
		next = d.at;
	}
	if (!wrong && (found != pair->accesses || !gt_check_padding(pair, next, pair->after_size)))
		wrong = "accesses are missing";
	return wrong;
}
