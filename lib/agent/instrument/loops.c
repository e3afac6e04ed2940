/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that comes by a statement again has jumped back in the text: from behind it,
 * or from itself, to a label before it.
 */
#define _GNU_SOURCE 1
#include "lib/agent/instrument/loops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/instrument/fixed.h"

struct label {
	struct ptx_range name;
	uint32_t statement;
	uint32_t last;		/* statement that jumps to it, the last one in the text; 0: none that is behind it */
};

struct search {
	const struct gt_ptx *ptx;
	const struct ptx_function *function;
	struct label *labels;	/* sorted by name; inner scopes may have names of outer ones */
	uint32_t count;
	uint32_t table;		/* the last statement that jumps through a table, to any label */
};

static const struct ptx_statement *statement_of(const struct search *search, uint32_t index)
{
	return &search->ptx->statements[search->function->statement + index];
}

static int compare_names(const struct gt_ptx *ptx, struct ptx_range a, struct ptx_range b)
{
	int r = memcmp(ptx->text + a.at, ptx->text + b.at, a.length < b.length ? a.length : b.length);

	return r ? r : (a.length > b.length) - (a.length < b.length);
}

static int compare(const void *a, const void *b, void *ptx)
{
	const struct label *x = a, *y = b;

	return compare_names(ptx, x->name, y->name);
}

static void read_labels(struct search *search)
{
	const struct gt_ptx *ptx = search->ptx;
	struct ptx_token token;
	uint32_t i;

	for (i = 0; i < search->function->statement_count; i++) {
		struct ptx_lexer lexer = { ptx->text, ptx->length, statement_of(search, i)->at };

		if (statement_of(search, i)->kind != PTX_LABEL)
			continue;
		gt_lex(&lexer, &token);
		search->labels[search->count++] = (struct label){ { token.at, token.length }, i, 0 };
	}
	qsort_r(search->labels, search->count, sizeof(*search->labels), compare, (void *)ptx);
}

/* The first label of this name, or where it would be. */
static uint32_t find_label(const struct search *search, struct ptx_range name)
{
	uint32_t low = 0, high = search->count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (compare_names(search->ptx, name, search->labels[middle].name) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of the labels of one name the first one has what is known of all. */
static void follow(struct search *search, uint32_t from)
{
	struct ptx_operands operands = gt_operands(search->ptx, statement_of(search, from));
	char opcode[PTX_OPCODE_MAX];
	struct ptx_range name;
	uint32_t i;

	if (!gt_ptx_opcode(search->ptx, statement_of(search, from)->opcode, opcode) || !strncmp(opcode, "brx", 3)) {
		search->table = from;
		return;
	}
	while (gt_operands_next(&operands)) {
		name = (struct ptx_range){ operands.token.at, operands.token.length };
		i = find_label(search, name);
		if (i < search->count && !compare_names(search->ptx, name, search->labels[i].name))
			search->labels[i].last = from;
	}
}

/* By statement: the first one from there on that is wanted.  NULL: out of memory. */
static uint32_t *find_next(const struct ptx_function *function, const uint8_t *wanted)
{
	uint32_t i = function->statement_count, *next = calloc(i + (size_t)1, sizeof(*next));

	if (!next)
		return NULL;
	for (next[i] = PTX_NONE; i--;)
		next[i] = wanted[i] ? i : next[i + 1];
	return next;
}

/* The instruction that follows the label, if the rounds that begin there have something wanted in them. */
static int set_head(const struct search *search, uint32_t label, uint32_t last, const uint32_t *next, uint8_t *heads)
{
	uint32_t i = search->labels[label].statement;

	if (i >= last || next[i] > last)
		return 0;
	while (statement_of(search, i)->kind != PTX_INSTRUCTION)
		i++;
	heads[i] = 1;
	return 1;
}

static int set_heads(const struct search *search, const uint32_t *next, uint8_t *heads)
{
	const struct label *labels = search->labels;
	uint32_t i, first = 0, last;
	int count = 0;

	for (i = 0; i < search->count; i++) {
		if (compare_names(search->ptx, labels[i].name, labels[first].name))
			first = i;
		last = labels[first].last > search->table ? labels[first].last : search->table;
		count += set_head(search, i, last, next, heads);
	}
	return count;
}

int gt_loops_find(const struct gt_ptx *ptx, const struct ptx_function *function, const uint8_t *wanted, uint8_t *heads)
{
	struct search search = {
		.ptx = ptx, .function = function,
		.labels = calloc(function->statement_count + (size_t)1, sizeof(*search.labels)),
	};
	uint32_t i, *next = find_next(function, wanted);
	int count = -ENOMEM;

	if (search.labels && next) {
		read_labels(&search);
		for (i = 0; i < function->statement_count; i++)
			if (statement_of(&search, i)->flags & PTX_FLOW)
				follow(&search, i);
		count = set_heads(&search, next, heads);
	}
	free(search.labels);
	free(next);
	return count;
}
