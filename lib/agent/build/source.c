/* SPDX-License-Identifier: Apache-2.0 */
/* The code in a program's image, unpacked when somebody asks for it. */
#include <stdlib.h>
#include <string.h>

#include "lib/agent/build/build.h"

/* Two independent 64-bit mixes; the bytes are the program's own, so chance is the only enemy. */
static void hash_bytes(const uint8_t *bytes, size_t size, uint64_t hash[2])
{
	uint64_t a = (hash[0] ^ 0x9e3779b97f4a7c15ull) ^ size, b = (hash[1] ^ 0xc2b2ae3d27d4eb4full) + size;

	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = 0;

		memcpy(&word, bytes + i, size - i < 8 ? size - i : 8);
		a = (a ^ word) * 0xff51afd7ed558ccdull;
		a ^= a >> 32;
		b = (b + word) * 0x9fb21c651e98df25ull;
		b = b << 29 | b >> 35;
	}
	hash[0] = a;
	hash[1] = b;
}

uint64_t gt_hash_bytes(const void *bytes, size_t size)
{
	uint64_t hash[2] = { 0 };

	hash_bytes(bytes, size, hash);
	return hash[0];
}

/* As it is stored: an image that is known already need not be unpacked. */
static void hash_member(const struct gt_member *member, uint64_t hash[2])
{
	if (member)
		hash_bytes(member->payload, member->stored_size, hash);
}

bool gt_source_open(const void *code, unsigned arch, struct gt_source *source)
{
	*source = (struct gt_source){ .arch = arch };
	if (!source->arch || gt_image_open(code, &source->image, &source->damage))
		return false;
	source->ptx_member = gt_image_choose(&source->image, source->arch, GT_MEMBER_PTX);
	source->cubin_member = gt_image_choose(&source->image, source->arch, GT_MEMBER_CUBIN);
	if (!source->ptx_member && !source->cubin_member) {
		gt_image_close(&source->image);
		return false;
	}
	hash_member(source->ptx_member, source->hash);
	hash_member(source->cubin_member, source->hash);
	return true;
}

/* What is made of it differs, so it is kept beside what is made of the same code otherwise. */
void gt_source_set_apart(struct gt_source *source)
{
	source->apart = true;
	source->hash[1] = ~source->hash[1];
}

unsigned gt_source_members(const struct gt_source *source, struct gt_fatbin_part parts[2])
{
	unsigned count = 0;

	if (source->cubin_member)
		parts[count++].member = source->cubin_member;
	if (source->ptx_member)
		parts[count++].member = source->ptx_member;
	return count;
}

/* Once: a member that cannot be unpacked is as if it were not there. */
static void unpack(const struct gt_member **member, void **code, size_t *size, const char **damage)
{
	if (*member && !*code && gt_member_extract(*member, code, size, damage)) {
		*code = NULL;
		*member = NULL;
	}
}

const char *gt_source_ptx(struct gt_source *source)
{
	unpack(&source->ptx_member, &source->ptx, &source->ptx_size, &source->damage);
	return source->ptx;
}

const void *gt_source_cubin(struct gt_source *source)
{
	unpack(&source->cubin_member, &source->cubin, &source->cubin_size, &source->damage);
	return source->cubin;
}

void gt_source_close(struct gt_source *source)
{
	free(source->ptx);
	free(source->cubin);
	gt_image_close(&source->image);
}
