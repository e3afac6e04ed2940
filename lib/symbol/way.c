/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/symbol/way.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/symbol/module.h"
#include "lib/symbol/rules.h"

static const enum gt_register kept[] = { GT_RBX, GT_RBP, GT_R12, GT_R13, GT_R14, GT_R15 };
#define KEPT (sizeof(kept) / sizeof(kept[0]))

struct gt_way {
	enum { FRAME_POINTER, RULES, EXIT } kind;
	struct gt_rules rules;
	/* EXIT: how far from the stack pointer the return address is, and what is popped on the way. */
	uint32_t return_address;
	uint32_t popped;		/* bit mask of registers */
	uint32_t popped_at[GT_REGISTERS];
};

struct gt_way *gt_way_by_rules(struct gt_module *module, uint64_t file_offset)
{
	struct gt_rules rules;
	struct gt_way *way;

	if (!gt_module_rules(module, file_offset, &rules))
		return NULL;
	way = calloc(1, sizeof(*way));
	if (way) {
		way->kind = RULES;
		way->rules = rules;
	}
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
static int restore(const struct gt_rule *rule, unsigned number, const struct gt_registers *registers, uint64_t cfa,
		   const struct gt_stack *stack, uint64_t *ret_value)
{
	uint64_t place = cfa + rule->offset;
	int r = 0;

	switch (rule->kind) {
	case GT_RULE_SAME:
		*ret_value = registers->value[number];
		return registers->known & 1u << number ? 0 : -EINVAL;
	case GT_RULE_GONE:
		return 1;
	case GT_RULE_UNKNOWN:
		return -EINVAL;
	case GT_RULE_VALUE:
		return gt_expression_evaluate(rule->bytes, rule->size, registers, &cfa, stack, ret_value);
	case GT_RULE_SAVED_AT:
		r = gt_expression_evaluate(rule->bytes, rule->size, registers, &cfa, stack, &place);
		break;
	case GT_RULE_SAVED:
		break;
	}
	return r ? r : gt_stack_word(stack, place, ret_value);
}

static int find_cfa(const struct gt_rules *rules, const struct gt_stack *stack, const struct gt_registers *registers,
		    uint64_t *ret_cfa)
{
	if (rules->cfa.kind == GT_RULE_VALUE)
		return gt_expression_evaluate(rules->cfa.bytes, rules->cfa.size, registers, NULL, stack, ret_cfa);
	if (rules->cfa.kind != GT_RULE_SAVED || rules->base >= GT_PC || !(registers->known & 1u << rules->base))
		return -EINVAL;
	*ret_cfa = registers->value[rules->base] + rules->cfa.offset;
	return 0;
}

static int take_rules(const struct gt_rules *rules, const struct gt_stack *stack, struct gt_registers *registers)
{
	struct gt_registers caller = { .known = 1u << GT_RSP | 1u << GT_PC };
	uint64_t cfa;
	int r = find_cfa(rules, stack, registers, &cfa);

	if (r == 0)
		r = restore(&rules->of[GT_PC], GT_PC, registers, cfa, stack, &caller.value[GT_PC]);
	if (r)
		return r;
	caller.value[GT_RSP] = cfa;
	for (unsigned i = 0; i < KEPT; i++) {
		if (!restore(&rules->of[kept[i]], kept[i], registers, cfa, stack, &caller.value[kept[i]]))
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
		r = take_rules(&way->rules, stack, registers);
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
