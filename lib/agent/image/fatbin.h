/* SPDX-License-Identifier: Apache-2.0 */
/* The container that nvcc puts compiled code in. */
#ifndef GT_IMAGE_FATBIN_H
#define GT_IMAGE_FATBIN_H

#include "lib/agent/image/image.h"

#define GT_FATBIN_MAGIC 0xba55ed50u
#define GT_FATBIN_HEADER 16u

enum gt_codec { GT_CODEC_NONE, GT_CODEC_LZ4, GT_CODEC_ZSTD };

/* Whole size by its header at `data` (16 bytes); 0 and *ret_size, or -EINVAL. */
int gt_fatbin_size(const uint8_t *data, uint64_t *ret_size, const char **ret_why);

/* Bytes of the member whose first GT_FATBIN_ENTRY bytes are at `entry`; 0: more than the `room` left, or damaged. */
#define GT_FATBIN_ENTRY 64u
uint64_t gt_fatbin_entry_size(const uint8_t *entry, uint64_t room);

/* Adds the members of the fatbin in data[0..size) to the image; 0, -EINVAL, -ENOMEM. */
int gt_fatbin_read(const uint8_t *data, uint64_t size, struct gt_image *image,
		   const char **ret_why);

int gt_image_add(struct gt_image *image, const struct gt_member *member);

#endif
