/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/symbol/expression.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "lib/symbol/cursor.h"

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
	struct gt_cursor code;
	const struct gt_registers *registers;
	const struct gt_stack *stack;
	uint64_t words[DEPTH];
	unsigned depth;
};

static int push(struct machine *m, uint64_t value)
{
	if (m->depth == DEPTH)
		return -EINVAL;
	m->words[m->depth++] = value;
	return 0;
}

static int push_register(struct machine *m, unsigned number)
{
	uint64_t offset = gt_cursor_leb(&m->code, true);

	if (number >= GT_REGISTERS || !(m->registers->known & 1u << number))
		return -EINVAL;
	return push(m, m->registers->value[number] + offset);
}

/* With the topmost word alone. */
static int unary(struct machine *m, uint8_t operation)
{
	uint64_t *top;

	if (!m->depth)
		return -EINVAL;
	top = &m->words[m->depth - 1];
	if (operation == DW_OP_deref)
		return gt_stack_word(m->stack, *top, top);
	*top += gt_cursor_leb(&m->code, false);
	return 0;
}

static int binary(struct machine *m, uint8_t operation)
{
	uint64_t *left, right;

	if (m->depth < 2)
		return -EINVAL;
	right = m->words[--m->depth];
	left = &m->words[m->depth - 1];
	if (operation == DW_OP_plus)
		*left += right;
	else if (operation == DW_OP_minus)
		*left -= right;
	else
		*left &= right;
	return 0;
}

static int step(struct machine *m)
{
	uint8_t operation = (uint8_t)gt_cursor_unsigned(&m->code, 1);

	switch (operation) {
	case DW_OP_breg0 ... DW_OP_breg31:
		return push_register(m, operation - DW_OP_breg0);
	case DW_OP_lit0 ... DW_OP_lit31:
		return push(m, operation - DW_OP_lit0);
	case DW_OP_const1u:
		return push(m, gt_cursor_unsigned(&m->code, 1));
	case DW_OP_const1s:
		return push(m, (uint64_t)gt_cursor_signed(&m->code, 1));
	case DW_OP_constu:
	case DW_OP_consts:
		return push(m, gt_cursor_leb(&m->code, operation == DW_OP_consts));
	case DW_OP_deref:
	case DW_OP_plus_uconst:
		return unary(m, operation);
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_and:
		return binary(m, operation);
	default:
		return -EOPNOTSUPP;
	}
}

int gt_expression_evaluate(const uint8_t *bytes, size_t size, const struct gt_registers *registers,
			   const uint64_t *first, const struct gt_stack *stack, uint64_t *ret_value)
{
	struct machine m = { .code = { .at = bytes, .end = bytes + size }, .registers = registers, .stack = stack };
	int r = first ? push(&m, *first) : 0;

	while (r == 0 && m.code.at < m.code.end)
		r = step(&m);
	if (r)
		return r;
	if (m.code.failed || !m.depth)
		return -EINVAL;
	*ret_value = m.words[m.depth - 1];
	return 0;
}
