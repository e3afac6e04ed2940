/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering of arithmetic: everything that a table of operations describes. */
#include <string.h>

#include "lower.h"

static const struct alu *const tables[] = { alu_int, alu_bit, alu_float, alu_half, alu_math };

static enum alu_variant variant_of(struct lower *l, enum ptx_type type)
{
	unsigned half = l->mods.value[MOD_HALF];

	if (has(l, MOD_CC))
		return half == ALU_LO ? ALU_LO_CC : half == ALU_HI ? ALU_HI_CC : ALU_CC;
	if (half)
		return half;
	if (has(l, MOD_SAT) && ptx_types[type].class == C_INT)
		return ALU_SAT;
	return ALU_PLAIN;
}

static const struct alu *find(struct lower *l, enum ptx_type type, unsigned variant)
{
	const char *name = l->insn->op.text;
	const struct alu *alu;
	unsigned t;
	int known = 0;

	for (t = 0; t < sizeof(tables) / sizeof(*tables); t++)
		for (alu = tables[t]; alu->op; alu++) {
			if (alu->op[0] != name[0] || strcmp(alu->op, name))
				continue;
			if (alu->type == type && alu->variant == variant)
				return alu;
			known = 1;
		}
	ptx_syntax(l->ctx, l->insn->line, "'%.60s' %s .%s%s", name,
		   known ? "does not take" : "is unknown with", ptx_types[type].name,
		   variant ? " in this variant" : "");
}

static enum ptx_type wider(enum ptx_type type)
{
	switch (type) {
	case T_U16: return T_U32;
	case T_S16: return T_S32;
	case T_U32: return T_U64;
	case T_S32: return T_S64;
	default: return T_NONE;
	}
}

static enum ptx_type letter_type(char letter, enum ptx_type type)
{
	switch (letter) {
	case 'W': return wider(type);
	case 'u': return T_U32;
	case 'b': return T_B32;
	case 'h': return T_B16;
	case 'q': return T_B64;
	case 'p': return T_PRED;
	case 'f': return T_F32;
	default: return type;
	}
}

static unsigned flags_of(struct lower *l, const struct alu *alu)
{
	enum ptx_type type = alu->type;
	unsigned flags = 0;

	if (has(l, MOD_FTZ))
		flags |= OPF_FTZ;
	if (has(l, MOD_SAT) && ptx_types[type].class == C_FLOAT)
		flags |= OPF_SAT;
	if (has(l, MOD_SAT) && ptx_types[type].class != C_FLOAT && alu->variant != ALU_SAT)
		ptx_unsupported(l->ctx, l->insn->line, "'%.60s' with .sat in this variant",
				l->insn->op.text);
	if (has(l, MOD_NAN))
		flags |= OPF_NEG;
	if (has(l, MOD_XORSIGN) || has(l, MOD_ABS))
		flags |= OPF_ABS;
	if (has(l, MOD_RELU))
		flags |= OPF_RELU;
	if (flags & ~alu->flags)
		ptx_syntax(l->ctx, l->insn->line, "'%.60s' with a modifier that .%s does not take",
			   l->insn->op.text, ptx_types[type].name);
	if (has(l, MOD_RND)) {
		if (!(alu->flags >> OPF_RND_SHIFT) || l->mods.value[MOD_RND] == RND_RNA ||
		    (ptx_types[type].size < 8 && type != T_F32 && l->mods.value[MOD_RND] != RND_RN))
			ptx_syntax(l->ctx, l->insn->line, "'%.60s' takes no such rounding",
				   l->insn->op.text);
		flags |= l->mods.value[MOD_RND] << OPF_RND_SHIFT;
	}
	return flags;
}

/* bfind.shiftamt, the modes of prmt, .wrap, .approx: for the operation to look at. */
static uint64_t selector(struct lower *l)
{
	if (has(l, MOD_SHIFTAMT))
		return 1;
	if (has(l, MOD_PRMT))
		return l->mods.value[MOD_PRMT];
	if (has(l, MOD_CLAMP))
		return l->mods.value[MOD_CLAMP] == 2;
	return l->mods.value[MOD_APPROX];
}

void lower_alu(struct lower *l, const struct insn_def *def)
{
	enum ptx_type type = only_type(l);
	const struct alu *alu = find(l, type, variant_of(l, type));
	unsigned flags = flags_of(l, alu), i, count = strlen(alu->signature);
	uint32_t refs[5] = { 0 };
	struct op *op;
	int plain;

	(void)def;
	want_operands(l, count, count);
	if (l->insn->operands[0].second)
		ptx_unsupported(l->ctx, l->insn->line, "'%.60s' with a predicate result",
				l->insn->op.text);
	for (i = 1; i < count; i++)
		refs[i] = source(l, &l->insn->operands[i], letter_type(alu->signature[i], type));
	refs[0] = dest(l, &l->insn->operands[0], letter_type(alu->signature[0], type));
	plain = !(flags & ((1 << OPF_RND_SHIFT) - 1)) &&
		(op_rounding(flags) == RND_NONE || op_rounding(flags) == RND_RN);
	op = emit(l, plain || !alu->full ? alu->plain : alu->full);
	op->flags = (uint16_t)flags;
	op->dst = refs[0];
	op->a = refs[1];
	op->b = refs[2];
	op->c = refs[3];
	op->d = refs[4];
	op->imm = selector(l);
}

/* dp4a.s32.u32, dp2a.lo.u32.u32: imm bit 0 a signed, 1 b signed, 2 .hi */
extern op_fn op_dp4a, op_dp2a, op_lop3, op_shf_l, op_shf_r;

void lower_dp(struct lower *l, const struct insn_def *def)
{
	struct op *op;
	uint32_t refs[4];
	unsigned i;
	int is_signed[2];

	want_operands(l, 4, 4);
	if (l->mods.type_count != 2 || (def->data == 2) != has(l, MOD_HALF) ||
	    l->mods.value[MOD_HALF] == ALU_WIDE)
		ptx_syntax(l->ctx, l->insn->line, "malformed '%.60s'", l->insn->op.text);
	for (i = 0; i < 2; i++) {
		if (l->mods.types[i] != T_U32 && l->mods.types[i] != T_S32)
			ptx_syntax(l->ctx, l->insn->line, "'%.60s' takes .u32 and .s32",
				   l->insn->op.text);
		is_signed[i] = l->mods.types[i] == T_S32;
	}
	for (i = 1; i < 4; i++)
		refs[i] = source(l, &l->insn->operands[i], T_B32);
	refs[0] = dest(l, &l->insn->operands[0], T_B32);
	op = emit(l, def->data == 4 ? op_dp4a : op_dp2a);
	op->dst = refs[0];
	op->a = refs[1];
	op->b = refs[2];
	op->c = refs[3];
	op->imm = is_signed[0] | is_signed[1] << 1 | (l->mods.value[MOD_HALF] == ALU_HI) << 2;
}

void lower_lop3(struct lower *l, const struct insn_def *def)
{
	struct op *op;
	uint32_t refs[4];
	uint64_t table;
	unsigned i;

	(void)def;
	want_operands(l, 5, 6);
	if (only_type(l) != T_B32)
		ptx_syntax(l->ctx, l->insn->line, "lop3 takes .b32");
	if (l->insn->operand_count == 6 || l->insn->operands[0].second)
		ptx_unsupported(l->ctx, l->insn->line, "lop3 with a predicate result");
	for (i = 1; i < 4; i++)
		refs[i] = source(l, &l->insn->operands[i], T_B32);
	table = int_operand(l, &l->insn->operands[4]);
	if (table > 255)
		ptx_syntax(l->ctx, l->insn->line, "lop3 table above 255");
	refs[0] = dest(l, &l->insn->operands[0], T_B32);
	op = emit(l, op_lop3);
	op->dst = refs[0];
	op->a = refs[1];
	op->b = refs[2];
	op->c = refs[3];
	op->imm = table;
}

void lower_shf(struct lower *l, const struct insn_def *def)
{
	struct op *op;
	uint32_t refs[4];
	unsigned i;

	(void)def;
	want_operands(l, 4, 4);
	if (only_type(l) != T_B32 || !has(l, MOD_DIR) || !has(l, MOD_CLAMP))
		ptx_syntax(l->ctx, l->insn->line, "malformed shf");
	for (i = 1; i < 4; i++)
		refs[i] = source(l, &l->insn->operands[i], i == 3 ? T_U32 : T_B32);
	refs[0] = dest(l, &l->insn->operands[0], T_B32);
	op = emit(l, l->mods.value[MOD_DIR] == 1 ? op_shf_l : op_shf_r);
	op->dst = refs[0];
	op->a = refs[1];
	op->b = refs[2];
	op->c = refs[3];
	op->imm = l->mods.value[MOD_CLAMP] == 2;
}

/* mov.b64 %rd, {%r1, %r2} and the reverse.  ext: slots of the parts; count; imm: bits of a part. */
static void lower_pack(struct lower *l, enum ptx_type type)
{
	const struct ptx_operand *d = &l->insn->operands[0], *s = &l->insn->operands[1];
	const struct ptx_operand *vec = d->kind == OPD_VECTOR ? d : s;
	static const enum ptx_type parts[] = { T_NONE, T_B8, T_B16, T_NONE, T_B32, T_NONE, T_NONE,
					       T_NONE, T_B64 };
	unsigned size = ptx_types[type].size, i, bits;
	uint32_t *slots = ptx_keep(l->ctx, 4 * sizeof(*slots)), whole;
	enum ptx_type part;
	struct op *op;

	if (d->kind == OPD_VECTOR && s->kind == OPD_VECTOR)
		ptx_syntax(l->ctx, l->insn->line, "mov between two vectors");
	if ((vec->count != 2 && vec->count != 4) || size / vec->count == 0 || size % vec->count)
		ptx_syntax(l->ctx, l->insn->line, "mov with a vector of the wrong size");
	part = parts[size / vec->count];
	for (i = 0; i < vec->count; i++) {
		if (vec == d)
			slots[i] = dest_relaxed(l, &vec->list[i], part, &bits);
		else
			slots[i] = source(l, &vec->list[i], part);
		if (vec == d && vec->list[i].kind == OPD_REG &&
		    !ptx_type_fits(vec->list[i].sym->reg.type, part))
			ptx_syntax(l->ctx, l->insn->line, "mov with a vector of the wrong size");
	}
	whole = vec == d ? source(l, s, type) : dest(l, d, type);
	op = emit(l, vec == d ? op_unpack : op_pack);
	op->ext = slots;
	op->count = (uint8_t)vec->count;
	op->imm = size / vec->count * 8;
	op->dst = op->a = whole;
	op->b = size;
}

static void lower_mov_sreg(struct lower *l, enum ptx_type type, unsigned bits)
{
	const struct ptx_operand *opd = &l->insn->operands[1];
	uint32_t to = dest(l, &l->insn->operands[0], type);
	struct op *op;

	if (ptx_types[type].class == C_FLOAT || ptx_sreg_type(opd->sreg) == T_PRED)
		ptx_syntax(l->ctx, opd->line, "'%.60s' does not fit .%s", opd->name.text,
			   ptx_types[type].name);
	op = emit(l, bits == 64 ? op_mov_sreg64 : op_mov_sreg32);
	op->imm = (uint64_t)opd->sreg << 8 | opd->value;
	op->dst = to;
}

void lower_mov(struct lower *l, const struct insn_def *def)
{
	enum ptx_type type = only_type(l);
	uint32_t from, to;
	struct op *op;
	unsigned bits;

	(void)def;
	want_operands(l, 2, 2);
	if (l->insn->operands[0].kind == OPD_VECTOR || l->insn->operands[1].kind == OPD_VECTOR) {
		lower_pack(l, type);
		return;
	}
	if (ptx_types[type].size == 1)
		ptx_syntax(l->ctx, l->insn->line, "mov does not take .%s", ptx_types[type].name);
	bits = slot_bits(type);
	if (l->insn->operands[1].kind == OPD_SREG && (bits == 32 || bits == 64) &&
	    ptx_types[type].size >= 4) {
		lower_mov_sreg(l, type, bits);
		return;
	}
	from = source(l, &l->insn->operands[1], type);
	to = dest(l, &l->insn->operands[0], type);
	op = emit(l, bits == 1 ? op_mov_pred : bits == 32 ? op_mov32 : bits == 64 ? op_mov64 : op_mov128);
	op->a = from;
	op->dst = to;
}
