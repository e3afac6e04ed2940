/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering of comparisons, selections, predicate logic and conversions. */
#include "lower.h"

static enum compare comparison(struct lower *l)
{
	unsigned half = l->mods.value[MOD_HALF];

	if (has(l, MOD_CMP))
		return l->mods.value[MOD_CMP];
	if (half == ALU_LO)
		return CMP_LO;
	if (half == ALU_HI)
		return CMP_HI;
	ptx_syntax(l->ctx, l->insn->line, "'%.60s' without a comparison", l->insn->op.text);
}

static unsigned logic(struct lower *l)
{
	switch (l->mods.value[MOD_ATOM]) {
	case ATOM_NONE: return LOGIC_NONE;
	case ATOM_AND: return LOGIC_AND;
	case ATOM_OR: return LOGIC_OR;
	case ATOM_XOR: return LOGIC_XOR;
	}
	ptx_syntax(l->ctx, l->insn->line, "'%.60s' combines by and, or, xor", l->insn->op.text);
}

static compare_fn *comparer(struct lower *l, enum ptx_type type)
{
	compare_fn *fn = compare_find(comparison(l), type);

	if (!fn)
		ptx_syntax(l->ctx, l->insn->line, "'%.60s' cannot compare .%s so", l->insn->op.text,
			   ptx_types[type].name);
	return fn;
}

/* a, b operands; c predicate to combine with; ext comparison; imm logic */
static struct op *emit_compare(struct lower *l, op_fn *fn, enum ptx_type type)
{
	unsigned how = logic(l);
	const struct ptx_operand *opds = l->insn->operands;
	uint32_t a, b, c = 0;
	compare_fn *compare = comparer(l, type);
	struct op *op;

	want_operands(l, how ? 4 : 3, how ? 4 : 3);
	a = source(l, &opds[1], type);
	b = source(l, &opds[2], type);
	if (how)
		c = pred_source(l, &opds[3]);
	op = emit(l, fn);
	op->a = a;
	op->b = b;
	op->c = c;
	op->imm = how;
	op->ext = (const void *)compare;
	op->flags = has(l, MOD_FTZ) ? OPF_FTZ : 0;
	return op;
}

void lower_setp(struct lower *l, const struct insn_def *def)
{
	enum ptx_type type = only_type(l);
	const struct ptx_operand *d;
	struct op *op;
	uint32_t p, q = 0;
	int pair = type == T_F16X2 || type == T_BF16X2;

	(void)def;
	want_operands(l, 3, 4);
	d = &l->insn->operands[0];
	p = dest(l, d, T_PRED);
	if (d->second)
		q = dest(l, d->second, T_PRED);
	if (pair && !q)
		ptx_syntax(l->ctx, l->insn->line, "setp of a pair needs two predicates");
	op = emit_compare(l, pair ? op_setp_half2 : op_setp, type);
	op->dst = p;
	op->d = q;
}

/* What true is in the result of set; 0: not a type of results. */
static uint32_t truth(enum ptx_type to, int pair)
{
	switch (to) {
	case T_U32: case T_S32: return pair ? 0xffff : FULL;
	case T_F32: return pair ? 0 : 0x3f800000;
	case T_U16: case T_S16: return pair ? 0 : FULL;
	case T_F16: return pair ? 0 : 0x3c00;
	case T_BF16: return pair ? 0 : 0x3f80;
	case T_F16X2: return pair ? 0x3c00 : 0;
	case T_BF16X2: return pair ? 0x3f80 : 0;
	default: return 0;
	}
}

void lower_set(struct lower *l, const struct insn_def *def)
{
	enum ptx_type to, from;
	struct op *op;
	uint32_t d;
	int pair;

	(void)def;
	if (l->mods.type_count != 2)
		ptx_syntax(l->ctx, l->insn->line, "set needs two types");
	to = l->mods.types[0];
	from = l->mods.types[1];
	pair = from == T_F16X2 || from == T_BF16X2;
	if (!truth(to, pair))
		ptx_syntax(l->ctx, l->insn->line, "set of .%s does not give .%s", ptx_types[from].name,
			   ptx_types[to].name);
	want_operands(l, 3, 4);
	d = dest(l, &l->insn->operands[0], to);
	op = emit_compare(l, pair ? op_set_half2 : op_set, from);
	op->dst = d;
	op->d = truth(to, pair);
}

void lower_selp(struct lower *l, const struct insn_def *def)
{
	enum ptx_type type = only_type(l);
	const struct ptx_operand *opds = l->insn->operands;
	uint32_t a, b, c, d;
	struct op *op;

	(void)def;
	want_operands(l, 4, 4);
	if (ptx_types[type].size < 2 || ptx_types[type].size > 8)
		ptx_syntax(l->ctx, l->insn->line, "selp does not take .%s", ptx_types[type].name);
	a = source(l, &opds[1], type);
	b = source(l, &opds[2], type);
	c = pred_source(l, &opds[3]);
	d = dest(l, &opds[0], type);
	op = emit(l, slot_bits(type) == 64 ? op_selp64 : op_selp32);
	op->dst = d;
	op->a = a;
	op->b = b;
	op->c = c;
}

void lower_slct(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *opds = l->insn->operands;
	enum ptx_type type, by;
	uint32_t a, b, c, d;
	struct op *op;

	(void)def;
	want_operands(l, 4, 4);
	if (l->mods.type_count != 2)
		ptx_syntax(l->ctx, l->insn->line, "slct needs two types");
	type = l->mods.types[0];
	by = l->mods.types[1];
	if ((by != T_S32 && by != T_F32) || ptx_types[type].size < 2 || ptx_types[type].size > 8)
		ptx_syntax(l->ctx, l->insn->line, "malformed slct");
	a = source(l, &opds[1], type);
	b = source(l, &opds[2], type);
	c = source(l, &opds[3], by);
	d = dest(l, &opds[0], type);
	op = emit(l, slot_bits(type) == 64 ? op_slct64 : op_slct32);
	op->dst = d;
	op->a = a;
	op->b = b;
	op->c = c;
	op->imm = by == T_F32;
	op->flags = has(l, MOD_FTZ) ? OPF_FTZ : 0;
}

void lower_testp(struct lower *l, const struct insn_def *def)
{
	enum ptx_type type = only_type(l);
	uint32_t a, d;
	struct op *op;

	(void)def;
	want_operands(l, 2, 2);
	if ((type != T_F32 && type != T_F64) || !has(l, MOD_TESTP))
		ptx_syntax(l->ctx, l->insn->line, "malformed testp");
	a = source(l, &l->insn->operands[1], type);
	d = dest(l, &l->insn->operands[0], T_PRED);
	op = emit(l, op_testp);
	op->dst = d;
	op->a = a;
	op->imm = l->mods.value[MOD_TESTP];
	op->flags = type == T_F64 ? OPF_WIDE : 0;
}

/* and, or, xor, not of predicates; of integers they are arithmetic */
void lower_logic(struct lower *l, const struct insn_def *def)
{
	static op_fn *const fns[] = { op_pred_and, op_pred_or, op_pred_xor, op_not_pred };
	unsigned count = def->data == 3 ? 2 : 3;
	uint32_t a, b = 0, d;
	struct op *op;

	if (only_type(l) != T_PRED) {
		lower_alu(l, def);
		return;
	}
	want_operands(l, count, count);
	a = pred_source(l, &l->insn->operands[1]);
	if (count == 3)
		b = pred_source(l, &l->insn->operands[2]);
	d = dest(l, &l->insn->operands[0], T_PRED);
	op = emit(l, fns[def->data]);
	op->dst = d;
	op->a = a;
	op->b = b;
}

static uint32_t convert_source(struct lower *l, const struct ptx_operand *opd, enum ptx_type type)
{
	unsigned bits;
	uint32_t ref = source_relaxed(l, opd, type, &bits);
	struct op *op;

	if (bits <= slot_bits(type))
		return ref;
	op = emit_free(l, op_narrow);
	op->a = ref;
	op->dst = new_slot(l, 32);
	return op->dst;
}

/* The value lies in a 32-bit slot; the register has 64 bits. */
static void widen_into(struct lower *l, uint32_t from, uint32_t to, int is_signed)
{
	struct op *op = emit(l, op_widen);

	op->a = from;
	op->dst = to;
	op->imm = is_signed;
}

void lower_cvt(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *opds = l->insn->operands;
	enum ptx_type to, from;
	unsigned bits, flags = 0, rounding;
	uint32_t a, b = 0, d;
	op_fn *fn;
	struct op *op;
	int pair;

	(void)def;
	if (l->mods.type_count != 2)
		ptx_syntax(l->ctx, l->insn->line, "cvt needs two types");
	to = l->mods.types[0];
	from = l->mods.types[1];
	pair = from == T_F32 && (to == T_F16X2 || to == T_BF16X2 || to == T_E4M3X2 || to == T_E5M2X2);
	want_operands(l, pair ? 3 : 2, pair ? 3 : 2);
	rounding = has(l, MOD_INTEGRAL) ? l->mods.value[MOD_INTEGRAL] : l->mods.value[MOD_RND];
	if (has(l, MOD_INTEGRAL) && has(l, MOD_RND))
		ptx_syntax(l->ctx, l->insn->line, "cvt with two roundings");
	flags |= has(l, MOD_FTZ) ? OPF_FTZ : 0;
	flags |= has(l, MOD_SAT) ? OPF_SAT : 0;
	flags |= has(l, MOD_RELU) ? OPF_RELU : 0;
	fn = convert_find(to, from, rounding, has(l, MOD_INTEGRAL), flags);
	if (!fn)
		ptx_unsupported(l->ctx, l->insn->line, "cvt from .%s to .%s%s", ptx_types[from].name,
				ptx_types[to].name, rounding ? " with this rounding" : "");
	a = convert_source(l, &opds[1], from);
	if (pair)
		b = convert_source(l, &opds[2], from);
	d = dest_relaxed(l, &opds[0], to, &bits);
	op = emit(l, fn);
	op->a = a;
	op->b = b;
	op->c = l->mods.value[MOD_SAT] == 2;
	op->flags = (uint16_t)(flags | rounding << OPF_RND_SHIFT);
	op->imm = (uint64_t)to << 8 | from | (uint64_t)has(l, MOD_INTEGRAL) << 16;
	if (bits > slot_bits(to)) {
		op->dst = new_slot(l, 32);
		widen_into(l, op->dst, d, ptx_types[to].is_signed);
	} else {
		op->dst = d;
	}
}
