/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering of asynchronous copies, barrier objects, and addresses within a cluster. */
#include <string.h>

#include "lower.h"

/* cp.async names the destination's space, then the source's. */
static unsigned copy_spaces(const struct lower *l, enum ptx_space spaces[2])
{
	static const struct {
		const char *word;
		enum ptx_space space;
	} words[] = {
		{ "global", SPACE_GLOBAL }, { "shared", SPACE_SHARED }, { "shared::cta", SPACE_SHARED },
		{ "shared::cluster", SPACE_CLUSTER },
	};
	unsigned i, k, count = 0;

	for (i = 0; i < l->insn->mod_count; i++)
		for (k = 0; k < sizeof(words) / sizeof(*words); k++)
			if (count < 2 && l->insn->mods[i].length == strlen(words[k].word) &&
			    !memcmp(l->insn->mods[i].text, words[k].word, l->insn->mods[i].length))
				spaces[count++] = words[k].space;
	return count;
}

/* cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], size, [barrier]
 * cp.async.bulk.global.shared::cta.bulk_group [to], [from], size */
static void lower_bulk(struct lower *l)
{
	const struct ptx_operand *opds = l->insn->operands;
	unsigned hint = has(l, MOD_HINT);
	enum ptx_space spaces[2];
	uint32_t to, from, size, barrier = 0;
	struct op *op;
	int to_shared;

	if (copy_spaces(l, spaces) != 2)
		ptx_syntax(l->ctx, l->insn->line, "malformed cp.async.bulk");
	to_shared = spaces[0] != SPACE_GLOBAL;
	if (has(l, MOD_TX) != to_shared || (spaces[1] == SPACE_GLOBAL) == !to_shared)
		ptx_syntax(l->ctx, l->insn->line, "malformed cp.async.bulk");
	want_operands(l, (to_shared ? 4 : 3) + hint, (to_shared ? 4 : 3) + hint);
	size = source(l, &opds[2], T_U32);
	to = generic_address(l, &opds[0], spaces[0]);
	from = generic_address(l, &opds[1], spaces[1]);
	if (to_shared)
		barrier = generic_address(l, &opds[3], SPACE_CLUSTER);
	op = emit(l, to_shared ? op_bulk_to_shared : op_bulk_to_global);
	op->dst = to;
	op->a = barrier;
	op->b = from;
	op->c = size;
}

/* cp.async.ca.shared.global [to], [from], size (, bytes to read) */
static void lower_small_copy(struct lower *l)
{
	const struct ptx_operand *opds = l->insn->operands;
	enum ptx_space spaces[2] = { SPACE_GENERIC }, to = SPACE_SHARED, from = SPACE_GLOBAL;
	unsigned flags_to = 0, flags_from = 0;
	uint64_t offset_to, offset_from, size;
	uint32_t a, b, c = 0;
	struct op *op;

	want_operands(l, 3, 5);
	size = int_operand(l, &opds[2]);
	if (copy_spaces(l, spaces) != 2 || spaces[0] != SPACE_SHARED || spaces[1] != SPACE_GLOBAL ||
	    (size != 4 && size != 8 && size != 16))
		ptx_syntax(l->ctx, l->insn->line, "malformed cp.async");
	if (l->insn->operand_count - has(l, MOD_HINT) > 3) {
		if (opds[3].kind == OPD_REG && opds[3].sym->reg.type == T_PRED)
			ptx_unsupported(l->ctx, l->insn->line, "cp.async with ignore-src");
		c = source(l, &opds[3], T_U32);
	}
	a = address(l, &opds[0], &to, &offset_to, &flags_to);
	b = address(l, &opds[1], &from, &offset_from, &flags_from);
	op = emit(l, op_cp_async);
	op->a = a;
	op->b = b;
	op->c = c;
	op->count = (uint8_t)size;
	op->imm = offset_to;
	op->d = (uint32_t)offset_from;
	op->flags = (uint16_t)(flags_to | (flags_from ? OPF_WIDE : 0));
}

static struct op *emit_mbarrier(struct lower *l, op_fn *fn, const struct ptx_operand *addr)
{
	enum ptx_space space = l->mods.value[MOD_SPACE];
	unsigned flags = 0;
	uint64_t offset;
	uint32_t base = address(l, addr, &space, &offset, &flags);
	struct op *op = emit(l, fn);

	op->a = base;
	op->imm = offset;
	op->flags = (uint16_t)flags;
	op->count = space;
	return op;
}

/* Copies are done when they are started: groups have nothing to wait for. */
void lower_cp(struct lower *l, const struct insn_def *def)
{
	(void)def;
	if (l->mods.value[MOD_ASYNC] > 1) {
		emit(l, op_nop);
	} else if (has(l, MOD_MBAR)) {
		want_operands(l, 1, 1);
		/* Without .noinc the arrival was not expected, and changes nothing. */
		if (has(l, MOD_NOINC))
			emit_mbarrier(l, op_mbar_arrive, &l->insn->operands[0]);
		else
			emit(l, op_nop);
	} else if (has(l, MOD_BULK)) {
		lower_bulk(l);
	} else {
		lower_small_copy(l);
	}
}

static void lower_mbar_arrive(struct lower *l, unsigned how)
{
	const struct ptx_operand *opds = l->insn->operands;
	unsigned count = l->insn->operand_count, at = count && opds[0].kind != OPD_ADDRESS;
	uint32_t b = 0, d = 0;
	struct op *op;

	want_operands(l, at + 1, at + 2);
	if (has(l, MOD_TX))
		how |= MBAR_EXPECT;
	if (count > at + 1)
		b = source(l, &opds[at + 1], T_U32);
	else if (how & MBAR_EXPECT)
		ptx_syntax(l->ctx, l->insn->line, "mbarrier.arrive.expect_tx needs a number of bytes");
	if (at)
		d = dest(l, &opds[0], T_B64);
	op = emit_mbarrier(l, op_mbar_arrive, &opds[at]);
	op->b = b;
	op->dst = d;
	op->d = how;
}

/* test_wait p, [a], state; .parity p, [a], parity; try_wait may have a time limit besides */
static void lower_mbar_wait(struct lower *l)
{
	const struct ptx_operand *opds = l->insn->operands;
	uint32_t b, d;
	struct op *op;

	want_operands(l, 3, 4);
	b = source(l, &opds[2], has(l, MOD_PARITY) ? T_U32 : T_B64);
	d = dest(l, &opds[0], T_PRED);
	op = emit_mbarrier(l, op_mbar_wait, &opds[1]);
	op->b = b;
	op->dst = d;
	op->d = has(l, MOD_PARITY) ? MBAR_PARITY : 0;
}

void lower_mbarrier(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *opds = l->insn->operands;
	struct op *op;
	uint32_t b, d;

	(void)def;
	if (has(l, MOD_ARRIVE)) {
		lower_mbar_arrive(l, 0);
		return;
	}
	if (has(l, MOD_TX)) {
		want_operands(l, 2, 2);
		b = source(l, &opds[1], T_U32);
		op = emit_mbarrier(l, op_mbar_tx, &opds[0]);
		op->b = b;
		op->d = l->mods.value[MOD_TX] == 3 ? MBAR_COMPLETE : 0;
		return;
	}
	if (!has(l, MOD_MBAR) || l->mods.value[MOD_MBAR] == 7)
		ptx_syntax(l->ctx, l->insn->line, "mbarrier of an unknown kind");
	switch ((enum mbar)l->mods.value[MOD_MBAR]) {
	case MBAR_INIT:
		want_operands(l, 2, 2);
		b = source(l, &opds[1], T_U32);
		emit_mbarrier(l, op_mbar_init, &opds[0])->b = b;
		break;
	case MBAR_INVAL:
		want_operands(l, 1, 1);
		emit_mbarrier(l, op_mbar_inval, &opds[0]);
		break;
	case MBAR_ARRIVE_DROP:
		lower_mbar_arrive(l, MBAR_DROP);
		break;
	case MBAR_TEST_WAIT:
	case MBAR_TRY_WAIT:
		lower_mbar_wait(l);
		break;
	case MBAR_PENDING:
		want_operands(l, 2, 2);
		b = source(l, &opds[1], T_B64);
		d = dest(l, &opds[0], T_B32);
		op = emit(l, op_mbar_pending);
		op->a = b;
		op->dst = d;
		break;
	}
}

/* mapa.shared::cluster.u32 d, a, rank; without the space the addresses are generic */
void lower_mapa(struct lower *l, const struct insn_def *def)
{
	enum ptx_type type = only_type(l);
	uint32_t a, b, d;
	struct op *op;
	int generic = !has(l, MOD_SPACE);

	(void)def;
	want_operands(l, 3, 3);
	if ((type != T_U32 && type != T_U64) || (generic && type == T_U32))
		ptx_syntax(l->ctx, l->insn->line, "malformed mapa");
	a = source(l, &l->insn->operands[1], type);
	b = source(l, &l->insn->operands[2], T_U32);
	d = dest(l, &l->insn->operands[0], type);
	op = emit(l, op_mapa);
	op->a = a;
	op->b = b;
	op->dst = d;
	op->imm = generic;
	op->flags = type == T_U64 ? OPF_WIDE : 0;
}

void lower_getctarank(struct lower *l, const struct insn_def *def)
{
	enum ptx_type type = only_type(l);
	uint32_t a, d;
	struct op *op;

	(void)def;
	want_operands(l, 2, 2);
	if (type != T_U32 && type != T_U64)
		ptx_syntax(l->ctx, l->insn->line, "malformed getctarank");
	a = source(l, &l->insn->operands[1], type);
	d = dest(l, &l->insn->operands[0], T_U32);
	op = emit(l, op_getctarank);
	op->a = a;
	op->dst = d;
	op->imm = !has(l, MOD_SPACE);
	op->flags = type == T_U64 ? OPF_WIDE : 0;
}
