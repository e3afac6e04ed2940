/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/graft/calls.h"

#include <stdlib.h>
#include <string.h>

struct walk {
	const struct gt_elf *elf;
	uint8_t *marks;
	uint64_t size;		/* bytes of the code */
};

static void mark(struct walk *walk, uint64_t at, unsigned marks)
{
	if (at < walk->size)
		walk->marks[at / GT_WORD] |= (uint8_t)marks;
}

/* Code that is ready to be loaded lacks nothing but what the driver has. */
static unsigned mark_of_symbol(const struct gt_elf *elf, uint64_t symbol)
{
	if (!symbol || symbol >= elf->symbol_count)
		return 0;
	if (elf->symbols[symbol].st_shndx == SHN_UNDEF)
		return GT_MARK_DRIVER;
	return gt_elf_is_code(elf, elf->symbols[symbol].st_shndx) ? GT_MARK_FUNCTION : 0;
}

static void mark_relocated(struct walk *walk, unsigned section)
{
	const Elf64_Shdr *relocations = &walk->elf->sections[section];
	size_t step = relocations->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	Elf64_Rel relocation;	/* Elf64_Rela begins alike */

	for (uint64_t i = 0; i < relocations->sh_size / step; i++) {
		memcpy(&relocation, gt_elf_bytes(walk->elf, section) + i * step, sizeof(relocation));
		mark(walk, relocation.r_offset,
		     GT_MARK_NAMED | GT_MARK_LINKED | mark_of_symbol(walk->elf, ELF64_R_SYM(relocation.r_info)));
	}
}

/* Records of something else than places. */
static bool is_plain(uint8_t attribute)
{
	switch (attribute) {
	case GT_ATTR_MAX_THREADS:
	case GT_ATTR_REQNTID:
	case GT_ATTR_PARAM_CBANK:
	case GT_ATTR_KPARAM:
	case GT_ATTR_KPARAM_V2:
	case GT_ATTR_COOP_MASKS:
	case GT_ATTR_SW_WAR:
	case GT_ATTR_API_VERSION:
		return true;
	}
	return false;
}

/* Whatever could be the place of an instruction in a record of which we do not know that it is something else. */
static void mark_recorded(struct walk *walk, unsigned info)
{
	struct gt_note_walk records = gt_note_begin(walk->elf, info);
	struct gt_note_record record;

	while (gt_note_next(&records, &record)) {
		unsigned marks = GT_MARK_NAMED | (record.attribute == GT_ATTR_SYSCALLS ? GT_MARK_DRIVER : 0);

		for (unsigned i = 0; record.payload && !is_plain(record.attribute) && i + 4u <= record.value; i += 4)
			if (!(gt_read32(record.payload + i) % GT_WORD))
				mark(walk, gt_read32(record.payload + i), marks);
	}
}

uint8_t *gt_mark_code(const struct gt_elf *elf, unsigned text, const struct gt_elf_companions *of)
{
	struct walk walk = { .elf = elf, .size = elf->sections[text].sh_size };

	walk.marks = calloc(walk.size / GT_WORD + 1, sizeof(*walk.marks));
	if (!walk.marks)
		return NULL;
	if (of->info)
		mark_recorded(&walk, of->info);
	if (of->rel)
		mark_relocated(&walk, of->rel);
	if (of->rela)
		mark_relocated(&walk, of->rela);
	return walk.marks;
}

enum gt_call gt_call_of(gt_word word, unsigned marks)
{
	unsigned proper = gt_op_proper(word);
	bool within = proper == GT_OPP_CALL && gt_has_target(word) && !(marks & GT_MARK_LINKED);

	if (within || (proper != GT_OPP_CALL && proper != GT_OPP_CALL_ABS && proper != GT_OPP_JMP && proper != GT_OPP_JMX))
		return GT_CALL_NONE;
	if (marks & GT_MARK_DRIVER)
		return GT_CALL_DRIVER;
	return marks & GT_MARK_FUNCTION ? GT_CALL_FUNCTION : GT_CALL_UNKNOWN;
}
