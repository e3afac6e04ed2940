/* SPDX-License-Identifier: Apache-2.0 */
/* Shell patterns without the shell: '*' any text, '?' any one character. */
#ifndef GT_UTIL_GLOB_H
#define GT_UTIL_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Does all of text[0..length) match?  Takes no more than pattern times text steps. */
static inline bool gt_glob(const char *pattern, const char *text, size_t length)
{
	const char *star = NULL;	/* just after the last '*' */
	size_t i = 0, resume = 0;

	for (;;) {
		if (*pattern == '*') {
			star = ++pattern;
			resume = i;
		} else if (i < length && *pattern && (*pattern == '?' || *pattern == text[i])) {
			pattern++;
			i++;
		} else if (i == length && !*pattern) {
			return true;
		} else if (star && resume < length) {
			pattern = star;
			i = ++resume;
		} else {
			return false;
		}
	}
}

#endif
