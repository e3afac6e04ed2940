/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations in PTX: variables, registers, parameters of functions. */
#include <string.h>

#include "lib/agent/instrument/operand.h"
#include "lib/agent/instrument/parse.h"

static enum ptx_class space_class(const struct ptx_parser *p)
{
	static const struct {
		const char *word;
		enum ptx_class class;
	} spaces[] = {
		{ ".reg", PTX_CLASS_REG_OTHER }, { ".global", PTX_CLASS_GLOBAL },
		{ ".shared", PTX_CLASS_SHARED }, { ".local", PTX_CLASS_LOCAL },
		{ ".const", PTX_CLASS_CONST }, { ".param", PTX_CLASS_PARAM },
		{ ".tex", PTX_CLASS_CONST }, { ".sreg", PTX_CLASS_REG_OTHER },
	};
	size_t i;

	for (i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
		if (gt_token_is(p, spaces[i].word))
			return spaces[i].class;
	return PTX_CLASS_NONE;
}

int gt_parse_is_declaration(const struct ptx_parser *p)
{
	return space_class(p) != PTX_CLASS_NONE;
}

static enum ptx_class register_class(uint32_t size, int predicate)
{
	return predicate ? PTX_CLASS_PREDICATE : size == 4 ? PTX_CLASS_REG32 :
	       size == 8 ? PTX_CLASS_REG64 : PTX_CLASS_REG_OTHER;
}

struct declaration {		/* of a variable or parameter */
	enum ptx_class class;
	uint32_t size, align;	/* size of one element, 0 if opaque */
	struct ptx_range name;
	struct ptx_range said;	/* the number behind .align */
	uint64_t total;		/* of an array in shared memory whose length is not a mere number: a divisor */
};

/* State space and the dotted words up to the name. */
static int parse_type(struct ptx_parser *p, struct declaration *d)
{
	int r, predicate = 0, pointee = 0;
	uint32_t size, align = 0, lanes = 1;

	d->class = space_class(p);
	d->size = 0;
	d->said.length = 0;
	r = gt_parse_next(p);
	while (!r && p->token.kind == PTX_WORD && p->token.c == '.') {
		size = gt_ptx_type_size(p->ptx->text + p->token.at, p->token.length);
		if (size)
			d->size = size;
		predicate |= gt_token_is(p, ".pred");
		pointee |= gt_token_is(p, ".ptr");
		if (gt_token_is(p, ".v2"))
			lanes = 2;
		else if (gt_token_is(p, ".v4"))
			lanes = 4;
		if (gt_token_is(p, ".align")) {
			r = gt_parse_next(p);
			d->said = (struct ptx_range){ p->token.at, p->token.length };
			r = r ? r : gt_parse_count(p, &size);
			if (!r && !pointee)
				align = size;
		} else if (gt_token_is(p, ".attribute")) {
			r = gt_parse_next(p);
			r = r ? r : gt_parse_skip_group(p);
		} else {
			r = gt_parse_next(p);
		}
	}
	if (r < 0)
		return r;
	if (d->class == PTX_CLASS_REG_OTHER)
		d->class = register_class(d->size * lanes, predicate);
	d->size *= lanes;
	d->align = align > d->size ? align : d->size;	/* ptxas never goes below the natural one */
	return 0;
}

/* "N]": N; any other expression: 1, which divides its value. */
static uint32_t known_count(const struct ptx_parser *p)
{
	struct ptx_token ahead;
	uint32_t n;

	gt_lex_peek(&p->lexer, &ahead);
	if (ahead.kind != PTX_PUNCT || ahead.c != ']' || p->token.kind != PTX_WORD ||
	    gt_ptx_number(p->ptx->text + p->token.at, p->token.length, &n) < 0)
		return 1;
	return n;
}

/* NAME, NAME<N> or NAME[N][M]. */
static int parse_declarator(struct ptx_parser *p, struct declaration *d)
{
	uint32_t series = 0, n;
	int r;

	if (p->token.kind != PTX_WORD)
		return gt_parse_fail(p, "expected a name");
	d->name = (struct ptx_range){ p->token.at, p->token.length };
	d->total = d->size;
	r = gt_parse_next(p);
	if (!r && gt_token_punct(p, '<')) {
		r = gt_parse_next(p);
		r = r ? r : gt_parse_count(p, &series);
		if (!r && !gt_token_punct(p, '>'))
			return gt_parse_fail(p, "expected '>'");
		r = r ? r : gt_parse_next(p);
		if (!r && !series)
			return 0;	/* NAME<0> declares nothing */
	}
	while (!r && gt_token_punct(p, '[')) {
		n = 0;
		r = gt_parse_next(p);
		if (!r && !gt_token_punct(p, ']') && d->class == PTX_CLASS_PARAM) {
			r = gt_parse_count(p, &n);
			if (!r && !gt_token_punct(p, ']'))
				return gt_parse_fail(p, "expected ']'");
		} else if (!r && !gt_token_punct(p, ']') && d->class == PTX_CLASS_SHARED) {
			n = known_count(p);
		}
		while (!r && !gt_token_punct(p, ']')) {
			if (p->token.kind == PTX_END)
				return gt_parse_fail(p, "the text ends within brackets");
			r = gt_parse_next(p);
		}
		if (d->total && n > UINT32_MAX / d->total)
			return gt_parse_fail(p, "this array is too large");
		d->total *= n;
		r = r ? r : gt_parse_next(p);
	}
	if (r < 0)
		return r;
	r = gt_names_declare(&p->names, d->name.at, d->name.length, series, d->class, 0);
	return r < 0 ? r : 0;
}

/* A kernel whose address is in a variable can be launched from the device, without our parameter. */
static int parse_initializer(struct ptx_parser *p)
{
	uint32_t depth = 0;
	int r = 0;

	while (!r && (depth || !(gt_token_punct(p, ',') || gt_token_punct(p, ';')))) {
		if (p->token.kind == PTX_END)
			return gt_parse_fail(p, "the text ends within an initialiser");
		if (gt_token_punct(p, '{') || gt_token_punct(p, '('))
			depth++;
		else if ((gt_token_punct(p, '}') || gt_token_punct(p, ')')) && !depth--)
			return gt_parse_fail(p, "unexpected '%c'", p->token.c);
		if (p->token.kind == PTX_WORD)
			gt_parse_mention(p, &p->token);
		r = gt_parse_next(p);
	}
	return r;
}

/* See gt_ptx.alignments. */
static int note_alignment(struct ptx_parser *p, const struct declaration *d)
{
	struct gt_ptx *ptx = p->ptx;
	int r = gt_ptx_grow(&ptx->alignments, ptx->alignment_count, &ptx->alignment_room, sizeof(*ptx->alignments));

	if (r < 0)
		return r;
	ptx->alignments[ptx->alignment_count++] = d->said;
	return 0;
}

int gt_parse_declaration(struct ptx_parser *p)
{
	struct declaration d;
	int r = parse_type(p, &d);
	int widen = d.class == PTX_CLASS_SHARED && d.said.length && d.align < PTX_SHARED_ALIGN;

	for (;;) {
		r = r ? r : parse_declarator(p, &d);
		if (!r && gt_token_punct(p, '='))
			r = parse_initializer(p);
		if (r < 0)
			return r;
		widen &= d.total % PTX_SHARED_ALIGN == 0;
		if (gt_token_punct(p, ';')) {
			r = widen ? note_alignment(p, &d) : 0;
			return r ? r : gt_parse_next(p);
		}
		if (!gt_token_punct(p, ','))
			return gt_parse_fail(p, "expected ',' or ';'");
		r = gt_parse_next(p);
	}
}

static int add_kernel_param(struct ptx_parser *p, const struct declaration *d)
{
	struct ptx_kernel *kernel = p->kernel;
	uint64_t offset = kernel->public.param_bytes;
	struct gt_ptx_param *param;
	int r;

	if (!d->size) {
		kernel->public.refusal = "it has a parameter that is a texture, sampler or surface reference";
		return 0;
	}
	if (d->align & (d->align - 1))
		return gt_parse_fail(p, "alignment is not a power of two");
	offset = (offset + d->align - 1) & ~(uint64_t)(d->align - 1);
	if (offset + d->total > INT32_MAX)
		return gt_parse_fail(p, "the parameters are too large");
	r = gt_ptx_grow(&kernel->params, kernel->public.param_count, &kernel->param_room,
			sizeof(*kernel->params));
	r = r ? r : gt_ptx_grow(&kernel->param_names, kernel->public.param_count,
				&kernel->name_room, sizeof(*kernel->param_names));
	if (r < 0)
		return r;
	kernel->param_names[kernel->public.param_count] = d->name;
	param = &kernel->params[kernel->public.param_count++];
	*param = (struct gt_ptx_param){ (uint32_t)offset, (uint32_t)d->total };
	kernel->public.param_bytes = param->offset + param->size;
	if (d->name.length == strlen(PTX_HIDDEN) &&
	    !memcmp(p->ptx->text + d->name.at, PTX_HIDDEN, d->name.length))
		kernel->public.refusal = "it already carries probes";
	return 0;
}

int gt_parse_params(struct ptx_parser *p, int of_kernel, uint32_t *ret_count, uint32_t *ret_end)
{
	struct declaration d;
	uint32_t count = 0;
	int r = gt_parse_next(p);

	while (!r && !gt_token_punct(p, ')')) {
		if (count && !gt_token_punct(p, ','))
			return gt_parse_fail(p, "expected ',' or ')' in the parameters");
		if (count)
			r = gt_parse_next(p);
		if (!r && !gt_parse_is_declaration(p))
			return gt_parse_fail(p, "expected a parameter");
		r = r ? r : parse_type(p, &d);
		if (!r && !of_kernel && gt_token_is(p, "_"))
			r = gt_parse_next(p);
		else
			r = r ? r : parse_declarator(p, &d);
		if (!r && of_kernel)
			r = add_kernel_param(p, &d);
		count++;
	}
	if (r < 0)
		return r;
	*ret_count = count;
	*ret_end = p->token.at;
	return gt_parse_next(p);
}
