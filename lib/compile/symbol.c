/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/compile/symbol.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/compile/ir.h"

static const char *const kind_names[GT_SYMBOL_KINDS] = {
	[GT_SYMBOL_OFFSET] = "offset", [GT_SYMBOL_CTL] = "ctl",       [GT_SYMBOL_TAIL] = "tail",
	[GT_SYMBOL_SIZE] = "size",     [GT_SYMBOL_SOURCE] = "source", [GT_SYMBOL_PID_TGID] = "pid_tgid",
};

/* The map's index makes the name unique, its name makes it readable. */
static void name_symbol(struct gt_symbol *symbol, const char *map_name)
{
	char *c;

	if (symbol->kind == GT_SYMBOL_PID_TGID)
		snprintf(symbol->name, sizeof(symbol->name), GT_SYMBOL_PREFIX "%s", kind_names[symbol->kind]);
	else if (symbol->map == GT_SYMBOL_RING0)
		snprintf(symbol->name, sizeof(symbol->name), GT_SYMBOL_PREFIX "ring0_%s",
			 kind_names[symbol->kind]);
	else
		snprintf(symbol->name, sizeof(symbol->name), GT_SYMBOL_PREFIX "map%d_%.40s_%s",
			 symbol->map, map_name, kind_names[symbol->kind]);
	for (c = symbol->name; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
}

const struct gt_symbol *gt_symbols_want(struct gt_symbols *symbols, int map, const char *map_name,
					enum gt_symbol_kind kind)
{
	struct gt_symbol *more;
	unsigned i;

	for (i = 0; i < symbols->count; i++)
		if (symbols->list[i].map == map && symbols->list[i].kind == kind)
			return &symbols->list[i];
	more = realloc(symbols->list, (symbols->count + 1) * sizeof(*more));
	if (!more)
		return NULL;
	symbols->list = more;
	more += symbols->count++;
	more->map = map;
	more->kind = kind;
	name_symbol(more, map_name);
	return more;
}

const struct gt_symbol *gt_symbols_find(const struct gt_symbols *symbols, const char *name, unsigned length)
{
	unsigned i;

	for (i = 0; i < symbols->count; i++)
		if (strlen(symbols->list[i].name) == length && !strncmp(symbols->list[i].name, name, length))
			return &symbols->list[i];
	return NULL;
}
