/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that compiled code needs and that are known only when it is attached.
 * In PTX each is a name in place of a number; in host code an absolute symbol.
 */
#ifndef GT_COMPILE_SYMBOL_H
#define GT_COMPILE_SYMBOL_H

#include <stdint.h>

enum gt_symbol_kind {
	GT_SYMBOL_OFFSET,	/* of the map's memory in its arena; rings: of the data, host arena */
	GT_SYMBOL_CTL,		/* rings: of the control block, device arena */
	GT_SYMBOL_TAIL,		/* rings: of the tail, host arena */
	GT_SYMBOL_SIZE,		/* rings: bytes of data */
	GT_SYMBOL_SOURCE,	/* rings: gt_record.source */
	GT_SYMBOL_PID_TGID,	/* of the process: tgid << 32 | pid */
	GT_SYMBOL_KINDS,
};

/* In place of a map's index: ring 0, which printed text goes to; or no map at all. */
#define GT_SYMBOL_RING0 (-1)

struct gt_symbol {
	int map;		/* index in the object, or GT_SYMBOL_RING0 */
	enum gt_symbol_kind kind;
	char name[80];		/* complete, with GT_SYMBOL_PREFIX */
};

struct gt_symbols {
	struct gt_symbol *list;
	unsigned count;
};

/* The entry of a symbol, added at first mention; NULL: out of memory. */
const struct gt_symbol *gt_symbols_want(struct gt_symbols *symbols, int map, const char *map_name,
					enum gt_symbol_kind kind);
/* By name, which need not end in NUL; NULL: none. */
const struct gt_symbol *gt_symbols_find(const struct gt_symbols *symbols, const char *name,
					unsigned length);

#endif
