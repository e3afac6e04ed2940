/* SPDX-License-Identifier: Apache-2.0 */
/* The ELF side of a BPF object: sections, symbols, relocations; all bounds checked. */
#ifndef GT_OBJECT_ELF_FILE_H
#define GT_OBJECT_ELF_FILE_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

struct gt_elf_section {
	const char *name;	/* never NULL */
	uint32_t type;
	uint64_t flags;
	const void *data;	/* NULL for SHT_NOBITS */
	size_t size;
};

struct gt_elf_symbol {
	const char *name;	/* never NULL */
	uint64_t value, size;
	unsigned section;	/* 0: undefined or special */
	int type, binding;	/* STT_*, STB_* */
};

struct gt_elf_reloc {
	uint64_t offset;
	uint32_t type;		/* R_BPF_* */
	unsigned symbol;	/* index, below symbol_count */
};

struct gt_elf_file {
	Elf *elf;
	struct gt_elf_section *sections;
	unsigned section_count;
	struct gt_elf_symbol *symbols;
	unsigned symbol_count;
	struct gt_elf_reloc **relocs;	/* one list for each section, by offset */
	unsigned *reloc_counts;
};

#define GT_R_BPF_64_64 1u
#define GT_R_BPF_64_32 10u

/*
 * Open a BPF object in memory, which must stay.  -ENOEXEC with gt_error() text
 * when it is not ELF, not BPF, or damaged; -ENOMEM.
 */
int gt_elf_open(const void *data, size_t size, const char *name, struct gt_elf_file *ret_file);
void gt_elf_close(struct gt_elf_file *file);

/* Index of a section, 0 when there is none of that name. */
unsigned gt_elf_find_section(const struct gt_elf_file *file, const char *name);

/* Relocation at a byte offset of a section, or NULL. */
const struct gt_elf_reloc *gt_elf_find_reloc(const struct gt_elf_file *file, unsigned section,
					     uint64_t offset);

/* The function symbol that starts at an offset of a section, or NULL. */
const struct gt_elf_symbol *gt_elf_find_function(const struct gt_elf_file *file, unsigned section,
						 uint64_t offset);

#endif
