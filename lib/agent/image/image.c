/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "lib/agent/image/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/image/cubin.h"
#include "lib/agent/image/fatbin.h"

#define WRAPPER_MAGIC 0x466243b1u

/* PTX longer than this is not looked at; the parser would refuse it. */
#define PTX_MAX (UINT64_C(1) << 30)

/* What cudart gives to the driver, and what lies in .nvFatBinSegment. */
struct fatbin_wrapper {
	uint32_t magic, version;
	uint64_t data;
	uint64_t second;	/* version 2: NULL-terminated array of relocatable fatbins already linked in */
};

static int open_fatbin(const uint8_t *data, struct gt_image *image, const char **ret_why)
{
	uint64_t size;
	int r = gt_fatbin_size(data, &size, ret_why);

	image->kind = GT_IMAGE_FATBIN;
	return r ? r : gt_fatbin_read(data, size, image, ret_why);
}

static int open_wrapper(const void *code, struct gt_image *image, const char **ret_why)
{
	struct fatbin_wrapper wrapper;

	memcpy(&wrapper, code, sizeof(wrapper));
	if ((wrapper.version != 1 && wrapper.version != 2) || !wrapper.data) {
		*ret_why = "the fatbin's wrapper is of an unknown version";
		return -EINVAL;
	}
	/* Version 2's relocatable members are already linked into those of `data`. */
	return open_fatbin((const uint8_t *)(uintptr_t)wrapper.data, image, ret_why);
}

static int open_cubin(const uint8_t *data, struct gt_image *image, const char **ret_why)
{
	struct gt_member member = { .kind = GT_MEMBER_CUBIN, .payload = data };
	int r = gt_cubin_measure(data, &member, ret_why);

	if (r < 0)
		return r;
	image->kind = GT_IMAGE_CUBIN;
	member.full_size = member.stored_size;
	return gt_image_add(image, &member);
}

/* The value of ".target sm_90a" in a header, 0 if it has none. */
static unsigned ptx_target(const char *text, size_t length, char *ret_suffix)
{
	const char *sm = memmem(text, length, ".target", 7);
	unsigned arch = 0;

	if (sm)
		sm = memmem(sm, length - (size_t)(sm - text), "sm_", 3);
	if (!sm)
		return 0;
	for (sm += 3; *sm >= '0' && *sm <= '9' && arch < 10000; sm++)
		arch = arch * 10 + (unsigned)(*sm - '0');
	*ret_suffix = *sm == 'a' || *sm == 'f' ? *sm : 0;
	return arch;
}

/* Text has no length of its own; bytes that no text holds end the look at once. */
static int open_ptx(const char *text, struct gt_image *image, const char **ret_why)
{
	struct gt_member member = {
		.kind = GT_MEMBER_PTX, .payload = (const uint8_t *)text, .codec = GT_CODEC_NONE,
	};
	size_t i, length;

	for (i = 0; i < 4; i++)
		if ((unsigned char)text[i] < ' ' && !strchr("\t\n\r\f\v", text[i])) {
			*ret_why = "the image is neither PTX, cubin nor fatbin";
			return -EINVAL;
		}
	length = strnlen(text, PTX_MAX);
	member.arch = length < PTX_MAX && memmem(text, length, ".version", 8) ?
		ptx_target(text, length, &member.arch_suffix) : 0;
	if (!member.arch) {
		*ret_why = "the image is neither PTX, cubin nor fatbin";
		return -EINVAL;
	}
	member.stored_size = member.full_size = length;
	image->kind = GT_IMAGE_PTX;
	return gt_image_add(image, &member);
}

int gt_image_open(const void *code, struct gt_image *ret_image, const char **ret_why)
{
	struct gt_image image = { .kind = GT_IMAGE_UNKNOWN };
	const char *why = "";
	uint32_t magic;
	int r;

	/* Never past a NUL before it is known that there are four bytes. */
	if (!code || !((const char *)code)[0]) {
		*ret_why = "the image is empty";
		return -EINVAL;
	}
	if (strnlen(code, 4) < 4) {
		*ret_why = "the image is neither PTX, cubin nor fatbin";
		return -EINVAL;
	}
	memcpy(&magic, code, sizeof(magic));
	if (magic == WRAPPER_MAGIC)
		r = open_wrapper(code, &image, &why);
	else if (magic == GT_FATBIN_MAGIC)
		r = open_fatbin(code, &image, &why);
	else if (!memcmp(code, ELFMAG, SELFMAG))
		r = open_cubin(code, &image, &why);
	else
		r = open_ptx(code, &image, &why);
	if (r < 0) {
		gt_image_close(&image);
		*ret_why = r == -ENOMEM ? "out of memory" : why;
		return r;
	}
	*ret_image = image;
	return 0;
}

void gt_image_close(struct gt_image *image)
{
	free(image->members);
	memset(image, 0, sizeof(*image));
}

/*
 * How well a member suits the device; 0: not at all.  'a' code runs on its own
 * architecture alone, 'f' code within the major version from its own minor on,
 * plain machine code too, plain PTX on everything newer.
 */
static unsigned suits(const struct gt_member *member, unsigned arch)
{
	int exact = member->arch == arch;
	int family = member->arch / 10 == arch / 10 && member->arch <= arch;
	unsigned rank;

	if (member->arch_suffix == 'a' ? !exact :
	    member->arch_suffix == 'f' || member->kind == GT_MEMBER_CUBIN ? !family :
	    member->arch > arch)
		return 0;
	rank = member->arch_suffix == 'a' ? 3 : member->arch_suffix == 'f' ? 2 : 1;
	return 4 * member->arch + rank;
}

const struct gt_member *gt_image_choose(const struct gt_image *image, unsigned arch,
					enum gt_member_kind kind)
{
	const struct gt_member *best = NULL;
	unsigned i, rank, best_rank = 0;

	for (i = 0; i < image->member_count; i++) {
		if (image->members[i].kind != kind)
			continue;
		rank = suits(&image->members[i], arch);
		if (rank > best_rank) {
			best_rank = rank;
			best = &image->members[i];
		}
	}
	return best;
}
