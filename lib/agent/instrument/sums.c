/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/instrument/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/instrument/fixed.h"
#include "lib/agent/instrument/loops.h"
#include "lib/agent/instrument/operand.h"

#define UNKNOWN UINT32_MAX

/* For what: */
#define NEEDED_AT_PLACES 1u
#define NEEDED_FOR_ADDRESS 2u

struct search {
	const struct gt_ptx *ptx;
	const struct ptx_function *function;
	struct ptx_fixed fixed;
	uint32_t *bounds;	/* by register: it is not larger, UNKNOWN: nothing is known */
	struct ptx_sums *sums;
};

/* ---- how large numbers can be ---- */

static uint32_t bound_of(const struct search *search, const struct ptx_token *token)
{
	const struct ptx_fixed_register *known = gt_fixed_register(&search->fixed, token);
	uint32_t value;

	if (known)
		return search->bounds[known - search->fixed.registers];
	if (token->kind != PTX_WORD || gt_ptx_number(search->ptx->text + token->at, token->length, &value) < 0)
		return UNKNOWN;
	return value;
}

/* Bounds of the first two operands behind the result. */
static void bounds_of_sources(const struct search *search, const struct ptx_statement *statement, uint32_t bounds[2])
{
	struct ptx_operands operands = gt_operands(search->ptx, statement);
	unsigned seen = 0;

	bounds[0] = bounds[1] = UNKNOWN;
	while (gt_operands_next(&operands)) {
		if (gt_token_is_punct(&operands.token, ',')) {
			seen = 0;
		} else if (operands.operand == 1 || operands.operand == 2) {
			/* More than one token is no plain number. */
			bounds[operands.operand - 1] = seen++ ? UNKNOWN : bound_of(search, &operands.token);
		}
	}
}

static uint32_t bound_of_product(uint64_t a, uint64_t b)
{
	return a < UNKNOWN && b < UNKNOWN && a * b < UNKNOWN ? (uint32_t)(a * b) : UNKNOWN;
}

static int begins(const char *opcode, const char *with)
{
	return !strncmp(opcode, with, strlen(with));
}

static uint32_t bound_of_result(const struct search *search, uint32_t index)
{
	const struct ptx_statement *statement = gt_fixed_statement(&search->fixed, index);
	char opcode[PTX_OPCODE_MAX];
	uint32_t from[2];

	if (search->fixed.arguments[index] == PTX_ARGUMENT_SIZE)
		return PTX_SUM_SIZE_MAX;
	if (!gt_ptx_opcode(search->ptx, statement->opcode, opcode))
		return UNKNOWN;
	bounds_of_sources(search, statement, from);
	if (!strcmp(opcode, "popc.b32"))
		return 32;
	if (begins(opcode, "mov.") || !strcmp(opcode, "cvt.u64.u32") || !strcmp(opcode, "cvt.u32.u64"))
		return from[0];
	if (begins(opcode, "mul.lo.") || !strcmp(opcode, "mul.wide.u32"))
		return bound_of_product(from[0], from[1]);
	if (begins(opcode, "shl.b"))
		return from[1] < 32 ? bound_of_product(from[0], 1ull << from[1]) : UNKNOWN;
	if (begins(opcode, "selp."))
		return from[0] > from[1] ? from[0] : from[1];
	return UNKNOWN;
}

static void find_bounds(struct search *search)
{
	const struct ptx_statement *statement;
	struct ptx_fixed_register *result;
	struct ptx_operands operands;
	uint32_t i;

	for (i = 0; i < search->fixed.count; i++)
		search->bounds[i] = UNKNOWN;
	for (i = 0; i < search->function->statement_count; i++) {
		statement = gt_fixed_statement(&search->fixed, i);
		if (statement->kind != PTX_INSTRUCTION || statement->predicate_length)
			continue;
		operands = gt_operands(search->ptx, statement);
		result = gt_operands_next(&operands) ? gt_fixed_register(&search->fixed, &operands.token) : NULL;
		if (result && result->definitions == 1)
			search->bounds[result - search->fixed.registers] = bound_of_result(search, i);
		search->sums->sizes |= search->fixed.arguments[i] == PTX_ARGUMENT_SIZE;
	}
}

/* ---- which additions can wait ---- */

/* "red.relaxed.gpu.global.add.uBITS [address], value": bits, or 0. */
static unsigned addition_bits(const struct gt_ptx *ptx, const struct ptx_statement *statement)
{
	char opcode[PTX_OPCODE_MAX];

	if (statement->kind != PTX_INSTRUCTION || !gt_ptx_opcode(ptx, statement->opcode, opcode))
		return 0;
	return !strcmp(opcode, "red.relaxed.gpu.global.add.u64") ? 64 :
	       !strcmp(opcode, "red.relaxed.gpu.global.add.u32") ? 32 : 0;
}

/* A small number at an address that is the same all through the kernel. */
static int can_wait(const struct search *search, const struct ptx_statement *statement)
{
	struct ptx_operands operands = gt_operands(search->ptx, statement);
	const struct ptx_fixed_register *address = NULL;
	uint32_t value = UNKNOWN;
	unsigned tokens = 0;

	while (gt_operands_next(&operands)) {
		if (operands.depth && operands.token.c == '%')
			address = gt_fixed_register(&search->fixed, &operands.token);
		if (operands.operand == 1 && !gt_token_is_punct(&operands.token, ','))
			value = tokens++ ? UNKNOWN : bound_of(search, &operands.token);
	}
	return address && address->statement != PTX_NONE && value <= PTX_SUM_ADDEND_MAX;
}

static void choose(struct search *search)
{
	struct ptx_sums *sums = search->sums;
	const struct ptx_statement *statement;
	uint32_t i;

	for (i = 0; i < search->function->statement_count && sums->count < PTX_SUMS_MAX; i++) {
		statement = gt_fixed_statement(&search->fixed, i);
		if (addition_bits(search->ptx, statement) && can_wait(search, statement)) {
			sums->roles[i] = PTX_SUMS_HELD;
			sums->held[sums->count++] = i;
		}
	}
}

/* The registers of its operands; an addition's address is not needed at its place. */
static void note_needs(struct search *search, const struct ptx_statement *statement, uint8_t needed, int held)
{
	struct ptx_operands operands = gt_operands(search->ptx, statement);
	struct ptx_fixed_register *known;

	while (gt_operands_next(&operands)) {
		known = gt_fixed_register(&search->fixed, &operands.token);
		if (known)
			known->needed |= held && operands.depth ? NEEDED_FOR_ADDRESS : needed;
	}
}

/* Backwards, since what is needed is defined before. */
static void give_roles(struct search *search)
{
	struct ptx_sums *sums = search->sums;
	const struct ptx_statement *statement;
	struct ptx_operands operands;
	uint32_t i = search->function->statement_count;
	uint8_t needed;

	while (i--) {
		statement = gt_fixed_statement(&search->fixed, i);
		if (statement->kind != PTX_INSTRUCTION)
			continue;
		if (!search->fixed.is[i]) {
			note_needs(search, statement, NEEDED_AT_PLACES, sums->roles[i] & PTX_SUMS_HELD);
			continue;
		}
		operands = gt_operands(search->ptx, statement);
		gt_operands_next(&operands);
		needed = gt_fixed_register(&search->fixed, &operands.token)->needed;
		note_needs(search, statement, needed, 0);
		if (needed & NEEDED_FOR_ADDRESS)
			sums->roles[i] |= PTX_SUMS_ADDRESS;
		if (!(needed & NEEDED_AT_PLACES)) {
			sums->roles[i] |= PTX_SUMS_GONE;
			sums->gone++;
		}
	}
}

/* An addition in a loop of its own could be made any number of times at a place.  -ENOMEM. */
static int has_loop(const struct gt_ptx *ptx, const struct ptx_function *function)
{
	uint8_t *wanted = malloc(function->statement_count + (size_t)1);
	uint8_t *heads = calloc(function->statement_count + (size_t)1, 1);
	int r = -ENOMEM;

	if (wanted && heads) {
		memset(wanted, 1, function->statement_count);
		r = gt_loops_find(ptx, function, wanted, heads);
	}
	free(wanted);
	free(heads);
	return r;
}

int gt_sums_find(const struct gt_ptx *ptx, const struct ptx_function *function, const uint8_t *arguments,
		 struct ptx_sums *ret_sums)
{
	struct ptx_sums sums = { 0 };
	struct search search = { .ptx = ptx, .function = function, .sums = &sums };
	int r = has_loop(ptx, function);

	*ret_sums = sums;
	if (r)
		return r < 0 ? r : 0;
	r = gt_fixed_find(ptx, function, arguments, &search.fixed);
	if (r < 0)
		return r;
	sums.roles = calloc(function->statement_count + (size_t)1, 1);
	search.bounds = calloc(search.fixed.count + (size_t)1, sizeof(*search.bounds));
	if (sums.roles && search.bounds) {
		find_bounds(&search);
		choose(&search);
		give_roles(&search);
	} else {
		r = -ENOMEM;
	}
	free(search.bounds);
	gt_fixed_free(&search.fixed);
	if (r < 0 || !sums.count)
		gt_sums_free(&sums);
	*ret_sums = sums;
	return r;
}

void gt_sums_free(struct ptx_sums *sums)
{
	free(sums->roles);
	*sums = (struct ptx_sums){ 0 };
}

/* ---- writing ---- */

#define SUM "%%__gt_c%u_%u"	/* of the owner, and which one */

void gt_sums_write_entry(struct ptx_text *out, const struct ptx_sums *sums)
{
	unsigned i;

	for (i = 0; i < sums->count; i++)
		gt_text_printf(out, "\n\t.reg .b32 " SUM "; mov.b32 " SUM ", 0;", sums->owner, i, sums->owner, i);
	gt_text_puts(out, "\n\t");
}

/* From its first byte up to the operand, brackets and all. */
static struct ptx_range operand_of(const struct gt_ptx *ptx, const struct ptx_statement *statement, unsigned operand)
{
	struct ptx_operands operands = gt_operands(ptx, statement);
	struct ptx_range range = { 0 };

	while (gt_operands_next(&operands)) {
		if (operands.operand != operand || (gt_token_is_punct(&operands.token, ',') && !operands.depth))
			continue;
		if (!range.length)
			range.at = operands.token.at;
		range.length = operands.token.at + operands.token.length - range.at;
	}
	return range;
}

static void write_guard(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_statement *statement)
{
	if (!statement->predicate_length)
		return;
	gt_text_puts(out, statement->flags & PTX_NEGATED ? "@!" : "@");
	gt_text_add(out, ptx->text + statement->predicate, statement->predicate_length);
	gt_text_puts(out, " ");
}

uint32_t gt_sums_write_addition(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_sums *sums,
				const struct ptx_statement *held, unsigned index)
{
	struct ptx_range value = operand_of(ptx, held, 1);
	int narrow = addition_bits(ptx, held) == 64 && ptx->text[value.at] == '%';

	if (narrow) {
		gt_text_puts(out, "cvt.u32.u64 %__gt_k, ");
		gt_text_add(out, ptx->text + value.at, value.length);
		gt_text_puts(out, "; ");
	}
	write_guard(out, ptx, held);
	gt_text_printf(out, "add.u32 " SUM ", " SUM ", ", sums->owner, index, sums->owner, index);
	if (narrow)
		gt_text_puts(out, "%__gt_k");
	else
		gt_text_add(out, ptx->text + value.at, value.length);
	gt_text_puts(out, ";");
	return gt_statement_end(ptx, held);
}

void gt_sums_write_any(struct ptx_text *out, const struct ptx_sums *sums)
{
	unsigned i;

	for (i = 0; i < sums->count; i++)
		gt_text_printf(out, "\tor.b32 %%__gt_t, %%__gt_t, " SUM ";\n", sums->owner, i);
}

uint32_t gt_sums_write_total(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_sums *sums,
			     const struct ptx_statement *held, unsigned index)
{
	struct ptx_range address = operand_of(ptx, held, 0);
	unsigned bits = addition_bits(ptx, held);

	gt_text_printf(out, "setp.ne.u32 %%__gt_p, " SUM ", 0;\n", sums->owner, index);
	if (bits == 64)
		gt_text_printf(out, "\tcvt.u64.u32 %%__gt_l, " SUM ";\n", sums->owner, index);
	gt_text_printf(out, "\t@%%__gt_p red.relaxed.gpu.global.add.u%u ", bits);
	gt_text_add(out, ptx->text + address.at, address.length);
	if (bits == 64)
		gt_text_puts(out, ", %__gt_l;\n");
	else
		gt_text_printf(out, ", " SUM ";\n", sums->owner, index);
	gt_text_printf(out, "\tmov.b32 " SUM ", 0;", sums->owner, index);
	return gt_statement_end(ptx, held);
}
