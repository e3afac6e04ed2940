/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows.  Running out of memory sticks and is asked for at the end. */
#ifndef GT_INSTRUMENT_TEXT_H
#define GT_INSTRUMENT_TEXT_H

#include <stddef.h>

struct ptx_text {
	char *data;
	size_t length, room;
	int failed;
};

void gt_text_add(struct ptx_text *text, const char *data, size_t length);
void gt_text_puts(struct ptx_text *text, const char *string);
/* For short pieces, below 512 bytes. */
void gt_text_printf(struct ptx_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void gt_text_free(struct ptx_text *text);

#endif
