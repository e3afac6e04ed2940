/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fatbins: nvcc's container of PTX and machine code for several architectures.
 * Every field is read with a check against the end of the container.
 */
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "sim/image.h"

#define WRAPPER_MAGIC	0x466243b1u
#define FATBIN_MAGIC	0xba55ed50u
#define TEXT_MAX	(256ull << 20)
#define KIND_PTX	1
#define KIND_CODE	2	/* machine code, or what cuLinkComplete gives here */
#define FLAG_LZ4	0x2000
#define FLAG_ZSTD	0x8000
#define FLAG_ARCH_ONLY	0x100000	/* sm_90a: runs on 90 only */
#define FLAG_FAMILY	0x200000	/* sm_100f: runs on later ones of the same generation */

struct wrapper {
	uint32_t magic, version;
	uint64_t data, second;
};

struct header {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size;		/* of what follows */
};

struct entry {
	uint16_t kind, mark;
	uint32_t header_size;
	uint64_t padded_size;
	uint32_t compressed_size, options;
	uint16_t minor, major;
	uint32_t arch;
	uint32_t name, name_length;
	uint64_t flags;
	uint64_t reserved;
	uint64_t size;		/* uncompressed; 0: stored */
};

_Static_assert(sizeof(struct wrapper) == 24, "fatbin wrapper");
_Static_assert(sizeof(struct header) == 16, "fatbin header");
_Static_assert(sizeof(struct entry) == 64, "fatbin entry");

static uint32_t magic_of(const void *image)
{
	uint32_t magic;

	memcpy(&magic, image, sizeof(magic));
	return magic;
}

bool sim_is_fatbin(const void *image, size_t size)
{
	static const unsigned char first[2] = { 0xb1, 0x50 };	/* so that short text is not read past its end */
	const unsigned char *bytes = image;

	if (size < 4 || (bytes[0] != first[0] && bytes[0] != first[1]))
		return false;
	return magic_of(image) == WRAPPER_MAGIC || magic_of(image) == FATBIN_MAGIC;
}

static bool runs_on(const struct entry *entry, const char *payload, unsigned arch)
{
	if (entry->kind == KIND_CODE)
		return entry->arch == arch && sim_image_is_linked(payload, entry->padded_size);
	if (entry->kind != KIND_PTX || entry->arch > arch)
		return false;
	if (entry->flags & FLAG_ARCH_ONLY)
		return entry->arch == arch;
	if (entry->flags & FLAG_FAMILY)
		return entry->arch / 10 == arch / 10;
	return true;
}

/* Is a the better choice: no PTX, or for a newer architecture, then of a newer PTX version? */
static bool better(const struct entry *a, const struct entry *b)
{
	if (a->kind != b->kind)
		return a->kind == KIND_CODE;
	if (a->arch != b->arch)
		return a->arch > b->arch;
	if (a->major != b->major)
		return a->major > b->major;
	return a->minor > b->minor;
}

static CUresult expand(const struct entry *entry, const char *payload, struct sim_text *ret)
{
	bool stored = !(entry->flags & (FLAG_LZ4 | FLAG_ZSTD)) || !entry->size;
	uint64_t size = stored ? entry->padded_size : entry->size;
	uint64_t in = entry->compressed_size;
	bool ok;
	char *text;

	if (size > TEXT_MAX || (!stored && in > entry->padded_size))
		return CUDA_ERROR_INVALID_IMAGE;
	text = malloc(size + 1);
	if (!text)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (stored) {
		memcpy(text, payload, size);
		ok = true;
	} else if (entry->flags & FLAG_ZSTD) {
		ok = ZSTD_decompress(text, size, payload, in) == size;
	} else {
		ok = in <= INT32_MAX &&
		     LZ4_decompress_safe(payload, text, (int)in, (int)size) == (int)size;
	}
	if (!ok) {
		free(text);
		return CUDA_ERROR_INVALID_IMAGE;
	}
	text[size] = '\0';
	ret->text = text;
	ret->length = strnlen(text, size);	/* padded with NULs */
	return CUDA_SUCCESS;
}

/* The entries of [at, end); the best one that runs on the device. */
static CUresult choose(const char *at, const char *end, unsigned arch, struct sim_text *ret)
{
	struct entry entry, best = { 0 };
	const char *payload = NULL;

	while (end - at >= (ptrdiff_t)sizeof(entry)) {
		size_t left = (size_t)(end - at);

		memcpy(&entry, at, sizeof(entry));
		if (entry.header_size < sizeof(entry) || entry.header_size > left ||
		    entry.padded_size > left - entry.header_size)
			return CUDA_ERROR_INVALID_IMAGE;
		if (runs_on(&entry, at + entry.header_size, arch) && (!payload || better(&entry, &best))) {
			best = entry;
			payload = at + entry.header_size;
		}
		at += entry.header_size + entry.padded_size;
	}
	if (!payload)
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	return best.kind == KIND_CODE ? sim_image_text(payload, best.padded_size, arch, ret) :
					expand(&best, payload, ret);
}

CUresult sim_fatbin_text(const void *image, size_t size, unsigned arch, struct sim_text *ret)
{
	struct header header;

	if (magic_of(image) == WRAPPER_MAGIC) {
		struct wrapper wrapper;

		/* The wrapper points elsewhere in the process, so a stated size says nothing there. */
		if (size < sizeof(wrapper))
			return CUDA_ERROR_INVALID_IMAGE;
		memcpy(&wrapper, image, sizeof(wrapper));
		image = (const void *)(uintptr_t)wrapper.data;
		size = SIM_IMAGE_UNBOUNDED;
		if (!image || !sim_is_fatbin(image, size) || magic_of(image) != FATBIN_MAGIC)
			return CUDA_ERROR_INVALID_IMAGE;
	}
	if (size < sizeof(header))
		return CUDA_ERROR_INVALID_IMAGE;
	memcpy(&header, image, sizeof(header));
	if (header.header_size < sizeof(header) || header.header_size > size ||
	    header.size > size - header.header_size || header.size > PTRDIFF_MAX)
		return CUDA_ERROR_INVALID_IMAGE;
	return choose((const char *)image + header.header_size,
		      (const char *)image + header.header_size + header.size, arch, ret);
}
