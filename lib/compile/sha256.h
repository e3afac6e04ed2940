/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4), for names of cached files. */
#ifndef GT_COMPILE_SHA256_H
#define GT_COMPILE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define GT_SHA256_BYTES 32

struct gt_sha256 {
	uint32_t state[8];
	uint64_t bytes;
	uint8_t block[64];
};

void gt_sha256_begin(struct gt_sha256 *sha);
void gt_sha256_add(struct gt_sha256 *sha, const void *data, size_t size);
void gt_sha256_end(struct gt_sha256 *sha, uint8_t digest[GT_SHA256_BYTES]);

#endif
