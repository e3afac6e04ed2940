/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations of registers, variables and parameters. */
#include <string.h>

#include "context.h"

#define MAX_DIMS 8
#define MAX_VARIABLE ((uint64_t)1 << 40)

struct declaration {
	enum ptx_space space;
	enum ptx_type type;
	unsigned width;		/* .v2: 2 */
	uint32_t align;
	enum ptx_linkage linkage;
};

int ptx_parse_space(struct ptx_ctx *ctx, enum ptx_space *ret_space)
{
	static const struct {
		const char *word;
		enum ptx_space space;
	} words[] = {
		{ "reg", SPACE_REG }, { "global", SPACE_GLOBAL }, { "shared", SPACE_SHARED },
		{ "local", SPACE_LOCAL }, { "const", SPACE_CONST }, { "param", SPACE_PARAM },
		{ "tex", SPACE_GLOBAL },
	};
	unsigned i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (ptx_is_dot(ctx, words[i].word)) {
			*ret_space = words[i].space;
			ptx_next(ctx);
			return 1;
		}
	return 0;
}

uint64_t ptx_mask_to(uint64_t value, unsigned size)
{
	return size < 8 ? value & ((1ull << size * 8) - 1) : value;
}

static uint32_t parse_align(struct ptx_ctx *ctx)
{
	uint64_t align;
	unsigned line = ctx->tok.line;

	ptx_next(ctx);
	if (ctx->tok.kind != TOK_INT)
		ptx_syntax(ctx, line, ".align needs a number");
	align = ctx->tok.value;
	ptx_next(ctx);
	if (!align || align & (align - 1) || align > 4096)
		ptx_syntax(ctx, line, ".align needs a power of two up to 4096");
	return (uint32_t)align;
}

/* .attribute(.managed), .attribute(.unified(1, 2)): nothing here depends on them. */
static void skip_attribute(struct ptx_ctx *ctx)
{
	unsigned depth = 1;

	ptx_next(ctx);
	ptx_expect_punct(ctx, '(', "after .attribute");
	while (depth) {
		if (ctx->tok.kind == TOK_END)
			ptx_syntax(ctx, ctx->tok.line, ".attribute is not closed");
		depth += ptx_is_punct(ctx, '(');
		depth -= ptx_is_punct(ctx, ')');
		ptx_next(ctx);
	}
}

/* The dotted words between the state space and the name. */
static void parse_words(struct ptx_ctx *ctx, struct declaration *decl, int is_param)
{
	enum ptx_type type;

	for (; ctx->tok.kind == TOK_DOT; ) {
		if (ptx_is_dot(ctx, "align")) {
			decl->align = parse_align(ctx);
			continue;
		}
		if (ptx_is_dot(ctx, "attribute")) {
			skip_attribute(ctx);
			continue;
		}
		type = ptx_type_find(ctx->tok.text, ctx->tok.length);
		if (type != T_NONE && type < T_U16X2) {
			if (decl->type)
				ptx_syntax(ctx, ctx->tok.line, "two types in one declaration");
			decl->type = type;
		} else if (type == T_OPAQUE) {
			decl->type = type;
		} else if (ptx_is_dot(ctx, "v2")) {
			decl->width = 2;
		} else if (ptx_is_dot(ctx, "v4")) {
			decl->width = 4;
		} else if (!(is_param && (ptx_is_dot(ctx, "ptr") || ptx_is_dot(ctx, "global") ||
					  ptx_is_dot(ctx, "shared") || ptx_is_dot(ctx, "local") ||
					  ptx_is_dot(ctx, "const") || ptx_is_dot(ctx, "generic")))) {
			ptx_syntax(ctx, ctx->tok.line, "unexpected '.%.*s' in a declaration",
				   (int)(ctx->tok.length > 60 ? 60 : ctx->tok.length), ctx->tok.text);
		}
		ptx_next(ctx);
	}
	if (!decl->type)
		ptx_syntax(ctx, ctx->tok.line, "declaration without a type");
	if (decl->space != SPACE_REG && decl->type == T_PRED)
		ptx_syntax(ctx, ctx->tok.line, ".pred is for registers only");
}

static void parse_register(struct ptx_ctx *ctx, const struct declaration *decl)
{
	unsigned line = ctx->tok.line;
	struct ptx_name name = ptx_expect_name(ctx, "a register name");
	struct ptx_sym *sym;

	if (ptx_take_punct(ctx, '<')) {
		if (ctx->tok.kind != TOK_INT || ctx->tok.value > 1u << 24)
			ptx_syntax(ctx, line, "malformed register count");
		name.hash ^= 1;		/* see find_in_range() */
		sym = ptx_sym_add(ctx, ctx->scope, SYM_RANGE, &name, line);
		sym->range.type = decl->type;
		sym->range.width = decl->width;
		sym->range.count = (uint32_t)ctx->tok.value;
		ptx_next(ctx);
		ptx_expect_punct(ctx, '>', "after the register count");
		return;
	}
	sym = ptx_sym_add(ctx, ctx->scope, SYM_REG, &name, line);
	sym->reg.type = decl->type;
	sym->reg.width = decl->width;
}

static unsigned parse_dims(struct ptx_ctx *ctx, uint64_t *dims, int *ret_unsized)
{
	unsigned count = 0;

	*ret_unsized = 0;
	while (ptx_take_punct(ctx, '[')) {
		if (count == MAX_DIMS)
			ptx_syntax(ctx, ctx->tok.line, "too many dimensions");
		if (ptx_is_punct(ctx, ']')) {
			if (count)
				ptx_syntax(ctx, ctx->tok.line, "only the first dimension may be empty");
			*ret_unsized = 1;
			dims[count++] = 0;
		} else {
			dims[count] = ptx_parse_const(ctx);
			if (dims[count] > MAX_VARIABLE)
				ptx_syntax(ctx, ctx->tok.line, "array size out of range");
			count++;
		}
		ptx_expect_punct(ctx, ']', "after the array size");
	}
	return count;
}

struct init_state {
	struct ptx_var *var;
	struct ptx_init **tail;
	const uint64_t *dims;
	unsigned dim_count;
	uint64_t end;		/* highest byte written */
};

static void parse_init_scalar(struct ptx_ctx *ctx, struct init_state *st, uint64_t offset)
{
	struct ptx_init *init = ptx_alloc(ctx, sizeof(*init));

	init->offset = offset;
	init->size = ptx_types[st->var->type].size;
	ptx_parse_init_value(ctx, st->var->type, init);
	*st->tail = init;
	st->tail = &init->next;
	if (offset + init->size > st->end)
		st->end = offset + init->size;
}

/* Braces of one dimension; step is the size of one element of it. */
static void parse_init_list(struct ptx_ctx *ctx, struct init_state *st, unsigned level,
			    uint64_t offset, uint64_t limit)
{
	uint64_t step = ptx_types[st->var->type].size, at = offset;
	unsigned i;

	for (i = level + 1; i < st->dim_count; i++)
		step *= st->dims[i];
	ptx_enter(ctx);
	ptx_expect_punct(ctx, '{', "of the initialiser");
	while (!ptx_is_punct(ctx, '}')) {
		if (ptx_is_punct(ctx, '{')) {
			if (step > limit - at)
				ptx_syntax(ctx, ctx->tok.line, "more initialisers than elements");
			parse_init_list(ctx, st, level + 1, at, at + step);
			at += step;
		} else {
			if (ptx_types[st->var->type].size > limit - at)
				ptx_syntax(ctx, ctx->tok.line, "more initialisers than elements");
			parse_init_scalar(ctx, st, at);
			at += ptx_types[st->var->type].size;
		}
		if (!ptx_take_punct(ctx, ','))
			break;
	}
	ptx_expect_punct(ctx, '}', "after the initialiser");
	ptx_leave(ctx);
}

static void parse_init(struct ptx_ctx *ctx, struct ptx_var *var, const uint64_t *dims,
		       unsigned dim_count, unsigned width)
{
	struct init_state st = { .var = var, .tail = &var->init, .dims = dims,
				 .dim_count = dim_count };
	uint64_t limit = var->unsized ? MAX_VARIABLE : var->size;

	if (var->space != SPACE_GLOBAL && var->space != SPACE_CONST)
		ptx_syntax(ctx, ctx->tok.line, "only .global and .const variables take initialisers");
	if (dim_count || width > 1)
		parse_init_list(ctx, &st, 0, 0, limit);
	else
		parse_init_scalar(ctx, &st, 0);
	if (var->unsized) {
		uint64_t element = ptx_types[var->type].size;
		unsigned i;

		for (i = 1; i < dim_count; i++)
			element *= dims[i];
		if (!element)
			ptx_syntax(ctx, ctx->tok.line, "array of nothing");
		var->size = (st.end + element - 1) / element * element;
		var->unsized = 0;
	}
}

static void set_size(struct ptx_ctx *ctx, struct ptx_var *var, const struct declaration *decl,
		     const uint64_t *dims, unsigned dim_count, unsigned line)
{
	uint64_t size = ptx_types[decl->type].size * decl->width;
	unsigned i;

	var->align = decl->align ? decl->align : (uint32_t)size;
	for (i = 0; i < dim_count; i++)
		if (!(var->unsized && !i) &&
		    (__builtin_mul_overflow(size, dims[i], &size) || size > MAX_VARIABLE))
			ptx_syntax(ctx, line, "variable too large");
	var->size = var->unsized ? 0 : size;
}

static void remember_variable(struct ptx_ctx *ctx, struct ptx_sym *sym)
{
	ctx->vars = ptx_grow(ctx, ctx->vars, ctx->var_count, &ctx->var_room, sizeof(*ctx->vars));
	ctx->vars[ctx->var_count++] = sym;
}

/* A second declaration of a module variable: extern and definition, in either order. */
static struct ptx_sym *find_earlier(struct ptx_ctx *ctx, const struct ptx_name *name,
				    const struct declaration *decl)
{
	struct ptx_sym *sym;

	if (ctx->scope != &ctx->globals)
		return NULL;
	sym = ptx_sym_find_here(ctx->scope, name);
	if (!sym || sym->kind != SYM_VAR || sym->var.space != decl->space)
		return NULL;
	if (sym->var.linkage == LINK_EXTERN || decl->linkage == LINK_EXTERN)
		return sym;
	return NULL;
}

static void parse_variable(struct ptx_ctx *ctx, const struct declaration *decl)
{
	unsigned line = ctx->tok.line, dim_count;
	struct ptx_name name = ptx_expect_name(ctx, "a variable name");
	uint64_t dims[MAX_DIMS];
	struct ptx_sym *sym = find_earlier(ctx, &name, decl);
	struct ptx_var scratch = { 0 }, *var;

	if (!sym) {
		sym = ptx_sym_add(ctx, ctx->scope, SYM_VAR, &name, line);
		sym->var.linkage = decl->linkage;
		sym->var.space = decl->space;
		sym->var.type = decl->type;
		sym->var.func = ctx->func;
		if (decl->space != SPACE_LOCAL && decl->space != SPACE_PARAM)
			remember_variable(ctx, sym);
		var = &sym->var;
	} else if (decl->linkage == LINK_EXTERN) {
		var = &scratch;
		*var = sym->var;
	} else {
		var = &sym->var;
		var->linkage = decl->linkage;
	}
	dim_count = parse_dims(ctx, dims, &var->unsized);
	set_size(ctx, var, decl, dims, dim_count, line);
	if (ptx_take_punct(ctx, '='))
		parse_init(ctx, var, dims, dim_count, decl->width);
	if (var->unsized && var->linkage != LINK_EXTERN && var->space != SPACE_PARAM)
		ptx_syntax(ctx, line, "'%.200s' has no size", name.text);
}

void ptx_parse_variables(struct ptx_ctx *ctx, enum ptx_linkage linkage)
{
	struct declaration decl = { .width = 1, .linkage = linkage };

	if (!ptx_parse_space(ctx, &decl.space))
		ptx_syntax(ctx, ctx->tok.line, "expected a state space");
	parse_words(ctx, &decl, decl.space == SPACE_PARAM);
	do {
		if (decl.space == SPACE_REG)
			parse_register(ctx, &decl);
		else
			parse_variable(ctx, &decl);
	} while (ptx_take_punct(ctx, ','));
	ptx_expect_punct(ctx, ';', "after the declaration");
}

static struct ptx_sym *parse_param(struct ptx_ctx *ctx, struct ptx_scope *scope, int is_entry)
{
	struct declaration decl = { .width = 1 };
	unsigned line = ctx->tok.line, dim_count = 0;
	uint64_t dims[MAX_DIMS];
	struct ptx_sym *sym;
	struct ptx_name name;
	int unsized = 0;

	if (!ptx_parse_space(ctx, &decl.space) ||
	    (decl.space != SPACE_PARAM && (is_entry || decl.space != SPACE_REG)))
		ptx_syntax(ctx, line, "expected a parameter");
	parse_words(ctx, &decl, 1);
	name = ptx_expect_name(ctx, "a parameter name");
	if (name.length == 1 && name.text[0] == '_') {
		sym = ptx_alloc(ctx, sizeof(*sym));
		sym->name = name;
		sym->line = line;
		sym->kind = decl.space == SPACE_REG ? SYM_REG : SYM_VAR;
	} else {
		sym = ptx_sym_add(ctx, scope, decl.space == SPACE_REG ? SYM_REG : SYM_VAR, &name, line);
	}
	if (decl.space == SPACE_REG) {
		sym->reg.type = decl.type;
		sym->reg.width = decl.width;
		return sym;
	}
	dim_count = parse_dims(ctx, dims, &unsized);
	sym->var.space = SPACE_PARAM;
	sym->var.type = decl.type;
	sym->var.unsized = unsized;
	sym->var.is_entry_param = is_entry;
	sym->var.is_param = 1;
	set_size(ctx, &sym->var, &decl, dims, dim_count, line);
	if (sym->var.size > 32764)
		ptx_syntax(ctx, line, "parameter too large");
	return sym;
}

/* ( ... ) */
struct ptx_sym **ptx_parse_params(struct ptx_ctx *ctx, struct ptx_scope *scope, int is_entry,
				  unsigned *ret_count)
{
	struct ptx_sym **params = NULL;
	unsigned count = 0, room = 0;

	ptx_expect_punct(ctx, '(', "of the parameter list");
	while (!ptx_is_punct(ctx, ')')) {
		params = ptx_grow(ctx, params, count, &room, sizeof(*params));
		params[count++] = parse_param(ctx, scope, is_entry);
		if (!ptx_take_punct(ctx, ','))
			break;
	}
	ptx_expect_punct(ctx, ')', "after the parameters");
	*ret_count = count;
	return params;
}
