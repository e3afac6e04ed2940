/* SPDX-License-Identifier: Apache-2.0 */
#include <gputrace/gputrace.h>
#include <stdio.h>
#include <string.h>

#include "lib/export/utf8.h"

/* How long the character is that the text begins with; 0: it is no well-formed one. */
static size_t length_of(const char *text)
{
	unsigned char first = (unsigned char)text[0];
	size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

	return strnlen(text, length) == length && gt_utf8_valid_prefix(text, length) == length ? length : 0;
}

static unsigned decode(const char *text, size_t length)
{
	unsigned value = (unsigned char)text[0];

	if (length > 1)
		value &= 0x7fu >> length;
	for (size_t i = 1; i < length; i++)
		value = value << 6 | ((unsigned char)text[i] & 0x3f);
	return value;
}

/* Does a terminal do something else with it than to show it?  Marks of direction can make text look like other text. */
static int is_control(unsigned c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/* Add a piece if all of it fits; how much is needed in any case. */
static size_t put(char *buffer, size_t size, size_t used, size_t *written, const char *piece, size_t length)
{
	if (*written == used && used + length < size) {
		memcpy(buffer + used, piece, length);
		*written += length;
	}
	return used + length;
}

size_t gputrace_escape(const char *text, char *buffer, size_t size)
{
	size_t used = 0, written = 0;

	while (text && *text) {
		size_t length = length_of(text);
		char code[8];

		if (length && !is_control(decode(text, length))) {
			used = put(buffer, size, used, &written, text, length);
			text += length;
			continue;
		}
		for (size_t i = 0; i < (length ? length : 1); i++) {
			snprintf(code, sizeof(code), "\\x%02x", (unsigned)(unsigned char)text[i]);
			used = put(buffer, size, used, &written, code, 4);
		}
		text += length ? length : 1;
	}
	if (size)
		buffer[written] = 0;
	return used;
}
