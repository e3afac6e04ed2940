/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/instrument/hoist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/instrument/lex.h"

#define WORTH 8u		/* instructions for each register that is kept */
#define STATEMENTS_MAX 512u	/* the search is quadratic */

struct reg {
	struct ptx_range name;
	uint32_t definitions;
	uint32_t moved;		/* the statement that defines it, PTX_NONE: that stays */
	uint8_t needed;		/* by one that stays */
};

struct search {
	const struct gt_ptx *ptx;
	const struct ptx_function *function;
	struct reg *regs;
	uint32_t count, room;
	struct ptx_hoist *hoist;
};

/* An instruction's operands, token by token. */
struct operands {
	struct ptx_lexer lexer;
	struct ptx_token token;
	unsigned operand, depth;	/* which one; within how many brackets */
};

static int is_punct(const struct ptx_token *token, char c)
{
	return token->kind == PTX_PUNCT && token->c == c;
}

uint32_t gt_statement_end(const struct gt_ptx *ptx, const struct ptx_statement *statement)
{
	struct ptx_lexer lexer = { ptx->text, ptx->length, statement->at };
	struct ptx_token token;

	do {
		gt_lex(&lexer, &token);
	} while (token.length && !is_punct(&token, ';'));
	return token.at + token.length;
}

/* False at the ';'. */
static int next_operand(struct operands *operands)
{
	struct ptx_token *token = &operands->token;

	gt_lex(&operands->lexer, token);
	if (!token->length || is_punct(token, ';'))
		return 0;
	if (token->kind == PTX_PUNCT && strchr("[{(", token->c))
		operands->depth++;
	else if (token->kind == PTX_PUNCT && strchr("]})", token->c))
		operands->depth--;
	else if (is_punct(token, ',') && !operands->depth)
		operands->operand++;
	return 1;
}

static struct operands operands_of(const struct gt_ptx *ptx, const struct ptx_statement *statement)
{
	struct operands operands = { .lexer = { ptx->text, ptx->length, statement->opcode } };
	struct ptx_token ahead;

	gt_lex(&operands.lexer, &ahead);
	for (gt_lex_peek(&operands.lexer, &ahead); ahead.kind == PTX_WORD && ahead.c == '.';
	     gt_lex_peek(&operands.lexer, &ahead))
		gt_lex(&operands.lexer, &ahead);
	return operands;
}

/* Not a special one, which has no number. */
static int is_register(const struct gt_ptx *ptx, const struct ptx_token *token)
{
	char last = token->length ? ptx->text[token->at + token->length - 1] : 0;

	return token->kind == PTX_WORD && token->c == '%' && last >= '0' && last <= '9';
}

/* NULL: out of memory. */
static struct reg *find_reg(struct search *search, const struct ptx_token *token)
{
	const char *text = search->ptx->text;
	uint32_t i;

	for (i = 0; i < search->count; i++)
		if (search->regs[i].name.length == token->length &&
		    !memcmp(text + search->regs[i].name.at, text + token->at, token->length))
			return &search->regs[i];
	if (gt_ptx_grow(&search->regs, search->count, &search->room, sizeof(*search->regs)) < 0)
		return NULL;
	search->regs[i] = (struct reg){ .name = { token->at, token->length }, .moved = PTX_NONE };
	search->count++;
	return &search->regs[i];
}

static const struct ptx_statement *statement_of(const struct search *search, uint32_t index)
{
	return &search->ptx->statements[search->function->statement + index];
}

/* What is written to stands first; the first of a store is an address. */
static int count_definitions(struct search *search, const struct ptx_statement *statement)
{
	struct operands operands = operands_of(search->ptx, statement);
	int address = 0;
	struct reg *reg;

	while (next_operand(&operands) && !operands.operand) {
		address |= is_punct(&operands.token, '[');
		if (address || !is_register(search->ptx, &operands.token))
			continue;
		reg = find_reg(search, &operands.token);
		if (!reg)
			return -ENOMEM;
		reg->definitions++;
	}
	return 0;
}

/* 32 bits from others, with no other effect. */
static int is_pure(const struct gt_ptx *ptx, const struct ptx_statement *statement)
{
	static const char *const pure[] = {
		"mov.u32", "mov.b32", "mov.s32", "add.u32", "add.s32", "sub.u32", "sub.s32", "mul.lo.u32", "mul.lo.s32",
		"mad.lo.u32", "mad.lo.s32", "shl.b32", "shr.u32", "shr.s32", "shr.b32", "and.b32", "or.b32", "xor.b32",
		"not.b32", "min.u32", "min.s32", "max.u32", "max.s32",
	};
	char opcode[PTX_OPCODE_MAX];
	size_t i;

	if (statement->kind != PTX_INSTRUCTION || statement->predicate_length ||
	    !gt_ptx_opcode(ptx, statement->opcode, opcode))
		return 0;
	for (i = 0; i < sizeof(pure) / sizeof(pure[0]); i++)
		if (!strcmp(opcode, pure[i]))
			return 1;
	return 0;
}

/* The same all through a thread's life. */
static int is_place(const struct gt_ptx *ptx, const struct ptx_token *token)
{
	static const char *const places[] = {
		"%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z",
		"%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid",
	};
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (token->length == strlen(places[i]) && !memcmp(ptx->text + token->at, places[i], token->length))
			return 1;
	return 0;
}

/* Is it a number, a place in the grid, or what was moved before? */
static int is_fixed(struct search *search, const struct ptx_token *token)
{
	const struct reg *reg;

	if (token->kind == PTX_WORD && token->c >= '0' && token->c <= '9')
		return 1;
	if (!is_register(search->ptx, token))
		return is_place(search->ptx, token);
	reg = find_reg(search, token);
	return reg && reg->moved != PTX_NONE;
}

/* Moves the statement if it gives the same at all places. */
static void try_move(struct search *search, uint32_t index)
{
	const struct ptx_statement *statement = statement_of(search, index);
	struct operands operands = operands_of(search->ptx, statement);
	struct reg *reg = NULL;

	if (!is_pure(search->ptx, statement) || !next_operand(&operands) ||
	    !is_register(search->ptx, &operands.token))
		return;
	reg = find_reg(search, &operands.token);
	if (!reg || reg->definitions != 1)
		return;
	while (next_operand(&operands))
		if (!is_punct(&operands.token, ',') && !is_punct(&operands.token, '-') &&
		    !is_fixed(search, &operands.token))
			return;
	reg->moved = index;
	search->hoist->moved[index] = 1;
	search->hoist->count++;
}

static void note_needs(struct search *search, const struct ptx_statement *statement)
{
	struct operands operands = operands_of(search->ptx, statement);
	struct reg *reg;

	while (next_operand(&operands)) {
		reg = is_register(search->ptx, &operands.token) ? find_reg(search, &operands.token) : NULL;
		if (reg)
			reg->needed = 1;
	}
}

/* False: too many registers for what is gained. */
static int choose_kept(const struct search *search)
{
	struct ptx_hoist *hoist = search->hoist;
	uint32_t i;

	for (i = 0; i < search->count; i++) {
		if (!search->regs[i].needed || search->regs[i].moved == PTX_NONE)
			continue;
		if (hoist->kept_count == PTX_HOIST_KEPT)
			return 0;
		hoist->kept[hoist->kept_count++] = search->regs[i].moved;
	}
	return hoist->kept_count && hoist->count >= WORTH * hoist->kept_count;
}

static int search_body(struct search *search)
{
	uint32_t i, count = search->function->statement_count;

	for (i = 0; i < count; i++) {
		/* Registers of inner scopes may have names of outer ones. */
		if (statement_of(search, i)->kind == PTX_OPEN)
			return 0;
		if (statement_of(search, i)->kind == PTX_INSTRUCTION &&
		    count_definitions(search, statement_of(search, i)) < 0)
			return -ENOMEM;
	}
	for (i = 0; i < count; i++)
		try_move(search, i);
	for (i = 0; i < count; i++)
		if (statement_of(search, i)->kind == PTX_INSTRUCTION && !search->hoist->moved[i])
			note_needs(search, statement_of(search, i));
	return choose_kept(search);
}

int gt_hoist_find(const struct gt_ptx *ptx, const struct ptx_function *function, struct ptx_hoist *ret_hoist)
{
	struct ptx_hoist hoist = { .moved = calloc(function->statement_count + 1, 1) };
	struct search search = { .ptx = ptx, .function = function, .hoist = &hoist };
	int r = hoist.moved ? 0 : -ENOMEM;

	if (!r && function->statement_count <= STATEMENTS_MAX)
		r = search_body(&search);
	free(search.regs);
	if (r <= 0)
		gt_hoist_free(&hoist);
	*ret_hoist = hoist;
	return r < 0 ? r : 0;
}

void gt_hoist_free(struct ptx_hoist *hoist)
{
	free(hoist->moved);
	*hoist = (struct ptx_hoist){ 0 };
}

/* ---- writing ---- */

static void write_kept_name(struct ptx_text *out, unsigned number, uint32_t kept)
{
	gt_text_printf(out, "%%__gt_h%u_%u", number, kept);
}

/* The register that it defines. */
static void write_defined(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_statement *statement)
{
	struct operands operands = operands_of(ptx, statement);

	next_operand(&operands);
	gt_text_add(out, ptx->text + operands.token.at, operands.token.length);
}

static void write_moved(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_statement *statement)
{
	gt_text_puts(out, "\t.reg .b32 ");
	write_defined(out, ptx, statement);
	gt_text_puts(out, "; ");
	gt_text_add(out, ptx->text + statement->at, gt_statement_end(ptx, statement) - statement->at);
	gt_text_puts(out, "\n");
}

void gt_hoist_write_entry(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_function *function,
			  const struct ptx_hoist *hoist, unsigned number)
{
	const struct ptx_statement *statements = &ptx->statements[function->statement];
	uint32_t i;

	for (i = 0; i < hoist->kept_count; i++) {
		gt_text_puts(out, "\n\t.reg .b32 ");
		write_kept_name(out, number, i);
		gt_text_puts(out, ";");
	}
	gt_text_puts(out, "\n\t{\n");
	for (i = 0; i < function->statement_count; i++)
		if (hoist->moved[i])
			write_moved(out, ptx, &statements[i]);
	for (i = 0; i < hoist->kept_count; i++) {
		gt_text_puts(out, "\tmov.b32 ");
		write_kept_name(out, number, i);
		gt_text_puts(out, ", ");
		write_defined(out, ptx, &statements[hoist->kept[i]]);
		gt_text_puts(out, ";\n");
	}
	gt_text_puts(out, "\t}\n\t");
}

void gt_hoist_write_use(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_function *function,
			const struct ptx_hoist *hoist, uint32_t statement, unsigned number)
{
	uint32_t i;

	for (i = 0; i < hoist->kept_count; i++) {
		if (hoist->kept[i] != statement)
			continue;
		gt_text_puts(out, "mov.b32 ");
		write_defined(out, ptx, &ptx->statements[function->statement + statement]);
		gt_text_puts(out, ", ");
		write_kept_name(out, number, i);
		gt_text_puts(out, ";");
	}
}
