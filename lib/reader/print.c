/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader/print.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/util/conversion.h"

struct output {
	char *to, *end;		/* end: where the NUL must fit */
};

static size_t fitting(const struct output *out, size_t length)
{
	size_t room = (size_t)(out->end - out->to);

	return length < room ? length : room;
}

static void put(struct output *out, const char *text, size_t length)
{
	length = fitting(out, length);
	memcpy(out->to, text, length);
	out->to += length;
}

static void fill(struct output *out, char with, size_t length)
{
	length = fitting(out, length);
	memset(out->to, with, length);
	out->to += length;
}

static void convert(struct output *out, const struct gt_conversion *c, uint64_t value)
{
	char digits[32];
	int64_t number = c->wide ? (int64_t)value : (int32_t)value;
	size_t length;

	if (!c->wide && c->letter != 'p')
		value = (uint32_t)value;
	switch (c->letter) {
	case 'd':
	case 'i':
		snprintf(digits, sizeof(digits), "%" PRId64, number);
		break;
	case 'u':
		snprintf(digits, sizeof(digits), "%" PRIu64, value);
		break;
	case 'x':
		snprintf(digits, sizeof(digits), c->alternate ? "%#" PRIx64 : "%" PRIx64, value);
		break;
	case 'X':
		snprintf(digits, sizeof(digits), c->alternate ? "%#" PRIX64 : "%" PRIX64, value);
		break;
	case 'p':
		snprintf(digits, sizeof(digits), "0x%" PRIx64, value);
		break;
	default:
		digits[0] = (char)value;
		digits[1] = 0;
	}
	length = strlen(digits);
	if ((size_t)c->width > length)
		fill(out, c->fill, (size_t)c->width - length);
	put(out, digits, length);
}

void gt_print(char *buffer, size_t size, const char *format, size_t format_size, const uint64_t *args,
	      unsigned count)
{
	const char *p = format, *end = format + strnlen(format, format_size);
	struct output out = { buffer, buffer + size - 1 };
	unsigned used = 0;

	while (p < end) {
		struct gt_conversion c;
		size_t length;

		if (*p != '%') {
			put(&out, p++, 1);
		} else if (p + 1 < end && p[1] == '%') {
			put(&out, "%", 1);
			p += 2;
		} else {
			length = gt_conversion_parse(p + 1, end, &c);
			if (length && used < count) {
				convert(&out, &c, args[used++]);
				p += 1 + length;
			} else {
				put(&out, p++, 1);
			}
		}
	}
	*out.to = 0;
}
