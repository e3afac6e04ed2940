/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering of branches, calls and ends. */
#include <string.h>

#include "lower.h"

void lower_bra(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *opd = &l->insn->operands[0];
	struct ptx_sym *sym = ptx_sym_find(l->ctx, opd->scope, &opd->name);

	(void)def;
	emit(l, op_bra)->imm = l->block_of[sym->label];
}

void lower_brx(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *opds = l->insn->operands;
	struct ptx_sym *sym = ptx_sym_find(l->ctx, opds[1].scope, &opds[1].name);
	uint32_t index = source(l, &opds[0], T_U32), *targets;
	struct op *op;
	unsigned i;

	(void)def;
	if (!has(l, MOD_IDX))
		ptx_syntax(l->ctx, l->insn->line, "brx without .idx");
	targets = ptx_keep(l->ctx, sym->targets.count * sizeof(*targets));
	for (i = 0; i < sym->targets.count; i++)
		targets[i] = l->block_of[sym->targets.labels[i]->label];
	op = emit(l, op_brx);
	op->a = index;
	op->ext = targets;
	op->imm = sym->targets.count;
}

/* A return takes back what alloca gave; see lower_enter(). */
void lower_leave(struct lower *l)
{
	if (l->saved_stack)
		emit(l, op_stack_restore)->a = l->saved_stack;
	emit(l, op_ret);
}

void lower_enter(struct lower *l)
{
	if (l->func->is_entry || !l->func->uses_alloca)
		return;
	l->saved_stack = new_slot(l, 64);
	emit_free(l, op_stack_save)->dst = l->saved_stack;
}

/* alloca.u64 d, bytes{, alignment}; stacksave.u64 d; stackrestore.u64 a */
void lower_stack(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *opds = l->insn->operands;
	uint64_t align = 8;
	uint32_t a = 0, d = 0;
	struct op *op;

	if (only_type(l) != T_U64)
		ptx_unsupported(l->ctx, l->insn->line, "'%.60s' of 32-bit addresses", l->insn->op.text);
	want_operands(l, def->data ? 1 : 2, def->data ? 1 : 3);
	if (def->data != 1)
		a = source(l, &opds[def->data ? 0 : 1], T_U64);
	if (l->insn->operand_count == 3)
		align = int_operand(l, &opds[2]);
	if (!align || align & (align - 1) || align > 256)
		ptx_syntax(l->ctx, l->insn->line, "alignment out of range");
	if (def->data != 2)
		d = dest(l, &opds[0], T_U64);
	op = emit(l, def->data == 0 ? op_alloca : def->data == 1 ? op_stack_save : op_stack_restore);
	op->a = a;
	op->dst = d;
	op->imm = align;
}

void lower_end(struct lower *l, const struct insn_def *def)
{
	want_operands(l, 0, 0);
	switch (def->data) {
	case END_RET:
		lower_leave(l);
		return;
	case END_EXIT:
		emit(l, op_exit);
		return;
	default:
		emit(l, op_trap)->imm = def->data == END_BRKPT;
		return;
	}
}

/* One argument or result, against the formal one when it is known. */
static struct place actual(struct lower *l, const struct ptx_operand *opd, struct ptx_sym *formal,
			   int is_result)
{
	enum ptx_type type = formal->kind == SYM_REG ? formal->reg.type : formal->var.type;
	uint64_t size = formal->kind == SYM_REG ? ptx_types[type].size : formal->var.size;
	struct place place = { 0 };

	if (opd->kind == OPD_SYM && opd->sym->kind == SYM_VAR && opd->sym->var.space == SPACE_PARAM) {
		if (opd->sym->var.is_entry_param)
			ptx_unsupported(l->ctx, opd->line, "a kernel's parameter as an argument");
		place = place_of(l, opd->sym);
		if (place.size != size)
			ptx_syntax(l->ctx, opd->line, "'%.100s' has %u bytes, the parameter %llu",
				   opd->sym->name.text, place.size, (unsigned long long)size);
		return place;
	}
	if (formal->kind == SYM_VAR && size != ptx_types[type].size)
		ptx_syntax(l->ctx, opd->line, "an array parameter needs a .param variable");
	if (type == T_B128)
		ptx_unsupported(l->ctx, opd->line, "a .b128 register as an argument");
	place.is_reg = 1;
	place.reg_bits = (uint8_t)slot_bits(type);
	place.size = (uint32_t)size;
	if (is_result)
		place.at = ptx_types[type].size == 1 ? new_slot(l, 32) : dest(l, opd, type);
	else
		place.at = source(l, opd, type);
	return place;
}

static const struct place *actuals(struct lower *l, const struct ptx_operand *list,
				   unsigned count, struct ptx_sym **formals, unsigned wanted,
				   int is_result)
{
	struct place *places = ptx_keep(l->ctx, count * sizeof(*places));
	unsigned i;

	if (count != wanted)
		ptx_syntax(l->ctx, l->insn->line, "call with %u %s, needs %u", count,
			   is_result ? "results" : "arguments", wanted);
	for (i = 0; i < count; i++)
		places[i] = actual(l, &list[i], formals[i], is_result);
	return places;
}

static const struct ptx_proto *indirect_proto(struct lower *l, const struct ptx_operand *opd)
{
	struct ptx_sym *sym = opd && opd->kind == OPD_NAME ?
			      ptx_sym_find(l->ctx, opd->scope, &opd->name) : NULL;

	if (sym && sym->kind == SYM_PROTO)
		return &sym->proto;
	if (sym && sym->kind == SYM_TARGETS && sym->targets.is_calls && sym->targets.count)
		return &sym->targets.labels[0]->func->proto;
	ptx_syntax(l->ctx, l->insn->line, "an indirect call needs a prototype");
}

static struct ptx_func *direct_target(struct lower *l, const struct ptx_operand *opd)
{
	struct ptx_func *func = opd->sym->func;

	if (func->alias)
		func = func->alias;
	if (func->is_entry)
		ptx_syntax(l->ctx, opd->line, "'%.200s' is a kernel and cannot be called",
			   func->name.text);
	return func;
}

/* call (results), target, (arguments), prototype; the lists are optional */
void lower_call(struct lower *l, const struct insn_def *def)
{
	const struct ptx_operand *opds = l->insn->operands, *target, *results = NULL, *args = NULL;
	const struct ptx_operand *extra = NULL;
	unsigned count = l->insn->operand_count, at = 0;
	struct call_site *call = ptx_keep(l->ctx, sizeof(*call));
	const struct ptx_proto *proto;
	struct ptx_func *func = NULL;
	uint32_t a = 0;
	op_fn *fn;
	struct op *op;

	(void)def;
	if (count && opds[0].kind == OPD_LIST)
		results = &opds[at++];
	if (at >= count)
		ptx_syntax(l->ctx, l->insn->line, "call without a function");
	target = &opds[at++];
	if (at < count && opds[at].kind == OPD_LIST)
		args = &opds[at++];
	if (at < count)
		extra = &opds[at++];
	if (at < count)
		ptx_syntax(l->ctx, l->insn->line, "too many operands");
	if (target->kind == OPD_SYM && target->sym->kind == SYM_FUNC) {
		func = direct_target(l, target);
		proto = &func->proto;
		fn = op_call;
		if (!func->has_body) {
			call->builtin = builtin_find(func->name.text);
			if (!call->builtin)
				ptx_fail(l->ctx, SIM_ERROR_UNRESOLVED, l->insn->line,
					 "function '%.200s' is declared but defined nowhere",
					 func->name.text);
			fn = op_call_builtin;
		} else {
			call->target = &l->module->funcs[func->index];
		}
	} else if (target->kind == OPD_REG) {
		proto = indirect_proto(l, extra);
		a = source(l, target, T_B64);
		fn = op_call_indirect;
	} else {
		ptx_syntax(l->ctx, l->insn->line, "'%.200s' cannot be called",
			   target->name.text ? target->name.text : "operand");
	}
	call->arg_count = args ? args->count : 0;
	call->ret_count = results ? results->count : 0;
	call->args = actuals(l, args ? args->list : NULL, call->arg_count, proto->params,
			     proto->param_count, 0);
	call->rets = actuals(l, results ? results->list : NULL, call->ret_count, proto->rets,
			     proto->ret_count, 1);
	op = emit(l, fn);
	op->a = a;
	op->ext = call;
}
