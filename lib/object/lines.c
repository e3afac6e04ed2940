/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/util/error.h"

#define BTF_EXT_MAGIC 0xeb9f

/* The file format, in the kernel's documentation under "BPF Type Format". */
struct ext_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t header_length;
	uint32_t func_info_offset, func_info_length;
	uint32_t line_info_offset, line_info_length;
};

struct section_header {
	uint32_t name_offset, count;
};

struct line_info {
	uint32_t insn_offset, file_offset, line_offset, line_column;
};

/* What is left of .BTF.ext's line information while it is read. */
struct cursor {
	const unsigned char *at;
	size_t left;
};

static const void *take(struct cursor *cursor, size_t size)
{
	const void *at = cursor->at;

	if (size > cursor->left)
		return NULL;
	cursor->at += size;
	cursor->left -= size;
	return at;
}

static int find_line_info(const struct gt_elf_file *file, struct cursor *ret_cursor)
{
	unsigned index = gt_elf_find_section(file, ".BTF.ext");
	const struct gt_elf_section *section = &file->sections[index];
	struct ext_header header;
	size_t left;

	if (!index || !section->data || section->size < sizeof(header))
		return -ENOENT;
	memcpy(&header, section->data, sizeof(header));
	if (header.magic != BTF_EXT_MAGIC || header.header_length > section->size)
		return -ENOENT;
	left = section->size - header.header_length;
	if (header.line_info_offset > left || header.line_info_length > left - header.line_info_offset)
		return -ENOENT;
	ret_cursor->at = (const unsigned char *)section->data + header.header_length +
			 header.line_info_offset;
	ret_cursor->left = header.line_info_length;
	return 0;
}

static int add_line(struct gt_lines *lines, const struct btf *btf, const struct line_info *info,
		    unsigned insn)
{
	struct gt_line *more = lines->lines;
	const char *file = btf__str_by_offset(btf, info->file_offset);
	const char *text = btf__str_by_offset(btf, info->line_offset);

	/* Doubling: a power of two means full. */
	if (!(lines->count & (lines->count - 1))) {
		more = realloc(more, (lines->count ? lines->count * 2 : 1) * sizeof(*more));
		if (!more)
			return gt_error(-ENOMEM, "out of memory for line information");
		lines->lines = more;
	}
	more[lines->count++] = (struct gt_line){
		.insn = insn,
		.line = info->line_column >> 10,
		.column = info->line_column & 0x3ff,
		.file = file ? file : "",
		.text = text ? text : "",
	};
	return 0;
}

static int compare_lines(const void *a, const void *b)
{
	const struct gt_line *left = a, *right = b;

	return left->insn < right->insn ? -1 : left->insn > right->insn;
}

int gt_lines_add(struct gt_lines *lines, const struct gt_elf_file *file, const struct btf *btf,
		 unsigned section, uint64_t offset, uint64_t size, unsigned at)
{
	unsigned first = lines->count;
	struct section_header header;
	struct line_info info;
	struct cursor cursor;
	uint32_t record, i;
	const void *bytes;
	const char *name;
	int r;

	if (!btf || find_line_info(file, &cursor) < 0)
		return 0;
	bytes = take(&cursor, sizeof(record));
	if (!bytes)
		return 0;
	memcpy(&record, bytes, sizeof(record));
	if (record < sizeof(info))
		return 0;
	while ((bytes = take(&cursor, sizeof(header)))) {
		memcpy(&header, bytes, sizeof(header));
		name = btf__str_by_offset(btf, header.name_offset);
		for (i = 0; i < header.count && (bytes = take(&cursor, record)); i++) {
			memcpy(&info, bytes, sizeof(info));
			if (!name || strcmp(name, file->sections[section].name) ||
			    info.insn_offset < offset || info.insn_offset - offset >= size)
				continue;
			r = add_line(lines, btf, &info, at + (unsigned)(info.insn_offset - offset) / 8);
			if (r < 0)
				return r;
		}
	}
	if (lines->count > first)
		qsort(lines->lines + first, lines->count - first, sizeof(*lines->lines),
		      compare_lines);
	return 0;
}
