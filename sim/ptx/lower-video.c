/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering of the SIMD video instructions. */
#include "lower.h"

static int is_word(enum ptx_type type)
{
	return type == T_U32 || type == T_S32;
}

/* vadd4.u32.s32.s32{.sat}{.add} d, a, b, c; vset2 takes two types and a comparison */
void lower_video(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *opds = l->insn->operands;
	const enum ptx_type *types = l->mods.types;
	unsigned wanted = def->data == VIDEO_SET ? 2 : 3, i, cmp, half = l->mods.value[MOD_HALF];
	uint32_t refs[4];
	struct op *op;

	want_operands(l, 4, 4);
	cmp = has(l, MOD_CMP) ? l->mods.value[MOD_CMP] : half == ALU_LO ? CMP_LO : half == ALU_HI ? CMP_HI : 0;
	if (l->mods.type_count != wanted || (cmp != 0) != (def->data == VIDEO_SET))
		ptx_syntax(l->ctx, l->insn->line, "malformed '%.60s'", l->insn->op.text);
	for (i = 0; i < wanted; i++)
		if (!is_word(types[i]))
			ptx_syntax(l->ctx, l->insn->line, "'%.60s' takes .u32 and .s32", l->insn->op.text);
	if (has(l, MOD_ATOM) && l->mods.value[MOD_ATOM] != ATOM_ADD)
		ptx_syntax(l->ctx, l->insn->line, "'%.60s' can add only", l->insn->op.text);
	for (i = 1; i < 4; i++)
		refs[i] = source(l, &opds[i], T_B32);
	refs[0] = dest(l, &opds[0], T_B32);
	op = emit(l, op_video);
	op->dst = refs[0];
	op->a = refs[1];
	op->b = refs[2];
	op->c = refs[3];
	op->count = l->insn->op.text[l->insn->op.length - 1] == '4' ? 4 : 2;
	op->flags = (uint16_t)((has(l, MOD_SAT) ? OPF_SAT : 0) | (has(l, MOD_ATOM) ? OPF_NEG : 0));
	op->imm = (uint64_t)def->data | cmp << 8 |
		  (uint64_t)(wanted == 3 && types[0] == T_S32) << 16 |
		  (uint64_t)(types[wanted - 2] == T_S32) << 17 | (uint64_t)(types[wanted - 1] == T_S32) << 18;
}
