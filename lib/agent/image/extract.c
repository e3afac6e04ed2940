/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lib/agent/image/fatbin.h"

/* More than any real image has; a header may claim anything. */
#define MEMBER_MAX (UINT64_C(1) << 30)

static int decompress(const struct gt_member *member, char *out)
{
	size_t full = (size_t)member->full_size;

	switch (member->codec) {
	case GT_CODEC_NONE:
		memcpy(out, member->payload, full);
		return 0;
	case GT_CODEC_LZ4:
		return LZ4_decompress_safe((const char *)member->payload, out, (int)member->stored_size,
					   (int)full) == (int)full ? 0 : -EINVAL;
	case GT_CODEC_ZSTD:
		return ZSTD_decompress(out, full, member->payload, (size_t)member->stored_size) == full ?
			0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

int gt_member_extract(const struct gt_member *member, void **ret_data, size_t *ret_size,
		      const char **ret_why)
{
	size_t size = (size_t)member->full_size;
	char *data, *smaller;
	int r;

	if (member->full_size > MEMBER_MAX || member->stored_size > INT_MAX) {
		*ret_why = "the member's header gives an impossible size";
		return -EINVAL;
	}
	data = malloc(size + 1);
	if (!data) {
		*ret_why = "out of memory";
		return -ENOMEM;
	}
	r = decompress(member, data);
	if (r < 0) {
		free(data);
		*ret_why = "the member cannot be decompressed";
		return r;
	}
	data[size] = '\0';
	if (member->kind == GT_MEMBER_PTX) {
		size = strlen(data);
		smaller = realloc(data, size + 1);
		data = smaller ? smaller : data;
	}
	*ret_data = data;
	*ret_size = size;
	return 0;
}
