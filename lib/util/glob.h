/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell patterns without the shell: '*' any text, '?' any one character.  Where sets
 * are asked for also [abc], [a-z] and [!abc] one character; names of C++ functions
 * have brackets of their own.
 */
#ifndef GT_UTIL_GLOB_H
#define GT_UTIL_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The length of the set that the pattern begins with, and whether c is in it; 0: a
 * bracket that nothing closes, which stands for itself.
 */
static inline size_t gt_glob_set(const char *pattern, char c, bool *ret_in)
{
	bool negated = pattern[1] == '!' || pattern[1] == '^', in = false;
	size_t first = negated ? 2 : 1, i = first;

	/* A bracket that comes first is a member. */
	for (; pattern[i] && (pattern[i] != ']' || i == first); i++) {
		unsigned char from = (unsigned char)pattern[i], to = from;

		if (pattern[i + 1] == '-' && pattern[i + 2] && pattern[i + 2] != ']') {
			to = (unsigned char)pattern[i + 2];
			i += 2;
		}
		in |= (unsigned char)c >= from && (unsigned char)c <= to;
	}
	*ret_in = in != negated;
	return pattern[i] ? i + 1 : 0;
}

/* How much of the pattern the character takes; 0: it does not match. */
static inline size_t gt_glob_one(const char *pattern, char c, bool sets)
{
	size_t length;
	bool in;

	if (sets && *pattern == '[') {
		length = gt_glob_set(pattern, c, &in);
		if (length)
			return in ? length : 0;
	}
	return *pattern == '?' || *pattern == c;
}

static inline bool gt_glob_match(const char *pattern, const char *text, size_t length, bool sets)
{
	const char *star = NULL;	/* just after the last '*' */
	size_t i = 0, resume = 0, step;

	for (;;) {
		if (*pattern == '*') {
			star = ++pattern;
			resume = i;
		} else if (i < length && *pattern && (step = gt_glob_one(pattern, text[i], sets))) {
			pattern += step;
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

/* Does all of text[0..length) match?  Takes no more than pattern times text steps. */
static inline bool gt_glob(const char *pattern, const char *text, size_t length)
{
	return gt_glob_match(pattern, text, length, false);
}

/* The same with sets; each character may cost a walk over a set. */
static inline bool gt_glob_sets(const char *pattern, const char *text, size_t length)
{
	return gt_glob_match(pattern, text, length, true);
}

#endif
