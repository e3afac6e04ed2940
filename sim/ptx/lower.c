/* SPDX-License-Identifier: Apache-2.0 */
/* A function's way from instructions to operations. */
#include <string.h>

#include "lower.h"

#define MAX_FRAME (64u << 20)
#define MAX_LOCAL (512u << 10)

unsigned slot_bits(enum ptx_type type)
{
	if (type == T_PRED)
		return 1;
	if (ptx_types[type].size <= 4)
		return 32;
	return ptx_types[type].size * 8;
}

static struct op *append(struct lower *l, op_fn *fn)
{
	struct op *op;

	l->ops = ptx_grow(l->ctx, l->ops, l->op_count, &l->op_room, sizeof(*l->ops));
	op = &l->ops[l->op_count++];
	memset(op, 0, sizeof(*op));
	op->fn = fn;
	op->line = l->insn ? l->insn->line : l->func->line;
	return op;
}

struct op *emit_free(struct lower *l, op_fn *fn)
{
	return append(l, fn);
}

struct op *emit(struct lower *l, op_fn *fn)
{
	uint32_t guard = 0;
	struct op *op;

	if (l->insn->guard)
		guard = reg_slot(l, l->insn->guard, 0);
	op = append(l, fn);
	op->guard = guard;
	op->guard_negated = l->insn->guard_negated;
	return op;
}

/* Slot 0 is nobody's: a reference of 0 means none. */
uint32_t new_slot(struct lower *l, unsigned bits)
{
	uint64_t bytes = bits == 1 ? 4 : bits / 8 * LANES, at;

	at = bits == 1 ? l->frame_bytes : (l->frame_bytes + 63) & ~63ull;
	if (at + bytes > MAX_FRAME)
		ptx_unsupported(l->ctx, l->insn ? l->insn->line : l->func->line,
				"function '%.200s' uses too many registers", l->func->name.text);
	l->frame_bytes = at + bytes;
	return (uint32_t)at;
}

uint32_t reg_slot(struct lower *l, struct ptx_sym *sym, unsigned element)
{
	if (!sym->reg.slot[element]) {
		sym->reg.slot[element] = new_slot(l, slot_bits(sym->reg.type));
		l->func->register_slots += ptx_types[sym->reg.type].size > 4 ?
					   ptx_types[sym->reg.type].size / 4 : 1;
	}
	return sym->reg.slot[element];
}

static uint32_t const_room(struct lower *l, unsigned bytes)
{
	unsigned room = l->const_room, at = (l->const_bytes + 63) & ~63u;
	unsigned char *bigger;

	if (at + bytes > MAX_FRAME)
		ptx_unsupported(l->ctx, l->insn->line, "function '%.200s' uses too many constants",
				l->func->name.text);
	while (room < at + bytes)
		room = room ? room * 2 : 4096;
	if (room != l->const_room) {
		bigger = ptx_alloc(l->ctx, room);
		if (l->const_bytes)
			memcpy(bigger, l->consts, l->const_bytes);
		l->consts = bigger;
		l->const_room = room;
	}
	l->const_bytes = at + bytes;
	return at;
}

uint32_t konst(struct lower *l, uint64_t value, unsigned bits)
{
	unsigned key = (unsigned)((value * 0x9e3779b97f4a7c15ull) >> 57) << 1 | (bits > 32);
	uint32_t at;

	if (bits <= 32)
		value = (uint32_t)value;
	if (bits == 32 || bits == 64)
		if (l->const_cache[key].ref && l->const_cache[key].value == value)
			return l->const_cache[key].ref;
	at = const_room(l, bits == 1 ? 4 : bits / 8 * LANES);
	for (unsigned i = 0; i < LANES; i++)
		if (bits == 1)
			memcpy(l->consts + at, &(uint32_t){ (uint32_t)value }, 4);
		else if (bits == 32)
			memcpy(l->consts + at + 4 * i, &(uint32_t){ (uint32_t)value }, 4);
		else
			memcpy(l->consts + at + 8 * i, &value, 8);
	if (bits == 32 || bits == 64) {
		l->const_cache[key].value = value;
		l->const_cache[key].ref = at | CONST_REF;
	}
	return at | CONST_REF;
}

void lower_place_local(struct lower *l, struct ptx_var *var, unsigned line)
{
	uint64_t align = var->align < 4 ? 4 : var->align;
	uint64_t at = (l->local_bytes + align - 1) & ~(align - 1);

	if (var->placed)
		return;
	if (var->size > MAX_LOCAL || at + var->size > MAX_LOCAL)
		ptx_unsupported(l->ctx, line, "function '%.200s' uses more than %u bytes of local memory",
				l->func->name.text, MAX_LOCAL);
	var->address = at;
	var->placed = 1;
	l->local_bytes = at + var->size;
}

struct place place_of(struct lower *l, struct ptx_sym *sym)
{
	struct place place = { 0 };

	if (sym->kind == SYM_REG) {
		place.is_reg = 1;
		place.reg_bits = slot_bits(sym->reg.type);
		place.at = reg_slot(l, sym, 0);
		place.size = ptx_types[sym->reg.type].size;
		return place;
	}
	lower_place_local(l, &sym->var, sym->line);
	place.at = (uint32_t)sym->var.address;
	place.size = (uint32_t)sym->var.size;
	return place;
}

static const struct place *place_params(struct lower *l, unsigned count, struct ptx_sym **syms)
{
	struct place *places = ptx_keep(l->ctx, count * sizeof(*places));
	unsigned i;

	for (i = 0; i < count; i++)
		places[i] = place_of(l, syms[i]);
	return places;
}

static void lower_insn(struct lower *l, const struct ptx_insn *insn)
{
	const struct insn_def *def = insn_find(insn->op.text);

	l->insn = insn;
	if (!def) {
		if (insn_is_known(insn->op.text))
			ptx_unsupported(l->ctx, insn->line, "instruction '%.100s' is not supported",
					insn->op.text);
		ptx_syntax(l->ctx, insn->line, "unknown instruction '%.100s'", insn->op.text);
	}
	if (def->allowed != OWN_MODS)
		mods_parse(l, def->allowed);
	def->lower(l, def);
	l->insn = NULL;
}

static void jump_to(struct lower *l, unsigned block)
{
	struct op *op = append(l, op_bra);

	op->imm = block;
}

static void lower_block(struct lower *l, unsigned index, unsigned next)
{
	struct block_info *block = &l->blocks[index];
	const struct ptx_insn *last;
	int falls;
	unsigned i;

	block->op = l->op_count;
	if (!index)
		lower_enter(l);
	for (i = block->first; i < block->last; i++)
		lower_insn(l, &l->func->insns[i]);
	if (index + 1 == l->block_count) {
		if (l->saved_stack)
			append(l, op_stack_restore)->a = l->saved_stack;
		append(l, op_ret);
		return;
	}
	last = block->last > block->first ? &l->func->insns[block->last - 1] : NULL;
	falls = !last || last->guard || (strcmp(last->op.text, "bra") && strcmp(last->op.text, "brx") &&
					 strcmp(last->op.text, "ret") && strcmp(last->op.text, "exit") &&
					 strcmp(last->op.text, "trap"));
	if (falls && next != index + 1)
		jump_to(l, index + 1);
}

/* Until here branches name blocks. */
static void patch_branches(struct lower *l)
{
	unsigned i, k;

	for (i = 0; i < l->op_count; i++) {
		struct op *op = &l->ops[i];

		if (op->fn == op_bra) {
			op->imm = l->blocks[op->imm].op;
		} else if (op->fn == op_brx) {
			uint32_t *targets = (uint32_t *)(uintptr_t)op->ext;

			for (k = 0; k < op->imm; k++)
				targets[k] = l->blocks[targets[k]].op;
		}
	}
}

static void finish(struct lower *l)
{
	struct sim_func *out = l->out;
	struct op *code = ptx_keep(l->ctx, (size_t)l->op_count * sizeof(*code));

	memcpy(code, l->ops, (size_t)l->op_count * sizeof(*code));
	out->code = code;
	out->op_count = l->op_count;
	out->consts = ptx_keep(l->ctx, l->const_bytes + 128);
	/* Vector loops like their rows aligned. */
	out->consts += -(uintptr_t)out->consts & 63;
	if (l->const_bytes)
		memcpy(out->consts, l->consts, l->const_bytes);
	out->frame_bytes = (uint32_t)l->frame_bytes;
	out->local_bytes = (uint32_t)((l->local_bytes + 15) & ~15ull);
}

void lower_function(struct ptx_ctx *ctx, struct sim_module *module, struct ptx_func *func)
{
	struct lower *l = ptx_alloc(ctx, sizeof(*l));
	unsigned *order, i;

	l->ctx = ctx;
	l->module = module;
	l->func = func;
	l->out = &module->funcs[func->index];
	l->frame_bytes = 64;
	if (!func->is_entry) {
		l->out->param_count = func->proto.param_count;
		l->out->params = place_params(l, func->proto.param_count, func->proto.params);
		l->out->ret_count = func->proto.ret_count;
		l->out->rets = place_params(l, func->proto.ret_count, func->proto.rets);
	}
	flow_build(l);
	order = flow_order(l);
	for (i = 0; i < l->block_count; i++)
		lower_block(l, order[i], i + 1 < l->block_count ? order[i + 1] : UINT32_MAX);
	patch_branches(l);
	finish(l);
}
