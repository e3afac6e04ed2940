/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/image/demangle-state.h"

#include <stdarg.h>
#include <string.h>

const struct dm_text gt_dm_nothing = { .left = "", .right = "" };

void gt_dm_fail(struct dm_state *s)
{
	s->failed = 1;
}

void *gt_dm_take(struct dm_state *s, size_t size)
{
	void *memory = s->arena + s->used;

	size = (size + 15) & ~(size_t)15;
	if (s->failed || size > DM_ARENA - s->used) {
		gt_dm_fail(s);
		return NULL;
	}
	s->used += size;
	return memory;
}

const char *gt_dm_join(struct dm_state *s, ...)
{
	const char *piece;
	size_t length = 0;
	va_list args;
	char *text, *to;

	va_start(args, s);
	while ((piece = va_arg(args, const char *)))
		length += strlen(piece);
	va_end(args);
	to = text = gt_dm_take(s, length + 1);
	if (!text)
		return "";
	va_start(args, s);
	while ((piece = va_arg(args, const char *)))
		to = stpcpy(to, piece);
	va_end(args);
	return text;
}

const char *gt_dm_slice(struct dm_state *s, const char *from, size_t length)
{
	char *text = gt_dm_take(s, length + 1);

	if (!text)
		return "";
	memcpy(text, from, length);
	text[length] = '\0';
	return text;
}

const char *gt_dm_whole(struct dm_state *s, const struct dm_text *t)
{
	return *t->right ? gt_dm_join(s, t->left, t->right, NULL) : t->left;
}

int gt_dm_eat(struct dm_state *s, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(s->at, word, n))
		return 0;
	s->at += n;
	return 1;
}

int gt_dm_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

unsigned gt_dm_number(struct dm_state *s)
{
	unsigned n = 0;

	if (!gt_dm_is_digit(*s->at))
		gt_dm_fail(s);
	while (gt_dm_is_digit(*s->at) && n < 100000000)
		n = n * 10 + (unsigned)(*s->at++ - '0');
	return n;
}

unsigned gt_dm_sequence(struct dm_state *s, unsigned base)
{
	unsigned n = 0, digit;

	if (gt_dm_eat(s, "_"))
		return 0;
	for (; *s->at && *s->at != '_' && n < 100000; s->at++) {
		if (gt_dm_is_digit(*s->at))
			digit = (unsigned)(*s->at - '0');
		else if (base == 36 && *s->at >= 'A' && *s->at <= 'Z')
			digit = (unsigned)(*s->at - 'A') + 10;
		else
			break;
		n = n * base + digit;
	}
	if (!gt_dm_eat(s, "_"))
		gt_dm_fail(s);
	return n + 1;
}

void gt_dm_remember(struct dm_state *s, struct dm_text t)
{
	if (s->substitution_count == DM_SUBSTITUTIONS_MAX)
		gt_dm_fail(s);
	else
		s->substitutions[s->substitution_count++] = t;
}

struct dm_text gt_dm_plain_text(const char *left)
{
	return (struct dm_text){ .left = left, .right = "" };
}

const char *gt_dm_cv_words(struct dm_state *s)
{
	const char *words = "";

	for (; *s->at && strchr("rVK", *s->at); s->at++)
		words = gt_dm_join(s, *s->at == 'K' ? " const" : *s->at == 'V' ? " volatile" : " restrict",
			     words, NULL);
	return words;
}
