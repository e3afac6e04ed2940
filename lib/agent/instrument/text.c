/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/instrument/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gt_text_add(struct ptx_text *text, const char *data, size_t length)
{
	size_t room = text->room ? text->room : 4096;
	char *grown;

	if (text->failed)
		return;
	while (room - text->length <= length) {
		if (room > SIZE_MAX / 4) {
			text->failed = 1;
			return;
		}
		room *= 2;
	}
	if (room != text->room) {
		grown = realloc(text->data, room);
		if (!grown) {
			text->failed = 1;
			return;
		}
		text->data = grown;
		text->room = room;
	}
	memcpy(text->data + text->length, data, length);
	text->length += length;
	text->data[text->length] = '\0';
}

void gt_text_puts(struct ptx_text *text, const char *string)
{
	gt_text_add(text, string, strlen(string));
}

void gt_text_printf(struct ptx_text *text, const char *format, ...)
{
	char piece[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(piece, sizeof(piece), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(piece))
		text->failed = 1;
	else
		gt_text_add(text, piece, (size_t)n);
}

void gt_text_free(struct ptx_text *text)
{
	free(text->data);
}
