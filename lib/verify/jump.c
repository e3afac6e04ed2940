/* SPDX-License-Identifier: Apache-2.0 */
/* Conditional jumps, and what each way says about the registers. */
#include <errno.h>

#include "lib/util/insn.h"
#include "lib/verify/verifier.h"

/* Call `change` on every register and saved register with this id. */
static void for_each_copy(struct gt_state *state, uint32_t id,
			  void (*change)(struct gt_reg *copy, const struct gt_reg *model),
			  const struct gt_reg *model)
{
	for (unsigned f = 0; f < state->frame_count; f++) {
		struct gt_frame *frame = state->frames[f];

		for (unsigned i = 0; i < GT_REGS; i++)
			if (frame->regs[i].id == id && frame->regs[i].type == model->type)
				change(&frame->regs[i], model);
		for (unsigned i = 0; i < frame->slot_count; i++)
			if (gt_slot_is_spill(&frame->slots[i]) && frame->slots[i].spill.id == id &&
			    frame->slots[i].spill.type == model->type)
				change(&frame->slots[i].spill, model);
	}
}

static void take_range(struct gt_reg *copy, const struct gt_reg *model)
{
	copy->range = model->range;
	copy->origin = gt_origin_union(copy->origin, model->origin);
}

static void set_number(struct gt_state *state, unsigned regno, const struct gt_scalar *range,
		       struct gt_origin origin)
{
	struct gt_reg model = gt_state_frame(state)->regs[regno];

	model.range = *range;
	model.origin = gt_origin_union(model.origin, origin);
	gt_state_frame(state)->regs[regno] = model;
	if (model.id)
		for_each_copy(state, model.id, take_range, &model);
}

/* Narrow the operands in a state; false when the jump cannot go that way. */
static bool assume(struct gt_state *state, const struct bpf_insn *insn, bool taken)
{
	bool is32 = BPF_CLASS(insn->code) == BPF_JMP32, from_reg = BPF_SRC(insn->code) == BPF_X;
	struct gt_frame *frame = gt_state_frame(state);
	struct gt_scalar a = frame->regs[insn->dst_reg].range;
	struct gt_scalar b = from_reg ? frame->regs[insn->src_reg].range :
					gt_scalar_const((uint64_t)(int64_t)insn->imm);
	struct gt_origin origin = frame->regs[insn->dst_reg].origin;

	if (from_reg && insn->dst_reg == insn->src_reg)
		return true;
	if (!gt_scalar_assume(BPF_OP(insn->code), is32, taken, &a, &b))
		return false;
	if (from_reg)
		origin = gt_origin_union(origin, frame->regs[insn->src_reg].origin);
	set_number(state, insn->dst_reg, &a, origin);
	if (from_reg)
		set_number(state, insn->src_reg, &b, origin);
	return true;
}

static int split_numbers(struct gt_path *path, const struct bpf_insn *insn, int *ret_outcome,
			 struct gt_state **ret_other)
{
	struct gt_state *taken = gt_state_copy(path->state), *not_taken = gt_state_copy(path->state);
	bool can_take, can_skip;

	if (!taken || !not_taken) {
		gt_state_free(taken);
		gt_state_free(not_taken);
		return -ENOMEM;
	}
	can_take = assume(taken, insn, true);
	can_skip = assume(not_taken, insn, false);
	/* Neither: the state was impossible already.  Following both is safe. */
	if (can_take == can_skip) {
		*ret_outcome = -1;
		*ret_other = taken;
		gt_state_free(path->state);
		path->state = not_taken;
		return 0;
	}
	*ret_outcome = can_take;
	gt_state_free(can_take ? not_taken : taken);
	gt_state_free(path->state);
	path->state = can_take ? taken : not_taken;
	return 0;
}

static int compare_numbers(struct gt_path *path, const struct bpf_insn *insn, const struct gt_reg *dst,
			   const struct gt_reg *src, int *ret_outcome, struct gt_state **ret_other)
{
	bool is32 = BPF_CLASS(insn->code) == BPF_JMP32;
	struct gt_origin origin = gt_origin_union(dst->origin, src->origin);
	int outcome = gt_scalar_compare(BPF_OP(insn->code), is32, &dst->range, &src->range), r;

	if (outcome < 0) {
		r = split_numbers(path, insn, &outcome, ret_other);
		if (r < 0)
			return r;
	}
	/* One way only, because of these numbers: others might go the other way. */
	if (outcome >= 0)
		gt_need_precise(path, &origin);
	*ret_outcome = outcome;
	return 0;
}

static void become_null(struct gt_reg *copy, const struct gt_reg *model)
{
	struct gt_scalar zero = gt_scalar_const(0);

	(void)model;
	*copy = gt_reg_scalar(&zero);
}

static void become_valid(struct gt_reg *copy, const struct gt_reg *model)
{
	(void)model;
	copy->maybe_null = 0;
}

void gt_drop_ref(struct gt_state *state, uint32_t ref)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < state->ref_count; i++)
		if (state->refs[i].id != ref)
			state->refs[kept++] = state->refs[i];
	state->ref_count = kept;
}

static void decide_null(struct gt_state *state, const struct gt_reg *pointer, bool is_null)
{
	const struct gt_reg model = *pointer;

	for_each_copy(state, model.id, is_null ? become_null : become_valid, &model);
	/* No record was reserved, so none has to be given back. */
	if (is_null && model.type == GT_REG_RECORD)
		gt_drop_ref(state, model.ref);
}

static int compare_null(struct gt_path *path, const struct bpf_insn *insn, const struct gt_reg *pointer,
			int *ret_outcome, struct gt_state **ret_other)
{
	bool jumps_if_null = BPF_OP(insn->code) == BPF_JEQ;
	struct gt_reg model = *pointer;
	struct gt_state *other;

	if (!pointer->maybe_null) {
		*ret_outcome = !jumps_if_null;
		return 0;
	}
	other = gt_state_copy(path->state);
	if (!other)
		return -ENOMEM;
	decide_null(other, &model, jumps_if_null);
	decide_null(path->state, &model, !jumps_if_null);
	*ret_outcome = -1;
	*ret_other = other;
	return 0;
}

static int compare_pointer(struct gt_verifier *v, struct gt_path *path, const struct bpf_insn *insn,
			   const struct gt_reg *dst, const struct gt_reg *src, int *ret_outcome,
			   struct gt_state **ret_other)
{
	unsigned op = BPF_OP(insn->code), at = path->state->insn;
	const struct gt_reg *pointer = gt_reg_is_pointer(dst) ? dst : src;
	const struct gt_reg *number = gt_reg_is_pointer(dst) ? src : dst;

	if (BPF_CLASS(insn->code) == BPF_JMP32)
		return gt_refuse(v, at, "compare all 64 bits", "half of %s is compared", gt_reg_kind(pointer));
	if (number->type == GT_REG_SCALAR) {
		if ((op != BPF_JEQ && op != BPF_JNE) || !gt_scalar_is_const(&number->range) ||
		    number->range.bits.value)
			return gt_refuse(v, at, "compare it with NULL only", "%s is compared with a number",
					 gt_reg_kind(pointer));
		gt_need_precise(path, &number->origin);
		return compare_null(path, insn, pointer, ret_outcome, ret_other);
	}
	if (!gt_reg_same_object(dst, src))
		return gt_refuse(v, at, "compare with NULL, or within one object",
				 "%s and %s are compared, which may be different objects",
				 gt_reg_kind(dst), gt_reg_kind(src));
	*ret_other = gt_state_copy(path->state);
	*ret_outcome = -1;
	return *ret_other ? 0 : -ENOMEM;
}

int gt_check_jump(struct gt_verifier *v, struct gt_path *path, int *ret_outcome, struct gt_state **ret_other)
{
	const struct bpf_insn *insn = &v->prog->insns[path->state->insn];
	struct gt_scalar imm = gt_scalar_const((uint64_t)(int64_t)insn->imm);
	struct gt_reg constant = gt_reg_scalar(&imm), *dst, *src = &constant;
	int r;

	r = gt_use_reg(v, path, insn->dst_reg, &dst);
	if (r == 0 && BPF_SRC(insn->code) == BPF_X)
		r = gt_use_reg(v, path, insn->src_reg, &src);
	if (r < 0)
		return r;
	if (gt_reg_is_pointer(dst) || gt_reg_is_pointer(src))
		return compare_pointer(v, path, insn, dst, src, ret_outcome, ret_other);
	return compare_numbers(path, insn, dst, src, ret_outcome, ret_other);
}
