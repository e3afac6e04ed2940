/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions and their operands. */
#include <string.h>

#include "context.h"
#include "sreg.h"

#define MAX_LIST 256

static void parse_operand(struct ptx_ctx *ctx, const struct ptx_insn *insn,
			  struct ptx_operand *opd);

static void note_use(struct ptx_ctx *ctx, struct ptx_sym *sym)
{
	struct ptx_func *func = ctx->func;
	unsigned i;

	if (sym->kind == SYM_FUNC) {
		for (i = 0; i < func->callee_count; i++)
			if (func->callees[i] == sym->func)
				return;
		func->callees = ptx_grow(ctx, func->callees, func->callee_count,
					 &func->callee_room, sizeof(*func->callees));
		func->callees[func->callee_count++] = sym->func;
	} else if (sym->kind == SYM_VAR && sym->var.space == SPACE_SHARED) {
		for (i = 0; i < func->shared_count; i++)
			if (func->shared[i] == &sym->var)
				return;
		func->shared = ptx_grow(ctx, func->shared, func->shared_count,
					&func->shared_room, sizeof(*func->shared));
		func->shared[func->shared_count++] = &sym->var;
	}
}

/* .x of a vector register, .b1 or .h0 of a video operand */
static void parse_element(struct ptx_ctx *ctx, struct ptx_operand *opd)
{
	static const char elements[] = "xyzwrgba";
	const char *text = ctx->tok.text, *at;
	unsigned width = opd->kind == OPD_SREG ? 4 : opd->sym->reg.width;

	if (ctx->tok.length == 2 && (text[0] == 'b' || text[0] == 'h') &&
	    text[1] >= '0' && text[1] <= (text[0] == 'b' ? '3' : '1')) {
		opd->selector = text[0];
		opd->selector_index = text[1] - '0';
		ptx_next(ctx);
		return;
	}
	at = ctx->tok.length == 1 ? strchr(elements, text[0]) : NULL;
	if (!at || (at - elements) % 4 >= (int)width)
		ptx_syntax(ctx, ctx->tok.line, "no element '.%.*s'",
			   (int)(ctx->tok.length > 60 ? 60 : ctx->tok.length), text);
	opd->element = (at - elements) % 4 + 1;
	ptx_next(ctx);
}

static int wants_name(const struct ptx_insn *insn)
{
	return !strcmp(insn->op.text, "call") || !strcmp(insn->op.text, "bra") ||
	       !strcmp(insn->op.text, "brx");
}

/* Labels and prototypes may stand below; registers, variables and functions may not. */
static void resolve_name(struct ptx_ctx *ctx, const struct ptx_insn *insn, struct ptx_operand *opd)
{
	struct ptx_sym *sym = ptx_sym_find(ctx, ctx->scope, &opd->name);
	enum ptx_sreg sreg;
	unsigned element;

	opd->scope = ctx->scope;
	if (sym && (sym->kind == SYM_REG || sym->kind == SYM_VAR || sym->kind == SYM_FUNC)) {
		opd->sym = sym;
		opd->kind = sym->kind == SYM_REG ? OPD_REG : OPD_SYM;
		note_use(ctx, sym);
	} else if (wants_name(insn)) {
		opd->kind = OPD_NAME;
	} else if (!ptx_sreg_find(&opd->name, &sreg, &element)) {
		opd->kind = OPD_SREG;
		opd->sreg = sreg;
		opd->value = element;
	} else {
		ptx_syntax(ctx, opd->line, "'%.200s' is not declared", opd->name.text);
	}
}

static void parse_named(struct ptx_ctx *ctx, const struct ptx_insn *insn, struct ptx_operand *opd)
{
	opd->name = ptx_expect_name(ctx, "an operand");
	if (!strcmp(opd->name.text, "_")) {
		opd->kind = OPD_SINK;
		return;
	}
	if (!strcmp(opd->name.text, "WARP_SZ")) {
		opd->kind = OPD_INT;
		opd->value = 32;
		return;
	}
	resolve_name(ctx, insn, opd);
	if ((opd->kind == OPD_REG || opd->kind == OPD_SREG) && ctx->tok.kind == TOK_DOT)
		parse_element(ctx, opd);
	if (opd->kind == OPD_SREG && ptx_sreg_is_vector(opd->sreg)) {
		if (!opd->element)
			ptx_unsupported(ctx, opd->line, "'%s' as a whole vector is not supported",
					opd->name.text);
		opd->value = opd->element - 1;
	}
	if (opd->kind == OPD_SYM && (ptx_is_punct(ctx, '+') || ptx_is_punct(ctx, '-')))
		opd->value = ptx_parse_const(ctx);
}

/* [base + offset], also with further operands in the brackets, which few instructions have */
static void parse_address(struct ptx_ctx *ctx, const struct ptx_insn *insn,
			  struct ptx_operand *opd)
{
	struct ptx_operand base = { .line = opd->line };

	ptx_next(ctx);
	opd->kind = OPD_ADDRESS;
	if (ctx->tok.kind == TOK_NAME && !(ctx->tok.length == 7 && !memcmp(ctx->tok.text, "WARP_SZ", 7))) {
		parse_named(ctx, insn, &base);
		if (base.kind != OPD_REG && base.kind != OPD_SYM)
			ptx_syntax(ctx, opd->line, "'%.200s' cannot be an address", base.name.text);
		opd->sym = base.sym;
		opd->element = base.element;
		opd->value = base.value;
		if (base.kind == OPD_REG && (ptx_is_punct(ctx, '+') || ptx_is_punct(ctx, '-')))
			opd->value = ptx_parse_const(ctx);
	} else {
		opd->value = ptx_parse_const(ctx);
	}
	if (ptx_take_punct(ctx, ',')) {
		unsigned room = 0;

		do {
			opd->list = ptx_grow(ctx, opd->list, opd->count, &room, sizeof(*opd->list));
			parse_operand(ctx, insn, &opd->list[opd->count]);
			opd->count++;
		} while (opd->count < MAX_LIST && ptx_take_punct(ctx, ','));
	}
	ptx_expect_punct(ctx, ']', "after the address");
}

static void parse_list(struct ptx_ctx *ctx, const struct ptx_insn *insn, struct ptx_operand *opd,
		       int close)
{
	unsigned room = 0;

	ptx_next(ctx);
	opd->kind = close == '}' ? OPD_VECTOR : OPD_LIST;
	while (!ptx_is_punct(ctx, close)) {
		if (opd->count == MAX_LIST)
			ptx_syntax(ctx, ctx->tok.line, "too many operands in a list");
		opd->list = ptx_grow(ctx, opd->list, opd->count, &room, sizeof(*opd->list));
		parse_operand(ctx, insn, &opd->list[opd->count]);
		opd->count++;
		if (!ptx_take_punct(ctx, ','))
			break;
	}
	ptx_expect_punct(ctx, close, "after the list");
}

static void parse_number(struct ptx_ctx *ctx, struct ptx_operand *opd)
{
	struct ptx_token next = ptx_peek(ctx);
	int negate = ptx_is_punct(ctx, '-') && next.kind == TOK_FLOAT;

	if (negate)
		ptx_next(ctx);
	if (ctx->tok.kind == TOK_FLOAT) {
		opd->kind = OPD_FLOAT;
		opd->value = ctx->tok.value;
		opd->is_f32 = ctx->tok.is_f32;
		if (negate)
			opd->value ^= opd->is_f32 ? 1ull << 31 : 1ull << 63;
		ptx_next(ctx);
		return;
	}
	if (ctx->tok.kind != TOK_INT && (ctx->tok.kind != TOK_PUNCT || !strchr("(-+~", ctx->tok.punct)))
		ptx_syntax(ctx, ctx->tok.line, "expected an operand or ';'");
	opd->kind = OPD_INT;
	opd->value = ptx_parse_const(ctx);
}

static int is_negated_register(struct ptx_ctx *ctx)
{
	return ptx_is_punct(ctx, '-') && ptx_peek(ctx).kind == TOK_NAME;
}

static void parse_operand(struct ptx_ctx *ctx, const struct ptx_insn *insn,
			  struct ptx_operand *opd)
{
	ptx_enter(ctx);
	opd->line = ctx->tok.line;
	if (ptx_is_punct(ctx, '[')) {
		parse_address(ctx, insn, opd);
	} else if (ptx_is_punct(ctx, '{')) {
		parse_list(ctx, insn, opd, '}');
	} else if (ptx_is_punct(ctx, '(') && !strcmp(insn->op.text, "call")) {
		parse_list(ctx, insn, opd, ')');
	} else if (ptx_is_punct(ctx, '!') || is_negated_register(ctx)) {
		ptx_next(ctx);
		parse_named(ctx, insn, opd);
		opd->negated = 1;
		if (opd->kind != OPD_REG)
			ptx_syntax(ctx, opd->line, "only a register can be negated");
	} else if (ctx->tok.kind == TOK_NAME) {
		parse_named(ctx, insn, opd);
	} else {
		parse_number(ctx, opd);
	}
	if (ptx_take_punct(ctx, '|')) {
		opd->second = ptx_alloc(ctx, sizeof(*opd->second));
		parse_operand(ctx, insn, opd->second);
	}
	ptx_leave(ctx);
}

static void parse_guard(struct ptx_ctx *ctx, struct ptx_insn *insn)
{
	unsigned line = ctx->tok.line;
	struct ptx_name name;

	if (!ptx_take_punct(ctx, '@'))
		return;
	insn->guard_negated = ptx_take_punct(ctx, '!');
	name = ptx_expect_name(ctx, "a predicate");
	insn->guard = ptx_sym_find(ctx, ctx->scope, &name);
	if (!insn->guard)
		ptx_syntax(ctx, line, "'%.200s' is not declared", name.text);
	if (insn->guard->kind != SYM_REG || insn->guard->reg.type != T_PRED)
		ptx_syntax(ctx, line, "'%.200s' is no predicate", name.text);
}

static void parse_mods(struct ptx_ctx *ctx, struct ptx_insn *insn)
{
	struct ptx_mod mods[PTX_MODS];

	for (; ctx->tok.kind == TOK_DOT; ptx_next(ctx)) {
		if (insn->mod_count == PTX_MODS)
			ptx_syntax(ctx, ctx->tok.line, "too many modifiers");
		mods[insn->mod_count].text = ctx->tok.text;
		mods[insn->mod_count++].length = ctx->tok.length;
	}
	insn->mods = ptx_array(ctx, insn->mod_count, sizeof(*mods));
	memcpy(insn->mods, mods, insn->mod_count * sizeof(*mods));
}

static int calls_register(const struct ptx_insn *insn)
{
	unsigned i;

	for (i = 0; i < insn->operand_count; i++)
		if (insn->operands[i].kind == OPD_REG)
			return 1;
	return 0;
}

void ptx_parse_instruction(struct ptx_ctx *ctx)
{
	struct ptx_insn insn = { .line = ctx->tok.line };
	struct ptx_operand operands[PTX_OPERANDS];
	struct ptx_func *func = ctx->func;

	parse_guard(ctx, &insn);
	insn.line = ctx->tok.line;
	insn.op = ptx_expect_name(ctx, "an instruction");
	parse_mods(ctx, &insn);
	while (!ptx_is_punct(ctx, ';')) {
		if (insn.operand_count == PTX_OPERANDS)
			ptx_syntax(ctx, ctx->tok.line, "too many operands");
		memset(&operands[insn.operand_count], 0, sizeof(*operands));
		parse_operand(ctx, &insn, &operands[insn.operand_count++]);
		if (!ptx_take_punct(ctx, ','))
			break;
	}
	ptx_expect_punct(ctx, ';', "after the instruction");
	insn.operands = ptx_array(ctx, insn.operand_count, sizeof(*operands));
	memcpy(insn.operands, operands, insn.operand_count * sizeof(*operands));
	if (!strcmp(insn.op.text, "call") && calls_register(&insn))
		func->calls_indirect = 1;
	if (!strcmp(insn.op.text, "alloca"))
		func->uses_alloca = 1;
	func->insns = ptx_grow(ctx, func->insns, func->insn_count, &func->insn_room,
			       sizeof(*func->insns));
	func->insns[func->insn_count++] = insn;
}
