/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/map_use.h"

#include <errno.h>
#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct walk {
	Elf *elf;
	size_t names;		/* section of the sections' names */
	void (*fn)(void *data, const char *section, const char *map);
	void *data;
};

/* NULL for a section that is not there. */
static const char *section_name(struct walk *walk, size_t index, GElf_Shdr *ret_header)
{
	Elf_Scn *section = elf_getscn(walk->elf, index);

	if (!section || !gelf_getshdr(section, ret_header))
		return NULL;
	return elf_strptr(walk->elf, walk->names, ret_header->sh_name);
}

static int is_maps(struct walk *walk, size_t index)
{
	GElf_Shdr header;
	const char *name = section_name(walk, index, &header);

	return name && !strcmp(name, ".maps");
}

/* The references made from one section; `rel` is the table of them. */
static void walk_section(struct walk *walk, const char *from, Elf_Scn *rel, size_t symbol_table)
{
	Elf_Scn *symbols = elf_getscn(walk->elf, symbol_table);
	Elf_Data *rels = elf_getdata(rel, NULL);
	Elf_Data *syms = symbols ? elf_getdata(symbols, NULL) : NULL;
	GElf_Shdr header;
	GElf_Sym symbol;
	GElf_Rel r;

	if (!rels || !syms || !gelf_getshdr(symbols, &header))
		return;
	for (int i = 0; gelf_getrel(rels, i, &r); i++) {
		const char *name;

		if (!gelf_getsym(syms, (int)GELF_R_SYM(r.r_info), &symbol) ||
		    !is_maps(walk, symbol.st_shndx))
			continue;
		name = elf_strptr(walk->elf, header.sh_link, symbol.st_name);
		if (name)
			walk->fn(walk->data, from, name);
	}
}

static int walk_elf(struct walk *walk)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header, code;

	if (elf_kind(walk->elf) != ELF_K_ELF || elf_getshdrstrndx(walk->elf, &walk->names))
		return -ENOEXEC;
	while ((section = elf_nextscn(walk->elf, section))) {
		const char *from;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_REL)
			continue;
		from = section_name(walk, header.sh_info, &code);
		if (from && code.sh_flags & SHF_EXECINSTR)
			walk_section(walk, from, section, header.sh_link);
	}
	return 0;
}

int gt_map_use_walk(const void *elf, size_t size,
		    void (*fn)(void *data, const char *section, const char *map), void *data)
{
	struct walk walk = { .fn = fn, .data = data };
	char *copy = malloc(size ? size : 1);
	int r;

	/* libelf wants bytes that it could write to. */
	if (!copy)
		return -ENOMEM;
	memcpy(copy, elf, size);
	elf_version(EV_CURRENT);
	walk.elf = elf_memory(copy, size);
	r = walk.elf ? walk_elf(&walk) : -ENOEXEC;
	elf_end(walk.elf);
	free(copy);
	return r;
}
