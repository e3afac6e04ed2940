/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic, moves and constants. */
#include "lib/util/insn.h"
#include "lib/verify/verifier.h"

const char *gt_reg_kind(const struct gt_reg *reg)
{
	switch (reg->type) {
	case GT_REG_NONE:
		return "nothing";
	case GT_REG_SCALAR:
		return "a number";
	case GT_REG_CONTEXT:
		return "the context pointer";
	case GT_REG_STACK:
		return "a pointer to the stack";
	case GT_REG_MAP:
		return "a map";
	case GT_REG_VALUE:
		return reg->maybe_null ? "a map value pointer or NULL" : "a map value pointer";
	case GT_REG_RECORD:
		return reg->maybe_null ? "a ring record pointer or NULL" : "a ring record pointer";
	default:
		return "a function's address";
	}
}

int gt_use_reg(struct gt_verifier *v, struct gt_path *path, unsigned reg, struct gt_reg **ret_reg)
{
	struct gt_frame *frame = gt_state_frame(path->state);

	if (frame->regs[reg].type == GT_REG_NONE)
		return gt_refuse(v, path->state->insn, "set it on every path that leads here",
				 "r%u is read before it was written", reg);
	gt_read_reg(path, path->state->frame_count - 1, reg);
	*ret_reg = &frame->regs[reg];
	return 0;
}

void gt_set_reg(struct gt_path *path, unsigned reg, const struct gt_reg *value)
{
	struct gt_frame *frame = gt_state_frame(path->state);

	frame->regs[reg] = *value;
	frame->written_regs |= (uint16_t)(1u << reg);
}

uint32_t gt_new_id(struct gt_verifier *v)
{
	return ++v->last_id;
}

static int check_mov(struct gt_verifier *v, struct gt_path *path, const struct bpf_insn *insn)
{
	bool is32 = BPF_CLASS(insn->code) == BPF_ALU;
	struct gt_reg *src, value;
	int r;

	if (BPF_SRC(insn->code) == BPF_K) {
		struct gt_scalar number = gt_scalar_const(is32 ? (uint32_t)insn->imm :
								 (uint64_t)(int64_t)insn->imm);

		value = gt_reg_scalar(&number);
		gt_set_reg(path, insn->dst_reg, &value);
		return 0;
	}
	r = gt_use_reg(v, path, insn->src_reg, &src);
	if (r < 0)
		return r;
	if (gt_reg_is_pointer(src)) {
		if (is32 || insn->off)
			return gt_refuse(v, path->state->insn, "copy all 64 bits",
					 "r%u is %s: part of a pointer is not a number", insn->src_reg,
					 gt_reg_kind(src));
		value = *src;
		gt_set_reg(path, insn->dst_reg, &value);
		return 0;
	}
	/* A copy that loses nothing goes on knowing its original. */
	if (!insn->off && (!is32 || src->range.umax <= UINT32_MAX)) {
		if (!src->id && !gt_scalar_is_const(&src->range))
			src->id = gt_new_id(v);
		value = *src;
	} else {
		value = *src;
		value.id = 0;
		if (insn->off)
			value.range = gt_scalar_sign_extend(&src->range, (unsigned)insn->off / 8);
		if (is32)
			value.range = gt_scalar_zero_extend(&value.range, 4);
	}
	gt_set_reg(path, insn->dst_reg, &value);
	return 0;
}

static uint64_t swap_bytes(uint64_t value, int bits)
{
	return bits == 16 ? __builtin_bswap16((uint16_t)value) :
	       bits == 32 ? __builtin_bswap32((uint32_t)value) : __builtin_bswap64(value);
}

/* The GPU is little-endian: to_le only cuts. */
static struct gt_scalar swapped(const struct bpf_insn *insn, const struct gt_scalar *a)
{
	bool cut_only = BPF_CLASS(insn->code) == BPF_ALU && BPF_SRC(insn->code) == BPF_TO_LE;

	if (cut_only)
		return insn->imm == 64 ? *a : gt_scalar_zero_extend(a, (unsigned)insn->imm / 8);
	if (gt_scalar_is_const(a))
		return gt_scalar_const(swap_bytes(a->bits.value, insn->imm));
	if (insn->imm == 64)
		return gt_scalar_unknown();
	return gt_scalar_urange(0, insn->imm == 16 ? UINT16_MAX : UINT32_MAX);
}

static int check_unary(struct gt_verifier *v, struct gt_path *path, const struct bpf_insn *insn)
{
	struct gt_reg *dst, value;
	int r;

	r = gt_use_reg(v, path, insn->dst_reg, &dst);
	if (r < 0)
		return r;
	if (gt_reg_is_pointer(dst))
		return gt_refuse(v, path->state->insn, NULL, "r%u is %s: no arithmetic but + and -",
				 insn->dst_reg, gt_reg_kind(dst));
	value = *dst;
	value.id = 0;
	if (BPF_OP(insn->code) == BPF_NEG)
		value.range = gt_scalar_alu(BPF_NEG, BPF_CLASS(insn->code) == BPF_ALU, false,
					    &dst->range, &dst->range);
	else
		value.range = swapped(insn, &dst->range);
	gt_set_reg(path, insn->dst_reg, &value);
	return 0;
}

bool gt_reg_same_object(const struct gt_reg *a, const struct gt_reg *b)
{
	if (a->type != b->type || a->maybe_null || b->maybe_null)
		return false;
	switch (a->type) {
	case GT_REG_STACK:
		return a->frame == b->frame;
	case GT_REG_VALUE:
		return a->map == b->map && a->id && a->id == b->id;
	case GT_REG_RECORD:
		return a->ref == b->ref;
	default:
		return a->type == GT_REG_CONTEXT;
	}
}

/* pointer +- number */
static int move_pointer(struct gt_verifier *v, struct gt_path *path, const struct bpf_insn *insn,
			const struct gt_reg *pointer, const struct gt_reg *number)
{
	unsigned op = BPF_OP(insn->code);
	struct gt_reg value = *pointer;

	if (pointer->type == GT_REG_MAP || pointer->type == GT_REG_FUNC)
		return gt_refuse(v, path->state->insn, NULL, "arithmetic on %s", gt_reg_kind(pointer));
	if (pointer->maybe_null)
		return gt_refuse(v, path->state->insn, "compare the pointer with NULL first",
				 "arithmetic on %s", gt_reg_kind(pointer));
	gt_need_precise(path, &number->origin);
	value.range = gt_scalar_alu(op, false, false, &pointer->range, &number->range);
	gt_set_reg(path, insn->dst_reg, &value);
	return 0;
}

static int check_pointer_alu(struct gt_verifier *v, struct gt_path *path, const struct bpf_insn *insn,
			     const struct gt_reg *dst, const struct gt_reg *src)
{
	unsigned op = BPF_OP(insn->code), at = path->state->insn;
	const struct gt_reg *pointer = gt_reg_is_pointer(dst) ? dst : src;
	struct gt_reg value;

	if (BPF_CLASS(insn->code) == BPF_ALU)
		return gt_refuse(v, at, "use 64-bit arithmetic for pointers", "32-bit arithmetic on %s",
				 gt_reg_kind(pointer));
	if (op == BPF_ADD && !gt_reg_is_pointer(src))
		return move_pointer(v, path, insn, dst, src);
	if (op == BPF_ADD && !gt_reg_is_pointer(dst))
		return move_pointer(v, path, insn, src, dst);
	if (op == BPF_SUB && !gt_reg_is_pointer(src))
		return move_pointer(v, path, insn, dst, src);
	if (op == BPF_SUB && gt_reg_is_pointer(dst) && gt_reg_same_object(dst, src)) {
		value = gt_reg_unknown();
		gt_set_reg(path, insn->dst_reg, &value);
		return 0;
	}
	if (gt_reg_is_pointer(dst) && gt_reg_is_pointer(src))
		return gt_refuse(v, at, "subtract pointers into one object only",
				 "arithmetic on two pointers (%s, %s)", gt_reg_kind(dst), gt_reg_kind(src));
	return gt_refuse(v, at, "pointers can only be moved by adding or subtracting a number",
			 "this arithmetic on %s would give away or forge an address", gt_reg_kind(pointer));
}

static int check_binary(struct gt_verifier *v, struct gt_path *path, const struct bpf_insn *insn)
{
	bool is32 = BPF_CLASS(insn->code) == BPF_ALU;
	struct gt_scalar imm = gt_scalar_const((uint64_t)(int64_t)insn->imm);
	struct gt_reg constant = gt_reg_scalar(&imm), value, *dst, *src = &constant;
	int r;

	r = gt_use_reg(v, path, insn->dst_reg, &dst);
	if (r == 0 && BPF_SRC(insn->code) == BPF_X)
		r = gt_use_reg(v, path, insn->src_reg, &src);
	if (r < 0)
		return r;
	if (gt_reg_is_pointer(dst) || gt_reg_is_pointer(src))
		return check_pointer_alu(v, path, insn, dst, src);
	value = *dst;
	value.id = 0;
	value.origin = gt_origin_union(dst->origin, src->origin);
	value.range = gt_scalar_alu(BPF_OP(insn->code), is32, insn->off == 1, &dst->range, &src->range);
	gt_set_reg(path, insn->dst_reg, &value);
	return 0;
}

/* May a program point into the map's one value? */
static bool is_single_value(const struct gt_map_desc *map)
{
	return map->type == BPF_MAP_TYPE_ARRAY && map->max_entries == 1;
}

static int check_ld_imm64(struct gt_verifier *v, struct gt_path *path, const struct bpf_insn *insn)
{
	uint64_t high = (uint32_t)insn[1].imm;
	const struct gt_map_desc *map;
	struct gt_scalar number;
	struct gt_reg value;

	switch (insn->src_reg) {
	case BPF_PSEUDO_MAP_FD:
		value = gt_reg_pointer(GT_REG_MAP);
		value.map = (int16_t)insn->imm;
		break;
	case BPF_PSEUDO_MAP_VALUE:
		map = v->prog->maps[insn->imm];
		if (!is_single_value(map))
			return gt_refuse(v, path->state->insn, "look the element up with bpf_map_lookup_elem()",
					 "map %s has no fixed value to point at", map->name);
		if ((uint32_t)high >= map->value_size)
			return gt_refuse(v, path->state->insn, NULL,
					 "offset %u is outside map %s of %u bytes", (uint32_t)high,
					 map->name, map->value_size);
		value = gt_reg_pointer(GT_REG_VALUE);
		value.map = (int16_t)insn->imm;
		/* One id for each map: pointers into the same one may be compared. */
		value.id = UINT32_MAX - (uint32_t)insn->imm;
		value.range = gt_scalar_const(high);
		break;
	case BPF_PSEUDO_FUNC:
		value = gt_reg_pointer(GT_REG_FUNC);
		value.range = gt_scalar_const((uint64_t)((int64_t)path->state->insn + 1 + insn->imm));
		break;
	default:
		number = gt_scalar_const(high << 32 | (uint32_t)insn->imm);
		value = gt_reg_scalar(&number);
		break;
	}
	gt_set_reg(path, insn->dst_reg, &value);
	return 0;
}

int gt_check_alu(struct gt_verifier *v, struct gt_path *path)
{
	const struct bpf_insn *insn = &v->prog->insns[path->state->insn];

	if (gt_insn_is_wide(insn))
		return check_ld_imm64(v, path, insn);
	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		return check_mov(v, path, insn);
	case BPF_NEG:
	case BPF_END:
		return check_unary(v, path, insn);
	default:
		return check_binary(v, path, insn);
	}
}
