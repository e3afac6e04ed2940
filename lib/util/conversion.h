/* SPDX-License-Identifier: Apache-2.0 */
/* The conversions of bpf_trace_printk's formats that there are on the GPU: integers and characters. */
#ifndef GT_UTIL_CONVERSION_H
#define GT_UTIL_CONVERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct gt_conversion {
	int width;
	char fill;		/* ' ' or '0' */
	bool alternate, wide;	/* '#'; 64 bits */
	char letter;
};

/* Understand one conversion at `p` (just behind '%'); its length, 0 if it is none of ours. */
static inline size_t gt_conversion_parse(const char *p, const char *end, struct gt_conversion *c)
{
	const char *start = p;
	int longs = 0;

	*c = (struct gt_conversion){ .fill = ' ' };
	for (; p < end && (*p == '#' || *p == '0'); p++) {
		if (*p == '#')
			c->alternate = true;
		else
			c->fill = '0';
	}
	for (; p < end && *p >= '0' && *p <= '9' && c->width < 100; p++)
		c->width = c->width * 10 + (*p - '0');
	for (; p < end && *p == 'l' && longs < 2; p++)
		longs++;
	c->wide = longs > 0;
	if (p == end || !strchr("diuxXpc", *p) || !*p)
		return 0;
	c->letter = *p;
	return (size_t)(p + 1 - start);
}

#endif
