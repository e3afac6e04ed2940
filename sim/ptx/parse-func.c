/* SPDX-License-Identifier: Apache-2.0 */
/* Functions: heads, bodies, labels and the lists that belong to labels. */
#include <string.h>

#include "context.h"

struct ptx_func *ptx_func_new(struct ptx_ctx *ctx, const struct ptx_name *name, unsigned line)
{
	struct ptx_func *func = ptx_alloc(ctx, sizeof(*func));

	func->name = *name;
	func->line = line;
	func->index = ctx->func_count;
	ctx->funcs = ptx_grow(ctx, ctx->funcs, ctx->func_count, &ctx->func_room,
			      sizeof(*ctx->funcs));
	ctx->funcs[ctx->func_count++] = func;
	return func;
}

static void open_scope(struct ptx_ctx *ctx, struct ptx_scope *scope)
{
	scope->parent = ctx->scope;
	scope->func = ctx->func;
	ctx->scope = scope;
}

static void same_params(struct ptx_ctx *ctx, unsigned line, const char *name,
			unsigned count, struct ptx_sym **a, unsigned other, struct ptx_sym **b)
{
	unsigned i;

	if (count != other)
		ptx_syntax(ctx, line, "'%.200s' was declared with another number of parameters", name);
	for (i = 0; i < count; i++)
		if (a[i]->kind != b[i]->kind ||
		    (a[i]->kind == SYM_VAR && a[i]->var.size != b[i]->var.size))
			ptx_syntax(ctx, line, "parameter %u of '%.200s' was declared otherwise",
				   i, name);
}

static struct ptx_func *find_or_add(struct ptx_ctx *ctx, const struct ptx_name *name,
				    int is_entry, unsigned line, const struct ptx_proto *proto)
{
	struct ptx_sym *sym = ptx_sym_find_here(&ctx->globals, name);
	struct ptx_func *func;

	if (!sym) {
		sym = ptx_sym_add(ctx, &ctx->globals, SYM_FUNC, name, line);
		func = sym->func = ptx_func_new(ctx, name, line);
		func->is_entry = is_entry;
		func->sym = sym;
		func->proto = *proto;
		return func;
	}
	if (sym->kind != SYM_FUNC || sym->func->is_entry != is_entry)
		ptx_syntax(ctx, line, "'%.200s' is already declared, on line %u", name->text,
			   sym->line);
	func = sym->func;
	same_params(ctx, line, name->text, proto->ret_count, proto->rets,
		    func->proto.ret_count, func->proto.rets);
	same_params(ctx, line, name->text, proto->param_count, proto->params,
		    func->proto.param_count, func->proto.params);
	return func;
}

static unsigned parse_small(struct ptx_ctx *ctx)
{
	uint64_t value;

	if (ctx->tok.kind != TOK_INT || ctx->tok.value > 0x7fffffff)
		ptx_syntax(ctx, ctx->tok.line, "expected a number");
	value = ctx->tok.value;
	ptx_next(ctx);
	return (unsigned)value;
}

static void parse_dims3(struct ptx_ctx *ctx, unsigned dims[3])
{
	unsigned i, value;

	for (i = 0; i < 3; i++) {
		value = parse_small(ctx);
		if (!value)
			ptx_syntax(ctx, ctx->tok.line, "expected a number above zero");
		dims[i] = value;
		if (!ptx_take_punct(ctx, ','))
			break;
	}
	for (i++; i < 3; i++)
		dims[i] = 1;
}

/* What may stand between the parameters and the body. */
static void parse_directives(struct ptx_ctx *ctx, struct ptx_func *func, struct ptx_proto *proto)
{
	static const char *const counted[] = {
		"minnctapersm", "maxnctapersm", "maxclusterrank", "abi_preserve",
		"abi_preserve_control",
	};
	unsigned i;

	while (ctx->tok.kind == TOK_DOT) {
		int is_req = ptx_is_dot(ctx, "reqntid");

		if (is_req || ptx_is_dot(ctx, "maxntid")) {
			ptx_next(ctx);
			parse_dims3(ctx, func->maxntid);
			func->reqntid = is_req;
		} else if (ptx_is_dot(ctx, "maxnreg")) {
			ptx_next(ctx);
			func->max_regs = parse_small(ctx);
		} else if (ptx_is_dot(ctx, "reqnctapercluster")) {
			ptx_next(ctx);
			parse_dims3(ctx, func->cluster);
		} else if (ptx_is_dot(ctx, "noreturn")) {
			ptx_next(ctx);
			proto->noreturn = 1;
		} else if (ptx_is_dot(ctx, "explicitcluster") ||
			   ptx_is_dot(ctx, "blocksareclusters")) {
			ptx_next(ctx);
		} else if (ptx_is_dot(ctx, "pragma")) {
			ptx_next(ctx);
			if (ctx->tok.kind != TOK_STRING)
				ptx_syntax(ctx, ctx->tok.line, ".pragma needs a string");
			ptx_next(ctx);
			ptx_take_punct(ctx, ';');
		} else {
			for (i = 0; i < sizeof(counted) / sizeof(*counted); i++)
				if (ptx_is_dot(ctx, counted[i]))
					break;
			if (i == sizeof(counted) / sizeof(*counted))
				ptx_syntax(ctx, ctx->tok.line, "unexpected '.%.*s' after the parameters",
					   (int)(ctx->tok.length > 60 ? 60 : ctx->tok.length),
					   ctx->tok.text);
			ptx_next(ctx);
			parse_small(ctx);
		}
	}
}

/* Label-like name that heads a prototype: (rets) _ (params) */
static void parse_callprototype(struct ptx_ctx *ctx, const struct ptx_name *name, unsigned line)
{
	struct ptx_sym *sym = ptx_sym_add(ctx, ctx->scope, SYM_PROTO, name, line);
	struct ptx_scope scope = { 0 };
	struct ptx_proto *proto = &sym->proto;
	struct ptx_func scratch = { 0 };

	ptx_next(ctx);
	if (ptx_is_punct(ctx, '('))
		proto->rets = ptx_parse_params(ctx, &scope, 0, &proto->ret_count);
	ptx_expect_name(ctx, "'_' of the prototype");
	if (ptx_is_punct(ctx, '('))
		proto->params = ptx_parse_params(ctx, &scope, 0, &proto->param_count);
	parse_directives(ctx, &scratch, proto);
	ptx_expect_punct(ctx, ';', "after the prototype");
}

static void parse_targets(struct ptx_ctx *ctx, const struct ptx_name *name, unsigned line)
{
	struct ptx_sym *sym = ptx_sym_add(ctx, ctx->scope, SYM_TARGETS, name, line);
	struct ptx_targets *targets = &sym->targets;
	unsigned room = 0;

	targets->is_calls = ptx_is_dot(ctx, "calltargets");
	targets->line = line;
	ptx_next(ctx);
	do {
		targets->names = ptx_grow(ctx, targets->names, targets->count, &room,
					  sizeof(*targets->names));
		targets->names[targets->count++] = ptx_expect_name(ctx, "a label");
	} while (ptx_take_punct(ctx, ','));
	ptx_expect_punct(ctx, ';', "after the list");
}

static void parse_label(struct ptx_ctx *ctx)
{
	unsigned line = ctx->tok.line;
	struct ptx_name name = ptx_expect_name(ctx, "a label");
	struct ptx_sym *sym;

	ptx_next(ctx);	/* the colon */
	if (ptx_is_dot(ctx, "callprototype")) {
		parse_callprototype(ctx, &name, line);
	} else if (ptx_is_dot(ctx, "branchtargets") || ptx_is_dot(ctx, "calltargets")) {
		parse_targets(ctx, &name, line);
	} else {
		sym = ptx_sym_add(ctx, ctx->scope, SYM_LABEL, &name, line);
		sym->label = ctx->func->insn_count;
	}
}

/* Labels may be named before they stand; in their scope they are all known at its end. */
static void resolve_targets(struct ptx_ctx *ctx, struct ptx_scope *scope)
{
	struct ptx_sym *sym, *label;
	unsigned b, i;

	for (b = 0; b < scope->bucket_count; b++)
		for (sym = scope->buckets[b]; sym; sym = sym->next) {
			struct ptx_targets *targets = &sym->targets;

			if (sym->kind != SYM_TARGETS)
				continue;
			targets->labels = ptx_array(ctx, targets->count, sizeof(*targets->labels));
			for (i = 0; i < targets->count; i++) {
				label = ptx_sym_find(ctx, scope, &targets->names[i]);
				if (!label || label->kind != (targets->is_calls ? SYM_FUNC : SYM_LABEL))
					ptx_syntax(ctx, targets->line, "'%.200s' is no %s",
						   targets->names[i].text,
						   targets->is_calls ? "function" : "label");
				targets->labels[i] = label;
			}
		}
}

static void parse_statements(struct ptx_ctx *ctx, struct ptx_scope *scope, unsigned line);

static int is_variable_space(struct ptx_ctx *ctx)
{
	return ptx_is_dot(ctx, "reg") || ptx_is_dot(ctx, "local") || ptx_is_dot(ctx, "shared") ||
	       ptx_is_dot(ctx, "param") || ptx_is_dot(ctx, "global") || ptx_is_dot(ctx, "const");
}

static void parse_statement(struct ptx_ctx *ctx)
{
	struct ptx_token next;

	if (ptx_is_punct(ctx, '{')) {
		/* Operands found later point to it, so it outlives the block. */
		struct ptx_scope *scope = ptx_alloc(ctx, sizeof(*scope));
		unsigned line = ctx->tok.line;

		ptx_next(ctx);
		ptx_enter(ctx);
		parse_statements(ctx, scope, line);
		ptx_leave(ctx);
	} else if (ptx_take_punct(ctx, ';')) {
		return;
	} else if (ptx_is_dot(ctx, "loc") || ptx_is_dot(ctx, "file")) {
		ptx_lex_skip_line(&ctx->lexer);
		ptx_next(ctx);
	} else if (ptx_is_dot(ctx, "pragma")) {
		ptx_next(ctx);
		while (ctx->tok.kind == TOK_STRING || ptx_is_punct(ctx, ','))
			ptx_next(ctx);
		ptx_expect_punct(ctx, ';', "after .pragma");
	} else if (is_variable_space(ctx)) {
		ptx_parse_variables(ctx, LINK_NONE);
	} else if (ptx_is_dot(ctx, "extern")) {
		ptx_next(ctx);
		ptx_parse_variables(ctx, LINK_EXTERN);
	} else if (ctx->tok.kind == TOK_NAME) {
		next = ptx_peek(ctx);
		if (next.kind == TOK_PUNCT && next.punct == ':')
			parse_label(ctx);
		else
			ptx_parse_instruction(ctx);
	} else if (ptx_is_punct(ctx, '@')) {
		ptx_parse_instruction(ctx);
	} else {
		ptx_syntax(ctx, ctx->tok.line, "expected an instruction before '%.*s'",
			   (int)(ctx->tok.length > 60 ? 60 : ctx->tok.length), ctx->tok.text);
	}
}

static void parse_statements(struct ptx_ctx *ctx, struct ptx_scope *scope, unsigned line)
{
	open_scope(ctx, scope);
	while (!ptx_is_punct(ctx, '}')) {
		if (ctx->tok.kind == TOK_END)
			ptx_syntax(ctx, line, "'{' is never closed");
		parse_statement(ctx);
	}
	resolve_targets(ctx, scope);
	ctx->scope = scope->parent;
	ptx_next(ctx);
}

static void parse_body(struct ptx_ctx *ctx, struct ptx_func *func)
{
	unsigned line = ctx->tok.line;

	if (func->has_body)
		ptx_syntax(ctx, line, "'%.200s' is already defined, on line %u", func->name.text,
			   func->line);
	ptx_expect_punct(ctx, '{', "of the function body");
	func->has_body = 1;
	ctx->func = func;
	func->scope.parent = NULL;
	parse_statements(ctx, &func->scope, line);
	ctx->func = NULL;
}

void ptx_parse_function(struct ptx_ctx *ctx, enum ptx_linkage linkage, int is_entry)
{
	struct ptx_scope *scope = ptx_alloc(ctx, sizeof(*scope));
	struct ptx_proto proto = { 0 };
	struct ptx_func scratch = { 0 }, *func;
	struct ptx_name name;
	unsigned line;

	ptx_next(ctx);
	while (ptx_is_dot(ctx, "attribute")) {
		while (ctx->tok.kind != TOK_END && !ptx_is_punct(ctx, ')'))
			ptx_next(ctx);
		while (ptx_take_punct(ctx, ')'))
			;
	}
	if (!is_entry && ptx_is_punct(ctx, '('))
		proto.rets = ptx_parse_params(ctx, scope, 0, &proto.ret_count);
	line = ctx->tok.line;
	name = ptx_expect_name(ctx, "a function name");
	if (ptx_is_punct(ctx, '('))
		proto.params = ptx_parse_params(ctx, scope, is_entry, &proto.param_count);
	parse_directives(ctx, &scratch, &proto);
	func = find_or_add(ctx, &name, is_entry, line, &proto);
	if (linkage != LINK_NONE && !func->has_body)
		func->linkage = linkage;
	if (ptx_take_punct(ctx, ';'))
		return;
	memcpy(func->maxntid, scratch.maxntid, sizeof(func->maxntid));
	memcpy(func->cluster, scratch.cluster, sizeof(func->cluster));
	func->reqntid = scratch.reqntid;
	func->max_regs = scratch.max_regs;
	func->line = line;
	if (!func->has_body) {
		/* The definition's own parameter names count. */
		func->proto = proto;
		func->scope = *scope;
	}
	parse_body(ctx, func);
}
