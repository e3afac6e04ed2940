/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/graft/elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE_CUDA 190
#define SIZE_LIMIT ((size_t)1 << 30)
#define ALIGN_MAX 65536u

static bool within(uint64_t offset, uint64_t bytes, uint64_t size)
{
	return offset <= size && bytes <= size - offset;
}

static unsigned arch_of(const Elf64_Ehdr *header)
{
	return header->e_ident[EI_ABIVERSION] >= 8 ? header->e_flags >> 8 & 0xff : header->e_flags & 0xff;
}

static bool check_header(const struct gt_elf *elf)
{
	const Elf64_Ehdr *h = &elf->header;

	return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_machine == MACHINE_CUDA &&
	       h->e_shentsize == sizeof(Elf64_Shdr) && h->e_shnum > 1 && h->e_shnum < SHN_LORESERVE &&
	       h->e_shstrndx < h->e_shnum && h->e_ehsize == sizeof(Elf64_Ehdr) &&
	       within(h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr), elf->size) &&
	       (!h->e_phnum || (h->e_phentsize == sizeof(Elf64_Phdr) &&
				within(h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr), elf->size)));
}

static bool is_string_table(const struct gt_elf *elf, unsigned index)
{
	const Elf64_Shdr *section;

	if (!index || index >= elf->count)
		return false;
	section = &elf->sections[index];
	return section->sh_type == SHT_STRTAB && section->sh_size &&
	       !elf->data[section->sh_offset + section->sh_size - 1];
}

static bool check_section(const struct gt_elf *elf, const Elf64_Shdr *section)
{
	uint64_t align = section->sh_addralign;

	return (section->sh_type == SHT_NULL || section->sh_type == SHT_NOBITS ||
		within(section->sh_offset, section->sh_size, elf->size)) &&
	       section->sh_size < SIZE_LIMIT && align <= ALIGN_MAX && !(align & (align - 1));
}

static bool read_sections(struct gt_elf *elf)
{
	uint64_t total = 0;
	unsigned i;

	for (i = 0; i < elf->count; i++) {
		if (!check_section(elf, &elf->sections[i]))
			return false;
		if (elf->sections[i].sh_type != SHT_NULL && elf->sections[i].sh_type != SHT_NOBITS)
			total += elf->sections[i].sh_size;
	}
	/* Sections of a real file lie beside each other; else a small file could claim any amount of memory. */
	if (total > elf->size)
		return false;
	if (!is_string_table(elf, elf->header.e_shstrndx))
		return false;
	for (i = 0; i < elf->count; i++)
		if (elf->sections[i].sh_name >= elf->sections[elf->header.e_shstrndx].sh_size)
			return false;
	for (i = 1; i < elf->count; i++) {
		if (elf->sections[i].sh_type == SHT_SYMTAB && !elf->symtab)
			elf->symtab = i;
		if (elf->sections[i].sh_type == GT_SECTION_INFO &&
		    !strcmp(gt_elf_section_name(elf, i), ".nv.info"))
			elf->info = i;
	}
	return elf->symtab && elf->sections[elf->symtab].sh_type == SHT_SYMTAB &&
	       is_string_table(elf, elf->sections[elf->symtab].sh_link);
}

static int read_symbols(struct gt_elf *elf)
{
	const Elf64_Shdr *section = &elf->sections[elf->symtab];
	unsigned i;

	elf->symbol_count = (unsigned)(section->sh_size / sizeof(Elf64_Sym));
	elf->symbols = malloc((elf->symbol_count + (size_t)1) * sizeof(Elf64_Sym));
	if (!elf->symbols)
		return -ENOMEM;
	memcpy(elf->symbols, gt_elf_bytes(elf, elf->symtab), elf->symbol_count * sizeof(Elf64_Sym));
	for (i = 0; i < elf->symbol_count; i++)
		if (elf->symbols[i].st_name >= elf->sections[section->sh_link].sh_size)
			return -EINVAL;
	return 0;
}

int gt_elf_open(const void *data, size_t size, struct gt_elf *ret_elf, const char **ret_why)
{
	struct gt_elf elf = { .data = data, .size = size };
	int r;

	*ret_why = "the machine code's ELF header is damaged";
	if (size < sizeof(elf.header) || size > SIZE_LIMIT)
		return -EINVAL;
	memcpy(&elf.header, data, sizeof(elf.header));
	if (!check_header(&elf))
		return -EINVAL;
	elf.count = elf.header.e_shnum;
	elf.arch = arch_of(&elf.header);
	elf.sections = malloc(elf.count * sizeof(*elf.sections));
	if (!elf.sections) {
		*ret_why = "out of memory";
		return -ENOMEM;
	}
	memcpy(elf.sections, elf.data + elf.header.e_shoff, elf.count * sizeof(*elf.sections));
	*ret_why = "the machine code's ELF sections are damaged, or lie in one another";
	r = read_sections(&elf) ? read_symbols(&elf) : -EINVAL;
	if (r < 0) {
		if (r == -ENOMEM)
			*ret_why = "out of memory";
		gt_elf_close(&elf);
		return r;
	}
	*ret_elf = elf;
	return 0;
}

void gt_elf_close(struct gt_elf *elf)
{
	free(elf->sections);
	free(elf->symbols);
	memset(elf, 0, sizeof(*elf));
}

const char *gt_elf_section_name(const struct gt_elf *elf, unsigned section)
{
	return (const char *)gt_elf_bytes(elf, elf->header.e_shstrndx) + elf->sections[section].sh_name;
}

const char *gt_elf_symbol_name(const struct gt_elf *elf, unsigned symbol)
{
	return (const char *)gt_elf_bytes(elf, elf->sections[elf->symtab].sh_link) +
	       elf->symbols[symbol].st_name;
}

unsigned gt_elf_param_base(unsigned arch)
{
	return arch < 75 ? 0 : arch < 90 ? 0x160 : arch < 100 ? 0x210 : 0x380;
}

static bool begins(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool gt_elf_is_code(const struct gt_elf *elf, unsigned section)
{
	return section && section < elf->count && elf->sections[section].sh_type == SHT_PROGBITS &&
	       elf->sections[section].sh_flags & SHF_EXECINSTR;
}

static void note_companion(struct gt_elf_companions *of, unsigned *place, unsigned section)
{
	of->twice |= *place != 0;
	*place = section;
}

struct gt_elf_companions *gt_elf_find_companions(const struct gt_elf *elf)
{
	struct gt_elf_companions *all = calloc(elf->count, sizeof(*all));

	for (unsigned i = 1; all && i < elf->count; i++) {
		const Elf64_Shdr *section = &elf->sections[i];
		struct gt_elf_companions *of;
		const char *name = gt_elf_section_name(elf, i);

		if (section->sh_info >= elf->count || !section->sh_info || section->sh_type == SHT_NOBITS ||
		    section->sh_type == SHT_NULL)
			continue;
		of = &all[section->sh_info];
		if (section->sh_type == GT_SECTION_INFO && begins(name, ".nv.info."))
			note_companion(of, &of->info, i);
		else if (begins(name, ".nv.constant0."))
			note_companion(of, &of->constants, i);
		else if (section->sh_type == SHT_REL && section->sh_size)
			note_companion(of, &of->rel, i);
		else if (section->sh_type == SHT_RELA && section->sh_size)
			note_companion(of, &of->rela, i);
	}
	return all;
}

static int compare_kernels(const void *a, const void *b)
{
	return strcmp(((const struct gt_elf_kernel *)a)->name, ((const struct gt_elf_kernel *)b)->name);
}

static bool is_kernel(const struct gt_elf *elf, const Elf64_Sym *symbol)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_other & GT_SYMBOL_KERNEL &&
	       symbol->st_shndx && symbol->st_shndx < elf->count &&
	       elf->sections[symbol->st_shndx].sh_type == SHT_PROGBITS;
}

int gt_elf_kernels(const struct gt_elf *elf, struct gt_elf_kernel **ret_kernels, unsigned *ret_count)
{
	struct gt_elf_companions *all = gt_elf_find_companions(elf);
	struct gt_elf_kernel *kernels;
	unsigned i, count = 0;

	for (i = 0; i < elf->symbol_count; i++)
		count += is_kernel(elf, &elf->symbols[i]);
	kernels = calloc(count + (size_t)1, sizeof(*kernels));
	if (!all || !kernels) {
		free(all);
		free(kernels);
		return -ENOMEM;
	}
	for (count = 0, i = 0; i < elf->symbol_count; i++) {
		unsigned text = elf->symbols[i].st_shndx;

		if (is_kernel(elf, &elf->symbols[i]))
			kernels[count++] = (struct gt_elf_kernel){
				.name = gt_elf_symbol_name(elf, i), .symbol = i, .text = text,
				.info = all[text].info, .constants = all[text].constants,
				.rel = all[text].rel, .rela = all[text].rela, .twice = all[text].twice,
			};
	}
	free(all);
	qsort(kernels, count, sizeof(*kernels), compare_kernels);
	*ret_kernels = kernels;
	*ret_count = count;
	return 0;
}

struct gt_note_walk gt_note_begin(const struct gt_elf *elf, unsigned section)
{
	const uint8_t *at = gt_elf_bytes(elf, section);

	return (struct gt_note_walk){ at, at + elf->sections[section].sh_size };
}

bool gt_note_next(struct gt_note_walk *walk, struct gt_note_record *ret_record)
{
	size_t room = (size_t)(walk->end - walk->at);
	struct gt_note_record record = { .start = walk->at, .size = 4 };

	if (room < 4)
		return false;
	record.format = walk->at[0];
	record.attribute = walk->at[1];
	record.value = (uint16_t)(walk->at[2] | walk->at[3] << 8);
	if (record.format < GT_FORMAT_NONE || record.format > GT_FORMAT_SIZED)
		return false;
	if (record.format == GT_FORMAT_SIZED) {
		record.payload = walk->at + 4;
		record.size += record.value;
	}
	if (record.size > room)
		return false;
	walk->at += record.size;
	*ret_record = record;
	return true;
}
