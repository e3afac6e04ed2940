/* SPDX-License-Identifier: Apache-2.0 */
/* The module level of PTX: header, directives, and what they introduce. */
#include <ctype.h>
#include <string.h>

#include "context.h"

#define MAX_DEPTH 100

void ptx_next(struct ptx_ctx *ctx)
{
	ptx_lex_next(&ctx->lexer, &ctx->tok);
	if (ctx->tok.kind == TOK_BAD)
		ptx_syntax(ctx, ctx->tok.line, "%.*s", (int)ctx->tok.length, ctx->tok.text);
}

struct ptx_token ptx_peek(struct ptx_ctx *ctx)
{
	struct ptx_lexer lexer = ctx->lexer;
	struct ptx_token token;

	ptx_lex_next(&lexer, &token);
	return token;
}

int ptx_is_punct(const struct ptx_ctx *ctx, int punct)
{
	return ctx->tok.kind == TOK_PUNCT && ctx->tok.punct == punct;
}

static int is_text(const struct ptx_token *tok, enum ptx_token_kind kind, const char *word)
{
	return tok->kind == kind && strlen(word) == tok->length &&
	       !memcmp(tok->text, word, tok->length);
}

int ptx_is_dot(const struct ptx_ctx *ctx, const char *word)
{
	return is_text(&ctx->tok, TOK_DOT, word);
}

int ptx_take_punct(struct ptx_ctx *ctx, int punct)
{
	if (!ptx_is_punct(ctx, punct))
		return 0;
	ptx_next(ctx);
	return 1;
}

static const char *token_text(const struct ptx_token *tok, int *ret_length)
{
	*ret_length = tok->length > 60 ? 60 : tok->length;
	if (tok->kind != TOK_END)
		return tok->text;
	*ret_length = 11;
	return "end of file";
}

static void unexpected(struct ptx_ctx *ctx, const char *wanted)
{
	int length;
	const char *text = token_text(&ctx->tok, &length);

	ptx_syntax(ctx, ctx->tok.line, "expected %s before '%s%.*s'", wanted,
		   ctx->tok.kind == TOK_DOT ? "." : "", length, text);
}

void ptx_expect_punct(struct ptx_ctx *ctx, int punct, const char *where)
{
	char wanted[80] = "'?' ";

	if (ptx_take_punct(ctx, punct))
		return;
	wanted[1] = punct;
	strncat(wanted, where, sizeof(wanted) - 5);
	unexpected(ctx, wanted);
}

struct ptx_name ptx_expect_name(struct ptx_ctx *ctx, const char *what)
{
	struct ptx_name name;

	if (ctx->tok.kind != TOK_NAME)
		unexpected(ctx, what);
	name = ptx_name_of(ctx, ctx->tok.text, ctx->tok.length);
	ptx_next(ctx);
	return name;
}

void ptx_enter(struct ptx_ctx *ctx)
{
	if (++ctx->depth > MAX_DEPTH)
		ptx_syntax(ctx, ctx->tok.line, "nested too deeply");
}

void ptx_leave(struct ptx_ctx *ctx)
{
	ctx->depth--;
}

/* A directive that ends with its line: .loc, .file. */
static void skip_line(struct ptx_ctx *ctx)
{
	ptx_lex_skip_line(&ctx->lexer);
	ptx_next(ctx);
}

/* .version 9.0: the lexer hands it over as one decimal number. */
static void parse_version(struct ptx_ctx *ctx)
{
	unsigned line = ctx->tok.line;
	double value;

	ptx_next(ctx);
	if (ctx->tok.kind != TOK_FLOAT || ctx->tok.is_f32)
		unexpected(ctx, "a version number");
	memcpy(&value, &ctx->tok.value, sizeof(value));
	if (!(value >= 1 && value < 10))
		ptx_unsupported(ctx, line, "PTX version %g is unknown to the software device", value);
	ctx->version = (unsigned)(value * 10 + 0.5);
	ptx_next(ctx);
}

/* sm_90, sm_90a (that chip alone), sm_100f (its family). */
static void check_sm(struct ptx_ctx *ctx, const char *text, unsigned length)
{
	unsigned sm = 0, i, arch = ctx->dev->arch;
	int ok;
	char suffix;

	for (i = 3; i < length && isdigit((unsigned char)text[i]) && sm < 1000; i++)
		sm = sm * 10 + (text[i] - '0');
	suffix = i < length ? text[i] : 0;
	if (sm < 10 || length - i > 1 || (suffix && suffix != 'a' && suffix != 'f'))
		ptx_syntax(ctx, ctx->tok.line, "unknown target '%.*s'",
			   (int)(length > 60 ? 60 : length), text);
	if (suffix == 'a')
		ok = sm == arch;
	else if (suffix == 'f')
		ok = sm / 10 == arch / 10 && sm <= arch;
	else
		ok = sm <= arch;
	if (!ok)
		ptx_unsupported(ctx, ctx->tok.line, "target %.*s does not run on this sm_%u device",
				(int)length, text, arch);
}

static void parse_target(struct ptx_ctx *ctx)
{
	ptx_next(ctx);
	for (;;) {
		if (ctx->tok.kind != TOK_NAME)
			unexpected(ctx, "a target");
		if (ctx->tok.length > 3 && !memcmp(ctx->tok.text, "sm_", 3))
			check_sm(ctx, ctx->tok.text, ctx->tok.length);
		else if (!is_text(&ctx->tok, TOK_NAME, "debug") &&
			 !is_text(&ctx->tok, TOK_NAME, "texmode_unified") &&
			 !is_text(&ctx->tok, TOK_NAME, "texmode_independent"))
			ptx_syntax(ctx, ctx->tok.line, "unknown target option '%.*s'",
				   (int)(ctx->tok.length > 60 ? 60 : ctx->tok.length), ctx->tok.text);
		ptx_next(ctx);
		if (!ptx_take_punct(ctx, ','))
			break;
	}
	ctx->seen_target = 1;
}

static void parse_address_size(struct ptx_ctx *ctx)
{
	unsigned line = ctx->tok.line;

	ptx_next(ctx);
	if (ctx->tok.kind != TOK_INT)
		unexpected(ctx, "32 or 64");
	if (ctx->tok.value != 64)
		ptx_unsupported(ctx, line, "only 64-bit addresses are supported");
	ptx_next(ctx);
}

/* .section .debug_info { ... }: for debuggers. */
static void skip_section(struct ptx_ctx *ctx)
{
	unsigned line = ctx->tok.line;

	ptx_next(ctx);
	if (ctx->tok.kind != TOK_DOT && ctx->tok.kind != TOK_NAME)
		unexpected(ctx, "a section name");
	ptx_next(ctx);
	ptx_expect_punct(ctx, '{', "of the section");
	while (!ptx_is_punct(ctx, '}')) {
		if (ctx->tok.kind == TOK_END)
			ptx_syntax(ctx, line, "section is not closed");
		ptx_next(ctx);
	}
	ptx_next(ctx);
}

static void parse_pragma(struct ptx_ctx *ctx)
{
	ptx_next(ctx);
	do {
		if (ctx->tok.kind != TOK_STRING)
			unexpected(ctx, "a string");
		ptx_next(ctx);
	} while (ptx_take_punct(ctx, ','));
	ptx_expect_punct(ctx, ';', "after .pragma");
}

/* .alias name, target; both declared before. */
static void parse_alias(struct ptx_ctx *ctx)
{
	unsigned line = ctx->tok.line;
	struct ptx_name names[2];
	struct ptx_sym *syms[2];
	int i;

	ptx_next(ctx);
	for (i = 0; i < 2; i++) {
		names[i] = ptx_expect_name(ctx, "a function name");
		syms[i] = ptx_sym_find(ctx, &ctx->globals, &names[i]);
		if (!syms[i] || syms[i]->kind != SYM_FUNC)
			ptx_syntax(ctx, line, "'%.200s' is no function", names[i].text);
		if (!i)
			ptx_expect_punct(ctx, ',', "between the names of .alias");
	}
	ptx_expect_punct(ctx, ';', "after .alias");
	if (syms[0]->func->has_body || syms[0]->func->is_entry || syms[1]->func->is_entry ||
	    !syms[1]->func->has_body)
		ptx_syntax(ctx, line, ".alias needs a declared function and a defined one");
	syms[0]->func->alias = syms[1]->func;
}

static enum ptx_linkage parse_linkage(struct ptx_ctx *ctx)
{
	enum ptx_linkage linkage;

	if (ptx_is_dot(ctx, "visible"))
		linkage = LINK_VISIBLE;
	else if (ptx_is_dot(ctx, "extern"))
		linkage = LINK_EXTERN;
	else if (ptx_is_dot(ctx, "weak"))
		linkage = LINK_WEAK;
	else if (ptx_is_dot(ctx, "common"))
		linkage = LINK_COMMON;
	else
		return LINK_NONE;
	ptx_next(ctx);
	return linkage;
}

static void parse_item(struct ptx_ctx *ctx)
{
	enum ptx_linkage linkage;

	if (ptx_is_dot(ctx, "file") || ptx_is_dot(ctx, "loc")) {
		skip_line(ctx);
		return;
	} else if (ptx_is_dot(ctx, "section")) {
		skip_section(ctx);
		return;
	} else if (ptx_is_dot(ctx, "pragma")) {
		parse_pragma(ctx);
		return;
	} else if (ptx_is_dot(ctx, "alias")) {
		parse_alias(ctx);
		return;
	} else if (ptx_is_dot(ctx, "target")) {
		parse_target(ctx);
		return;
	} else if (ptx_take_punct(ctx, ';')) {
		return;
	}
	linkage = parse_linkage(ctx);
	if (ptx_is_dot(ctx, "entry"))
		ptx_parse_function(ctx, linkage, 1);
	else if (ptx_is_dot(ctx, "func"))
		ptx_parse_function(ctx, linkage, 0);
	else if (ptx_is_dot(ctx, "global") || ptx_is_dot(ctx, "shared") ||
		 ptx_is_dot(ctx, "const") || ptx_is_dot(ctx, "tex"))
		ptx_parse_variables(ctx, linkage);
	else
		unexpected(ctx, "a directive");
}

void ptx_parse(struct ptx_ctx *ctx)
{
	ctx->scope = &ctx->globals;
	ptx_next(ctx);
	if (!ptx_is_dot(ctx, "version"))
		unexpected(ctx, ".version");
	parse_version(ctx);
	if (!ptx_is_dot(ctx, "target"))
		unexpected(ctx, ".target");
	parse_target(ctx);
	if (ptx_is_dot(ctx, "address_size"))
		parse_address_size(ctx);
	while (ctx->tok.kind != TOK_END)
		parse_item(ctx);
}
