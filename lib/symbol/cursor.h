/* SPDX-License-Identifier: Apache-2.0 */
/* Reads numbers from bytes that may say anything: past the end there are zeros, and `failed`. */
#ifndef GT_SYMBOL_CURSOR_H
#define GT_SYMBOL_CURSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct gt_cursor {
	const uint8_t *at, *end;
	bool failed;
};

/* The next `size` bytes; NULL: there are not so many. */
static inline const uint8_t *gt_cursor_take(struct gt_cursor *cursor, uint64_t size)
{
	const uint8_t *bytes = cursor->at;

	if (cursor->failed || size > (uint64_t)(cursor->end - cursor->at)) {
		cursor->failed = true;
		return NULL;
	}
	cursor->at += size;
	return bytes;
}

/* Little-endian, of at most 8 bytes. */
static inline uint64_t gt_cursor_unsigned(struct gt_cursor *cursor, unsigned size)
{
	const uint8_t *bytes = gt_cursor_take(cursor, size);
	uint64_t value = 0;

	for (unsigned i = 0; bytes && i < size; i++)
		value |= (uint64_t)bytes[i] << 8 * i;
	return value;
}

static inline int64_t gt_cursor_signed(struct gt_cursor *cursor, unsigned size)
{
	uint64_t sign = 1ull << (8 * size - 1);

	return (int64_t)((gt_cursor_unsigned(cursor, size) ^ sign) - sign);
}

/* LEB128; what does not fit in 64 bits is lost. */
static inline uint64_t gt_cursor_leb(struct gt_cursor *cursor, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)gt_cursor_unsigned(cursor, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= ~0ull << shift;
	return value;
}

#endif
