/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/symbol/expression.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#define DEPTH 8		/* of the expression's own stack */

int gt_stack_word(const struct gt_stack *stack, uint64_t address, uint64_t *ret_value)
{
	if (address < stack->start)
		return -EFAULT;
	if (stack->size < sizeof(*ret_value) || address - stack->start > stack->size - sizeof(*ret_value))
		return -ENODATA;
	memcpy(ret_value, stack->bytes + (address - stack->start), sizeof(*ret_value));
	return 0;
}

struct machine {
	const struct gt_registers *registers;
	const uint64_t *cfa;
	const struct gt_stack *stack;
	uint64_t words[DEPTH];
	unsigned depth;
	bool is_value;
};

static int push(struct machine *m, uint64_t value)
{
	if (m->depth == DEPTH)
		return -EINVAL;
	m->words[m->depth++] = value;
	return 0;
}

static int push_register(struct machine *m, uint64_t number, uint64_t offset)
{
	if (number >= GT_REGISTERS || !(m->registers->known & 1u << number))
		return -EINVAL;
	return push(m, m->registers->value[number] + offset);
}

/* With the topmost word alone. */
static int unary(struct machine *m, const Dwarf_Op *op)
{
	uint64_t *top;

	if (!m->depth)
		return -EINVAL;
	top = &m->words[m->depth - 1];
	if (op->atom == DW_OP_deref)
		return gt_stack_word(m->stack, *top, top);
	*top += op->number;
	return 0;
}

static int binary(struct machine *m, int atom)
{
	uint64_t *left, right;

	if (m->depth < 2)
		return -EINVAL;
	left = &m->words[m->depth - 2];
	right = m->words[--m->depth];
	if (atom == DW_OP_plus)
		*left += right;
	else if (atom == DW_OP_minus)
		*left -= right;
	else
		*left &= right;
	return 0;
}

static int step(struct machine *m, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_breg0 ... DW_OP_breg31:
		return push_register(m, op->atom - DW_OP_breg0, op->number);
	case DW_OP_bregx:
		return push_register(m, op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return m->cfa ? push(m, *m->cfa) : -EINVAL;
	case DW_OP_lit0 ... DW_OP_lit31:
		return push(m, op->atom - DW_OP_lit0);
	case DW_OP_const1u ... DW_OP_consts:
		return push(m, op->number);
	case DW_OP_deref:
	case DW_OP_plus_uconst:
		return unary(m, op);
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_and:
		return binary(m, op->atom);
	/* In place of a location: the register has the value. */
	case DW_OP_reg0 ... DW_OP_reg31:
		m->is_value = true;
		return push_register(m, op->atom - DW_OP_reg0, 0);
	case DW_OP_regx:
		m->is_value = true;
		return push_register(m, op->number, 0);
	case DW_OP_stack_value:
		m->is_value = true;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

int gt_expression_evaluate(const Dwarf_Op *ops, size_t count, const struct gt_registers *registers,
			   const uint64_t *cfa, const struct gt_stack *stack, struct gt_location *ret_location)
{
	struct machine m = { .registers = registers, .cfa = cfa, .stack = stack };
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = step(&m, &ops[i]);
	if (r)
		return r;
	if (!m.depth)
		return -EINVAL;
	ret_location->is_value = m.is_value;
	ret_location->value = m.words[m.depth - 1];
	return 0;
}
