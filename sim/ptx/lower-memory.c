/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering of loads, stores, atomics and address arithmetic. */
#include "lower.h"

static int is_volatile(const struct lower *l)
{
	return l->mods.value[MOD_SEM] >= SEM_VOLATILE || l->mods.value[MOD_CACHE] == 2;
}

static enum ptx_space space_of(const struct lower *l)
{
	return l->mods.value[MOD_SPACE];
}

/*
 * .param is three things: the launch's parameter block, a function's own
 * parameters, and those of a call being prepared; the last two are local.
 */
static void param_space(struct lower *l, const struct ptx_operand *opd, enum ptx_space *space)
{
	if (*space != SPACE_PARAM)
		return;
	if (opd->kind != OPD_ADDRESS || !opd->sym || opd->sym->kind != SYM_VAR) {
		*space = l->func->is_entry ? SPACE_GENERIC : SPACE_LOCAL;
		return;
	}
	if (opd->sym->var.space != SPACE_PARAM)
		ptx_syntax(l->ctx, opd->line, "'%.100s' is no parameter", opd->sym->name.text);
	if (!opd->sym->var.is_entry_param)
		*space = SPACE_LOCAL;
}

static void in_variable(struct lower *l, const struct ptx_operand *opd, uint64_t size)
{
	const struct ptx_var *var;

	if (opd->kind != OPD_ADDRESS || !opd->sym || opd->sym->kind != SYM_VAR)
		return;
	var = &opd->sym->var;
	if (var->space != SPACE_PARAM || var->unsized)
		return;
	if (opd->value > var->size || size > var->size - opd->value)
		ptx_syntax(l->ctx, opd->line, "access outside parameter '%.100s'",
			   opd->sym->name.text);
}

static unsigned vector_count(struct lower *l, const struct ptx_operand *value)
{
	unsigned count = has(l, MOD_VEC) ? l->mods.value[MOD_VEC] : 1;

	if ((has(l, MOD_VEC) && value->kind != OPD_VECTOR) ||
	    (value->kind == OPD_VECTOR && value->count != count))
		ptx_syntax(l->ctx, l->insn->line, "'%.60s' with the wrong number of elements",
			   l->insn->op.text);
	return count;
}

static void check_data_type(struct lower *l, enum ptx_type type)
{
	if (type == T_PRED || type == T_F16X2 || type == T_BF16X2 || type == T_TF32 ||
	    type >= T_U16X2)
		ptx_syntax(l->ctx, l->insn->line, "'%.60s' does not take .%s", l->insn->op.text,
			   ptx_types[type].name);
}

/* A cache-policy operand is a hint; it has to be a register of the right size all the same. */
static void take_hint(struct lower *l, unsigned usual)
{
	if (has(l, MOD_HINT)) {
		want_operands(l, usual + 1, usual + 1);
		source(l, &l->insn->operands[usual], T_B64);
	} else {
		want_operands(l, usual, usual);
	}
}

static void lower_param_load(struct lower *l, const struct ptx_operand *value, unsigned count,
			    enum ptx_type type, const struct ptx_var *var, uint64_t offset)
{
	unsigned k, bits;

	for (k = 0; k < count; k++) {
		uint32_t d = dest_relaxed(l, count > 1 || value->kind == OPD_VECTOR ? &value->list[k] :
					  value, type, &bits);
		struct op *op = emit(l, op_load_param);

		op->dst = d;
		op->imm = var->address + offset + k * ptx_types[type].size;
		op->count = ptx_types[type].size;
		op->flags = bits >= 64 ? OPF_WIDE : 0;
		op->b = ptx_types[type].is_signed && ptx_types[type].class == C_INT;
		op->c = bits;
	}
}

static uint32_t *value_slots(struct lower *l, const struct ptx_operand *value, unsigned count,
			     enum ptx_type type, int is_load, int *ret_wide)
{
	uint32_t *slots = ptx_keep(l->ctx, count * sizeof(*slots));
	unsigned k, bits, first = 0;

	for (k = 0; k < count; k++) {
		const struct ptx_operand *opd = value->kind == OPD_VECTOR ? &value->list[k] : value;

		slots[k] = is_load ? dest_relaxed(l, opd, type, &bits) :
			   source_relaxed(l, opd, type, &bits);
		if (is_load && opd->kind == OPD_SINK && k)
			slots[k] = new_slot(l, bits = first);
		if (!k)
			first = bits;
		if (bits != first) {
			if (!is_load || k == 0 || value->list[0].kind != OPD_SINK)
				ptx_unsupported(l->ctx, l->insn->line,
						"'%.60s' with registers of mixed sizes",
						l->insn->op.text);
			first = bits;
			slots[0] = new_slot(l, bits);
		}
	}
	*ret_wide = first >= 64;
	return slots;
}

void lower_ld(struct lower *l, const struct insn_def *def)
{
	enum ptx_type type = only_type(l);
	enum ptx_space space = def->data == 1 ? SPACE_GLOBAL : space_of(l);
	const struct ptx_operand *value, *addr;
	unsigned count, flags = 0, size = ptx_types[type].size;
	uint64_t offset;
	uint32_t base, *slots;
	struct op *op;
	int wide;

	take_hint(l, 2);
	value = &l->insn->operands[0];
	addr = &l->insn->operands[1];
	check_data_type(l, type);
	count = vector_count(l, value);
	param_space(l, addr, &space);
	in_variable(l, addr, (uint64_t)size * count);
	if (space == SPACE_PARAM && size <= 8) {
		lower_param_load(l, value, count, type, &addr->sym->var, addr->value);
		return;
	}
	if (space == SPACE_PARAM)
		ptx_unsupported(l->ctx, l->insn->line, "ld.param of .b128");
	slots = value_slots(l, value, count, type, 1, &wide);
	base = address(l, addr, &space, &offset, &flags);
	op = emit(l, load_find(space, size, ptx_types[type].is_signed && ptx_types[type].class == C_INT,
			       wide));
	if (is_volatile(l))
		flags |= OPF_VOLATILE;
	op->flags = (uint16_t)flags;
	op->dst = slots[0];
	op->a = base;
	op->imm = offset;
	op->count = (uint8_t)count;
	op->ext = slots;
	op->b = space;
}

void lower_st(struct lower *l, const struct insn_def *def)
{
	enum ptx_type type = only_type(l);
	enum ptx_space space = space_of(l);
	const struct ptx_operand *value, *addr;
	unsigned count, flags = 0, size = ptx_types[type].size;
	uint64_t offset;
	uint32_t base, *slots;
	struct op *op;
	int wide;

	(void)def;
	take_hint(l, 2);
	addr = &l->insn->operands[0];
	value = &l->insn->operands[1];
	check_data_type(l, type);
	count = vector_count(l, value);
	param_space(l, addr, &space);
	in_variable(l, addr, (uint64_t)size * count);
	if (space == SPACE_PARAM || space == SPACE_CONST)
		ptx_syntax(l->ctx, l->insn->line, "st cannot write there");
	slots = value_slots(l, value, count, type, 0, &wide);
	base = address(l, addr, &space, &offset, &flags);
	op = emit(l, store_find(space, size, wide));
	op->flags = (uint16_t)flags;
	op->dst = slots[0];
	op->a = base;
	op->imm = offset;
	op->count = (uint8_t)count;
	op->ext = slots;
	op->b = space;
	op->c = l->mods.value[MOD_SEM] >= SEM_RELEASE;
}

static int is_looking(enum atom atom)
{
	return atom == ATOM_CAS || atom == ATOM_EXCH;
}

/* atom d, [a], b (, c) and red [a], b.  imm: offset; count: space; d: third operand */
void lower_atom(struct lower *l, const struct insn_def *def)
{
	int is_red = def->data;
	enum ptx_type type = only_type(l);
	enum ptx_space space = space_of(l);
	enum atom atom = l->mods.value[MOD_ATOM];
	const struct ptx_operand *opds = l->insn->operands;
	unsigned flags = 0, at = is_red ? 0 : 1, usual = at + (atom == ATOM_CAS ? 3 : 2);
	uint32_t d, base, b, c = 0;
	uint64_t offset;
	struct op *op;
	op_fn *fn;

	if (has(l, MOD_VEC))
		ptx_unsupported(l->ctx, l->insn->line, "'%.60s' of vectors", l->insn->op.text);
	if (space != SPACE_GENERIC && space != SPACE_GLOBAL && space != SPACE_SHARED &&
	    space != SPACE_CLUSTER)
		ptx_syntax(l->ctx, l->insn->line, "'%.60s' does not work there", l->insn->op.text);
	fn = atomic_find(atom, type);
	if (!fn || (is_red && (atom == ATOM_CAS || atom == ATOM_EXCH)))
		ptx_syntax(l->ctx, l->insn->line, "'%.60s' has no such operation on .%s",
			   l->insn->op.text, ptx_types[type].name);
	take_hint(l, usual);
	base = address(l, &opds[at], &space, &offset, &flags);
	b = source(l, &opds[at + 1], type);
	if (atom == ATOM_CAS)
		c = source(l, &opds[at + 2], type);
	d = is_red ? new_slot(l, slot_bits(type)) : dest(l, &opds[0], type);
	op = emit(l, fn);
	op->dst = d;
	op->a = base;
	op->b = b;
	op->c = c;
	op->imm = offset;
	op->count = space;
	op->flags = (uint16_t)(flags | (is_looking(atom) ? OPF_VOLATILE : 0));
}

/* cvta.space and cvta.to.space.  count: space; imm: direction */
void lower_cvta(struct lower *l, const struct insn_def *def)
{
	enum ptx_type type = only_type(l);
	enum ptx_space space = l->mods.value[MOD_SPACE];
	uint32_t a, d;
	struct op *op;

	(void)def;
	want_operands(l, 2, 2);
	if (type != T_U64 && type != T_U32)
		ptx_syntax(l->ctx, l->insn->line, "cvta takes .u64");
	if (type == T_U32)
		ptx_unsupported(l->ctx, l->insn->line, "cvta of 32-bit addresses");
	if (!has(l, MOD_SPACE))
		ptx_syntax(l->ctx, l->insn->line, "cvta without a state space");
	a = source(l, &l->insn->operands[1], type);
	d = dest(l, &l->insn->operands[0], type);
	op = emit(l, space == SPACE_SHARED || space == SPACE_LOCAL || space == SPACE_CLUSTER ||
		  (space == SPACE_PARAM && !l->func->is_entry) ? op_cvta : op_mov64);
	op->dst = d;
	op->a = a;
	op->count = space;
	op->imm = has(l, MOD_TO);
}

void lower_isspacep(struct lower *l, const struct insn_def *def)
{
	uint32_t a, d;
	struct op *op;
	const struct ptx_operand *opd;

	(void)def;
	want_operands(l, 2, 2);
	if (!has(l, MOD_SPACE))
		ptx_syntax(l->ctx, l->insn->line, "isspacep without a state space");
	opd = &l->insn->operands[1];
	if (opd->kind == OPD_REG && ptx_types[opd->sym->reg.type].size == 4)
		ptx_unsupported(l->ctx, l->insn->line, "isspacep of 32-bit addresses");
	a = source(l, opd, T_B64);
	d = dest(l, &l->insn->operands[0], T_PRED);
	op = emit(l, op_isspacep);
	op->dst = d;
	op->a = a;
	op->count = l->mods.value[MOD_SPACE];
}
