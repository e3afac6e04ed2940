/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/elf-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/util/error.h"

#ifndef EM_BPF
#define EM_BPF 247
#endif

static int check_header(Elf *elf, const char *name)
{
	GElf_Ehdr header;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return gt_error(-ENOEXEC, "%s is not an ELF file", name);
	if (header.e_machine != EM_BPF)
		return gt_error(-ENOEXEC, "%s is code for another machine (ELF's number %u), a program perhaps, and not a BPF object "
				"(clang -target bpf makes one)", name, header.e_machine);
	if (gelf_getclass(elf) != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
		return gt_error(-ENOEXEC, "%s is a BPF object of the wrong byte order or class "
				"(use -target bpfel)", name);
	if (header.e_type != ET_REL)
		return gt_error(-ENOEXEC, "%s is a BPF file but no relocatable object", name);
	return 0;
}

static int damaged(const char *name, const char *what)
{
	return gt_error(-ENOEXEC, "%s is damaged: %s", name, what);
}

static int read_sections(struct gt_elf_file *file, const char *name)
{
	size_t count, names, i;
	GElf_Shdr header;
	Elf_Data *data;
	Elf_Scn *scn;

	if (elf_getshdrnum(file->elf, &count) || elf_getshdrstrndx(file->elf, &names))
		return damaged(name, "no section table");
	if (count < 2 || count > 65536)
		return damaged(name, "no sections");
	file->sections = calloc(count, sizeof(*file->sections));
	file->relocs = calloc(count, sizeof(*file->relocs));
	file->reloc_counts = calloc(count, sizeof(*file->reloc_counts));
	if (!file->sections || !file->relocs || !file->reloc_counts)
		return gt_error(-ENOMEM, "out of memory for %s", name);
	file->section_count = (unsigned)count;
	file->sections[0].name = "";
	for (i = 1; i < count; i++) {
		struct gt_elf_section *section = &file->sections[i];

		scn = elf_getscn(file->elf, i);
		if (!scn || !gelf_getshdr(scn, &header))
			return damaged(name, "unreadable section header");
		section->name = elf_strptr(file->elf, names, header.sh_name);
		if (!section->name)
			return damaged(name, "section without a name");
		section->type = header.sh_type;
		section->flags = header.sh_flags;
		section->size = header.sh_size;
		if (header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL)
			continue;
		data = elf_getdata(scn, NULL);
		if (!data || data->d_size != header.sh_size || (data->d_size && !data->d_buf))
			return damaged(name, "section cut short");
		section->data = data->d_buf;
	}
	return 0;
}

static int read_symbols(struct gt_elf_file *file, const char *name)
{
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	GElf_Shdr header;
	GElf_Sym sym;
	size_t i, count;

	while ((scn = elf_nextscn(file->elf, scn)))
		if (gelf_getshdr(scn, &header) && header.sh_type == SHT_SYMTAB)
			break;
	if (!scn)
		return damaged(name, "no symbol table");
	data = elf_getdata(scn, NULL);
	if (!data || header.sh_entsize != sizeof(Elf64_Sym))
		return damaged(name, "unreadable symbol table");
	count = data->d_size / sizeof(Elf64_Sym);
	file->symbols = calloc(count + 1, sizeof(*file->symbols));
	if (!file->symbols)
		return gt_error(-ENOMEM, "out of memory for %s", name);
	for (i = 0; i < count; i++) {
		struct gt_elf_symbol *symbol = &file->symbols[i];

		if (!gelf_getsym(data, (int)i, &sym))
			return damaged(name, "unreadable symbol");
		symbol->name = elf_strptr(file->elf, header.sh_link, sym.st_name);
		if (!symbol->name)
			return damaged(name, "symbol without a name");
		symbol->value = sym.st_value;
		symbol->size = sym.st_size;
		symbol->type = GELF_ST_TYPE(sym.st_info);
		symbol->binding = GELF_ST_BIND(sym.st_info);
		if (sym.st_shndx < file->section_count)
			symbol->section = sym.st_shndx;
	}
	file->symbol_count = (unsigned)count;
	return 0;
}

static int compare_relocs(const void *a, const void *b)
{
	const struct gt_elf_reloc *left = a, *right = b;

	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static int read_relocs_of(struct gt_elf_file *file, Elf_Scn *scn, const GElf_Shdr *header,
			  const char *name)
{
	unsigned target = header->sh_info;
	struct gt_elf_reloc *list;
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t count, i;
	GElf_Rel rel;

	if (!data || target >= file->section_count || header->sh_entsize != sizeof(Elf64_Rel))
		return damaged(name, "unreadable relocations");
	if (file->relocs[target])
		return damaged(name, "two lists of relocations for one section");
	count = data->d_size / sizeof(Elf64_Rel);
	list = calloc(count + 1, sizeof(*list));
	if (!list)
		return gt_error(-ENOMEM, "out of memory for %s", name);
	file->relocs[target] = list;
	for (i = 0; i < count; i++) {
		if (!gelf_getrel(data, (int)i, &rel))
			return damaged(name, "unreadable relocation");
		list[i].offset = rel.r_offset;
		list[i].type = (uint32_t)GELF_R_TYPE(rel.r_info);
		list[i].symbol = (unsigned)GELF_R_SYM(rel.r_info);
		if (list[i].symbol >= file->symbol_count)
			return damaged(name, "relocation against a symbol that does not exist");
	}
	file->reloc_counts[target] = (unsigned)count;
	qsort(list, count, sizeof(*list), compare_relocs);
	return 0;
}

static int read_relocs(struct gt_elf_file *file, const char *name)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	int r;

	while ((scn = elf_nextscn(file->elf, scn))) {
		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_REL)
			continue;
		r = read_relocs_of(file, scn, &header, name);
		if (r < 0)
			return r;
	}
	return 0;
}

int gt_elf_open(const void *data, size_t size, const char *name, struct gt_elf_file *ret_file)
{
	struct gt_elf_file file = {};
	int r;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return gt_error(-ENOTSUP, "this libelf is older than the library was built for");
	if (size < 4 || memcmp(data, ELFMAG, SELFMAG))
		return gt_error(-ENOEXEC, "%s is not an ELF file", name);
	if (size < sizeof(Elf64_Ehdr))
		return damaged(name, "shorter than an ELF header");
	/* libelf takes a plain pointer but only reads. */
	file.elf = elf_memory((char *)data, size);
	if (!file.elf)
		return damaged(name, elf_errmsg(-1));
	r = check_header(file.elf, name);
	if (r >= 0)
		r = read_sections(&file, name);
	if (r >= 0)
		r = read_symbols(&file, name);
	if (r >= 0)
		r = read_relocs(&file, name);
	if (r < 0) {
		gt_elf_close(&file);
		return r;
	}
	*ret_file = file;
	return 0;
}

void gt_elf_close(struct gt_elf_file *file)
{
	unsigned i;

	for (i = 0; file->relocs && i < file->section_count; i++)
		free(file->relocs[i]);
	free(file->relocs);
	free(file->reloc_counts);
	free(file->symbols);
	free(file->sections);
	elf_end(file->elf);
}

unsigned gt_elf_find_section(const struct gt_elf_file *file, const char *name)
{
	unsigned i;

	for (i = 1; i < file->section_count; i++)
		if (!strcmp(file->sections[i].name, name))
			return i;
	return 0;
}

const struct gt_elf_reloc *gt_elf_find_reloc(const struct gt_elf_file *file, unsigned section,
					     uint64_t offset)
{
	struct gt_elf_reloc key = { .offset = offset };

	if (!file->reloc_counts[section])
		return NULL;
	return bsearch(&key, file->relocs[section], file->reloc_counts[section], sizeof(key),
		       compare_relocs);
}

const struct gt_elf_symbol *gt_elf_find_function(const struct gt_elf_file *file, unsigned section,
						 uint64_t offset)
{
	unsigned i;

	for (i = 0; i < file->symbol_count; i++)
		if (file->symbols[i].type == STT_FUNC && file->symbols[i].section == section &&
		    file->symbols[i].value == offset)
			return &file->symbols[i];
	return NULL;
}
