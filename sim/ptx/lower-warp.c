/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering of what lanes, warps and blocks do together. */
#include "lower.h"

void lower_nop(struct lower *l, const struct insn_def *def)
{
	(void)def;
	emit(l, op_nop);
}

void lower_nanosleep(struct lower *l, const struct insn_def *def)
{
	uint32_t a;

	(void)def;
	want_operands(l, 1, 1);
	a = source(l, &l->insn->operands[0], only_type(l));
	emit(l, op_nanosleep)->a = a;
}

void lower_fence(struct lower *l, const struct insn_def *def)
{
	(void)def;
	/* fences between proxies may name memory: there is one proxy here */
	want_operands(l, 0, has(l, MOD_PROXY) ? 2 : 0);
	emit(l, op_fence);
}

void lower_activemask(struct lower *l, const struct insn_def *def)
{
	uint32_t d;

	(void)def;
	want_operands(l, 1, 1);
	d = dest(l, &l->insn->operands[0], only_type(l));
	emit(l, op_activemask)->dst = d;
}

/* d: the member mask's slot, or 0 for the lanes at hand */
static struct op *emit_sync(struct lower *l, const struct sync_kind *kind, uint32_t member)
{
	struct op *op = emit(l, member ? op_sync : op_sync_none);

	op->ext = kind;
	op->d = member;
	return op;
}

static void lower_warp_sync(struct lower *l)
{
	uint32_t member;

	want_operands(l, 1, 1);
	member = source(l, &l->insn->operands[0], T_B32);
	emit_sync(l, &sync_warp, member);
}

/* bar.sync a{, b}; bar.arrive a, b; bar.red.op d, a{, b}, p */
void lower_bar(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *opds = l->insn->operands;
	unsigned count = l->insn->operand_count;
	int is_red = has(l, MOD_RED), is_arrive = has(l, MOD_ARRIVE);
	unsigned at = is_red ? 1 : 0, kind = 0;
	uint32_t a, b = 0, c = 0, d = 0;
	struct op *op;

	(void)def;
	if (l->mods.value[MOD_SCOPE] > 1) {
		if (is_arrive == has(l, MOD_WAIT) || count)
			ptx_syntax(l->ctx, l->insn->line, "malformed barrier.cluster");
		emit(l, is_arrive ? op_cluster_arrive : op_cluster_wait);
		return;
	}
	if (has(l, MOD_WARP)) {
		lower_warp_sync(l);
		return;
	}
	if (!is_red && !is_arrive && !has(l, MOD_SYNC))
		ptx_syntax(l->ctx, l->insn->line, "'%.60s' of an unknown kind", l->insn->op.text);
	want_operands(l, is_red ? 3 : is_arrive ? 2 : 1, is_red ? 4 : 2);
	a = source(l, &opds[at], T_U32);
	if (count > at + 1 + is_red)
		b = source(l, &opds[at + 1], T_U32);
	if (is_red) {
		switch (l->mods.value[MOD_ATOM]) {
		case ATOM_POPC: kind = BAR_POPC; break;
		case ATOM_AND: kind = BAR_AND; break;
		case ATOM_OR: kind = BAR_OR; break;
		default: ptx_syntax(l->ctx, l->insn->line, "bar.red of an unknown kind");
		}
		c = pred_source(l, &opds[count - 1]);
		d = dest(l, &opds[0], kind == BAR_POPC ? T_U32 : T_PRED);
	}
	op = emit(l, is_red ? op_bar_red : is_arrive ? op_bar_arrive : op_bar_sync);
	op->a = a;
	op->b = b;
	op->c = c;
	op->dst = d;
	op->count = (uint8_t)kind;
}

/* shfl.sync.mode.b32 d|p, a, b, c, member */
void lower_shfl(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *opds = l->insn->operands;
	unsigned count = has(l, MOD_SYNC) ? 5 : 4;
	uint32_t a, b, c, d, p = 0, member = 0;
	struct op *op;

	(void)def;
	want_operands(l, count, count);
	if (only_type(l) != T_B32 || !(has(l, MOD_SHFL) ^ has(l, MOD_IDX)))
		ptx_syntax(l->ctx, l->insn->line, "malformed shfl");
	a = source(l, &opds[1], T_B32);
	b = source(l, &opds[2], T_B32);
	c = source(l, &opds[3], T_B32);
	if (count == 5)
		member = source(l, &opds[4], T_B32);
	d = dest(l, &opds[0], T_B32);
	if (opds[0].second)
		p = dest(l, opds[0].second, T_PRED);
	op = emit_sync(l, &sync_shfl, member);
	op->dst = d;
	op->a = a;
	op->b = b;
	op->c = c;
	op->imm = p;
	op->count = has(l, MOD_IDX) ? SHFL_IDX : l->mods.value[MOD_SHFL];
}

/* vote.sync.mode.pred d, {!}a, member; ballot gives b32 */
void lower_vote(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *opds = l->insn->operands;
	unsigned count = has(l, MOD_SYNC) ? 3 : 2, mode;
	uint32_t a, d, member = 0;
	struct op *op;

	(void)def;
	want_operands(l, count, count);
	if (!(has(l, MOD_VOTE) ^ has(l, MOD_UNI)))
		ptx_syntax(l->ctx, l->insn->line, "vote of an unknown kind");
	mode = has(l, MOD_UNI) ? VOTE_UNI : l->mods.value[MOD_VOTE];
	if (only_type(l) != (mode == VOTE_BALLOT ? T_B32 : T_PRED))
		ptx_syntax(l->ctx, l->insn->line, "vote with the wrong type");
	a = pred_source(l, &opds[1]);
	if (count == 3)
		member = source(l, &opds[2], T_B32);
	d = dest(l, &opds[0], mode == VOTE_BALLOT ? T_B32 : T_PRED);
	op = emit_sync(l, &sync_vote, member);
	op->dst = d;
	op->a = a;
	op->count = (uint8_t)mode;
}

/* match.any.sync.b32 d, a, member; match.all.sync.b32 d|p, a, member */
void lower_match(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *opds = l->insn->operands;
	enum ptx_type type = only_type(l);
	uint32_t a, d, p = 0, member;
	struct op *op;

	(void)def;
	want_operands(l, 3, 3);
	if ((type != T_B32 && type != T_B64) || !has(l, MOD_VOTE) ||
	    l->mods.value[MOD_VOTE] == VOTE_BALLOT)
		ptx_syntax(l->ctx, l->insn->line, "malformed match");
	a = source(l, &opds[1], type);
	member = source(l, &opds[2], T_B32);
	d = dest(l, &opds[0], T_B32);
	if (opds[0].second)
		p = dest(l, opds[0].second, T_PRED);
	op = emit_sync(l, &sync_match, member);
	op->dst = d;
	op->a = a;
	op->imm = p;
	op->count = l->mods.value[MOD_VOTE] == VOTE_ALL ? MATCH_ALL : MATCH_ANY;
	op->flags = type == T_B64 ? OPF_WIDE : 0;
}

/* redux.sync.op.type d, a, member */
void lower_redux(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *opds = l->insn->operands;
	enum ptx_type type = only_type(l);
	enum atom atom = l->mods.value[MOD_ATOM];
	uint32_t a, d, member;
	struct op *op;
	int ok;

	(void)def;
	want_operands(l, 3, 3);
	if (type == T_F32)
		ptx_unsupported(l->ctx, l->insn->line, "redux of .f32");
	ok = type == T_B32 ? atom == ATOM_AND || atom == ATOM_OR || atom == ATOM_XOR :
	     (type == T_U32 || type == T_S32) &&
	     (atom == ATOM_ADD || atom == ATOM_MIN || atom == ATOM_MAX);
	if (!ok)
		ptx_syntax(l->ctx, l->insn->line, "malformed redux");
	a = source(l, &opds[1], type);
	member = source(l, &opds[2], T_B32);
	d = dest(l, &opds[0], type);
	op = emit_sync(l, &sync_redux, member);
	op->dst = d;
	op->a = a;
	op->count = (uint8_t)atom;
	op->imm = type == T_S32;
}

/* elect.sync d|p, member */
void lower_elect(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *opds = l->insn->operands;
	uint32_t d, p, member;
	struct op *op;

	(void)def;
	want_operands(l, 2, 2);
	if (!opds[0].second)
		ptx_syntax(l->ctx, l->insn->line, "elect needs a predicate result");
	member = source(l, &opds[1], T_B32);
	d = dest(l, &opds[0], T_B32);
	p = dest(l, opds[0].second, T_PRED);
	op = emit_sync(l, &sync_elect, member);
	op->dst = d;
	op->imm = p;
}
