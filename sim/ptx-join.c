/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linking: the texts one after the other, with .version, .target and .address_size
 * of all but the first one blanked out.  The text with the newest .version goes
 * first, since that is what the others may need.  Names that only one text should
 * see are not kept apart; two of the same name are an error of the machine.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sim/image.h"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

/* First character at or after `at` that is neither blank nor comment. */
static size_t skip(const struct sim_text *t, size_t at)
{
	while (at < t->length) {
		if (isspace((unsigned char)t->text[at])) {
			at++;
		} else if (t->length - at >= 2 && !memcmp(&t->text[at], "//", 2)) {
			while (at < t->length && t->text[at] != '\n')
				at++;
		} else if (t->length - at >= 2 && !memcmp(&t->text[at], "/*", 2)) {
			at += 2;
			while (at < t->length && memcmp(&t->text[at - 1], "*/", 2))
				at++;
			at += at < t->length;
		} else {
			break;
		}
	}
	return at;
}

static size_t word_end(const struct sim_text *t, size_t at)
{
	while (at < t->length && is_word(t->text[at]))
		at++;
	return at;
}

static bool word_is(const struct sim_text *t, size_t at, size_t end, const char *word)
{
	return end - at == strlen(word) && !memcmp(&t->text[at], word, end - at);
}

/*
 * Walk over the three directives at the head.  Returns .version as major * 100 +
 * minor, 0 if there is none.  Blanks the directives out if asked.
 */
static unsigned head(struct sim_text *t, bool blank)
{
	unsigned version = 0;
	size_t at = skip(t, 0);

	for (;;) {
		size_t start = at, end = word_end(t, at), value;

		if (!word_is(t, at, end, ".version") && !word_is(t, at, end, ".target") &&
		    !word_is(t, at, end, ".address_size"))
			return version;
		value = skip(t, end);
		if (word_is(t, at, end, ".version")) {
			char *dot;

			version = 100 * (unsigned)strtoul(&t->text[value], &dot, 10);
			if (*dot == '.')
				version += (unsigned)strtoul(dot + 1, NULL, 10);
		}
		end = word_end(t, value);
		at = skip(t, end);
		while (at < t->length && t->text[at] == ',') {
			end = word_end(t, skip(t, at + 1));
			at = skip(t, end);
		}
		for (size_t i = start; blank && i < end; i++)
			if (t->text[i] != '\n')
				t->text[i] = ' ';
		if (at == start)
			return version;
	}
}

CUresult sim_ptx_join(struct sim_text *parts, size_t count, struct sim_text *ret)
{
	size_t first = 0, length = 0, at = 0;
	unsigned newest = 0;
	char *text;

	for (size_t i = 0; i < count; i++) {
		unsigned version = head(&parts[i], false);

		length += parts[i].length + 1;
		if (version > newest) {
			newest = version;
			first = i;
		}
	}
	text = malloc(length + 1);
	if (!text)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < count; i++) {
		/* The chosen one, then the others in their order. */
		struct sim_text *part = &parts[i == 0 ? first : i <= first ? i - 1 : i];

		if (i)
			head(part, true);
		memcpy(&text[at], part->text, part->length);
		at += part->length;
		text[at++] = '\n';
	}
	text[at] = '\0';
	ret->text = text;
	ret->length = at;
	return CUDA_SUCCESS;
}
