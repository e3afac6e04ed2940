/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file laid out anew: sections in the order they had, then the section
 * headers, then the program headers, which cover the same sections as before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/edit.h"

struct place {
	uint64_t offset;	/* in the old file */
	unsigned section;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->offset != right->offset)
		return left->offset < right->offset ? -1 : 1;
	return left->section < right->section ? -1 : left->section > right->section;
}

static bool has_bytes(const Elf64_Shdr *section)
{
	return section->sh_type != SHT_NULL && section->sh_type != SHT_NOBITS;
}

static uint64_t round_up(uint64_t value, uint64_t align)
{
	return align > 1 ? (value + align - 1) & ~(align - 1) : value;
}

/* Fills in the sections' new offsets and sizes; the end of the last. */
static uint64_t place_sections(const struct gt_elf *elf, const struct gt_edit *edits, Elf64_Shdr *sections,
			       struct place *places)
{
	uint64_t at = sizeof(Elf64_Ehdr);
	unsigned i;

	for (i = 1; i < elf->count; i++)
		places[i - 1] = (struct place){ elf->sections[i].sh_offset, i };
	qsort(places, elf->count - 1, sizeof(*places), compare_places);
	for (i = 0; i + 1 < elf->count; i++) {
		Elf64_Shdr *section = &sections[places[i].section];
		const struct gt_edit *edit = &edits[places[i].section];

		if (section->sh_type == SHT_NULL)
			continue;
		at = round_up(at, section->sh_addralign);
		section->sh_offset = at;
		if (edit->data)
			section->sh_size = edit->size;
		if (has_bytes(section))
			at += section->sh_size;
	}
	return round_up(at, 8);
}

static void copy_sections(const struct gt_elf *elf, const struct gt_edit *edits, const Elf64_Shdr *sections,
			  uint8_t *image)
{
	for (unsigned i = 1; i < elf->count; i++) {
		if (has_bytes(&sections[i]) && sections[i].sh_size)
			memcpy(image + sections[i].sh_offset, edits[i].data ? edits[i].data : gt_elf_bytes(elf, i),
			       sections[i].sh_size);
	}
}

/* A segment holds what lay within its bytes of the file. */
static void move_segment(const struct gt_elf *elf, const Elf64_Shdr *sections, Elf64_Phdr *segment)
{
	uint64_t begin = UINT64_MAX, end = 0, size = segment->p_filesz;
	unsigned i;

	for (i = 1; i < elf->count; i++) {
		const Elf64_Shdr *old = &elf->sections[i];

		if (!has_bytes(old) || !old->sh_size || old->sh_offset < segment->p_offset ||
		    old->sh_offset + old->sh_size > segment->p_offset + size)
			continue;
		if (sections[i].sh_offset < begin)
			begin = sections[i].sh_offset;
		if (sections[i].sh_offset + sections[i].sh_size > end)
			end = sections[i].sh_offset + sections[i].sh_size;
	}
	if (end) {
		segment->p_offset = begin;
		segment->p_filesz = end - begin;
		segment->p_memsz += segment->p_filesz - size;
		return;
	}
	for (i = 1; i < elf->count; i++)
		if (elf->sections[i].sh_type == SHT_NOBITS && elf->sections[i].sh_offset == segment->p_offset) {
			segment->p_offset = sections[i].sh_offset;
			return;
		}
}

static void write_segments(const struct gt_elf *elf, const Elf64_Shdr *sections, uint64_t at, uint8_t *image)
{
	for (unsigned i = 0; i < elf->header.e_phnum; i++) {
		Elf64_Phdr segment;

		memcpy(&segment, elf->data + elf->header.e_phoff + i * sizeof(segment), sizeof(segment));
		if (segment.p_type == PT_PHDR || segment.p_offset == elf->header.e_phoff)
			segment.p_offset = at;
		else if (segment.p_type == PT_LOAD)
			move_segment(elf, sections, &segment);
		memcpy(image + at + i * sizeof(segment), &segment, sizeof(segment));
	}
}

int gt_layout(const struct gt_elf *elf, const struct gt_edit *edits, void **ret_image, size_t *ret_size)
{
	Elf64_Shdr *sections = malloc(elf->count * sizeof(*sections));
	struct place *places = malloc(elf->count * sizeof(*places));
	Elf64_Ehdr header = elf->header;
	uint8_t *image = NULL;
	uint64_t end, size = 0;

	if (sections && places) {
		memcpy(sections, elf->sections, elf->count * sizeof(*sections));
		end = place_sections(elf, edits, sections, places);
		header.e_shoff = end;
		header.e_phoff = header.e_phnum ? end + elf->count * sizeof(*sections) : 0;
		size = end + elf->count * sizeof(*sections) + header.e_phnum * sizeof(Elf64_Phdr);
		image = calloc(1, size);
	}
	if (image) {
		memcpy(image, &header, sizeof(header));
		copy_sections(elf, edits, sections, image);
		memcpy(image + header.e_shoff, sections, elf->count * sizeof(*sections));
		write_segments(elf, sections, header.e_phoff, image);
	}
	free(sections);
	free(places);
	if (!image)
		return -ENOMEM;
	*ret_image = image;
	*ret_size = size;
	return 0;
}
