/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that other kernels launch (dynamic parallelism).  Such a launch passes the
 * parameters that the code knows of; what lies where the hidden one would be is left
 * over from other launches.  So these kernels are not grafted.
 */
#include <stdlib.h>

#include "lib/agent/graft/edit.h"

/* The call graph is of lists, each introduced by a pair of 0 and its kind. */
#define LIST_ADDRESS_TAKEN 0xfffffffeu

static bool is_kernel(const struct gt_elf *elf, uint32_t symbol)
{
	return symbol < elf->symbol_count && elf->symbols[symbol].st_other & GT_SYMBOL_KERNEL;
}

static void read_callgraph(const struct gt_elf *elf, unsigned section, bool *nested)
{
	const uint8_t *bytes = gt_elf_bytes(elf, section);
	uint64_t i, count = elf->sections[section].sh_size / 8;
	uint32_t list = 0;

	for (i = 0; i < count; i++) {
		uint32_t from = gt_read32(bytes + 8 * i), to = gt_read32(bytes + 8 * i + 4);

		if (!from)
			list = to;
		else if (list == LIST_ADDRESS_TAKEN && is_kernel(elf, from))
			nested[from] = true;
		else if (list != LIST_ADDRESS_TAKEN && is_kernel(elf, to))
			nested[to] = true;
	}
}

bool *gt_nested_find(const struct gt_elf *elf)
{
	bool *nested = calloc(elf->symbol_count + (size_t)1, sizeof(*nested));

	for (unsigned i = 1; nested && i < elf->count; i++) {
		if (elf->sections[i].sh_type == GT_SECTION_CALLGRAPH)
			read_callgraph(elf, i, nested);
	}
	return nested;
}
