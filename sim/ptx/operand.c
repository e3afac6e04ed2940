/* SPDX-License-Identifier: Apache-2.0 */
/* Operands: checked against the types that an instruction wants, and turned into slots. */
#include <string.h>

#include "lower.h"

void want_operands(struct lower *l, unsigned least, unsigned most)
{
	unsigned count = l->insn->operand_count;

	if (count < least || count > most)
		ptx_syntax(l->ctx, l->insn->line, "'%.60s' with %u operands, needs %u%s",
			   l->insn->op.text, count, count < least ? least : most,
			   least == most ? "" : count < least ? " or more" : " or fewer");
}

static void mismatch(struct lower *l, const struct ptx_operand *opd, enum ptx_type type)
{
	ptx_syntax(l->ctx, opd->line, "'%.100s' does not fit type .%s of '%.60s'",
		   opd->name.text ? opd->name.text : "operand", ptx_types[type].name,
		   l->insn->op.text);
}

static unsigned element_of(struct lower *l, const struct ptx_operand *opd)
{
	if (opd->selector)
		ptx_unsupported(l->ctx, opd->line, "'%.60s' with a part of a register",
				l->insn->op.text);
	if (opd->sym->reg.width > 1 && !opd->element)
		ptx_syntax(l->ctx, opd->line, "'%.100s' is a vector", opd->name.text);
	return opd->element ? opd->element - 1 : 0;
}

static uint64_t float_value(struct lower *l, const struct ptx_operand *opd, enum ptx_type type)
{
	uint64_t bits = opd->value;
	uint32_t bits32;
	double value;
	float narrow;

	if (ptx_types[type].size == 4) {
		if (opd->is_f32)
			return bits;
		memcpy(&value, &bits, sizeof(value));
		narrow = (float)value;
		memcpy(&bits32, &narrow, sizeof(bits32));
		return bits32;
	}
	if (ptx_types[type].size != 8)
		mismatch(l, opd, type);
	if (!opd->is_f32)
		return bits;
	bits32 = (uint32_t)bits;
	memcpy(&narrow, &bits32, sizeof(narrow));
	value = (double)narrow;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint32_t sreg_source(struct lower *l, const struct ptx_operand *opd, enum ptx_type type)
{
	unsigned size = ptx_types[type].size;
	struct op *op;

	if (ptx_sreg_type(opd->sreg) == T_PRED || (size != 4 && size != 8) ||
	    ptx_types[type].class == C_FLOAT)
		mismatch(l, opd, type);
	op = emit_free(l, size == 8 ? op_mov_sreg64 : op_mov_sreg32);
	op->imm = (uint64_t)opd->sreg << 8 | opd->value;
	op->dst = new_slot(l, size * 8);
	return op->dst;
}

/* The address of a variable or function, as a value of `bits` bits. */
uint32_t symbol_address(struct lower *l, const struct ptx_operand *opd, unsigned bits)
{
	struct ptx_sym *sym = opd->sym;
	struct ptx_var *var = &sym->var;
	struct op *op;

	if (sym->kind == SYM_FUNC) {
		struct ptx_func *func = sym->func->alias ? sym->func->alias : sym->func;

		if (func->is_entry)
			ptx_unsupported(l->ctx, opd->line, "address of a kernel is not supported");
		return konst(l, (uintptr_t)&l->module->funcs[func->index] + opd->value, bits);
	}
	if (var->space == SPACE_SHARED && var->unsized) {
		op = emit_free(l, op_dynamic_shared);
	} else if (var->is_entry_param) {
		op = emit_free(l, op_param_address);
	} else if (var->space == SPACE_LOCAL || var->space == SPACE_PARAM) {
		lower_place_local(l, var, opd->line);
		if (l->func->is_entry)
			return konst(l, var->address + opd->value, bits);
		op = emit_free(l, op_local_address);
	} else {
		if (!var->placed)
			ptx_fail(l->ctx, SIM_ERROR_UNRESOLVED, opd->line,
				 "variable '%.200s' is declared but defined nowhere", sym->name.text);
		return konst(l, var->address + opd->value, bits);
	}
	op->imm = var->address + opd->value;
	op->flags = bits == 64 ? OPF_WIDE : 0;
	op->dst = new_slot(l, bits);
	return op->dst;
}


uint32_t source(struct lower *l, const struct ptx_operand *opd, enum ptx_type type)
{
	unsigned bits = slot_bits(type);
	uint32_t ref;

	if (type == T_PRED)
		return pred_source(l, opd);
	switch (opd->kind) {
	case OPD_REG:
		if (opd->negated || !ptx_type_fits(opd->sym->reg.type, type))
			mismatch(l, opd, type);
		return reg_slot(l, opd->sym, element_of(l, opd));
	case OPD_SREG:
		return sreg_source(l, opd, type);
	case OPD_INT:
		if (ptx_types[type].class == C_FLOAT && ptx_types[type].size > 2)
			mismatch(l, opd, type);
		return konst(l, ptx_mask_to(opd->value, ptx_types[type].size), bits);
	case OPD_FLOAT:
		if (ptx_types[type].class == C_INT)
			mismatch(l, opd, type);
		return konst(l, float_value(l, opd, type), bits);
	case OPD_SYM:
		if (ptx_types[type].size != 8 && ptx_types[type].size != 4)
			mismatch(l, opd, type);
		ref = symbol_address(l, opd, bits);
		return ref;
	default:
		mismatch(l, opd, type);
		return 0;
	}
}

uint32_t source_relaxed(struct lower *l, const struct ptx_operand *opd, enum ptx_type type,
			unsigned *ret_bits)
{
	enum ptx_type reg;

	if (opd->kind != OPD_REG) {
		*ret_bits = slot_bits(type);
		if (opd->kind == OPD_INT)
			return konst(l, ptx_mask_to(opd->value, ptx_types[type].size), *ret_bits);
		return source(l, opd, type);
	}
	reg = opd->sym->reg.type;
	if (reg == T_PRED || opd->negated || ptx_types[reg].size < ptx_types[type].size ||
	    (ptx_types[reg].class == C_FLOAT && ptx_types[type].class == C_INT) ||
	    (ptx_types[reg].class == C_INT && ptx_types[type].class == C_FLOAT))
		mismatch(l, opd, type);
	*ret_bits = slot_bits(reg);
	return reg_slot(l, opd->sym, element_of(l, opd));
}

uint32_t dest(struct lower *l, const struct ptx_operand *opd, enum ptx_type type)
{
	if (opd->kind == OPD_SINK)
		return new_slot(l, slot_bits(type));
	if (opd->kind != OPD_REG || opd->negated || !ptx_type_fits(opd->sym->reg.type, type))
		mismatch(l, opd, type);
	return reg_slot(l, opd->sym, element_of(l, opd));
}

uint32_t dest_relaxed(struct lower *l, const struct ptx_operand *opd, enum ptx_type type,
		      unsigned *ret_bits)
{
	enum ptx_type reg;

	if (opd->kind == OPD_SINK) {
		*ret_bits = slot_bits(type);
		return new_slot(l, *ret_bits);
	}
	if (opd->kind != OPD_REG)
		mismatch(l, opd, type);
	reg = opd->sym->reg.type;
	if (reg == T_PRED || opd->negated || ptx_types[reg].size < ptx_types[type].size ||
	    (ptx_types[reg].class == C_FLOAT && ptx_types[type].class == C_INT) ||
	    (ptx_types[reg].class == C_INT && ptx_types[type].class == C_FLOAT))
		mismatch(l, opd, type);
	*ret_bits = slot_bits(reg);
	return reg_slot(l, opd->sym, element_of(l, opd));
}

uint32_t pred_source(struct lower *l, const struct ptx_operand *opd)
{
	struct op *op;
	uint32_t ref;

	if (opd->kind == OPD_INT)
		return konst(l, opd->value ? FULL : 0, 1);
	if (opd->kind == OPD_SREG && ptx_sreg_type(opd->sreg) == T_PRED)
		return konst(l, 0, 1);
	if (opd->kind != OPD_REG || opd->sym->reg.type != T_PRED)
		mismatch(l, opd, T_PRED);
	ref = reg_slot(l, opd->sym, element_of(l, opd));
	if (!opd->negated)
		return ref;
	op = emit_free(l, op_not_pred);
	op->a = ref;
	op->dst = new_slot(l, 1);
	return op->dst;
}

uint64_t int_operand(struct lower *l, const struct ptx_operand *opd)
{
	if (opd->kind != OPD_INT)
		ptx_syntax(l->ctx, opd->line, "'%.60s' needs a constant here", l->insn->op.text);
	return opd->value;
}

static void symbol_space(struct lower *l, const struct ptx_operand *opd, enum ptx_space *space)
{
	enum ptx_space own = opd->sym->var.space;

	if (opd->sym->kind != SYM_VAR)
		ptx_syntax(l->ctx, opd->line, "'%.100s' is no variable", opd->sym->name.text);
	if (*space == SPACE_GENERIC && (own == SPACE_GLOBAL || own == SPACE_CONST))
		return;
	if (*space != own && !(*space == SPACE_LOCAL && own == SPACE_PARAM))
		ptx_syntax(l->ctx, opd->line, "'%.100s' lies in another state space",
			   opd->sym->name.text);
}

uint32_t address(struct lower *l, const struct ptx_operand *opd, enum ptx_space *space,
		 uint64_t *ret_offset, unsigned *flags)
{
	struct ptx_operand plain = *opd;
	enum ptx_type type;

	if (opd->kind != OPD_ADDRESS)
		ptx_syntax(l->ctx, opd->line, "'%.60s' needs an address in brackets",
			   l->insn->op.text);
	if (opd->count)
		ptx_unsupported(l->ctx, opd->line, "'%.60s' with a tensor address",
				l->insn->op.text);
	*ret_offset = 0;
	if (*space == SPACE_CLUSTER) {
		*space = SPACE_GENERIC;
		return generic_address(l, opd, SPACE_CLUSTER);
	}
	if (!opd->sym)
		return konst(l, opd->value, 64);
	if (opd->sym->kind != SYM_REG) {
		symbol_space(l, opd, space);
		return symbol_address(l, opd, 64);
	}
	type = opd->sym->reg.type;
	if (type == T_PRED || ptx_types[type].class == C_FLOAT ||
	    (ptx_types[type].size != 4 && ptx_types[type].size != 8))
		ptx_syntax(l->ctx, opd->line, "'%.100s' cannot hold an address", opd->sym->name.text);
	if (ptx_types[type].size == 4)
		*flags |= OPF_ADDR32;
	*ret_offset = opd->value;
	plain.kind = OPD_REG;
	return reg_slot(l, opd->sym, element_of(l, &plain));
}

/* The 64-bit generic address that [base + offset] of a state space names. */
uint32_t generic_address(struct lower *l, const struct ptx_operand *opd, enum ptx_space space)
{
	int shared = space == SPACE_SHARED || space == SPACE_CLUSTER;
	enum ptx_space window = shared ? SPACE_SHARED : space;
	unsigned flags = 0;
	uint64_t offset;
	uint32_t base = address(l, opd, &window, &offset, &flags);
	struct op *op = emit_free(l, shared ? op_cluster_to_generic : op_address);

	/* A lane that the guard turns away may hold any number: compute for the others only. */
	if (l->insn->guard) {
		op->guard = reg_slot(l, l->insn->guard, 0);
		op->guard_negated = (uint8_t)l->insn->guard_negated;
	}
	op->a = base;
	op->imm = offset;
	op->flags = (uint16_t)flags;
	op->dst = new_slot(l, 64);
	return op->dst;
}
