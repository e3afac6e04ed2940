/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules by which a caller's registers are found, from a file's call frame information
 * (.eh_frame).  elfutils reads its entries; their instructions are followed here, since
 * it remembers states as deep as they say: for a file of a megabyte 240 of them.
 */
#ifndef GT_SYMBOL_RULES_H
#define GT_SYMBOL_RULES_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "lib/symbol/expression.h"

enum gt_rule_kind {
	GT_RULE_SAME,		/* the function does not change it */
	GT_RULE_GONE,		/* the caller has no such register any more, or there is no caller */
	GT_RULE_UNKNOWN,	/* it is said in a way that compilers do not use */
	GT_RULE_SAVED,		/* at an offset from the canonical frame address */
	GT_RULE_SAVED_AT,	/* where an expression says */
	GT_RULE_VALUE		/* what an expression says */
};

struct gt_rule {
	enum gt_rule_kind kind;
	uint64_t offset;
	const uint8_t *bytes;	/* of the expression, in the file's section */
	uint64_t size;
};

struct gt_rules {
	/* The canonical frame address: SAVED: an offset from a register's value; VALUE: an expression; else not known. */
	struct gt_rule cfa;
	uint64_t base;		/* that register */
	struct gt_rule of[GT_REGISTERS];
};

/* A file's sections; false: it has none, or none as linkers make them. */
struct gt_cfi {
	unsigned char *ident;
	Elf_Data *entries, *table;
	uint64_t entries_address, table_address;	/* as the linker gave them */
	uint32_t count;		/* of the table's elements */
};
bool gt_cfi_open(struct gt_cfi *cfi, Elf *elf);

/* The rules at an address; false: there are none. */
bool gt_cfi_find(const struct gt_cfi *cfi, uint64_t address, struct gt_rules *ret_rules);

#endif
