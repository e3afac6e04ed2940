/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* The range of a sequence's second byte excludes overlong forms, surrogates and what lies past U+10FFFF. */
struct lead {
	unsigned char first, last, second_min, second_max;
	unsigned length;
};

static const struct lead leads[] = {
	{ 0x00, 0x7f, 0x80, 0xbf, 1 },
	{ 0xc2, 0xdf, 0x80, 0xbf, 2 },
	{ 0xe0, 0xe0, 0xa0, 0xbf, 3 },
	{ 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 },
	{ 0xee, 0xef, 0x80, 0xbf, 3 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 4 },
	{ 0xf1, 0xf3, 0x80, 0xbf, 4 },
	{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

static const struct lead *find_lead(unsigned char byte)
{
	for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++)
		if (byte >= leads[i].first && byte <= leads[i].last)
			return &leads[i];
	return NULL;
}

/* Length of the sequence at the start of `text`, 0 when it is not well formed. */
static size_t sequence(const unsigned char *text, size_t size)
{
	const struct lead *lead = find_lead(text[0]);

	if (!lead || lead->length > size)
		return 0;
	if (lead->length > 1 && (text[1] < lead->second_min || text[1] > lead->second_max))
		return 0;
	for (unsigned i = 2; i < lead->length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return lead->length;
}

size_t gt_utf8_valid_prefix(const char *text, size_t size)
{
	size_t at = 0, length;

	while (at < size) {
		length = sequence((const unsigned char *)text + at, size - at);
		if (!length)
			break;
		at += length;
	}
	return at;
}

char *gt_utf8_clean(const char *text, size_t size, size_t *ret_size)
{
	const size_t replacement = sizeof(REPLACEMENT) - 1;
	size_t from = 0, to = 0, valid;
	char *clean;

	if (size > (SIZE_MAX - 1) / replacement)
		return NULL;
	clean = malloc(size * replacement + 1);
	if (!clean)
		return NULL;
	while (from < size) {
		valid = gt_utf8_valid_prefix(text + from, size - from);
		memcpy(clean + to, text + from, valid);
		from += valid;
		to += valid;
		if (from == size)
			break;
		memcpy(clean + to, REPLACEMENT, replacement);
		to += replacement;
		from++;
	}
	clean[to] = '\0';
	*ret_size = to;
	return clean;
}
