/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering of what a whole warp does with matrices. */
#include "lower.h"
#include "matrix.h"

/* All lanes have to be there; groups that came apart meet first. */
void lower_meeting(struct lower *l)
{
	struct op *op = emit(l, op_sync);

	op->ext = &sync_warp;
	op->d = konst(l, FULL, 32);
}

static void check_warp_wide(struct lower *l)
{
	if (!has(l, MOD_SYNC) || !has(l, MOD_ALIGNED) || !has(l, MOD_SHAPE))
		ptx_syntax(l->ctx, l->insn->line, "malformed '%.60s'", l->insn->op.text);
}

static const uint32_t *registers(struct lower *l, const struct ptx_operand *opd, unsigned count,
				 enum ptx_type type, int is_dest)
{
	uint32_t *slots = ptx_keep(l->ctx, count * sizeof(*slots));
	const struct ptx_operand *one;
	unsigned k;

	if (opd->kind == OPD_VECTOR ? opd->count != count : count != 1)
		ptx_syntax(l->ctx, opd->line, "'%.60s' needs %u registers here", l->insn->op.text, count);
	for (k = 0; k < count; k++) {
		one = opd->kind == OPD_VECTOR ? &opd->list[k] : opd;
		slots[k] = is_dest ? dest(l, one, type) : source(l, one, type);
	}
	return slots;
}

/* ldmatrix.sync.aligned.m8n8.x4(.trans).shared.b16 {d...}, [a]; stmatrix the other way */
void lower_ldmatrix(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *value, *addr;
	enum ptx_space space = l->mods.value[MOD_SPACE];
	unsigned flags = 0, count = l->mods.value[MOD_NUM];
	const uint32_t *slots;
	uint64_t offset;
	uint32_t base;
	struct op *op;

	check_warp_wide(l);
	want_operands(l, 2, 2);
	value = &l->insn->operands[def->data ? 1 : 0];
	addr = &l->insn->operands[def->data ? 0 : 1];
	if (l->mods.value[MOD_SHAPE] != SHAPE_M8N8 || !count || only_type(l) != T_B16 ||
	    (has(l, MOD_SPACE) && space != SPACE_SHARED))
		ptx_unsupported(l->ctx, l->insn->line, "'%.60s' of this shape", l->insn->op.text);
	lower_meeting(l);
	slots = registers(l, value, count, T_B32, !def->data);
	base = address(l, addr, &space, &offset, &flags);
	op = emit(l, def->data ? op_stmatrix : op_ldmatrix);
	op->a = base;
	op->imm = offset;
	op->ext = slots;
	op->count = (uint8_t)count;
	op->b = space;
	op->c = has(l, MOD_TRANS);
	op->flags = (uint16_t)flags;
}

void lower_movmatrix(struct lower *l, const struct insn_def *def)
{
	uint32_t a, d;
	struct op *op;

	(void)def;
	check_warp_wide(l);
	want_operands(l, 2, 2);
	if (l->mods.value[MOD_SHAPE] != SHAPE_M8N8 || !has(l, MOD_TRANS) || only_type(l) != T_B16)
		ptx_syntax(l->ctx, l->insn->line, "malformed movmatrix");
	lower_meeting(l);
	a = source(l, &l->insn->operands[1], T_B32);
	d = dest(l, &l->insn->operands[0], T_B32);
	op = emit(l, op_movmatrix);
	op->a = a;
	op->dst = d;
}

static unsigned depth_of(unsigned shape)
{
	switch (shape) {
	case SHAPE_M16N8K4: return 4;
	case SHAPE_M16N8K8: return 8;
	case SHAPE_M16N8K16: return 16;
	case SHAPE_M16N8K32: return 32;
	default: return 0;
	}
}

/* Elements of one 32-bit register; 0: not a type of matrices here. */
static unsigned packed(enum ptx_type type)
{
	switch (type) {
	case T_F16: case T_BF16: return 2;
	case T_TF32: return 1;
	case T_S8: case T_U8: return 4;
	default: return 0;
	}
}

static int mma_fits(const struct mma *m, enum ptx_type a, enum ptx_type b, enum ptx_type c)
{
	int integer = a == T_S8 || a == T_U8;

	if (!m->packed || packed(b) != m->packed || !m->depth || m->depth % (4 * m->packed) ||
	    m->depth / (4 * m->packed) > 2 || (m->type_d != c && !integer))
		return 0;
	if (integer)
		return m->type_d == T_S32 && c == T_S32;
	return a == b && (m->type_d == T_F32 || (m->type_d == T_F16 && a == T_F16));
}

/* mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c */
void lower_mma(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *opds = l->insn->operands;
	const enum ptx_type *types = l->mods.types;
	struct mma *m = ptx_keep(l->ctx, sizeof(*m));
	unsigned count_d;
	enum ptx_type type_d;

	(void)def;
	check_warp_wide(l);
	want_operands(l, 4, 4);
	m->depth = depth_of(l->mods.value[MOD_SHAPE]);
	if (l->mods.type_count == 4) {
		m->type_d = types[0];
		m->type_a = types[1];
		m->type_b = types[2];
		m->packed = packed(types[1]);
		m->saturate = l->mods.value[MOD_SAT] == 2;
	}
	if (l->mods.type_count != 4 || !has(l, MOD_ROW) || !has(l, MOD_COL) ||
	    !mma_fits(m, types[1], types[2], types[3]))
		ptx_unsupported(l->ctx, l->insn->line, "mma of this shape or these types");
	lower_meeting(l);
	count_d = m->type_d == T_F16 ? 2 : 4;
	type_d = m->type_d == T_F16 ? T_B32 : m->type_d;
	m->a = registers(l, &opds[1], 2 * (m->depth / (4 * m->packed)), T_B32, 0);
	m->b = registers(l, &opds[2], m->depth / (4 * m->packed), T_B32, 0);
	m->c = registers(l, &opds[3], count_d, type_d, 0);
	m->d = registers(l, &opds[0], count_d, type_d, 1);
	emit(l, op_mma)->ext = m;
}
