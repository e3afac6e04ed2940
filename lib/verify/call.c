/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: of helpers, of the program's own functions, of bpf_loop's callback; and the way back. */
#include <errno.h>
#include <string.h>

#include "lib/verify/helpers.h"
#include "lib/util/insn.h"
#include "lib/verify/verifier.h"

#define RECORD_MAX 65536u		/* payload of a ring record, as in lib/wire/wire.h */
#define LOOP_MAX (1u << 23)		/* bpf_loop does nothing beyond */

/* A helper call on its way. */
struct call {
	const struct gt_helper *helper;
	int map;			/* -1 until an argument names it */
	uint32_t record_size;
	uint32_t record_ref;
	unsigned callback;
};

static int check_map(struct gt_verifier *v, struct gt_path *path, unsigned regno,
		     const struct gt_reg *reg, enum gt_arg kind, struct call *call)
{
	struct gt_fact *fact = &v->facts[path->state->insn];
	const struct gt_map_desc *map;
	enum gt_map_class class;

	if (reg->type != GT_REG_MAP)
		return gt_refuse(v, path->state->insn, "pass the address of a map variable",
				 "r%u of %s must be a map, not %s", regno, call->helper->name, gt_reg_kind(reg));
	map = v->prog->maps[reg->map];
	class = gt_map_classify(map->type);
	if (kind == GT_ARG_RING_MAP ? class != GT_MAP_CLASS_RING :
				      class != GT_MAP_CLASS_ARRAY && class != GT_MAP_CLASS_HASH)
		return gt_refuse(v, path->state->insn, NULL, "%s does not work on map %s of type %u",
				 call->helper->name, map->name, map->type);
	if (fact->map >= 0 && fact->map != reg->map)
		return gt_refuse(v, path->state->insn, "call it once for each map",
				 "this call gets map %s on one path and map %s on another",
				 v->prog->maps[fact->map]->name, map->name);
	fact->map = reg->map;
	call->map = reg->map;
	return 0;
}

static int check_element(struct gt_verifier *v, struct gt_path *path, unsigned regno, enum gt_arg kind,
			 struct call *call)
{
	const struct gt_map_desc *map = v->prog->maps[call->map];
	uint32_t bytes = kind == GT_ARG_KEY ? map->key_size : map->value_size;

	if (!bytes)
		return gt_refuse(v, path->state->insn, NULL, "map %s has no %s", map->name,
				 kind == GT_ARG_KEY ? "keys" : "values");
	return gt_check_memory(v, path, regno, bytes, GT_READ);
}

/* The size in `reg` of the memory that the register before points at. */
static int check_size(struct gt_verifier *v, struct gt_path *path, unsigned regno,
		      const struct gt_reg *reg, struct call *call)
{
	enum gt_arg kind = call->helper->arg[regno - 1], memory = call->helper->arg[regno - 2];
	struct gt_reg *pointer = &gt_state_frame(path->state)->regs[regno - 1];
	struct gt_fact *fact = &v->facts[path->state->insn];
	bool fixed = gt_scalar_is_const(&reg->range);

	gt_need_precise(path, &reg->origin);
	if (reg->range.smin < 0)
		return gt_refuse(v, path->state->insn, "make it unsigned, or compare it with 0",
				 "the size r%u of %s may be negative", regno, call->helper->name);
	if (kind == GT_ARG_SIZE && reg->range.umin == 0)
		return gt_refuse(v, path->state->insn, "check that it is at least 1",
				 "the size r%u of %s may be 0", regno, call->helper->name);
	if (call->map >= 0 && reg->range.umax > RECORD_MAX)
		return gt_refuse(v, path->state->insn, "bound the size with a comparison",
				 "a record of up to %llu bytes is larger than %u",
				 (unsigned long long)reg->range.umax, RECORD_MAX);
	if (reg->range.umax > UINT32_MAX)
		return gt_refuse(v, path->state->insn, "bound the size with a comparison",
				 "the size r%u of %s is not bounded", regno, call->helper->name);
	if (fact->arg_size < reg->range.umax)
		fact->arg_size = (uint32_t)reg->range.umax;
	if (reg->range.umax == 0)
		return 0;
	if (memory == GT_ARG_READ_OR_NULL && pointer->type == GT_REG_SCALAR)
		return gt_refuse(v, path->state->insn, "pass 0 as its size",
				 "r%u is no pointer but its size may be more than 0", regno - 1);
	return gt_check_memory(v, path, regno - 1, reg->range.umax,
			       memory != GT_ARG_WRITE ? GT_READ : fixed ? GT_FILL : GT_MAY_FILL);
}

static int check_record_size(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *reg,
			     struct call *call)
{
	struct gt_fact *fact = &v->facts[path->state->insn];

	gt_need_precise(path, &reg->origin);
	if (!gt_scalar_is_const(&reg->range))
		return gt_refuse(v, path->state->insn, "reserve the greatest size, or use bpf_ringbuf_output()",
				 "the size of a reserved record must be one constant");
	if (reg->range.umin == 0 || reg->range.umin > RECORD_MAX)
		return gt_refuse(v, path->state->insn, NULL,
				 "a record of %llu bytes: 1 to %u are possible",
				 (unsigned long long)reg->range.umin, RECORD_MAX);
	call->record_size = (uint32_t)reg->range.umin;
	if (fact->arg_size < call->record_size)
		fact->arg_size = call->record_size;
	return 0;
}

static int check_record(struct gt_verifier *v, struct gt_path *path, unsigned regno,
			const struct gt_reg *reg, struct call *call)
{
	if (reg->type != GT_REG_RECORD)
		return gt_refuse(v, path->state->insn, "pass what bpf_ringbuf_reserve() returned",
				 "r%u of %s must be a ring record, not %s", regno, call->helper->name,
				 gt_reg_kind(reg));
	if (reg->maybe_null)
		return gt_refuse(v, path->state->insn, "check the pointer against NULL before it is used",
				 "r%u may be NULL", regno);
	if (!gt_scalar_is_const(&reg->range) || reg->range.bits.value)
		return gt_refuse(v, path->state->insn, "keep the pointer that bpf_ringbuf_reserve() returned",
				 "r%u points into the record, not at its beginning", regno);
	call->record_ref = reg->ref;
	return 0;
}

static int check_u64(struct gt_verifier *v, struct gt_path *path, unsigned regno, const struct gt_reg *reg)
{
	if (gt_reg_is_pointer(reg) && ((reg->range.bits.value | reg->range.bits.mask) & 7))
		return gt_refuse(v, path->state->insn, "pass the address of an 8 byte variable",
				 "r%u is not aligned to 8 bytes", regno);
	return gt_check_memory(v, path, regno, 8, GT_FILL);
}

static int check_callback(struct gt_verifier *v, struct gt_path *path, unsigned regno,
			  const struct gt_reg *reg, struct call *call)
{
	struct gt_fact *fact = &v->facts[path->state->insn];

	if (reg->type != GT_REG_FUNC)
		return gt_refuse(v, path->state->insn, "pass the name of a static function",
				 "r%u of %s must be a function, not %s", regno, call->helper->name,
				 gt_reg_kind(reg));
	call->callback = (unsigned)reg->range.bits.value;
	if (fact->callback && fact->callback != call->callback)
		return gt_refuse(v, path->state->insn, "call bpf_loop() once for each function",
				 "this call gets one function on one path and another on another");
	fact->callback = call->callback;
	return 0;
}

static int must_be_number(struct gt_verifier *v, struct gt_path *path, unsigned regno,
			  const struct gt_reg *reg, const struct call *call)
{
	if (reg->type == GT_REG_SCALAR)
		return 0;
	return gt_refuse(v, path->state->insn, NULL, "r%u of %s must be a number, not %s", regno,
			 call->helper->name, gt_reg_kind(reg));
}

static int check_argument(struct gt_verifier *v, struct gt_path *path, unsigned regno, struct call *call)
{
	enum gt_arg kind = call->helper->arg[regno - 1];
	struct gt_reg *reg;
	int r;

	if (kind == GT_ARG_NONE)
		return 0;
	if (kind == GT_ARG_ANY) {
		if (gt_state_frame(path->state)->regs[regno].type != GT_REG_NONE)
			gt_read_reg(path, path->state->frame_count - 1, regno);
		return 0;
	}
	r = gt_use_reg(v, path, regno, &reg);
	if (r < 0)
		return r;
	switch (kind) {
	case GT_ARG_ELEMENT_MAP:
	case GT_ARG_RING_MAP:
		return check_map(v, path, regno, reg, kind, call);
	case GT_ARG_KEY:
	case GT_ARG_VALUE:
		return check_element(v, path, regno, kind, call);
	case GT_ARG_SIZE:
	case GT_ARG_SIZE_OR_ZERO:
		r = must_be_number(v, path, regno, reg, call);
		return r < 0 ? r : check_size(v, path, regno, reg, call);
	case GT_ARG_RECORD_SIZE:
		r = must_be_number(v, path, regno, reg, call);
		return r < 0 ? r : check_record_size(v, path, reg, call);
	case GT_ARG_RECORD:
		return check_record(v, path, regno, reg, call);
	case GT_ARG_U64:
		return check_u64(v, path, regno, reg);
	case GT_ARG_CALLBACK:
		return check_callback(v, path, regno, reg, call);
	case GT_ARG_CONTEXT:
		if (reg->type == GT_REG_CONTEXT)
			return 0;
		return must_be_number(v, path, regno, reg, call);
	case GT_ARG_SCALAR:
		return must_be_number(v, path, regno, reg, call);
	default:	/* memory: checked with its size; a callback's context: by the callback */
		return 0;
	}
}

static bool points_into_record(const struct gt_reg *reg, uint32_t ref)
{
	return reg->type == GT_REG_RECORD && reg->ref == ref;
}

/* The record is gone: nobody may hold a pointer into it. */
static void release_record(struct gt_state *state, uint32_t ref)
{
	for (unsigned f = 0; f < state->frame_count; f++) {
		struct gt_frame *frame = state->frames[f];

		for (unsigned i = 0; i < GT_REGS; i++)
			if (points_into_record(&frame->regs[i], ref))
				frame->regs[i].type = GT_REG_NONE;
		for (unsigned i = 0; i < frame->slot_count; i++)
			if (gt_slot_is_spill(&frame->slots[i]) &&
			    points_into_record(&frame->slots[i].spill, ref))
				memset(frame->slots[i].byte, GT_BYTE_NONE, sizeof(frame->slots[i].byte));
	}
	gt_drop_ref(state, ref);
}

static void forget_arguments(struct gt_path *path)
{
	const struct gt_reg nothing = { .type = GT_REG_NONE };

	for (unsigned i = 1; i <= 5; i++)
		gt_set_reg(path, i, &nothing);
}

static int acquire_record(struct gt_verifier *v, struct gt_path *path, const struct call *call,
			  struct gt_reg *ret_value)
{
	struct gt_state *state = path->state;

	if (state->ref_count == GT_REFS)
		return gt_refuse(v, state->insn, "submit or discard some first",
				 "more than %d ring records are held at once", GT_REFS);
	*ret_value = gt_reg_pointer(GT_REG_RECORD);
	ret_value->maybe_null = 1;
	ret_value->id = gt_new_id(v);
	ret_value->ref = ret_value->id;
	ret_value->size = call->record_size;
	state->refs[state->ref_count].id = ret_value->ref;
	state->refs[state->ref_count++].insn = state->insn;
	return 0;
}

static int set_result(struct gt_verifier *v, struct gt_path *path, const struct call *call)
{
	struct gt_reg value = gt_reg_unknown();
	int r;

	switch (call->helper->ret) {
	case GT_RET_VALUE_OR_NULL:
		value = gt_reg_pointer(GT_REG_VALUE);
		value.maybe_null = 1;
		value.map = (int16_t)call->map;
		value.id = gt_new_id(v);
		break;
	case GT_RET_RECORD_OR_NULL:
		r = acquire_record(v, path, call, &value);
		if (r < 0)
			return r;
		break;
	default:
		if (call->helper->ret_max)
			value.range = gt_scalar_urange(0, call->helper->ret_max);
		break;
	}
	gt_set_reg(path, 0, &value);
	return 0;
}

static int check_place(struct gt_verifier *v, struct gt_path *path, const struct gt_helper *helper)
{
	if (helper->points && !(helper->points >> v->prog->point & 1))
		return gt_refuse(v, path->state->insn, "move it to a program for another point",
				 "%s cannot be called at this point of a kernel", helper->name);
	if ((helper->flags & GT_HELPER_NO_REF) && path->state->ref_count)
		return gt_refuse(v, path->state->insn, "submit or discard it first",
				 "%s does not return, and the record reserved at insn %u is still held",
				 helper->name, path->state->refs[0].insn);
	return 0;
}

static int check_changes(struct gt_verifier *v, struct gt_path *path, const struct call *call)
{
	bool changes = call->helper->id == 2 || call->helper->id == 3;

	if (changes && v->prog->maps[call->map]->read_only)
		return gt_refuse(v, path->state->insn, NULL, "map %s is read-only",
				 v->prog->maps[call->map]->name);
	return 0;
}

static int call_loop(struct gt_verifier *v, struct gt_path *path, const struct call *call)
{
	struct gt_frame *frame = gt_state_frame(path->state);
	struct gt_reg context = frame->regs[3], result = gt_reg_unknown();
	/* The helper's parameter has 32 bits. */
	uint64_t count = frame->regs[1].range.umax32;
	int r = 0;

	gt_need_precise(path, &frame->regs[1].origin);
	if (count > LOOP_MAX)
		count = LOOP_MAX;
	forget_arguments(path);
	if (count)
		r = gt_explore_callback(v, path, call->callback, count, &context);
	if (r < 0)
		return r;
	gt_set_reg(path, 0, &result);
	return 0;
}

static int call_helper(struct gt_verifier *v, struct gt_path *path, const struct bpf_insn *insn)
{
	struct call call = { .map = -1 };
	int r;

	call.helper = gt_helper_find((uint32_t)insn->imm);
	if (!call.helper)
		return gt_refuse(v, path->state->insn, "see <gputrace/bpf/gputrace_gpu.h> for what there is",
				 "helper %d does not exist on the GPU", insn->imm);
	r = check_place(v, path, call.helper);
	for (unsigned regno = 1; r == 0 && regno <= 5; regno++)
		r = check_argument(v, path, regno, &call);
	if (r == 0)
		r = check_changes(v, path, &call);
	if (r == 0 && (call.helper->flags & GT_HELPER_PRINTS))
		r = gt_check_format(v, path, call.helper->arg[3] == GT_ARG_SIZE_OR_ZERO);
	if (r < 0)
		return r;
	v->wants |= call.helper->wants;
	/* Of map helpers only lookups leave values alone. */
	if (call.map >= 0 && call.helper->ret != GT_RET_VALUE_OR_NULL)
		v->map_uses[call.map] |= GT_USE_OTHER;
	if (call.record_ref)
		release_record(path->state, call.record_ref);
	if (call.callback) {
		r = call_loop(v, path, &call);
	} else {
		forget_arguments(path);
		r = set_result(v, path, &call);
	}
	if (r < 0)
		return r;
	path->state->insn++;
	return 0;
}

static int call_function(struct gt_verifier *v, struct gt_path *path, const struct bpf_insn *insn)
{
	unsigned depth = path->state->frame_count;
	struct gt_frame *caller = path->state->frames[depth - 1], *callee;
	int r;

	if (depth == GT_FRAMES)
		return gt_refuse(v, path->state->insn, "calls cannot be recursive: use a loop",
				 "calls are nested deeper than %d", GT_FRAMES);
	r = gt_state_push(path->state, path->state->insn + 1 + (unsigned)insn->imm, path->state->insn + 1);
	if (r < 0)
		return r;
	callee = path->state->frames[depth];
	for (unsigned i = 1; i <= 5; i++) {
		if (caller->regs[i].type != GT_REG_NONE)
			gt_read_reg(path, depth - 1, i);
		callee->regs[i] = caller->regs[i];
	}
	path->state->insn = callee->start;
	return 0;
}

int gt_check_call(struct gt_verifier *v, struct gt_path *path)
{
	const struct bpf_insn *insn = &v->prog->insns[path->state->insn];

	return insn->src_reg == BPF_PSEUDO_CALL ? call_function(v, path, insn) : call_helper(v, path, insn);
}

/* What a function gives back to its caller. */
static int check_result(struct gt_verifier *v, struct gt_path *path)
{
	const struct gt_frame *frame = gt_state_frame(path->state);
	unsigned depth = path->state->frame_count - 1;
	struct gt_reg *result;
	int r;

	if (depth && !frame->callback) {
		if (frame->regs[0].type == GT_REG_NONE)
			return 0;	/* a function without result */
		gt_read_reg(path, depth, 0);
		if (frame->regs[0].type == GT_REG_STACK && frame->regs[0].frame == depth)
			return gt_refuse(v, path->state->insn, "let the caller pass memory to write to",
					 "a pointer to this function's stack is returned");
		return 0;
	}
	r = gt_use_reg(v, path, 0, &result);
	if (r < 0)
		return r;
	if (gt_reg_is_pointer(result))
		return gt_refuse(v, path->state->insn, "return a number", "%s is returned",
				 gt_reg_kind(result));
	if (!frame->callback)
		return 0;
	gt_need_precise(path, &result->origin);
	if (result->range.umax > 1)
		return gt_refuse(v, path->state->insn, "return 0 to go on, 1 to stop",
				 "bpf_loop's function may return something other than 0 and 1");
	return 0;
}

int gt_return(struct gt_verifier *v, struct gt_path *path)
{
	struct gt_frame *frame = gt_state_frame(path->state);
	struct gt_reg result = frame->regs[0];
	unsigned back = frame->return_to;
	int r;

	r = check_result(v, path);
	if (r < 0)
		return r;
	if (path->state->frame_count == 1) {
		if (path->state->ref_count)
			return gt_refuse(v, path->state->insn,
					 "call bpf_ringbuf_submit() or bpf_ringbuf_discard() on every path",
					 "the record reserved at insn %u is still held at the end",
					 path->state->refs[0].insn);
		return 1;
	}
	if (frame->callback)
		return 1;
	gt_state_pop(path->state);
	gt_set_reg(path, 0, &result);
	forget_arguments(path);
	path->state->insn = back;
	return 0;
}
