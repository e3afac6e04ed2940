/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/symbol/way.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/symbol/module.h"

static const enum gt_register kept[] = { GT_RBX, GT_RBP, GT_R12, GT_R13, GT_R14, GT_R15 };
#define KEPT (sizeof(kept) / sizeof(kept[0]))

enum rule_kind {
	GONE,		/* the caller has no such register any more, or there is no caller */
	UNKNOWN,	/* it is said in a way that compilers do not use */
	SAME,		/* the function does not change it */
	SAVED,		/* at an offset from the canonical frame address */
	EXPRESSION
};

struct rule {
	enum rule_kind kind;
	uint64_t offset;
	const Dwarf_Op *ops;	/* the module's call frame information owns them */
	size_t count;
};

#define CFA_OPS_MAX 16

struct gt_way {
	enum { FRAME_POINTER, RULES, EXIT } kind;
	/* RULES: the canonical frame address is a register's value and an offset, or an expression. */
	enum gt_register base;		/* with an expression GT_PC */
	uint64_t offset;
	Dwarf_Op cfa[CFA_OPS_MAX];
	size_t cfa_count;
	struct rule pc, saved[KEPT];
	/* EXIT: how far from the stack pointer the return address is, and what is popped on the way. */
	uint32_t return_address;
	uint32_t popped;		/* bit mask of registers */
	uint32_t popped_at[GT_REGISTERS];
};

/* ---- call frame information ---- */

static struct rule read_rule(Dwarf_Frame *frame, enum gt_register number)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, (int)number, memory, &ops, &count))
		return (struct rule){ .kind = UNKNOWN };
	if (!count)
		return (struct rule){ .kind = ops ? GONE : SAME };
	if (ops != memory)
		return (struct rule){ .kind = EXPRESSION, .ops = ops, .count = count };
	if (ops[0].atom != DW_OP_call_frame_cfa || count > 2 || (count == 2 && ops[1].atom != DW_OP_plus_uconst))
		return (struct rule){ .kind = UNKNOWN };
	return (struct rule){ .kind = SAVED, .offset = count == 2 ? ops[1].number : 0 };
}

/* false: there is none here, or none that compilers would use. */
static bool read_cfa(Dwarf_Frame *frame, struct gt_way *way)
{
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_frame_cfa(frame, &ops, &count) || !count || count > CFA_OPS_MAX)
		return false;
	if (count == 1 && ops->atom == DW_OP_bregx && ops->number < GT_PC) {
		way->base = (enum gt_register)ops->number;
		way->offset = ops->number2;
		return true;
	}
	/* The operations are the frame's, and go with it. */
	way->base = GT_PC;
	way->cfa_count = count;
	memcpy(way->cfa, ops, count * sizeof(*ops));
	return true;
}

struct gt_way *gt_way_by_rules(struct gt_module *module, uint64_t file_offset)
{
	uint64_t address;
	Dwarf_CFI *cfi = gt_module_cfi(module, file_offset, &address);
	Dwarf_Frame *frame;
	struct gt_way *way;

	if (!cfi || dwarf_cfi_addrframe(cfi, address, &frame))
		return NULL;
	way = calloc(1, sizeof(*way));
	if (way && read_cfa(frame, way)) {
		way->kind = RULES;
		way->pc = read_rule(frame, GT_PC);
		for (unsigned i = 0; i < KEPT; i++)
			way->saved[i] = read_rule(frame, kept[i]);
	} else {
		free(way);
		way = NULL;
	}
	free(frame);
	return way;
}

void gt_way_free(struct gt_way *way)
{
	free(way);
}

/* ---- out of code that is about to return ---- */

static const enum gt_register by_machine_number[] = {
	[3] = GT_RBX, [5] = GT_RBP, [12] = GT_R12, [13] = GT_R13, [14] = GT_R14, [15] = GT_R15,
};

/* add $n,%rsp and pop: how long the instruction is, 0 if it is none of these. */
static size_t read_instruction(struct gt_way *way, const uint8_t *code, size_t size)
{
	bool extended = size > 1 && code[0] == 0x41;
	uint8_t opcode = code[extended];
	uint32_t bytes;

	if ((opcode & 0xf8) == 0x58) {
		enum gt_register number = by_machine_number[(opcode & 7) + (extended ? 8 : 0)];

		way->popped |= number ? 1u << number : 0;
		way->popped_at[number] = way->return_address;
		way->return_address += 8;
		return 1 + extended;
	}
	if (size < 4 || code[0] != 0x48 || code[2] != 0xc4 || (code[1] != 0x83 && code[1] != 0x81))
		return 0;
	if (code[1] == 0x83) {
		way->return_address += code[3] & 0x7f;
		return code[3] & 0x80 ? 0 : 4;
	}
	if (size < 7)
		return 0;
	memcpy(&bytes, code + 3, sizeof(bytes));
	way->return_address += bytes & 0xffffff;
	return bytes >> 24 ? 0 : 7;
}

struct gt_way *gt_way_by_code(const uint8_t *code, size_t size)
{
	struct gt_way *way = calloc(1, sizeof(*way));
	size_t at = 0, length = 1;

	while (way && at < size && length) {
		if (code[at] == 0xc3) {
			way->kind = EXIT;
			break;
		}
		length = read_instruction(way, code + at, size - at);
		at += length;
	}
	return way;
}

static int take_exit(const struct gt_way *way, const struct gt_stack *stack, struct gt_registers *registers)
{
	uint64_t sp = registers->value[GT_RSP];
	int r = gt_stack_word(stack, sp + way->return_address, &registers->value[GT_PC]);

	for (unsigned i = 0; r == 0 && i < KEPT; i++) {
		if (!(way->popped & 1u << kept[i]))
			continue;
		r = gt_stack_word(stack, sp + way->popped_at[kept[i]], &registers->value[kept[i]]);
		registers->known |= 1u << kept[i];
	}
	registers->value[GT_RSP] = sp + way->return_address + 8;
	return r;
}

/* ---- by call frame information ---- */

/* 1: the caller has none; -EINVAL: that is not known. */
static int restore(const struct rule *rule, enum gt_register number, const struct gt_registers *registers,
		   uint64_t cfa, const struct gt_stack *stack, uint64_t *ret_value)
{
	struct gt_location location = { .value = cfa + rule->offset };
	int r;

	if (rule->kind == GONE || rule->kind == UNKNOWN)
		return rule->kind == GONE ? 1 : -EINVAL;
	if (rule->kind == SAME) {
		*ret_value = registers->value[number];
		return registers->known & 1u << number ? 0 : -EINVAL;
	}
	r = rule->kind == SAVED ? 0 : gt_expression_evaluate(rule->ops, rule->count, registers, &cfa, stack, &location);
	if (r)
		return r;
	if (!location.is_value)
		return gt_stack_word(stack, location.value, ret_value);
	*ret_value = location.value;
	return 0;
}

static int find_cfa(const struct gt_way *way, const struct gt_stack *stack, const struct gt_registers *registers,
		    uint64_t *ret_cfa)
{
	struct gt_location location;
	int r;

	if (way->base == GT_PC) {
		r = gt_expression_evaluate(way->cfa, way->cfa_count, registers, NULL, stack, &location);
		*ret_cfa = r ? 0 : location.value;
		return r;
	}
	*ret_cfa = registers->value[way->base] + way->offset;
	return registers->known & 1u << way->base ? 0 : -EINVAL;
}

static int take_rules(const struct gt_way *way, const struct gt_stack *stack, struct gt_registers *registers)
{
	struct gt_registers caller = { .known = 1u << GT_RSP | 1u << GT_PC };
	uint64_t cfa;
	int r = find_cfa(way, stack, registers, &cfa);

	if (r == 0)
		r = restore(&way->pc, GT_PC, registers, cfa, stack, &caller.value[GT_PC]);
	if (r)
		return r;
	caller.value[GT_RSP] = cfa;
	for (unsigned i = 0; i < KEPT; i++) {
		if (!restore(&way->saved[i], kept[i], registers, cfa, stack, &caller.value[kept[i]]))
			caller.known |= 1u << kept[i];
	}
	*registers = caller;
	return 0;
}

/* ---- by the frame pointer ---- */

static int take_frame_pointer(const struct gt_stack *stack, struct gt_registers *registers)
{
	struct gt_registers caller = { .known = 1u << GT_RSP | 1u << GT_RBP | 1u << GT_PC };
	uint64_t frame = registers->value[GT_RBP];
	int r;

	if (!(registers->known & 1u << GT_RBP) || frame % 8 || (frame && frame < registers->value[GT_RSP]))
		return -EINVAL;
	/* So the convention marks the first function's. */
	if (!frame)
		return 1;
	r = gt_stack_word(stack, frame, &caller.value[GT_RBP]);
	if (r == 0)
		r = gt_stack_word(stack, frame + 8, &caller.value[GT_PC]);
	caller.value[GT_RSP] = frame + 16;
	if (r == 0)
		*registers = caller;
	return r;
}

int gt_way_take(const struct gt_way *way, const struct gt_stack *stack, struct gt_registers *registers)
{
	uint64_t sp = registers->value[GT_RSP];
	int r = -EOPNOTSUPP;

	if (way->kind == RULES)
		r = take_rules(way, stack, registers);
	else if (way->kind == EXIT)
		r = take_exit(way, stack, registers);
	if (r == -EOPNOTSUPP)
		r = take_frame_pointer(stack, registers);
	if (r)
		return r;
	/* Each frame lies above what it calls, so that no stack goes round in circles. */
	if (registers->value[GT_RSP] <= sp)
		return -EINVAL;
	return registers->value[GT_PC] ? 0 : 1;
}
