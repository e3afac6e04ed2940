/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that is loaded a second time has variables of its own.  So it may only
 * stand in for the first one when it, and all that it may call, names no variable of
 * its module; shared memory is a block's, and does not count.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/instrument/lex.h"
#include "lib/agent/instrument/ptx.h"
#include "lib/agent/instrument/reach.h"

/* The tables of the mathematical functions: nobody writes to them, and the program cannot name them. */
#define TABLES "__cudart_"

struct search {
	const struct gt_ptx *ptx;
	struct ptx_range *names;	/* of variables, sorted */
	uint32_t count, room;
	struct ptx_range *uses;		/* by function: a variable that it names itself; no length: none */
	struct gt_ptx_apart *aparts;
};

static int compare_text(const void *a, const void *b, void *text_)
{
	const struct ptx_range *x = a, *y = b;
	const char *text = text_;
	int r = memcmp(text + x->at, text + y->at, x->length < y->length ? x->length : y->length);

	return r ? r : (x->length > y->length) - (x->length < y->length);
}

static int is_one_of(const struct gt_ptx *ptx, const struct ptx_token *token, const char *const *words)
{
	for (; *words; words++) {
		if (token->length == strlen(*words) && !memcmp(ptx->text + token->at, *words, token->length))
			return 1;
	}
	return 0;
}

/* Of a variable, not of its type, alignment or value. */
static int is_name(const struct gt_ptx *ptx, const struct ptx_token *token)
{
	return token->kind == PTX_WORD && token->c != '.' && !(token->c >= '0' && token->c <= '9') &&
	       (token->length < sizeof(TABLES) || memcmp(ptx->text + token->at, TABLES, sizeof(TABLES) - 1));
}

static int add_name(struct search *search, const struct ptx_token *token)
{
	int r = gt_ptx_grow(&search->names, search->count, &search->room, sizeof(*search->names));

	if (!r)
		search->names[search->count++] = (struct ptx_range){ token->at, token->length };
	return r;
}

/* What is declared from here to the ';'. */
static int read_declaration(struct search *search, struct ptx_lexer *lexer)
{
	struct ptx_token token;
	int depth = 0, wanted = 1, r = 0;

	for (gt_lex(lexer, &token); !r && token.kind != PTX_END && token.kind != PTX_BROKEN && token.c != ';';
	     gt_lex(lexer, &token)) {
		int punct = token.kind == PTX_PUNCT;

		depth += punct && strchr("([{", token.c) ? 1 : punct && strchr(")]}", token.c) ? -1 : 0;
		if (punct && token.c == ',' && !depth) {
			wanted = 1;
		} else if (wanted && !depth && is_name(search->ptx, &token)) {
			wanted = 0;
			r = add_name(search, &token);
		}
	}
	return r;
}

/* In parameter lists these words say where a pointer leads. */
static int find_variables(struct search *search)
{
	static const char *const spaces[] = { ".global", ".const", ".tex", ".texref", ".samplerref", ".surfref", NULL };
	struct ptx_lexer lexer = { search->ptx->text, search->ptx->length, 0 };
	struct ptx_token token;
	int depth = 0, r = 0;

	for (gt_lex(&lexer, &token); !r && token.kind != PTX_END && token.kind != PTX_BROKEN; gt_lex(&lexer, &token)) {
		int punct = token.kind == PTX_PUNCT;

		depth += punct && token.c == '(' ? 1 : punct && token.c == ')' ? -1 : 0;
		if (!depth && token.kind == PTX_WORD && is_one_of(search->ptx, &token, spaces))
			r = read_declaration(search, &lexer);
	}
	if (search->count)
		qsort_r(search->names, search->count, sizeof(*search->names), compare_text, search->ptx->text);
	return r;
}

static int is_variable(const struct search *search, struct ptx_range word)
{
	uint32_t low = 0, high = search->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int r = compare_text(&word, &search->names[middle], search->ptx->text);

		if (!r)
			return 1;
		if (r < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return 0;
}

static struct ptx_range find_use(const struct search *search, const struct ptx_function *function)
{
	struct ptx_lexer lexer = { search->ptx->text, function->end, function->body };
	struct ptx_token token;

	for (gt_lex(&lexer, &token); token.kind != PTX_END && token.kind != PTX_BROKEN; gt_lex(&lexer, &token)) {
		struct ptx_range word = { token.at, token.length };

		if (token.kind == PTX_WORD && is_variable(search, word))
			return word;
	}
	return (struct ptx_range){ 0, 0 };
}

static void say(const struct search *search, uint32_t kernel, const char *format, struct ptx_range name)
{
	struct gt_ptx_apart *apart = &search->aparts[kernel];

	if (apart->possible)
		snprintf(apart->why, sizeof(apart->why), format, name.length < 100 ? (int)name.length : 100,
			 search->ptx->text + name.at);
	apart->possible = 0;
}

static void judge(void *data, uint32_t kernel, const struct ptx_reached *reached)
{
	const struct search *search = data;
	const struct gt_ptx *ptx = search->ptx;

	search->aparts[kernel].possible = 1;
	for (uint32_t f = 0; f < ptx->function_count; f++) {
		const struct ptx_function *function = &ptx->functions[f];

		if (reached->seen[f] != reached->number)
			continue;
		if (search->uses[f].length)
			say(search, kernel, "it uses %.*s, a variable of its module", search->uses[f]);
		for (uint32_t i = 0; i < function->call_count; i++) {
			if (reached->callee[function->call + i] == PTX_NONE)
				say(search, kernel, "it calls %.*s, which its module does not have",
				    ptx->calls[function->call + i]);
		}
	}
}

int gt_ptx_apart(const struct gt_ptx *ptx, struct gt_ptx_apart *aparts)
{
	struct search search = { .ptx = ptx, .aparts = aparts };
	int r;

	memset(aparts, 0, ptx->kernel_count * sizeof(*aparts));
	search.uses = calloc(ptx->function_count + (size_t)1, sizeof(*search.uses));
	r = search.uses ? find_variables(&search) : -ENOMEM;
	for (uint32_t f = 0; !r && f < ptx->function_count; f++) {
		if (ptx->functions[f].has_body)
			search.uses[f] = find_use(&search, &ptx->functions[f]);
	}
	if (!r)
		r = gt_reach_each(ptx, judge, &search);
	free(search.names);
	free(search.uses);
	return r;
}
