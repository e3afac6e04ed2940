/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that is loaded a second time has variables of its own.  So it may only
 * stand in for the first one when it, and all that it calls, names no variable of
 * its module: neither by a relocation, nor in the banks of constants that hold
 * variables and their addresses.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/elf.h"
#include "lib/agent/graft/graft.h"
#include "lib/agent/graft/insn.h"

/* The tables of the mathematical functions: nobody writes to them, and the program cannot name them. */
#define TABLES "__cudart_"

enum bank {
	BANK_PARAMETERS,	/* and what the driver tells a kernel */
	BANK_COMPILER = 2,	/* a function's own: numbers, places to jump to */
	BANK_VARIABLES,
	BANK_ADDRESSES,		/* of variables and functions */
};

struct walk {
	const struct gt_elf *elf;
	uint8_t *seen;		/* by section */
	unsigned *stack;
	unsigned depth;
	unsigned *first, *next;	/* by section: those that belong to it, as relocations do; 0: none, the last */
	unsigned addresses, variables;	/* sections .nv.constant4 and 3; 0: none */
	char *why;		/* empty: nothing found */
};

static bool begins(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static void visit(struct walk *walk, unsigned section)
{
	if (walk->seen[section])
		return;
	walk->seen[section] = 1;
	walk->stack[walk->depth++] = section;
}

/* Shared memory is a block's; the compiler's constants are a function's. */
static bool is_private(const struct gt_elf *elf, unsigned section)
{
	const char *name;

	if (!section || section >= elf->count)
		return false;
	name = gt_elf_section_name(elf, section);
	return begins(name, ".nv.shared.") || begins(name, ".nv.constant2.");
}

static void follow(struct walk *walk, unsigned index)
{
	const Elf64_Sym *symbol = &walk->elf->symbols[index];
	const char *name = gt_elf_symbol_name(walk->elf, index);

	if (gt_elf_is_code(walk->elf, symbol->st_shndx) || is_private(walk->elf, symbol->st_shndx))
		visit(walk, symbol->st_shndx);
	else if (!symbol->st_shndx)
		snprintf(walk->why, GT_GRAFT_WHY, "it calls %.100s, which its module does not have", name);
	else if (!begins(name, TABLES))
		snprintf(walk->why, GT_GRAFT_WHY, "it uses %.100s, a variable of its module", *name ? name : "(unnamed)");
}

/* The relocations of a section, or only that at one place of it. */
static bool follow_relocations(struct walk *walk, unsigned section, const uint64_t *at)
{
	const struct gt_elf *elf = walk->elf;
	bool found = false;

	for (unsigned i = walk->first[section]; i; i = walk->next[i]) {
		const Elf64_Shdr *relocations = &elf->sections[i];
		size_t step = relocations->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
		Elf64_Rel relocation;

		if (relocations->sh_type != SHT_RELA && relocations->sh_type != SHT_REL)
			continue;
		for (uint64_t n = 0; n < relocations->sh_size / step && !walk->why[0]; n++) {
			memcpy(&relocation, gt_elf_bytes(elf, i) + n * step, sizeof(relocation));
			if (at && relocation.r_offset != *at)
				continue;
			found = true;
			if (ELF64_R_SYM(relocation.r_info) < elf->symbol_count)
				follow(walk, (unsigned)ELF64_R_SYM(relocation.r_info));
			else
				snprintf(walk->why, GT_GRAFT_WHY, "its relocations are damaged");
		}
	}
	return found;
}

/* For the reason: which of the module's constants lies there. */
static const char *constant_at(const struct walk *walk, uint64_t offset)
{
	const struct gt_elf *elf = walk->elf;

	for (unsigned i = 0; walk->variables && i < elf->symbol_count; i++) {
		const Elf64_Sym *symbol = &elf->symbols[i];

		if (symbol->st_shndx == walk->variables && ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT &&
		    offset >= symbol->st_value && offset - symbol->st_value < symbol->st_size)
			return gt_elf_symbol_name(elf, i);
	}
	return "a constant";
}

/* A constant as an operand, where the instruction has one: its bank, its place, is that all of the address? */
static bool read_constant(gt_word word, unsigned *ret_bank, uint64_t *ret_offset, bool *ret_fixed)
{
	unsigned form = gt_op_form(word);
	bool load = gt_op(word) == GT_OP_LDC || gt_op(word) == GT_OP_ULDC;

	if ((form != 3 && form != 5) || gt_op_proper(word) == GT_OPP_BAR)
		return false;
	*ret_bank = gt_bits(word, 54, 5);
	*ret_offset = load ? gt_bits(word, 38, 16) : gt_bits(word, 40, 14) * 4;
	*ret_fixed = gt_op(word) == GT_OP_LDC ? gt_bits(word, 24, 8) == GT_RZ : true;
	return true;
}

static void look_at(struct walk *walk, gt_word word)
{
	uint64_t offset;
	unsigned bank;
	bool fixed;

	if (!read_constant(word, &bank, &offset, &fixed) || bank == BANK_PARAMETERS || bank == BANK_COMPILER)
		return;
	if (bank == BANK_VARIABLES)
		snprintf(walk->why, GT_GRAFT_WHY, "it uses %.100s of its module", constant_at(walk, offset));
	else if (bank != BANK_ADDRESSES || !fixed || !walk->addresses ||
		 !follow_relocations(walk, walk->addresses, &offset))
		snprintf(walk->why, GT_GRAFT_WHY, "it may use variables of its module, or call functions of the driver's (bank %u of constants)",
			 bank);
}

static void look_at_code(struct walk *walk, unsigned text)
{
	const uint8_t *code = gt_elf_bytes(walk->elf, text);

	for (uint64_t at = 0; at + GT_WORD <= walk->elf->sections[text].sh_size && !walk->why[0]; at += GT_WORD)
		look_at(walk, gt_word_read(code + at));
}

/* A function's own constants are named by nothing but the function's code. */
static void visit_constants(struct walk *walk, unsigned text)
{
	for (unsigned i = walk->first[text]; i; i = walk->next[i]) {
		if (is_private(walk->elf, i))
			visit(walk, i);
	}
}

static void walk_from(struct walk *walk, unsigned text)
{
	memset(walk->seen, 0, walk->elf->count);
	walk->depth = 0;
	visit(walk, text);
	while (walk->depth && !walk->why[0]) {
		unsigned section = walk->stack[--walk->depth];

		follow_relocations(walk, section, NULL);
		if (gt_elf_is_code(walk->elf, section)) {
			visit_constants(walk, section);
			look_at_code(walk, section);
		}
	}
}

static void find_sections(struct walk *walk)
{
	for (unsigned i = 1; i < walk->elf->count; i++) {
		const char *name = gt_elf_section_name(walk->elf, i);
		unsigned owner = walk->elf->sections[i].sh_info;

		if (owner < walk->elf->count) {
			walk->next[i] = walk->first[owner];
			walk->first[owner] = i;
		}

		if (!strcmp(name, ".nv.constant4"))
			walk->addresses = i;
		else if (!strcmp(name, ".nv.constant3"))
			walk->variables = i;
	}
}

static int compare_name(const void *key, const void *element)
{
	return strcmp(key, ((const struct gt_elf_kernel *)element)->name);
}

static void look_at_kernel(struct walk *walk, const struct gt_elf_kernel *kernels, unsigned count,
			   struct gt_apart *apart)
{
	const struct gt_elf_kernel *kernel = bsearch(apart->name, kernels, count, sizeof(*kernels), compare_name);

	walk->why = apart->why;
	apart->why[0] = 0;
	if (!kernel)
		snprintf(apart->why, GT_GRAFT_WHY, "its code is not in its module");
	else if (walk->elf->arch < 75 || walk->elf->arch > 90)
		snprintf(apart->why, GT_GRAFT_WHY, "what its machine code uses cannot be told on this architecture");
	else
		walk_from(walk, kernel->text);
	apart->possible = !apart->why[0];
}

int gt_cubin_apart(const void *cubin, size_t size, struct gt_apart *aparts, unsigned count)
{
	struct gt_elf_kernel *kernels = NULL;
	struct walk walk = { 0 };
	struct gt_elf elf;
	unsigned kernel_count;
	const char *why;
	int r = gt_elf_open(cubin, size, &elf, &why);

	if (r < 0)
		return r;
	walk.elf = &elf;
	walk.seen = calloc(elf.count, sizeof(*walk.seen));
	walk.stack = calloc(elf.count, sizeof(*walk.stack));
	walk.first = calloc(elf.count, sizeof(*walk.first));
	walk.next = calloc(elf.count, sizeof(*walk.next));
	r = walk.seen && walk.stack && walk.first && walk.next ? gt_elf_kernels(&elf, &kernels, &kernel_count) : -ENOMEM;
	if (!r) {
		find_sections(&walk);
		for (unsigned i = 0; i < count; i++)
			look_at_kernel(&walk, kernels, kernel_count, &aparts[i]);
	}
	free(kernels);
	free(walk.seen);
	free(walk.stack);
	free(walk.first);
	free(walk.next);
	gt_elf_close(&elf);
	return r;
}
