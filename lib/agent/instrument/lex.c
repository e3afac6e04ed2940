/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "lib/agent/instrument/lex.h"

#include <string.h>

/* Own table: <ctype.h> depends on the program's locale. */
static int is_word(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c == '%' || c == '.' || c >= 0x80;
}

static int is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/* Skips white space and comments; -1 when a comment has no end. */
static int skip_blank(struct ptx_lexer *lexer)
{
	const char *s = lexer->text, *end;
	uint32_t i = lexer->pos, n = lexer->length;

	for (;;) {
		while (i < n && is_space(s[i]))
			i++;
		if (n - i < 2 || s[i] != '/')
			break;
		if (s[i + 1] == '/') {
			end = memchr(s + i, '\n', n - i);
			i = end ? (uint32_t)(end - s) : n;
		} else if (s[i + 1] == '*') {
			end = memmem(s + i + 2, n - i - 2, "*/", 2);
			if (!end) {
				lexer->pos = i;
				return -1;
			}
			i = (uint32_t)(end - s) + 2;
		} else {
			break;
		}
	}
	lexer->pos = i;
	return 0;
}

/* A "::" belongs to the word (.shared::cta), a single ":" ends a label. */
static uint32_t word_end(const struct ptx_lexer *lexer, uint32_t i)
{
	const char *s = lexer->text;
	uint32_t n = lexer->length;

	for (;;) {
		while (i < n && is_word((unsigned char)s[i]))
			i++;
		if (n - i < 2 || s[i] != ':' || s[i + 1] != ':')
			return i;
		i += 2;
	}
}

/* One past the closing quote, 0 when there is none. */
static uint32_t string_end(const struct ptx_lexer *lexer, uint32_t i)
{
	for (i++; i < lexer->length; i++) {
		if (lexer->text[i] == '"')
			return i + 1;
		if (lexer->text[i] == '\\' && i + 1 < lexer->length)
			i++;
	}
	return 0;
}

void gt_lex(struct ptx_lexer *lexer, struct ptx_token *ret_token)
{
	struct ptx_token token = { .kind = PTX_END };
	uint32_t end;

	if (skip_blank(lexer) < 0)
		token.kind = PTX_BROKEN;
	token.at = lexer->pos;
	if (token.kind == PTX_BROKEN || lexer->pos == lexer->length) {
		*ret_token = token;
		return;
	}
	token.c = lexer->text[token.at];
	if (is_word((unsigned char)token.c)) {
		token.kind = PTX_WORD;
		end = word_end(lexer, token.at);
	} else if (token.c == '"') {
		end = string_end(lexer, token.at);
		token.kind = end ? PTX_STRING : PTX_BROKEN;
	} else {
		token.kind = PTX_PUNCT;
		end = token.at + 1;
	}
	if (token.kind != PTX_BROKEN) {
		token.length = end - token.at;
		lexer->pos = end;
	}
	*ret_token = token;
}

void gt_lex_peek(const struct ptx_lexer *lexer, struct ptx_token *ret_token)
{
	struct ptx_lexer ahead = *lexer;

	gt_lex(&ahead, ret_token);
}
