/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/compile/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/compile/helper-id.h"
#include "lib/util/error.h"
#include "lib/util/insn.h"

static bool names_function(const struct bpf_insn *insn)
{
	return gt_insn_calls_function(insn) || (gt_insn_is_wide(insn) && insn->src_reg == BPF_PSEUDO_FUNC);
}

int gt_flow_function_at(const struct gt_flow *flow, unsigned insn)
{
	unsigned low = 0, high = flow->function_count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (flow->functions[middle].start == insn)
			return (int)middle;
		if (flow->functions[middle].start < insn)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

static int bad_program(const struct gt_prog *prog, unsigned insn, const char *what)
{
	return gt_error(-EOPNOTSUPP, "program %s, instruction %u: %s", prog->name, insn, what);
}

/* Mark where functions begin: 1 called, 2 taken the address of. */
static int mark_functions(const struct gt_prog *prog, uint8_t *starts)
{
	unsigned i;
	int64_t target;

	starts[0] = 1;
	for (i = 0; i < prog->insn_count; i++) {
		const struct bpf_insn *insn = &prog->insns[i];

		if (gt_insn_is_wide(insn) && i + 1 == prog->insn_count)
			return bad_program(prog, i, "the program ends within it");
		if (names_function(insn)) {
			target = (int64_t)i + 1 + insn->imm;
			if (target < 0 || target >= prog->insn_count)
				return bad_program(prog, i, "names a function outside the program");
			starts[target] |= gt_insn_is_wide(insn) ? 3 : 1;
		}
		i += gt_insn_is_wide(insn);
	}
	return 0;
}

static int list_functions(struct gt_flow *flow, const uint8_t *starts)
{
	const struct gt_prog *prog = flow->prog;
	struct gt_function *more;
	unsigned i;

	for (i = 0; i < prog->insn_count; i++) {
		if (!starts[i])
			continue;
		more = realloc(flow->functions, (flow->function_count + 1) * sizeof(*more));
		if (!more)
			return gt_error(-ENOMEM, "out of memory for program %s", prog->name);
		flow->functions = more;
		more += flow->function_count++;
		memset(more, 0, sizeof(*more));
		more->start = i;
		more->end = prog->insn_count;
		more->callback = starts[i] & 2;
		if (flow->function_count > 1)
			more[-1].end = i;
	}
	return 0;
}

static int mark_leaders(struct gt_flow *flow, const struct gt_function *function, const bool *middle)
{
	const struct gt_prog *prog = flow->prog;
	unsigned i;
	int64_t target;

	flow->leader[function->start] = true;
	for (i = function->start; i < function->end; i++) {
		const struct bpf_insn *insn = &prog->insns[i];

		if (gt_insn_is_jump(insn)) {
			target = gt_insn_target(prog->insns, i);
			if (target < function->start || target >= function->end || middle[target])
				return bad_program(prog, i, "jumps out of its function or into the "
						   "middle of an instruction");
			flow->leader[target] = true;
		}
		if ((gt_insn_is_jump(insn) || gt_insn_is_exit(insn)) && i + 1 < function->end)
			flow->leader[i + 1] = true;
		i += gt_insn_is_wide(insn);
		if (i + 1 >= function->end && gt_insn_falls_through(insn))
			return bad_program(prog, i, "control runs off the end of its function");
	}
	return 0;
}

static int find_blocks(struct gt_flow *flow)
{
	const struct gt_prog *prog = flow->prog;
	bool *middle = calloc(prog->insn_count, sizeof(*middle));
	unsigned i;
	int r = 0;

	if (!middle)
		return gt_error(-ENOMEM, "out of memory for program %s", prog->name);
	for (i = 0; i < prog->insn_count; i++) {
		if (gt_insn_is_wide(&prog->insns[i]))
			middle[++i] = true;
	}
	for (i = 0; i < flow->function_count && r >= 0; i++) {
		if (middle[flow->functions[i].start])
			r = bad_program(prog, flow->functions[i].start,
					"a function begins in the middle of an instruction");
		else
			r = mark_leaders(flow, &flow->functions[i], middle);
	}
	free(middle);
	return r;
}

/* ---- what registers hold ---- */

static const struct gt_known nothing = { .what = GT_KNOW_NOTHING };

static struct gt_known constant(int64_t value)
{
	return (struct gt_known){ .what = GT_KNOW_CONST, .value = value };
}

static bool same(const struct gt_known *a, const struct gt_known *b)
{
	return a->what == b->what && a->index == b->index && a->value == b->value;
}

/* Changes *a to what holds whichever way control came; true if that changed it. */
static bool join(struct gt_known *a, const struct gt_known *b)
{
	if (b->what == GT_KNOW_UNREACHED || same(a, b) || a->what == GT_KNOW_NOTHING)
		return false;
	if (a->what == GT_KNOW_UNREACHED) {
		*a = *b;
		return true;
	}
	if (a->what == GT_KNOW_VALUE && b->what == GT_KNOW_VALUE && a->index == b->index)
		return false;
	*a = nothing;
	return true;
}

static bool join_regs(struct gt_regs *a, const struct gt_regs *b)
{
	bool changed = false;
	unsigned i;

	for (i = 0; i < GT_REGS; i++)
		changed |= join(&a->r[i], &b->r[i]);
	return changed;
}

static bool has_offset(const struct gt_known *k)
{
	return k->what == GT_KNOW_FRAME || k->what == GT_KNOW_CONTEXT || k->what == GT_KNOW_RECORD;
}

static struct gt_known add(const struct gt_known *a, const struct gt_known *b, int sign)
{
	struct gt_known sum = *a;

	if (a->what == GT_KNOW_VALUE) {
		sum.value = 0;
		return b->what == GT_KNOW_VALUE ? nothing : sum;
	}
	if (sign > 0 && b->what == GT_KNOW_VALUE)
		return *b;
	if (b->what == GT_KNOW_CONST && (a->what == GT_KNOW_CONST || has_offset(a))) {
		sum.value = (int64_t)((uint64_t)a->value + (uint64_t)sign * (uint64_t)b->value);
		return sum;
	}
	if (sign > 0 && a->what == GT_KNOW_CONST && has_offset(b)) {
		sum = *b;
		sum.value = (int64_t)((uint64_t)a->value + (uint64_t)b->value);
		return sum;
	}
	return nothing;
}

static void step_alu(const struct bpf_insn *insn, struct gt_regs *regs)
{
	struct gt_known *dst = &regs->r[insn->dst_reg];
	struct gt_known src = BPF_SRC(insn->code) == BPF_X ? regs->r[insn->src_reg] : constant(insn->imm);
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;

	if (BPF_OP(insn->code) == BPF_MOV && !insn->off) {
		if (wide)
			*dst = src;
		else
			*dst = src.what == GT_KNOW_CONST ? constant((int64_t)(uint32_t)src.value) : nothing;
	} else if (BPF_OP(insn->code) == BPF_ADD && wide) {
		*dst = add(dst, &src, 1);
	} else if (BPF_OP(insn->code) == BPF_SUB && wide) {
		*dst = add(dst, &src, -1);
	} else {
		*dst = nothing;
	}
}

static void step_wide(const struct bpf_insn *insn, unsigned at, struct gt_regs *regs)
{
	struct gt_known *dst = &regs->r[insn->dst_reg];

	switch (insn->src_reg) {
	case 0:
		*dst = constant((int64_t)((uint64_t)(uint32_t)insn[0].imm | (uint64_t)(uint32_t)insn[1].imm << 32));
		break;
	case BPF_PSEUDO_MAP_FD:
		*dst = (struct gt_known){ .what = GT_KNOW_MAP, .index = insn->imm };
		break;
	case BPF_PSEUDO_MAP_VALUE:
		*dst = (struct gt_known){ .what = GT_KNOW_VALUE, .index = insn->imm };
		break;
	case BPF_PSEUDO_FUNC:
		*dst = (struct gt_known){ .what = GT_KNOW_FUNCTION, .index = (int32_t)at + 1 + insn->imm };
		break;
	default:
		*dst = nothing;
	}
}

static void step_call(const struct bpf_insn *insn, unsigned at, struct gt_regs *regs)
{
	struct gt_known result = nothing;
	unsigned i;

	if (insn->src_reg == 0 && insn->imm == GT_HELPER_MAP_LOOKUP && regs->r[1].what == GT_KNOW_MAP)
		result = (struct gt_known){ .what = GT_KNOW_VALUE, .index = regs->r[1].index };
	if (insn->src_reg == 0 && insn->imm == GT_HELPER_RINGBUF_RESERVE)
		result = (struct gt_known){ .what = GT_KNOW_RECORD, .index = (int32_t)at };
	for (i = 1; i <= 5; i++)
		regs->r[i] = nothing;
	regs->r[0] = result;
}

static void step_atomic(const struct bpf_insn *insn, struct gt_regs *regs)
{
	if (insn->imm == BPF_CMPXCHG)
		regs->r[0] = nothing;
	else if (insn->imm & BPF_FETCH)
		regs->r[insn->src_reg] = nothing;
}

void gt_flow_step(const struct gt_flow *flow, unsigned at, struct gt_regs *regs)
{
	const struct bpf_insn *insn = &flow->prog->insns[at];

	/* Register numbers beyond r10 are refused where they are translated. */
	if (insn->dst_reg >= GT_REGS || insn->src_reg >= GT_REGS)
		return;
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		step_alu(insn, regs);
		break;
	case BPF_LD:
		if (gt_insn_is_wide(insn))
			step_wide(insn, at, regs);
		break;
	case BPF_LDX:
		regs->r[insn->dst_reg] = nothing;
		break;
	case BPF_STX:
		if (BPF_MODE(insn->code) == BPF_ATOMIC)
			step_atomic(insn, regs);
		break;
	default:
		if (gt_insn_is_call(insn))
			step_call(insn, at, regs);
	}
}

/* What a caller's register is to the function called: its own frame and records are not the caller's. */
static struct gt_known as_argument(const struct gt_known *k)
{
	return k->what == GT_KNOW_FRAME || k->what == GT_KNOW_RECORD ? nothing : *k;
}

static bool enter_function(struct gt_flow *flow, const struct bpf_insn *insn, unsigned at,
			   const struct gt_regs *regs)
{
	int index = gt_flow_function_at(flow, (unsigned)((int64_t)at + 1 + insn->imm));
	struct gt_regs *entry = &flow->functions[index].entry;
	bool learnt = false;
	unsigned i;

	for (i = 1; i <= 5; i++) {
		struct gt_known k = as_argument(&regs->r[i]);

		learnt |= join(&entry->r[i], &k);
	}
	return learnt;
}

/* One pass over a function; true if anything was learnt, here or about a function called. */
static bool pass(struct gt_flow *flow, struct gt_function *function)
{
	const struct gt_prog *prog = flow->prog;
	bool changed, learnt = false;
	struct gt_regs regs = {};
	unsigned i;

	changed = join_regs(&flow->at[function->start], &function->entry);
	for (i = function->start; i < function->end; i++) {
		const struct bpf_insn *insn = &prog->insns[i];

		if (flow->leader[i])
			regs = flow->at[i];
		if (regs.r[10].what == GT_KNOW_UNREACHED) {
			i += gt_insn_is_wide(insn);
			continue;
		}
		if (gt_insn_calls_function(insn))
			learnt |= enter_function(flow, insn, i, &regs);
		gt_flow_step(flow, i, &regs);
		if (gt_insn_is_jump(insn))
			changed |= join_regs(&flow->at[gt_insn_target(prog->insns, i)], &regs);
		i += gt_insn_is_wide(insn);
		if (gt_insn_falls_through(insn) && i + 1 < function->end && flow->leader[i + 1])
			changed |= join_regs(&flow->at[i + 1], &regs);
	}
	return changed | learnt;
}

static void set_all(struct gt_regs *regs, struct gt_known k)
{
	unsigned i;

	for (i = 0; i < GT_REGS; i++)
		regs->r[i] = k;
}

static void learn(struct gt_flow *flow)
{
	const struct gt_known unreached = { .what = GT_KNOW_UNREACHED };
	bool changed = true;
	unsigned i;

	for (i = 0; i < flow->prog->insn_count; i++)
		if (flow->leader[i])
			set_all(&flow->at[i], unreached);
	for (i = 0; i < flow->function_count; i++) {
		struct gt_regs *entry = &flow->functions[i].entry;

		/* The program's own arguments and a callback's are known to be unknown. */
		set_all(entry, i == 0 || flow->functions[i].callback ? nothing : unreached);
		entry->r[0] = nothing;
		entry->r[6] = entry->r[7] = entry->r[8] = entry->r[9] = nothing;
		entry->r[10] = (struct gt_known){ .what = GT_KNOW_FRAME };
	}
	if (flow->prog->context_size)
		flow->functions[0].entry.r[1] = (struct gt_known){ .what = GT_KNOW_CONTEXT };
	/* Each register of each block can change twice, so this ends. */
	while (changed) {
		changed = false;
		for (i = 0; i < flow->function_count; i++)
			changed |= pass(flow, &flow->functions[i]);
	}
}

int gt_flow_analyse(const struct gt_prog *prog, struct gt_flow *ret_flow)
{
	struct gt_flow flow = { .prog = prog };
	uint8_t *starts = calloc(prog->insn_count, sizeof(*starts));
	int r;

	flow.leader = calloc(prog->insn_count, sizeof(*flow.leader));
	flow.at = calloc(prog->insn_count, sizeof(*flow.at));
	if (!starts || !flow.leader || !flow.at)
		r = gt_error(-ENOMEM, "out of memory for program %s", prog->name);
	else
		r = mark_functions(prog, starts);
	if (r >= 0)
		r = list_functions(&flow, starts);
	if (r >= 0)
		r = find_blocks(&flow);
	if (r >= 0) {
		learn(&flow);
		*ret_flow = flow;
	} else {
		gt_flow_free(&flow);
	}
	free(starts);
	return r;
}

void gt_flow_free(struct gt_flow *flow)
{
	free(flow->functions);
	free(flow->leader);
	free(flow->at);
}
