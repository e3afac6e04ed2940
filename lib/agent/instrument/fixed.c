/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/instrument/fixed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STATEMENTS_MAX 512u	/* the search is quadratic */

/* ---- operands ---- */

int gt_token_is_punct(const struct ptx_token *token, char c)
{
	return token->kind == PTX_PUNCT && token->c == c;
}

uint32_t gt_statement_end(const struct gt_ptx *ptx, const struct ptx_statement *statement)
{
	struct ptx_lexer lexer = { ptx->text, ptx->length, statement->at };
	struct ptx_token token;

	do {
		gt_lex(&lexer, &token);
	} while (token.length && !gt_token_is_punct(&token, ';'));
	return token.at + token.length;
}

int gt_operands_next(struct ptx_operands *operands)
{
	struct ptx_token *token = &operands->token;

	gt_lex(&operands->lexer, token);
	if (!token->length || gt_token_is_punct(token, ';'))
		return 0;
	if (token->kind == PTX_PUNCT && strchr("[{(", token->c))
		operands->depth++;
	else if (token->kind == PTX_PUNCT && strchr("]})", token->c))
		operands->depth--;
	else if (gt_token_is_punct(token, ',') && !operands->depth)
		operands->operand++;
	return 1;
}

struct ptx_operands gt_operands(const struct gt_ptx *ptx, const struct ptx_statement *statement)
{
	struct ptx_operands operands = { .lexer = { ptx->text, ptx->length, statement->opcode } };
	struct ptx_token ahead;

	gt_lex(&operands.lexer, &ahead);
	for (gt_lex_peek(&operands.lexer, &ahead); ahead.kind == PTX_WORD && ahead.c == '.';
	     gt_lex_peek(&operands.lexer, &ahead))
		gt_lex(&operands.lexer, &ahead);
	return operands;
}

/* ---- registers ---- */

/* Not a special one, which has no number. */
static int is_register(const struct gt_ptx *ptx, const struct ptx_token *token)
{
	char last = token->length ? ptx->text[token->at + token->length - 1] : 0;

	return token->kind == PTX_WORD && token->c == '%' && last >= '0' && last <= '9';
}

struct ptx_fixed_register *gt_fixed_register(const struct ptx_fixed *fixed, const struct ptx_token *token)
{
	const char *text = fixed->ptx->text;
	uint32_t i;

	for (i = 0; i < fixed->count; i++)
		if (fixed->registers[i].name.length == token->length &&
		    !memcmp(text + fixed->registers[i].name.at, text + token->at, token->length))
			return &fixed->registers[i];
	return NULL;
}

static int add_register(struct ptx_fixed *fixed, const struct ptx_token *token)
{
	struct ptx_fixed_register *known = gt_fixed_register(fixed, token);

	if (!known) {
		if (gt_ptx_grow(&fixed->registers, fixed->count, &fixed->room, sizeof(*fixed->registers)) < 0)
			return -ENOMEM;
		known = &fixed->registers[fixed->count++];
		*known = (struct ptx_fixed_register){ .name = { token->at, token->length }, .statement = PTX_NONE };
	}
	known->definitions++;
	return 0;
}

const struct ptx_statement *gt_fixed_statement(const struct ptx_fixed *fixed, uint32_t index)
{
	return &fixed->ptx->statements[fixed->function->statement + index];
}

/* What is written to stands first; the first of a store is an address. */
static int count_definitions(struct ptx_fixed *fixed, const struct ptx_statement *statement)
{
	struct ptx_operands operands = gt_operands(fixed->ptx, statement);
	int address = 0;

	while (gt_operands_next(&operands) && !operands.operand) {
		address |= gt_token_is_punct(&operands.token, '[');
		if (!address && is_register(fixed->ptx, &operands.token) && add_register(fixed, &operands.token) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- statements ---- */

static int is_one_of(const char *word, size_t length, const char *const *words)
{
	for (; *words; words++)
		if (length == strlen(*words) && !memcmp(word, *words, length))
			return 1;
	return 0;
}

/* From other registers, with no other effect. */
static int is_pure(const struct ptx_fixed *fixed, const struct ptx_statement *statement)
{
	static const char *const narrow[] = {
		"mov.u32", "mov.b32", "mov.s32", "add.u32", "add.s32", "sub.u32", "sub.s32", "mul.lo.u32", "mul.lo.s32",
		"mad.lo.u32", "mad.lo.s32", "shl.b32", "shr.u32", "shr.s32", "shr.b32", "and.b32", "or.b32", "xor.b32",
		"not.b32", "min.u32", "min.s32", "max.u32", "max.s32", NULL,
	};
	static const char *const wide[] = {
		"mov.u64", "mov.b64", "mov.s64", "add.u64", "add.s64", "sub.u64", "sub.s64", "mul.lo.u64", "mul.lo.s64",
		"mad.lo.u64", "mad.lo.s64", "mul.wide.u32", "mul.wide.s32", "mad.wide.u32", "mad.wide.s32", "shl.b64",
		"shr.u64", "shr.s64", "shr.b64", "and.b64", "or.b64", "xor.b64", "cvt.u64.u32", "cvt.s64.s32",
		"cvt.u32.u64", NULL,
	};
	char opcode[PTX_OPCODE_MAX];
	uint32_t length;

	if (statement->kind != PTX_INSTRUCTION || statement->predicate_length)
		return 0;
	length = gt_ptx_opcode(fixed->ptx, statement->opcode, opcode);
	return is_one_of(opcode, length, narrow) || (fixed->arguments && is_one_of(opcode, length, wide));
}

/* The same all through a thread's life; that a thread is moved to another multiprocessor does not matter to addresses. */
static int is_place(const struct ptx_fixed *fixed, const struct ptx_token *token)
{
	static const char *const places[] = {
		"%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z",
		"%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", NULL,
	};
	static const char *const moving[] = { "%smid", NULL };
	const char *word = fixed->ptx->text + token->at;

	return is_one_of(word, token->length, places) || (fixed->arguments && is_one_of(word, token->length, moving));
}

/* Is it a number, a place in the grid, or what is fixed itself? */
static int is_fixed(const struct ptx_fixed *fixed, const struct ptx_token *token)
{
	const struct ptx_fixed_register *known;

	if (token->kind == PTX_WORD && token->c >= '0' && token->c <= '9')
		return 1;
	if (!is_register(fixed->ptx, token))
		return is_place(fixed, token);
	known = gt_fixed_register(fixed, token);
	return known && known->statement != PTX_NONE;
}

static void try_statement(struct ptx_fixed *fixed, uint32_t index)
{
	const struct ptx_statement *statement = gt_fixed_statement(fixed, index);
	struct ptx_operands operands = gt_operands(fixed->ptx, statement);
	int given = fixed->arguments && fixed->arguments[index] == PTX_ARGUMENT_FIXED;
	struct ptx_fixed_register *defined;

	if ((!given && !is_pure(fixed, statement)) || !gt_operands_next(&operands))
		return;
	defined = gt_fixed_register(fixed, &operands.token);
	if (!defined || defined->definitions != 1)
		return;
	while (!given && gt_operands_next(&operands))
		if (!gt_token_is_punct(&operands.token, ',') && !gt_token_is_punct(&operands.token, '-') &&
		    !is_fixed(fixed, &operands.token))
			return;
	defined->statement = index;
	fixed->is[index] = 1;
}

static int find(struct ptx_fixed *fixed)
{
	uint32_t i, count = fixed->function->statement_count;

	for (i = 0; i < count; i++)
		/* Registers of inner scopes may have names of outer ones. */
		if (gt_fixed_statement(fixed, i)->kind == PTX_OPEN)
			return 0;
	for (i = 0; i < count; i++)
		if (gt_fixed_statement(fixed, i)->kind == PTX_INSTRUCTION &&
		    count_definitions(fixed, gt_fixed_statement(fixed, i)) < 0)
			return -ENOMEM;
	for (i = 0; i < count; i++)
		try_statement(fixed, i);
	return 0;
}

int gt_fixed_find(const struct gt_ptx *ptx, const struct ptx_function *function, const uint8_t *arguments,
		  struct ptx_fixed *ret_fixed)
{
	struct ptx_fixed fixed = {
		.ptx = ptx, .function = function, .arguments = arguments,
		.is = calloc(function->statement_count + (size_t)1, 1),
	};
	int r = fixed.is ? 0 : -ENOMEM;

	if (!r && function->statement_count <= STATEMENTS_MAX)
		r = find(&fixed);
	if (r < 0)
		gt_fixed_free(&fixed);
	*ret_fixed = fixed;
	return r;
}

void gt_fixed_free(struct ptx_fixed *fixed)
{
	free(fixed->registers);
	free(fixed->is);
	*fixed = (struct ptx_fixed){ 0 };
}
