/* SPDX-License-Identifier: Apache-2.0 */
/* Constant expressions and the values of initialisers. */
#include <string.h>

#include "context.h"

struct value {
	uint64_t bits;
	int is_unsigned;
};

static struct value parse_ternary(struct ptx_ctx *ctx);

static int is_cast(struct ptx_ctx *ctx)
{
	struct ptx_token next;

	if (!ptx_is_punct(ctx, '('))
		return 0;
	next = ptx_peek(ctx);
	return next.kind == TOK_DOT;
}

static struct value parse_cast(struct ptx_ctx *ctx)
{
	struct value v;
	int is_unsigned;

	ptx_next(ctx);
	is_unsigned = ptx_is_dot(ctx, "u64");
	if (!is_unsigned && !ptx_is_dot(ctx, "s64"))
		ptx_syntax(ctx, ctx->tok.line, "a constant may be cast to .s64 or .u64 only");
	ptx_next(ctx);
	ptx_expect_punct(ctx, ')', "after the cast");
	v = parse_ternary(ctx);
	v.is_unsigned = is_unsigned;
	return v;
}

static struct value parse_unary(struct ptx_ctx *ctx)
{
	struct value v = { 0, 0 };
	int op = ctx->tok.kind == TOK_PUNCT ? ctx->tok.punct : 0;

	ptx_enter(ctx);
	if (op == '-' || op == '+' || op == '~' || op == '!') {
		ptx_next(ctx);
		v = parse_unary(ctx);
		if (op == '-')
			v.bits = -v.bits;
		else if (op == '~')
			v.bits = ~v.bits;
		else if (op == '!')
			v = (struct value){ !v.bits, 0 };
	} else if (is_cast(ctx)) {
		v = parse_cast(ctx);
	} else if (ptx_take_punct(ctx, '(')) {
		v = parse_ternary(ctx);
		ptx_expect_punct(ctx, ')', "of the expression");
	} else if (ctx->tok.kind == TOK_INT) {
		v.bits = ctx->tok.value;
		v.is_unsigned = ctx->tok.is_unsigned || v.bits > INT64_MAX;
		ptx_next(ctx);
	} else if (ctx->tok.kind == TOK_NAME && ctx->tok.length == 7 &&
		   !memcmp(ctx->tok.text, "WARP_SZ", 7)) {
		v.bits = 32;
		ptx_next(ctx);
	} else {
		ptx_syntax(ctx, ctx->tok.line, "expected a constant");
	}
	ptx_leave(ctx);
	return v;
}

static int precedence(const struct ptx_ctx *ctx)
{
	if (ctx->tok.kind != TOK_PUNCT)
		return 0;
	switch (ctx->tok.punct) {
	case '*': case '/': case '%': return 10;
	case '+': case '-': return 9;
	case PUNCT2('<', '<'): case PUNCT2('>', '>'): return 8;
	case '<': case '>': case PUNCT2('<', '='): case PUNCT2('>', '='): return 7;
	case PUNCT2('=', '='): case PUNCT2('!', '='): return 6;
	case '&': return 5;
	case '^': return 4;
	case '|': return 3;
	case PUNCT2('&', '&'): return 2;
	case PUNCT2('|', '|'): return 1;
	}
	return 0;
}

static uint64_t divide(struct ptx_ctx *ctx, int op, struct value a, struct value b, int is_unsigned)
{
	if (!b.bits)
		ptx_syntax(ctx, ctx->tok.line, "division by zero in a constant");
	if (is_unsigned)
		return op == '/' ? a.bits / b.bits : a.bits % b.bits;
	if (b.bits == UINT64_MAX)
		return op == '/' ? -a.bits : 0;
	return op == '/' ? (int64_t)a.bits / (int64_t)b.bits : (int64_t)a.bits % (int64_t)b.bits;
}

static int less(struct value a, struct value b, int is_unsigned)
{
	return is_unsigned ? a.bits < b.bits : (int64_t)a.bits < (int64_t)b.bits;
}

static struct value apply(struct ptx_ctx *ctx, int op, struct value a, struct value b)
{
	int u = a.is_unsigned || b.is_unsigned;
	unsigned count = b.bits > 63 ? 63 : b.bits;
	struct value v = { 0, u };

	switch (op) {
	case '*': v.bits = a.bits * b.bits; break;
	case '/': case '%': v.bits = divide(ctx, op, a, b, u); break;
	case '+': v.bits = a.bits + b.bits; break;
	case '-': v.bits = a.bits - b.bits; break;
	case '&': v.bits = a.bits & b.bits; break;
	case '|': v.bits = a.bits | b.bits; break;
	case '^': v.bits = a.bits ^ b.bits; break;
	case PUNCT2('<', '<'): v.bits = b.bits > 63 ? 0 : a.bits << count; break;
	case PUNCT2('>', '>'):
		v.bits = a.is_unsigned ? (b.bits > 63 ? 0 : a.bits >> count) :
			 (uint64_t)((int64_t)a.bits >> count);
		break;
	case '<': v = (struct value){ less(a, b, u), 0 }; break;
	case '>': v = (struct value){ less(b, a, u), 0 }; break;
	case PUNCT2('<', '='): v = (struct value){ !less(b, a, u), 0 }; break;
	case PUNCT2('>', '='): v = (struct value){ !less(a, b, u), 0 }; break;
	case PUNCT2('=', '='): v = (struct value){ a.bits == b.bits, 0 }; break;
	case PUNCT2('!', '='): v = (struct value){ a.bits != b.bits, 0 }; break;
	case PUNCT2('&', '&'): v = (struct value){ a.bits && b.bits, 0 }; break;
	case PUNCT2('|', '|'): v = (struct value){ a.bits || b.bits, 0 }; break;
	}
	return v;
}

static struct value parse_binary(struct ptx_ctx *ctx, int least)
{
	struct value a, b;
	int op, level;

	ptx_enter(ctx);
	a = parse_unary(ctx);
	while ((level = precedence(ctx)) >= least && level) {
		op = ctx->tok.punct;
		ptx_next(ctx);
		b = parse_binary(ctx, level + 1);
		a = apply(ctx, op, a, b);
	}
	ptx_leave(ctx);
	return a;
}

static struct value parse_ternary(struct ptx_ctx *ctx)
{
	struct value c, a, b;

	ptx_enter(ctx);
	c = parse_binary(ctx, 1);
	if (ptx_take_punct(ctx, '?')) {
		a = parse_ternary(ctx);
		ptx_expect_punct(ctx, ':', "of '?'");
		b = parse_ternary(ctx);
		c = c.bits ? a : b;
	}
	ptx_leave(ctx);
	return c;
}

uint64_t ptx_parse_const(struct ptx_ctx *ctx)
{
	return parse_ternary(ctx).bits;
}

static uint64_t float_bits(struct ptx_ctx *ctx, enum ptx_type type, int negate)
{
	uint64_t bits = ctx->tok.value;
	uint32_t bits32;
	double value;
	float narrow;

	if (type == T_F32 || type == T_B32) {
		if (ctx->tok.is_f32) {
			bits32 = (uint32_t)bits;
		} else {
			memcpy(&value, &bits, sizeof(value));
			narrow = (float)value;
			memcpy(&bits32, &narrow, sizeof(bits32));
		}
		bits = bits32 ^ (negate ? 0x80000000u : 0);
	} else if (type == T_F64 || type == T_B64) {
		if (ctx->tok.is_f32) {
			bits32 = (uint32_t)bits;
			memcpy(&narrow, &bits32, sizeof(narrow));
			value = (double)narrow;
			memcpy(&bits, &value, sizeof(bits));
		}
		bits ^= negate ? 1ull << 63 : 0;
	} else {
		ptx_syntax(ctx, ctx->tok.line, "a float constant cannot initialise .%s",
			   ptx_types[type].name);
	}
	ptx_next(ctx);
	return bits;
}

static struct ptx_sym *parse_symbol(struct ptx_ctx *ctx)
{
	unsigned line = ctx->tok.line;
	struct ptx_name name = ptx_expect_name(ctx, "a symbol");
	struct ptx_sym *sym = ptx_sym_find(ctx, ctx->scope, &name);

	if (!sym)
		ptx_syntax(ctx, line, "'%.200s' is not declared", name.text);
	if (sym->kind != SYM_FUNC && sym->kind != SYM_VAR)
		ptx_syntax(ctx, line, "'%.200s' has no address", name.text);
	return sym;
}

/* sym, sym+4, generic(sym)+4 */
static void parse_address(struct ptx_ctx *ctx, struct ptx_init *init)
{
	int wrapped = 0;
	struct ptx_token next = ptx_peek(ctx);

	if (ctx->tok.kind == TOK_NAME && ctx->tok.length == 7 &&
	    !memcmp(ctx->tok.text, "generic", 7) && next.kind == TOK_PUNCT && next.punct == '(') {
		ptx_next(ctx);
		ptx_next(ctx);
		wrapped = 1;
	}
	init->sym = parse_symbol(ctx);
	if (wrapped)
		ptx_expect_punct(ctx, ')', "after generic(");
	if (ptx_is_punct(ctx, '+') || ptx_is_punct(ctx, '-'))
		init->value = ptx_parse_const(ctx);
}

void ptx_parse_init_value(struct ptx_ctx *ctx, enum ptx_type type, struct ptx_init *init)
{
	struct ptx_token next = ptx_peek(ctx);
	int negate;

	init->line = ctx->tok.line;
	negate = ptx_is_punct(ctx, '-') && next.kind == TOK_FLOAT;
	if (negate)
		ptx_next(ctx);
	if (ctx->tok.kind == TOK_FLOAT) {
		init->value = float_bits(ctx, type, negate);
	} else if (ctx->tok.kind == TOK_NAME) {
		parse_address(ctx, init);
	} else if (ctx->tok.kind == TOK_INT && next.kind == TOK_PUNCT && next.punct == '(') {
		/* 0xff00(sym): one byte of an address */
		init->mask = ctx->tok.value;
		if (!init->mask || init->mask & (init->mask - 1) & ~(0xffull << __builtin_ctzll(init->mask)))
			ptx_syntax(ctx, init->line, "malformed mask of an address");
		ptx_next(ctx);
		ptx_next(ctx);
		parse_address(ctx, init);
		ptx_expect_punct(ctx, ')', "after the masked address");
	} else {
		init->value = ptx_parse_const(ctx);
	}
	if (init->sym && !init->mask && ptx_types[type].size != 8 && ptx_types[type].size != 4)
		ptx_syntax(ctx, init->line, "an address does not fit .%s", ptx_types[type].name);
}
