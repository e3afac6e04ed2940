/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a fatbin: opened, a member chosen, all members decompressed. */
#include <stdlib.h>
#include <string.h>

#include "lib/agent/image/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_image image = { .kind = GT_IMAGE_FATBIN };
	const char *why;
	uint64_t said;
	size_t full;
	void *out;
	unsigned i;

	/* As gt_image_open() does, but the size in the header must be true here. */
	if (size < GT_FATBIN_HEADER || gt_fatbin_size(data, &said, &why) < 0)
		return 0;
	if (!gt_fatbin_read(data, said < size ? said : size, &image, &why)) {
		gt_image_choose(&image, 90, GT_MEMBER_PTX);
		gt_image_choose(&image, 120, GT_MEMBER_CUBIN);
		for (i = 0; i < image.member_count && i < 16; i++) {
			if (image.members[i].full_size > 1 << 20)
				continue;
			if (!gt_member_extract(&image.members[i], &out, &full, &why)) {
				if (image.members[i].kind == GT_MEMBER_PTX && strlen(out) != full)
					abort();
				free(out);
			}
		}
	}
	gt_image_close(&image);
	return 0;
}
