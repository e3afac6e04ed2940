/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of a warp run a program together.  A helper that exchanges data
 * between them makes sense only where all of them arrive, so: find the values
 * that may differ between threads, the branches that depend on such a value,
 * and what lies between each of these branches and the place where its ways
 * meet again.  What is set there differs afterwards, too.
 */
#include <errno.h>
#include <stdlib.h>

#include <gputrace/object.h>

#include "lib/verify/context.h"
#include "lib/verify/flow.h"
#include "lib/verify/helpers.h"
#include "lib/util/insn.h"

#define INSNS_MAX 16384u	/* programs with helpers for warps */
#define VISITS_MAX 50000000u

struct simt {
	struct gt_verifier *v;
	uint16_t *differs;	/* registers, as bits, before each instruction */
	uint8_t *divided;	/* not all threads of the warp may be here */
	uint64_t *slots;	/* stack slots that may differ, at a function's first instruction */
	uint8_t *result;	/* the function's result may differ, likewise */
	uint32_t *meet;
	uint32_t *work;		/* instructions to look at again */
	uint8_t *queued;
	uint8_t *parts;		/* the branch is known to part the threads */
	unsigned work_count;
	uint8_t no_memory;
};

static void queue(struct simt *s, unsigned at)
{
	if (s->queued[at] || !s->v->facts[at].reached)
		return;
	s->queued[at] = 1;
	s->work[s->work_count++] = at;
}

static void queue_all(struct simt *s)
{
	for (unsigned at = 0; at < s->v->prog->insn_count; at++)
		queue(s, at);
}

static void flow_to(struct simt *s, unsigned at, uint16_t differs)
{
	if (!(differs & ~s->differs[at]))
		return;
	s->differs[at] |= differs;
	queue(s, at);
}

static void divide(struct simt *s, unsigned at)
{
	if (s->divided[at])
		return;
	s->divided[at] = 1;
	queue(s, at);
}

static uint64_t touched_slots(const struct gt_touch *t)
{
	uint64_t slots = 0;

	for (int at = t->low; at < t->high; at++)
		slots |= UINT64_C(1) << ((-at - 1) / 8);
	return slots;
}

/* What an instruction writes to the stack may differ. */
static void spoil_stack(struct simt *s, unsigned at)
{
	const struct gt_touch *t = &s->v->writes[at];
	uint64_t *slots = &s->slots[s->v->function[at]];
	bool changed = false;

	if (t->elsewhere) {
		for (unsigned i = 0; i < s->v->prog->insn_count; i++) {
			changed |= s->slots[i] != UINT64_MAX;
			s->slots[i] = UINT64_MAX;
		}
	} else {
		changed = touched_slots(t) & ~*slots;
		*slots |= touched_slots(t);
	}
	if (changed)
		queue_all(s);
}

/* May the stack that an instruction reads differ? */
static bool stack_differs(const struct simt *s, unsigned at)
{
	const struct gt_touch *t = &s->v->reads[at];

	return t->elsewhere || (touched_slots(t) & s->slots[s->v->function[at]]);
}

static bool load_differs(const struct simt *s, unsigned at)
{
	const struct bpf_insn *insn = &s->v->prog->insns[at];
	const struct gt_fact *fact = &s->v->facts[at];

	if (s->differs[at] >> insn->src_reg & 1)
		return true;
	switch (fact->mem) {
	case GT_MEM_CONTEXT:
		return gt_context_is_per_lane(fact->offset, gt_insn_bytes(insn->code));
	case GT_MEM_STACK:
		return stack_differs(s, at);
	case GT_MEM_MAP:
		return fact->map < 0 || !s->v->prog->maps[fact->map]->read_only;
	default:
		return true;
	}
}

/* Some threads of a warp may be missing on the ways from here, up to `meet`. */
static void divide_after(struct simt *s, unsigned at, uint32_t meet)
{
	unsigned next[2], count = gt_flow_next(s->v, at, next), depth = 0;
	uint32_t *stack = malloc(sizeof(*stack) * (s->v->prog->insn_count + 2));
	uint8_t *seen = calloc(s->v->prog->insn_count, 1);

	if (!stack || !seen) {
		s->no_memory = 1;
		count = 0;
	}
	for (unsigned i = 0; i < count; i++)
		stack[depth++] = next[i];
	while (depth) {
		unsigned to = stack[--depth];

		if (to == meet || seen[to])
			continue;
		seen[to] = 1;
		divide(s, to);
		for (unsigned i = gt_flow_next(s->v, to, next); i > 0; i--)
			if (!seen[next[i - 1]])
				stack[depth++] = next[i - 1];
	}
	free(stack);
	free(seen);
}

static void visit_condition(struct simt *s, unsigned at)
{
	const struct bpf_insn *insn = &s->v->prog->insns[at];
	unsigned next[2];
	bool differs = s->differs[at] >> insn->dst_reg & 1;

	if (BPF_SRC(insn->code) == BPF_X)
		differs |= s->differs[at] >> insn->src_reg & 1;
	if (!differs || s->parts[at] || gt_flow_next(s->v, at, next) < 2)
		return;
	s->parts[at] = 1;
	divide_after(s, at, s->meet[at]);
}

static void enter_function(struct simt *s, unsigned start, uint16_t differs, bool divided)
{
	flow_to(s, start, differs);
	if (divided && !s->divided[start]) {
		for (unsigned i = start; i < s->v->prog->insn_count && s->v->function[i] == start; i++)
			divide(s, i);
	}
}

static uint16_t call_function(struct simt *s, unsigned at, uint16_t differs)
{
	unsigned start = at + 1 + (unsigned)s->v->prog->insns[at].imm;

	enter_function(s, start, differs & 0x3e, s->divided[at]);
	return s->result[start];
}

/* bpf_loop: threads may stop at different turns when the count or the callback's result differs. */
static void call_callback(struct simt *s, unsigned at, uint16_t differs)
{
	unsigned start = s->v->facts[at].callback;
	bool apart = s->divided[at] || (differs & 1u << 1) || s->result[start];

	enter_function(s, start, (uint16_t)((apart ? 1u << 1 : 0) | (differs >> 3 & 1) << 2), apart);
}

static bool lookup_differs(const struct simt *s, unsigned at)
{
	const struct gt_fact *fact = &s->v->facts[at];
	const struct gt_touch *key = &s->v->reads[at];

	/* Others may insert into a hash table between two threads' lookups; a key in a map, too, may change. */
	return fact->map < 0 ||
	       gt_map_classify(s->v->prog->maps[fact->map]->type) != GT_MAP_CLASS_ARRAY ||
	       (key->low == key->high && !key->elsewhere) || stack_differs(s, at);
}

static uint16_t call_helper(struct simt *s, unsigned at, uint16_t differs)
{
	const struct gt_helper *helper = gt_helper_find((uint32_t)s->v->prog->insns[at].imm);
	bool result = helper->flags & GT_HELPER_PER_LANE;

	for (unsigned i = 0; i < 5; i++)
		if (helper->arg[i] != GT_ARG_NONE && helper->arg[i] != GT_ARG_ANY)
			result |= differs >> (i + 1) & 1;
	if (helper->ret == GT_RET_VALUE_OR_NULL)
		result |= lookup_differs(s, at);
	if (result || s->divided[at])
		spoil_stack(s, at);
	if (s->v->facts[at].callback)
		call_callback(s, at, differs);
	/* What the threads made together is the same in all of them. */
	return helper->flags & GT_HELPER_WARP ? 0 : result;
}

static void visit_store(struct simt *s, unsigned at)
{
	const struct bpf_insn *insn = &s->v->prog->insns[at];
	uint16_t differs = s->differs[at];

	if (s->v->facts[at].mem != GT_MEM_STACK)
		return;
	if (s->divided[at] || (differs >> insn->dst_reg & 1) || BPF_MODE(insn->code) == BPF_ATOMIC ||
	    (BPF_CLASS(insn->code) == BPF_STX && (differs >> insn->src_reg & 1)))
		spoil_stack(s, at);
}

static bool alu_differs(const struct simt *s, unsigned at)
{
	const struct bpf_insn *insn = &s->v->prog->insns[at];
	bool differs = false;

	if (gt_insn_is_wide(insn))
		return false;
	if (BPF_SRC(insn->code) == BPF_X && BPF_OP(insn->code) != BPF_END)
		differs = s->differs[at] >> insn->src_reg & 1;
	if (BPF_OP(insn->code) != BPF_MOV)
		differs |= s->differs[at] >> insn->dst_reg & 1;
	return differs;
}

static uint16_t with_bit(uint16_t set, unsigned reg, bool value)
{
	return (uint16_t)((set & ~(1u << reg)) | (unsigned)value << reg);
}

/* Registers that may differ after the instruction. */
static uint16_t visit(struct simt *s, unsigned at)
{
	const struct bpf_insn *insn = &s->v->prog->insns[at];
	uint16_t differs = s->differs[at];
	bool result;

	if (gt_insn_is_call(insn)) {
		result = insn->src_reg == BPF_PSEUDO_CALL ? call_function(s, at, differs) :
							    call_helper(s, at, differs);
		return (uint16_t)((differs & 0x7c0) | (result || s->divided[at] ? 1u : 0u));
	}
	if (gt_insn_is_exit(insn)) {
		unsigned start = s->v->function[at];

		if ((differs & 1) && !s->result[start]) {
			s->result[start] = 1;
			queue_all(s);
		}
		return differs;
	}
	if (gt_insn_is_condition(insn))
		visit_condition(s, at);
	if (gt_insn_is_jump(insn))
		return differs;
	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		return with_bit(differs, insn->dst_reg, load_differs(s, at) || s->divided[at]);
	case BPF_ST:
	case BPF_STX:
		visit_store(s, at);
		if (BPF_MODE(insn->code) == BPF_ATOMIC && (insn->imm & BPF_FETCH))
			differs |= (uint16_t)(1u << (insn->imm == BPF_CMPXCHG ? 0 : insn->src_reg));
		return differs;
	default:
		return with_bit(differs, insn->dst_reg, alu_differs(s, at) || s->divided[at]);
	}
}

/* Where a countdown may end the program for some threads, the others go on without them. */
static void divide_after_countdowns(struct simt *s)
{
	for (unsigned at = 0; at < s->v->prog->insn_count; at++) {
		if (!s->v->facts[at].countdown || s->divided[at])
			continue;
		divide(s, at);
		divide_after(s, at, s->v->prog->insn_count);
	}
}

static int settle(struct simt *s)
{
	unsigned visits = 0;

	divide_after_countdowns(s);
	queue_all(s);
	while (s->work_count && !s->no_memory) {
		unsigned at = s->work[--s->work_count], next[2];
		uint16_t differs;

		if (++visits > VISITS_MAX)
			return gt_refuse(s->v, at, "split it",
					 "the program is too complex for helpers that work on a warp");
		s->queued[at] = 0;
		differs = visit(s, at);
		for (unsigned i = gt_flow_next(s->v, at, next); i > 0; i--)
			flow_to(s, next[i - 1], differs);
	}
	return s->no_memory ? -ENOMEM : 0;
}

static bool is_warp_call(const struct gt_verifier *v, unsigned at)
{
	const struct bpf_insn *insn = &v->prog->insns[at];
	const struct gt_helper *helper;

	if (!v->facts[at].reached || !gt_insn_is_call(insn) || insn->src_reg)
		return false;
	helper = gt_helper_find((uint32_t)insn->imm);
	return helper && (helper->flags & GT_HELPER_WARP);
}

static int check_calls(struct simt *s)
{
	struct gt_verifier *v = s->v;

	for (unsigned at = 0; at < v->prog->insn_count; at++)
		if (is_warp_call(v, at) && s->divided[at])
			return gt_refuse(v, at, "call it before the branch, or after its ways have met again",
					 "%s needs all threads of the warp, but a branch on a value that differs between them leads here",
					 gt_helper_find((uint32_t)v->prog->insns[at].imm)->name);
	return 0;
}

static void release(struct simt *s)
{
	free(s->differs);
	free(s->divided);
	free(s->slots);
	free(s->result);
	free(s->meet);
	free(s->work);
	free(s->queued);
	free(s->parts);
}

static int analyse(struct gt_verifier *v)
{
	size_t count = v->prog->insn_count;
	struct simt s = { .v = v };
	int r = -ENOMEM;

	s.differs = calloc(count, sizeof(*s.differs));
	s.divided = calloc(count, sizeof(*s.divided));
	s.slots = calloc(count, sizeof(*s.slots));
	s.result = calloc(count, sizeof(*s.result));
	s.meet = calloc(count, sizeof(*s.meet));
	s.work = calloc(count, sizeof(*s.work));
	s.queued = calloc(count, sizeof(*s.queued));
	s.parts = calloc(count, sizeof(*s.parts));
	if (s.differs && s.divided && s.slots && s.result && s.meet && s.work && s.queued && s.parts)
		r = gt_flow_meet(v, s.meet);
	if (r == 0)
		r = settle(&s);
	if (r == 0)
		r = check_calls(&s);
	release(&s);
	return r;
}

/* Does an instruction tell the threads of a warp apart? */
static bool is_per_thread(const struct gt_verifier *v, unsigned at)
{
	const struct bpf_insn *insn = &v->prog->insns[at];
	const struct gt_fact *fact = &v->facts[at];
	const struct gt_helper *helper;

	if (fact->mem == GT_MEM_CONTEXT)
		return gt_context_is_per_lane(fact->offset, gt_insn_bytes(insn->code));
	if (!gt_insn_is_call(insn) || insn->src_reg)
		return false;
	helper = gt_helper_find((uint32_t)insn->imm);
	return (helper->flags & (GT_HELPER_THREAD | GT_HELPER_WARP)) ||
	       (fact->map >= 0 && gt_map_is_per_thread(v->prog->maps[fact->map]->type));
}

/* Elsewhere lane 0 need not be among the threads that pass. */
static bool can_be_per_warp(const struct gt_prog *prog)
{
	return prog->granularity == GPUTRACE_PER_THREAD &&
	       (prog->point == GPUTRACE_POINT_ENTRY || prog->point == GPUTRACE_POINT_EXIT);
}

static void suggest_per_warp(struct gt_verifier *v)
{
	if (!can_be_per_warp(v->prog))
		return;
	for (unsigned at = 0; at < v->prog->insn_count; at++)
		if (v->facts[at].reached && is_per_thread(v, at))
			return;
	gt_hint(v, 0, "every thread runs this program, and nothing in it tells the threads of a warp apart; where one result per warp is enough, a section cuda.warp/ costs a 32nd");
}

int gt_verify_simt(struct gt_verifier *v)
{
	unsigned first = 0;

	suggest_per_warp(v);
	while (first < v->prog->insn_count && !is_warp_call(v, first))
		first++;
	if (first == v->prog->insn_count)
		return 0;
	if (v->prog->granularity != GPUTRACE_PER_THREAD)
		return gt_refuse(v, first, "use a section cuda/ without .warp or .cta",
				 "%s works on a warp, but one thread alone runs this program",
				 gt_helper_find((uint32_t)v->prog->insns[first].imm)->name);
	if (v->prog->insn_count > INSNS_MAX)
		return gt_refuse(v, first, "split it",
				 "the program is too complex for helpers that work on a warp");
	return analyse(v);
}
