/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "lib/agent/image/fatbin.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A fatbin larger than this is taken for a damaged one. */
#define FATBIN_MAX (UINT64_C(8) << 30)
#define MEMBERS_MAX 65536u

/* Little-endian, as is every machine with a CUDA driver. */
struct fatbin_header {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size;			/* of what follows */
};

struct fatbin_entry {
	uint16_t kind, version;
	uint32_t header_size;		/* of this and what belongs to it; the payload follows */
	uint64_t padded_size;		/* of the payload */
	uint32_t compressed_size;	/* of it without padding, 0: not compressed */
	uint32_t options;		/* of PTX: where those for its compiler begin */
	uint16_t minor, major;
	uint32_t arch;
	uint32_t name, name_length;
	uint64_t flags;
	uint64_t reserved;
	uint64_t full_size;		/* after decompression */
};

_Static_assert(sizeof(struct fatbin_header) == GT_FATBIN_HEADER, "layout of the file format");
_Static_assert(sizeof(struct fatbin_entry) == GT_FATBIN_ENTRY, "layout of the file format");

#define FLAG_DEBUG 0x2u
#define FLAG_LZ4 0x2000u
#define FLAG_ZSTD 0x8000u
#define FLAG_ARCH 0x100000u	/* sm_90a */
#define FLAG_FAMILY 0x200000u	/* sm_100f */

int gt_fatbin_size(const uint8_t *data, uint64_t *ret_size, const char **ret_why)
{
	struct fatbin_header header;

	memcpy(&header, data, sizeof(header));
	if (header.magic != GT_FATBIN_MAGIC || header.version != 1 ||
	    header.header_size < sizeof(header) || header.header_size > 4096) {
		*ret_why = "the fatbin's header is of an unknown kind";
		return -EINVAL;
	}
	if (header.size > FATBIN_MAX) {
		*ret_why = "the fatbin's header gives an impossible size";
		return -EINVAL;
	}
	*ret_size = header.header_size + header.size;
	return 0;
}

int gt_image_add(struct gt_image *image, const struct gt_member *member)
{
	unsigned count = image->member_count;
	struct gt_member *grown;

	/* Doubles: full whenever the count is a power of two. */
	if (!(count & (count - 1))) {
		grown = realloc(image->members, (count ? 2 * (size_t)count : 1) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		image->members = grown;
	}
	image->members[count] = *member;
	image->member_count++;
	return 0;
}

static int read_entry(const struct fatbin_entry *entry, const uint8_t *payload,
		      struct gt_member *ret_member)
{
	struct gt_member member = {
		.kind = entry->kind == 1 ? GT_MEMBER_PTX : entry->kind == 2 ? GT_MEMBER_CUBIN :
			GT_MEMBER_OTHER,
		.arch = entry->arch,
		.arch_suffix = entry->flags & FLAG_ARCH ? 'a' : entry->flags & FLAG_FAMILY ? 'f' : 0,
		.debug = !!(entry->flags & FLAG_DEBUG),
		.payload = payload,
		.stored_size = entry->padded_size,
		.full_size = entry->padded_size,
		.codec = GT_CODEC_NONE,
	};

	if (entry->flags & (FLAG_LZ4 | FLAG_ZSTD)) {
		member.codec = entry->flags & FLAG_ZSTD ? GT_CODEC_ZSTD : GT_CODEC_LZ4;
		member.stored_size = entry->compressed_size;
		member.full_size = entry->full_size;
	}
	if (member.stored_size > entry->padded_size)
		return -EINVAL;
	*ret_member = member;
	return 0;
}

uint64_t gt_fatbin_entry_size(const uint8_t *data, uint64_t room)
{
	struct fatbin_entry entry;

	if (room < sizeof(entry))
		return 0;
	memcpy(&entry, data, sizeof(entry));
	if (entry.header_size < sizeof(entry) || entry.header_size > room ||
	    entry.padded_size > room - entry.header_size)
		return 0;
	return entry.header_size + entry.padded_size;
}

int gt_fatbin_read(const uint8_t *data, uint64_t size, struct gt_image *image,
		   const char **ret_why)
{
	struct fatbin_header header;
	struct fatbin_entry entry;
	struct gt_member member;
	uint64_t at;
	int r;

	if (size < sizeof(header)) {
		*ret_why = "the fatbin is cut off";
		return -EINVAL;
	}
	memcpy(&header, data, sizeof(header));
	for (at = header.header_size; at < size; at += member.entry_size) {
		uint64_t bytes = gt_fatbin_entry_size(data + at, size - at);

		*ret_why = "a member of the fatbin is damaged";
		if (!bytes || image->member_count == MEMBERS_MAX)
			return -EINVAL;
		memcpy(&entry, data + at, sizeof(entry));
		if (read_entry(&entry, data + at + entry.header_size, &member) < 0)
			return -EINVAL;
		member.entry = data + at;
		member.entry_size = bytes;
		r = gt_image_add(image, &member);
		if (r < 0) {
			*ret_why = "out of memory";
			return r;
		}
	}
	return 0;
}

/* ---- writing ---- */

#define FLAGS_HOST 0x11u	/* 64 bits, Linux */

static uint64_t padded(uint64_t size)
{
	return (size + 7) & ~UINT64_C(7);
}

/* Between the header of PTX and its text, where the driver expects it: options for the compiler, here none. */
struct ptx_options {
	uint32_t offset, length;	/* from the header's begin */
	uint64_t text;
};

static bool is_ptx(const struct gt_fatbin_part *part)
{
	return !part->code && part->member->kind == GT_MEMBER_PTX;
}

static uint32_t header_size(const struct gt_fatbin_part *part)
{
	return sizeof(struct fatbin_entry) + (is_ptx(part) ? sizeof(struct ptx_options) : 0);
}

/* Text ends with a NUL. */
static uint64_t payload_size(const struct gt_fatbin_part *part)
{
	return padded(part->code ? part->size : part->member->stored_size + is_ptx(part));
}

static uint64_t part_size(const struct gt_fatbin_part *part)
{
	if (!part->code && part->member->entry)
		return part->member->entry_size;
	return header_size(part) + payload_size(part);
}

/* What PTX's header says beside: ".version 9.0", and that options follow. */
static void describe_ptx(struct fatbin_entry *entry, const struct gt_member *member)
{
	const char *version = memmem(member->payload, member->stored_size, ".version", 8);
	char *point = NULL;

	entry->options = sizeof(*entry);
	entry->major = version ? (uint16_t)strtoul(version + 8, &point, 10) : 0;
	entry->minor = version && *point == '.' ? (uint16_t)strtoul(point + 1, NULL, 10) : 0;
}

/* As nvcc writes it. */
static void write_part(const struct gt_fatbin_part *part, uint8_t *to)
{
	static const struct ptx_options no_options = { .offset = sizeof(struct fatbin_entry) + 8 };
	const struct gt_member *member = part->member;
	char suffix = part->code ? 0 : member->arch_suffix;
	struct fatbin_entry entry = {
		.kind = is_ptx(part) ? 1 : 2, .version = 0x101,
		.header_size = header_size(part), .padded_size = payload_size(part),
		.major = 1, .minor = 8, .arch = part->code ? part->arch : member->arch,
		.flags = FLAGS_HOST | (suffix == 'a' ? FLAG_ARCH : suffix == 'f' ? FLAG_FAMILY : 0),
	};

	if (!part->code && member->entry) {
		memcpy(to, member->entry, member->entry_size);
		return;
	}
	if (is_ptx(part)) {
		describe_ptx(&entry, member);
		memcpy(to + sizeof(entry), &no_options, sizeof(no_options));
	}
	memcpy(to, &entry, sizeof(entry));
	if (part->code)
		memcpy(to + entry.header_size, part->code, part->size);
	else
		memcpy(to + entry.header_size, member->payload, member->stored_size);
}

void *gt_fatbin_write(const struct gt_fatbin_part *parts, unsigned count, size_t *ret_size)
{
	struct fatbin_header header = { .magic = GT_FATBIN_MAGIC, .version = 1, .header_size = sizeof(header) };
	uint64_t at = sizeof(header);
	uint8_t *bytes;

	for (unsigned i = 0; i < count; i++)
		header.size += part_size(&parts[i]);
	bytes = calloc(1, sizeof(header) + header.size);
	if (!bytes)
		return NULL;
	memcpy(bytes, &header, sizeof(header));
	for (unsigned i = 0; i < count; i++) {
		write_part(&parts[i], bytes + at);
		at += part_size(&parts[i]);
	}
	*ret_size = at;
	return bytes;
}
