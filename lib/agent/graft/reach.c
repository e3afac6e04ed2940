/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device functions usually lie in the section of the kernel that calls them.
 * With debugging or separate compilation they have sections of their own, shared
 * by kernels, and a thread may end in one: such ways out are not ours to change.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/edit.h"

struct edge {
	uint32_t from, to;	/* sections of code */
};

struct edges {
	struct edge *list;
	size_t count, room;
	bool failed;
};

static void add_edge(struct edges *edges, uint32_t from, uint32_t to)
{
	if (from == to || edges->failed)
		return;
	if (edges->count == edges->room) {
		size_t room = edges->room ? 2 * edges->room : 64;
		struct edge *list = realloc(edges->list, room * sizeof(*list));

		edges->failed = !list;
		if (!list)
			return;
		edges->list = list;
		edges->room = room;
	}
	edges->list[edges->count++] = (struct edge){ from, to };
}

/* Does the code hold an EXIT; does it call what cannot be seen from here? */
static void look_at(const struct gt_elf *elf, unsigned section, bool *ret_exits, bool *ret_calls_any)
{
	const uint8_t *bytes = gt_elf_bytes(elf, section);
	uint64_t i, count = elf->sections[section].sh_size / GT_WORD;

	*ret_exits = *ret_calls_any = false;
	for (i = 0; i < count; i++) {
		gt_word word = gt_word_read(bytes + i * GT_WORD);
		unsigned proper = gt_op_proper(word);

		if (proper == (GT_OP_EXIT & 0x1ff))
			*ret_exits = true;
		if ((proper == GT_OPP_CALL_ABS || proper == GT_OPP_CALL) && gt_op_form(word) != 4)
			*ret_calls_any = true;
	}
}

static void edges_of_relocations(const struct gt_elf *elf, unsigned section, struct edges *edges)
{
	const Elf64_Shdr *relocations = &elf->sections[section];
	size_t entry = relocations->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	uint64_t i, count = relocations->sh_size / entry;

	for (i = 0; i < count; i++) {
		Elf64_Rel relocation;	/* Elf64_Rela begins alike */
		unsigned symbol, to;

		memcpy(&relocation, gt_elf_bytes(elf, section) + i * entry, sizeof(relocation));
		symbol = (unsigned)ELF64_R_SYM(relocation.r_info);
		to = symbol < elf->symbol_count ? elf->symbols[symbol].st_shndx : 0;
		if (gt_elf_is_code(elf, to))
			add_edge(edges, relocations->sh_info, to);
	}
}

static void edges_of_callgraph(const struct gt_elf *elf, unsigned section, struct edges *edges)
{
	const uint8_t *bytes = gt_elf_bytes(elf, section);
	uint64_t i, count = elf->sections[section].sh_size / 8;

	for (i = 0; i < count; i++) {
		uint32_t from = gt_read32(bytes + 8 * i), to = gt_read32(bytes + 8 * i + 4);

		if (from >= elf->symbol_count || to >= elf->symbol_count)
			continue;	/* marks of the compiler's */
		from = elf->symbols[from].st_shndx;
		to = elf->symbols[to].st_shndx;
		if (gt_elf_is_code(elf, from) && gt_elf_is_code(elf, to))
			add_edge(edges, from, to);
	}
}

static int compare_edges(const void *a, const void *b)
{
	uint32_t left = ((const struct edge *)a)->to, right = ((const struct edge *)b)->to;

	return left < right ? -1 : left > right;
}

static size_t first_edge_to(const struct edges *edges, uint32_t to)
{
	size_t low = 0, high = edges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (edges->list[middle].to < to)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* From functions that may end the thread back to all that call them. */
static void spread(struct edges *edges, bool *exits, uint32_t *queue, size_t queued)
{
	while (queued) {
		uint32_t to = queue[--queued];

		for (size_t i = first_edge_to(edges, to); i < edges->count && edges->list[i].to == to; i++)
			if (!exits[edges->list[i].from]) {
				exits[edges->list[i].from] = true;
				queue[queued++] = edges->list[i].from;
			}
	}
}

static void find_edges(const struct gt_elf *elf, struct edges *edges)
{
	for (unsigned i = 1; i < elf->count; i++) {
		unsigned type = elf->sections[i].sh_type;

		if ((type == SHT_REL || type == SHT_RELA) && gt_elf_is_code(elf, elf->sections[i].sh_info))
			edges_of_relocations(elf, i, edges);
		else if (type == GT_SECTION_CALLGRAPH)
			edges_of_callgraph(elf, i, edges);
	}
	if (edges->count)
		qsort(edges->list, edges->count, sizeof(*edges->list), compare_edges);
}

static bool *find_kernel_sections(const struct gt_elf *elf)
{
	bool *kernels = calloc(elf->count, sizeof(*kernels));

	for (unsigned i = 0; kernels && i < elf->symbol_count; i++)
		if (elf->symbols[i].st_other & GT_SYMBOL_KERNEL && elf->symbols[i].st_shndx < elf->count)
			kernels[elf->symbols[i].st_shndx] = true;
	return kernels;
}

int gt_reach_find_exits(const struct gt_elf *elf, struct gt_reach *ret_reach)
{
	bool *kernels = find_kernel_sections(elf), *exits = calloc(elf->count, sizeof(*exits));
	bool *calls_any = calloc(elf->count, sizeof(*calls_any)), here, any;
	uint32_t *queue = calloc(elf->count, sizeof(*queue));
	struct edges edges = { 0 };
	size_t queued = 0;
	int r = -ENOMEM;

	if (!kernels || !exits || !calls_any || !queue)
		goto out;
	for (unsigned i = 1; i < elf->count; i++) {
		if (!gt_elf_is_code(elf, i) || kernels[i])
			continue;
		look_at(elf, i, &here, &calls_any[i]);
		if (here) {
			exits[i] = true;
			queue[queued++] = i;
		}
	}
	r = 0;
	if (!queued) {
		free(exits);
		exits = NULL;
		goto out;
	}
	for (unsigned i = 1; i < elf->count; i++) {
		any = calls_any[i];
		if (gt_elf_is_code(elf, i) && kernels[i])
			look_at(elf, i, &here, &any);
		if (any && !exits[i]) {
			exits[i] = true;
			queue[queued++] = i;
		}
	}
	find_edges(elf, &edges);
	spread(&edges, exits, queue, queued);
	r = edges.failed ? -ENOMEM : 0;
out:
	free(kernels);
	free(calls_any);
	free(queue);
	free(edges.list);
	if (r < 0) {
		free(exits);
		return r;
	}
	ret_reach->exits = exits;
	return 0;
}

void gt_reach_free_exits(struct gt_reach *reach)
{
	free(reach->exits);
	reach->exits = NULL;
}
