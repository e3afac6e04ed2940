/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control flow of a function: basic blocks, and the order to lay them out in.
 *
 * The order is a weak topological one (Bourdoncle): every block after its
 * predecessors but for edges that go back, and the blocks of a loop next to
 * one another.  Groups of lanes, of which the lowest pc runs first, then meet
 * where their ways join, and lanes that leave a loop wait behind it.
 */
#include <string.h>

#include "lower.h"

/* Beyond this many blocks the recursion below could use up the stack; text order must do. */
#define MAX_ORDERED 8000

enum { ENDS_NO, ENDS_ALWAYS, ENDS_MAYBE };

/* Does control leave the straight line at this instruction? */
static int ends_block(const struct ptx_insn *insn)
{
	const char *op = insn->op.text;

	if (strcmp(op, "bra") && strcmp(op, "brx") && strcmp(op, "ret") && strcmp(op, "exit") &&
	    strcmp(op, "trap"))
		return ENDS_NO;
	return insn->guard ? ENDS_MAYBE : ENDS_ALWAYS;
}

static struct ptx_sym *find_label(struct lower *l, const struct ptx_operand *opd, int kind,
				  const char *what)
{
	struct ptx_sym *sym = NULL;

	if (opd->kind == OPD_NAME)
		sym = ptx_sym_find(l->ctx, opd->scope, &opd->name);
	if (!sym || (int)sym->kind != kind)
		ptx_syntax(l->ctx, opd->line, "'%.200s' is no %s of this function",
			   opd->name.text ? opd->name.text : "operand", what);
	return sym;
}

static struct ptx_sym *branch_target(struct lower *l, const struct ptx_insn *insn)
{
	if (insn->operand_count != 1)
		ptx_syntax(l->ctx, insn->line, "'bra' needs one label");
	return find_label(l, &insn->operands[0], SYM_LABEL, "label");
}

static struct ptx_sym *target_list(struct lower *l, const struct ptx_insn *insn)
{
	struct ptx_sym *sym;

	if (insn->operand_count != 2)
		ptx_syntax(l->ctx, insn->line, "'brx.idx' needs an index and a list of labels");
	sym = find_label(l, &insn->operands[1], SYM_TARGETS, "list of labels");
	if (sym->targets.is_calls)
		ptx_syntax(l->ctx, insn->line, "'%.200s' lists functions", sym->name.text);
	return sym;
}

static void mark_leaders(struct lower *l, unsigned char *leader)
{
	struct ptx_func *func = l->func;
	struct ptx_sym *sym;
	unsigned i, k;

	leader[0] = 1;
	for (i = 0; i < func->insn_count; i++) {
		struct ptx_insn *insn = &func->insns[i];

		if (!ends_block(insn))
			continue;
		leader[i + 1] = 1;
		if (!strcmp(insn->op.text, "bra")) {
			leader[branch_target(l, insn)->label] = 1;
		} else if (!strcmp(insn->op.text, "brx")) {
			sym = target_list(l, insn);
			for (k = 0; k < sym->targets.count; k++)
				leader[sym->targets.labels[k]->label] = 1;
		}
	}
}

static void add_successors(struct lower *l, struct block_info *block, unsigned index)
{
	const struct ptx_insn *insn = block->last > block->first ? &l->func->insns[block->last - 1] : NULL;
	int ends = insn ? ends_block(insn) : ENDS_NO;
	unsigned room = 2, k;
	struct ptx_sym *sym = NULL;

	if (ends && !strcmp(insn->op.text, "brx")) {
		sym = target_list(l, insn);
		room += sym->targets.count;
	}
	block->succs = ptx_array(l->ctx, room, sizeof(*block->succs));
	if (ends != ENDS_ALWAYS && index + 1 < l->block_count)
		block->succs[block->succ_count++] = index + 1;
	if (sym)
		for (k = 0; k < sym->targets.count; k++)
			block->succs[block->succ_count++] =
				l->block_of[sym->targets.labels[k]->label];
	else if (ends && !strcmp(insn->op.text, "bra"))
		block->succs[block->succ_count++] = l->block_of[branch_target(l, insn)->label];
}

/* The last block is empty and stands for the closing brace. */
void flow_build(struct lower *l)
{
	unsigned count = l->func->insn_count, i, at = 0;
	unsigned char *leader = ptx_alloc(l->ctx, (size_t)count + 2);

	mark_leaders(l, leader);
	leader[count] = 1;
	l->block_of = ptx_array(l->ctx, (size_t)count + 1, sizeof(*l->block_of));
	for (i = 0; i <= count; i++)
		l->block_count += leader[i];
	l->blocks = ptx_array(l->ctx, l->block_count, sizeof(*l->blocks));
	for (i = 0; i <= count; i++) {
		if (leader[i]) {
			l->blocks[at].first = i;
			if (at)
				l->blocks[at - 1].last = i;
			at++;
		}
		l->block_of[i] = at - 1;
	}
	l->blocks[at - 1].last = count;
	for (i = 0; i < l->block_count; i++)
		add_successors(l, &l->blocks[i], i);
}

struct order {
	struct lower *l;
	unsigned *dfn;		/* UINT_MAX: placed */
	unsigned *stack, depth;
	unsigned number;
	unsigned *out, at;	/* filled from the end */
};

static unsigned visit(struct order *o, unsigned v);

static void component(struct order *o, unsigned v)
{
	const struct block_info *block = &o->l->blocks[v];
	unsigned i;

	for (i = block->succ_count; i--; )
		if (!o->dfn[block->succs[i]])
			visit(o, block->succs[i]);
	o->out[--o->at] = v;
}

static unsigned visit(struct order *o, unsigned v)
{
	const struct block_info *block = &o->l->blocks[v];
	unsigned head, least, i, element;
	int loop = 0;

	o->stack[o->depth++] = v;
	head = o->dfn[v] = ++o->number;
	for (i = block->succ_count; i--; ) {
		unsigned s = block->succs[i];

		least = o->dfn[s] ? o->dfn[s] : visit(o, s);
		if (least <= head) {
			head = least;
			loop = 1;
		}
	}
	if (head != o->dfn[v])
		return head;
	o->dfn[v] = UINT32_MAX;
	element = o->stack[--o->depth];
	if (!loop) {
		o->out[--o->at] = v;
		return head;
	}
	while (element != v) {
		o->dfn[element] = 0;
		element = o->stack[--o->depth];
	}
	component(o, v);
	return head;
}

static unsigned *text_order(struct lower *l)
{
	unsigned *out = ptx_array(l->ctx, l->block_count, sizeof(*out)), i;

	for (i = 0; i < l->block_count; i++) {
		out[i] = i;
		l->blocks[i].reachable = 1;
	}
	return out;
}

/* All blocks; those that nothing leads to come last. */
unsigned *flow_order(struct lower *l)
{
	struct order o = { .l = l };
	unsigned *out, i, at = 0;

	if (l->block_count > MAX_ORDERED)
		return text_order(l);
	o.dfn = ptx_array(l->ctx, l->block_count, sizeof(*o.dfn));
	o.stack = ptx_array(l->ctx, l->block_count, sizeof(*o.stack));
	o.out = ptx_array(l->ctx, l->block_count, sizeof(*o.out));
	o.at = l->block_count;
	visit(&o, 0);
	out = ptx_array(l->ctx, l->block_count, sizeof(*out));
	for (i = o.at; i < l->block_count; i++) {
		out[at++] = o.out[i];
		l->blocks[o.out[i]].reachable = 1;
	}
	for (i = 0; i < l->block_count; i++)
		if (!l->blocks[i].reachable)
			out[at++] = i;
	return out;
}
