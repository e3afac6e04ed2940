/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With separate compilation or debugging, functions have sections of their own, which kernels share.  Programs cannot
 * run there, since kernels have the parameter that these need at different places: accesses there are counted as
 * left out.  That takes that all of the functions are known.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/calls.h"

struct walk {
	const struct gt_elf *elf;
	const struct gt_elf_companions *companions;	/* by section */
	unsigned kernel;		/* its section */
	uint32_t points;
	struct gt_sites *sites;
	bool *seen;			/* by section */
	unsigned *stack, depth;
};

static void visit(struct walk *walk, unsigned section)
{
	if (walk->seen[section])
		return;
	walk->seen[section] = true;
	walk->stack[walk->depth++] = section;
}

/* Functions are called, or their places are taken; a kernel's own code that is called from elsewhere may be so again and again. */
static void follow(struct walk *walk, unsigned from, unsigned section)
{
	const Elf64_Shdr *relocations = &walk->elf->sections[section];
	size_t step = relocations->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	Elf64_Rel relocation;	/* Elf64_Rela begins alike */

	for (uint64_t i = 0; i < relocations->sh_size / step; i++) {
		uint64_t symbol;
		unsigned to;

		memcpy(&relocation, gt_elf_bytes(walk->elf, section) + i * step, sizeof(relocation));
		symbol = ELF64_R_SYM(relocation.r_info);
		to = symbol < walk->elf->symbol_count ? walk->elf->symbols[symbol].st_shndx : 0;
		if (to == walk->kernel && from != walk->kernel)
			walk->sites->refusal = "how deep its stack goes cannot be told";
		else if (gt_elf_is_code(walk->elf, to))
			visit(walk, to);
	}
}

static void look_at(struct walk *walk, gt_word word, unsigned marks)
{
	struct gt_insn_access access = gt_insn_access(word);
	enum gt_call call = gt_call_of(word, marks);

	if (call == GT_CALL_UNKNOWN)
		walk->sites->refusal = GT_CALLS_UNKNOWN;
	walk->sites->calls_driver |= call == GT_CALL_DRIVER;
	gt_note_matrix(word, walk->sites);
	if (access.kind != GT_ACCESS_NONE && walk->points >> access.point & 1)
		walk->sites->left_elsewhere++;
}

static int look_at_function(struct walk *walk, unsigned text)
{
	uint8_t *marks = gt_mark_code(walk->elf, text, &walk->companions[text]);

	if (!marks)
		return -ENOMEM;
	for (uint64_t at = 0; at + GT_WORD <= walk->elf->sections[text].sh_size; at += GT_WORD)
		look_at(walk, gt_word_read(gt_elf_bytes(walk->elf, text) + at), marks[at / GT_WORD]);
	free(marks);
	return 0;
}

static int walk_from_kernel(struct walk *walk)
{
	int r = 0;

	visit(walk, walk->kernel);
	while (!r && walk->depth && !walk->sites->refusal) {
		unsigned text = walk->stack[--walk->depth];
		const struct gt_elf_companions *of = &walk->companions[text];

		if (of->rel)
			follow(walk, text, of->rel);
		if (of->rela)
			follow(walk, text, of->rela);
		if (text != walk->kernel)
			r = look_at_function(walk, text);
	}
	return r;
}

int gt_look_at_callees(const struct gt_elf *elf, const struct gt_elf_kernel *kernel, uint32_t points, struct gt_sites *sites)
{
	struct gt_elf_companions *companions = gt_elf_find_companions(elf);
	struct walk walk = {
		.elf = elf, .companions = companions, .kernel = kernel->text, .points = points, .sites = sites,
		.seen = calloc(elf->count, sizeof(*walk.seen)), .stack = calloc(elf->count, sizeof(*walk.stack)),
	};
	int r = companions && walk.seen && walk.stack ? walk_from_kernel(&walk) : -ENOMEM;

	free(companions);
	free(walk.seen);
	free(walk.stack);
	return r;
}
