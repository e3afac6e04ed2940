/* SPDX-License-Identifier: Apache-2.0 */
/* PTX at module level: header, variables, sections, functions and their parameters. */
#include "lib/agent/instrument/parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/instrument/operand.h"

#define TEXT_MAX (1u << 30)

int gt_ptx_grow(void *array_pointer, uint32_t count, uint32_t *room, uint32_t element)
{
	void **array = array_pointer, *grown;
	uint32_t wanted = *room ? 2 * *room : 16;

	if (count < *room)
		return 0;
	grown = realloc(*array, (size_t)wanted * element);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = wanted;
	return 0;
}

int gt_ptx_fail(const struct gt_ptx *ptx, struct gt_ptx_error *error, int kernel, uint32_t at,
		const char *format, ...)
{
	const char *s = ptx->text, *end;
	va_list args;

	if (!error)
		return -EINVAL;
	error->kernel = kernel;
	error->line = 0;
	if (at != PTX_NONE) {
		end = s + (at < ptx->length ? at : ptx->length);
		for (error->line = 1; (s = memchr(s, '\n', (size_t)(end - s))); s++)
			error->line++;
	}
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return -EINVAL;
}

uint32_t gt_ptx_opcode(const struct gt_ptx *ptx, uint32_t at, char opcode[PTX_OPCODE_MAX])
{
	struct ptx_lexer lexer = { ptx->text, ptx->length, at };
	struct ptx_token token;
	uint32_t length = 0;

	gt_lex(&lexer, &token);
	do {
		if (token.length >= PTX_OPCODE_MAX - length)
			return 0;
		memcpy(opcode + length, ptx->text + token.at, token.length);
		length += token.length;
		gt_lex(&lexer, &token);
	} while (token.kind == PTX_WORD && token.c == '.');
	opcode[length] = '\0';
	return length;
}

/* ---- small steps ---- */

int gt_parse_next(struct ptx_parser *p)
{
	gt_lex(&p->lexer, &p->token);
	if (p->token.kind == PTX_BROKEN)
		return gt_parse_fail(p, "a comment or string has no end");
	return 0;
}

int gt_token_is(const struct ptx_parser *p, const char *word)
{
	return p->token.kind == PTX_WORD && strlen(word) == p->token.length &&
	       !memcmp(p->ptx->text + p->token.at, word, p->token.length);
}

int gt_token_punct(const struct ptx_parser *p, char c)
{
	return p->token.kind == PTX_PUNCT && p->token.c == c;
}

int gt_parse_skip(struct ptx_parser *p)
{
	uint32_t depth = 0;
	int r;

	while (depth || !gt_token_punct(p, ';')) {
		if (p->token.kind == PTX_END)
			return gt_parse_fail(p, "the text ends within a statement");
		if (p->token.kind == PTX_PUNCT && strchr("([{", p->token.c))
			depth++;
		else if (p->token.kind == PTX_PUNCT && strchr(")]}", p->token.c) && !depth--)
			return gt_parse_fail(p, "unexpected '%c'", p->token.c);
		r = gt_parse_next(p);
		if (r < 0)
			return r;
	}
	return gt_parse_next(p);
}

/* From an opening bracket to past its closing one. */
int gt_parse_skip_group(struct ptx_parser *p)
{
	uint32_t depth = 0;
	int r;

	do {
		if (p->token.kind == PTX_END)
			return gt_parse_fail(p, "the text ends within brackets");
		if (p->token.kind == PTX_PUNCT && strchr("([{", p->token.c))
			depth++;
		else if (p->token.kind == PTX_PUNCT && strchr(")]}", p->token.c))
			depth--;
		r = gt_parse_next(p);
		if (r < 0)
			return r;
	} while (depth);
	return 0;
}

int gt_parse_count(struct ptx_parser *p, uint32_t *ret_value)
{
	if (p->token.kind != PTX_WORD ||
	    gt_ptx_number(p->ptx->text + p->token.at, p->token.length, ret_value) < 0)
		return gt_parse_fail(p, "expected a number");
	return gt_parse_next(p);
}

/* .loc and .file have no semicolon, only a grammar. */
int gt_parse_loc(struct ptx_parser *p)
{
	static const char *const tail[] = { "function_name", "inlined_at" };
	unsigned i, numbers = 3;
	int r = gt_parse_next(p);

	for (i = 0;; i++) {
		while (!r && numbers--)
			r = gt_parse_next(p);
		if (r < 0 || !gt_token_punct(p, ','))
			return r;
		r = gt_parse_next(p);
		if (r < 0)
			return r;
		if (i == 2 || !gt_token_is(p, tail[i]))
			return gt_parse_fail(p, "this .loc is not understood");
		r = gt_parse_next(p);
		numbers = 3;
		if (i == 0) {		/* a label, perhaps + offset */
			r = r ? r : gt_parse_next(p);
			if (!r && gt_token_punct(p, '+')) {
				r = gt_parse_next(p);
				r = r ? r : gt_parse_next(p);
			}
			numbers = 0;
		}
	}
}

int gt_parse_file(struct ptx_parser *p)
{
	int r = gt_parse_next(p);

	r = r ? r : gt_parse_next(p);
	r = r ? r : gt_parse_next(p);
	while (!r && gt_token_punct(p, ',')) {	/* time stamp, size */
		r = gt_parse_next(p);
		r = r ? r : gt_parse_next(p);
	}
	return r;
}

/* ---- functions ---- */

static int parse_threads(struct ptx_parser *p, struct gt_ptx_kernel *kernel)
{
	uint64_t product = 1;
	uint32_t n;
	int r;

	do {
		r = gt_parse_next(p);
		r = r ? r : gt_parse_count(p, &n);
		product *= r ? 1 : n;
		if (product > UINT32_MAX)
			product = UINT32_MAX;
	} while (!r && gt_token_punct(p, ','));
	kernel->max_threads = (uint32_t)product;
	return r;
}

/* The directives between the parameters and the body, or the semicolon of a prototype. */
static int parse_other_tuning(struct ptx_parser *p)
{
	if (p->kernel && gt_token_is(p, ".maxnreg"))
		p->kernel->public.limits_registers = 1;
	return gt_parse_next(p);
}

static int parse_tuning(struct ptx_parser *p)
{
	int r = 0;

	while (!r && !gt_token_punct(p, '{') && !gt_token_punct(p, ';')) {
		if (p->token.kind == PTX_END)
			return gt_parse_fail(p, "the text ends within a function");
		if (gt_token_is(p, ".pragma"))
			r = gt_parse_skip(p);
		else if (p->kernel && (gt_token_is(p, ".maxntid") || gt_token_is(p, ".reqntid")))
			r = parse_threads(p, &p->kernel->public);
		else
			r = parse_other_tuning(p);
	}
	return r;
}

static int declare_function(struct ptx_parser *p, const struct ptx_function *function)
{
	return gt_names_declare(&p->names, function->name.at, function->name.length, 0,
				function->is_kernel ? PTX_CLASS_KERNEL : PTX_CLASS_FUNCTION,
				p->ptx->function_count - 1);
}

static int name_kernel(struct ptx_parser *p, const struct ptx_function *function)
{
	struct ptx_kernel *kernel = p->kernel;
	uint32_t id;

	kernel->name = strndup(p->ptx->text + function->name.at, function->name.length);
	if (!kernel->name)
		return -ENOMEM;
	kernel->public.name = kernel->name;
	if (gt_names_find(&p->names, function->name.at, function->name.length, &id) ==
	    PTX_CLASS_KERNEL && p->ptx->functions[id].launched)
		kernel->public.refusal = PTX_LAUNCHED_BY_DEVICE;
	return 0;
}

static int start_kernel(struct ptx_parser *p)
{
	struct gt_ptx *ptx = p->ptx;
	int r = gt_ptx_grow(&ptx->kernels, ptx->kernel_count, &ptx->kernel_room,
			    sizeof(*ptx->kernels));

	if (r < 0)
		return r;
	p->kernel = &ptx->kernels[ptx->kernel_count++];
	memset(p->kernel, 0, sizeof(*p->kernel));
	p->kernel->function = ptx->function_count - 1;
	return 0;
}

/* A prototype counts as no kernel; what was gathered for it goes. */
static void drop_kernel(struct ptx_parser *p)
{
	free(p->kernel->params);
	free(p->kernel->param_names);
	free(p->kernel->name);
	p->ptx->kernel_count--;
	p->kernel = NULL;
}

static int parse_body(struct ptx_parser *p, struct ptx_function *function)
{
	struct ptx_kernel *kernel = p->kernel;
	int r;

	function->has_body = 1;
	if (kernel)
		function->kernel = p->ptx->kernel_count - 1;
	r = gt_parse_body(p, function);
	if (r < 0 || !kernel)
		return r;
	kernel->public.params = kernel->params;
	kernel->public.hidden_offset = (kernel->public.param_bytes + 7) & ~7u;
	kernel->public.exits = function->exits + function->falls_off;
	return 0;
}

/* From ".entry" or ".func" to the end of its body or prototype; start: of its linkage, if it has one. */
static int parse_function(struct ptx_parser *p, uint32_t start)
{
	struct gt_ptx *ptx = p->ptx;
	struct ptx_function *function;
	uint32_t ignored_count, ignored_end;
	int is_kernel = gt_token_is(p, ".entry");
	int r = gt_ptx_grow(&ptx->functions, ptx->function_count, &ptx->function_room,
			    sizeof(*ptx->functions));

	if (r < 0)
		return r;
	function = &ptx->functions[ptx->function_count++];
	memset(function, 0, sizeof(*function));
	function->is_kernel = (uint8_t)is_kernel;
	function->params_end = PTX_NONE;
	function->start = start;
	p->kernel = NULL;
	if (is_kernel)
		r = start_kernel(p);
	r = r ? r : gt_parse_next(p);
	while (!r && gt_token_is(p, ".attribute")) {
		r = gt_parse_next(p);
		r = r ? r : gt_parse_skip_group(p);
	}
	r = r ? r : gt_names_push(&p->names);
	if (!r && gt_token_punct(p, '('))
		r = gt_parse_params(p, 0, &ignored_count, &ignored_end);
	if (!r && p->token.kind != PTX_WORD)
		return gt_parse_fail(p, "expected the name of a function");
	function->name = (struct ptx_range){ p->token.at, p->token.length };
	if (!r && is_kernel)
		r = name_kernel(p, function);
	r = r ? r : declare_function(p, function);
	r = r ? r : gt_parse_next(p);
	if (!r && gt_token_punct(p, '('))
		r = gt_parse_params(p, is_kernel, &function->params_count, &function->params_end);
	r = r ? r : parse_tuning(p);
	if (r < 0)
		return r;
	if (gt_token_punct(p, '{')) {
		r = parse_body(p, function);
	} else {
		if (is_kernel)
			drop_kernel(p);
		function->end = p->token.at;
		r = gt_parse_next(p);
	}
	gt_names_pop(&p->names);
	p->kernel = NULL;
	return r ? r : declare_function(p, function);
}

/* ---- the module ---- */

/* Definitions may be put in after the last token of the header. */
static void extend_header(struct ptx_parser *p)
{
	if (!p->past_header)
		p->ptx->header_end = p->token.at + p->token.length;
}

static int parse_version(struct ptx_parser *p)
{
	const char *s;
	uint32_t dot, major, minor;
	int r = gt_parse_next(p);

	if (r < 0)
		return r;
	if (p->ptx->version_token.length || p->past_header)
		return gt_parse_fail(p, "a .version in the wrong place");
	s = p->ptx->text + p->token.at;
	for (dot = 0; dot < p->token.length && s[dot] != '.'; dot++)
		;
	if (p->token.kind != PTX_WORD || dot + 1 >= p->token.length ||
	    gt_ptx_number(s, dot, &major) < 0 ||
	    gt_ptx_number(s + dot + 1, p->token.length - dot - 1, &minor) < 0 ||
	    major > 99 || minor > 9)
		return gt_parse_fail(p, "expected a version such as 8.0");
	p->ptx->version = major * 10 + minor;
	p->ptx->version_token = (struct ptx_range){ p->token.at, p->token.length };
	extend_header(p);
	return gt_parse_next(p);
}

static int parse_target(struct ptx_parser *p)
{
	const char *s;
	uint32_t digits, target;
	int r;

	do {
		r = gt_parse_next(p);
		if (r < 0)
			return r;
		if (p->token.kind != PTX_WORD)
			return gt_parse_fail(p, "expected a target");
		s = p->ptx->text + p->token.at;
		if (p->token.length > 3 && !memcmp(s, "sm_", 3)) {
			for (digits = 3; digits < p->token.length; digits++)
				if (s[digits] < '0' || s[digits] > '9')
					break;
			if (gt_ptx_number(s + 3, digits - 3, &target) < 0 || target > 9999)
				return gt_parse_fail(p, "this target is not understood");
			p->ptx->target = target;
		}
		extend_header(p);
		r = gt_parse_next(p);
	} while (!r && gt_token_punct(p, ','));
	return r;
}

static int parse_address_size(struct ptx_parser *p)
{
	uint32_t bits;
	int r = gt_parse_next(p);

	extend_header(p);
	r = r ? r : gt_parse_count(p, &bits);
	if (!r && bits != 64)
		return gt_parse_fail(p, "only 64-bit addresses are supported");
	return r;
}

static int parse_alias(struct ptx_parser *p)
{
	struct gt_ptx *ptx = p->ptx;
	struct ptx_alias alias;
	int r = gt_parse_next(p);

	if (r < 0)
		return r;
	alias.name = (struct ptx_range){ p->token.at, p->token.length };
	r = gt_parse_next(p);
	r = r ? r : gt_parse_next(p);
	if (r < 0)
		return r;
	alias.target = (struct ptx_range){ p->token.at, p->token.length };
	r = gt_ptx_grow(&ptx->aliases, ptx->alias_count, &ptx->alias_room, sizeof(alias));
	if (r < 0)
		return r;
	ptx->aliases[ptx->alias_count++] = alias;
	return gt_parse_skip(p);
}

static int parse_section(struct ptx_parser *p)
{
	int r = 0;

	while (!r && !gt_token_punct(p, '{')) {
		if (p->token.kind == PTX_END)
			return gt_parse_fail(p, "the text ends within a section");
		r = gt_parse_next(p);
	}
	return r ? r : gt_parse_skip_group(p);
}

static int parse_item(struct ptx_parser *p)
{
	static const char *const linkage[] = { ".visible", ".extern", ".weak", ".common", ".hidden" };
	uint32_t start;
	size_t i;

	if (gt_token_is(p, ".version"))
		return parse_version(p);
	if (gt_token_is(p, ".target"))
		return parse_target(p);
	if (gt_token_is(p, ".address_size"))
		return parse_address_size(p);
	p->past_header = 1;
	for (i = 0; i < sizeof(linkage) / sizeof(linkage[0]); i++)
		if (gt_token_is(p, linkage[i])) {
			p->item_start = p->item_start == PTX_NONE ? p->token.at : p->item_start;
			return gt_parse_next(p);
		}
	start = p->item_start == PTX_NONE ? p->token.at : p->item_start;
	p->item_start = PTX_NONE;
	if (gt_token_is(p, ".entry") || gt_token_is(p, ".func"))
		return parse_function(p, start);
	if (gt_parse_is_declaration(p))
		return gt_parse_declaration(p);
	if (gt_token_is(p, ".file"))
		return gt_parse_file(p);
	if (gt_token_is(p, ".loc"))
		return gt_parse_loc(p);
	if (gt_token_is(p, ".section"))
		return parse_section(p);
	if (gt_token_is(p, ".alias"))
		return parse_alias(p);
	if (p->token.kind == PTX_WORD && p->token.c == '.')
		return gt_parse_skip(p);
	return gt_parse_fail(p, "expected a directive");
}

static int parse_module(struct ptx_parser *p)
{
	int r = gt_parse_next(p);

	while (!r && p->token.kind != PTX_END)
		r = parse_item(p);
	if (r < 0)
		return r;
	if (!p->ptx->version_token.length || !p->ptx->target)
		return gt_parse_fail(p, "the text has no .version or no .target");
	return 0;
}

int gt_ptx_parse(const char *text, size_t length, struct gt_ptx **ret_ptx, struct gt_ptx_error *err)
{
	struct ptx_parser p = { .error = err, .item_start = PTX_NONE };
	struct gt_ptx *ptx = calloc(1, sizeof(*ptx));
	int r;

	if (!ptx)
		return -ENOMEM;
	length = strnlen(text, length);
	if (length > TEXT_MAX) {
		r = gt_ptx_fail(ptx, err, -1, PTX_NONE, "the text is larger than 1 GiB");
		goto fail;
	}
	r = -ENOMEM;
	ptx->text = strndup(text, length);
	if (!ptx->text || gt_names_init(&p.names, ptx->text) < 0)
		goto fail;
	ptx->length = (uint32_t)length;
	p.ptx = ptx;
	p.lexer = (struct ptx_lexer){ ptx->text, ptx->length, 0 };
	r = parse_module(&p);
	free(p.operands);
	if (r < 0)
		goto fail;
	gt_names_done(&p.names);
	*ret_ptx = ptx;
	return 0;
fail:
	if (p.names.text)
		gt_names_done(&p.names);
	gt_ptx_free(ptx);
	return r == -E2BIG ? -EINVAL : r;
}

void gt_ptx_free(struct gt_ptx *ptx)
{
	uint32_t i;

	if (!ptx)
		return;
	for (i = 0; i < ptx->kernel_count; i++) {
		free(ptx->kernels[i].params);
		free(ptx->kernels[i].param_names);
		free(ptx->kernels[i].name);
	}
	free(ptx->kernels);
	free(ptx->functions);
	free(ptx->statements);
	free(ptx->accesses);
	free(ptx->calls);
	free(ptx->alignments);
	free(ptx->aliases);
	free(ptx->text);
	free(ptx);
}

unsigned gt_ptx_kernel_count(const struct gt_ptx *ptx)
{
	return ptx->kernel_count;
}

const struct gt_ptx_kernel *gt_ptx_kernel(const struct gt_ptx *ptx, unsigned index)
{
	return &ptx->kernels[index].public;
}

unsigned gt_ptx_target(const struct gt_ptx *ptx)
{
	return ptx->target;
}

unsigned gt_ptx_version(const struct gt_ptx *ptx)
{
	return ptx->version;
}

void gt_ptx_write_out(struct gt_ptx *ptx)
{
	ptx->written_out = 1;
}

void gt_ptx_tell_access(struct gt_ptx *ptx)
{
	ptx->told = 1;
}
