/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lex.h"

void ptx_lex_init(struct ptx_lexer *lexer, const char *text, size_t length)
{
	const char *nul = memchr(text, 0, length);

	/* The driver reads a C string; what follows a NUL is padding. */
	lexer->at = text;
	lexer->end = nul ? nul : text + length;
	lexer->line = 1;
}

static int peek(const struct ptx_lexer *l, size_t n)
{
	return (size_t)(l->end - l->at) > n ? (unsigned char)l->at[n] : -1;
}

static int is_name_start(int c)
{
	return c >= 0 && (isalpha(c) || c == '_' || c == '$' || c == '%');
}

static int is_name_part(int c)
{
	return c >= 0 && (isalnum(c) || c == '_' || c == '$');
}

void ptx_lex_skip_line(struct ptx_lexer *l)
{
	while (l->at < l->end && *l->at != '\n')
		l->at++;
}

/* Returns -1 at a comment that is never closed. */
static int skip_blank(struct ptx_lexer *l)
{
	int c;

	while ((c = peek(l, 0)) >= 0) {
		if (c == '\n') {
			l->line++;
			l->at++;
		} else if (isspace(c)) {
			l->at++;
		} else if (c == '/' && peek(l, 1) == '/') {
			ptx_lex_skip_line(l);
		} else if (c == '/' && peek(l, 1) == '*') {
			l->at += 2;
			while (!(peek(l, 0) == '*' && peek(l, 1) == '/')) {
				if (peek(l, 0) < 0)
					return -1;
				if (peek(l, 0) == '\n')
					l->line++;
				l->at++;
			}
			l->at += 2;
		} else if (c == '#') {
			/* cpp line markers */
			ptx_lex_skip_line(l);
		} else {
			break;
		}
	}
	return 0;
}

static void bad(struct ptx_token *t, const char *message)
{
	t->kind = TOK_BAD;
	t->text = message;
	t->length = strlen(message);
}

static void lex_dot(struct ptx_lexer *l, struct ptx_token *t)
{
	l->at++;
	t->kind = TOK_DOT;
	t->text = l->at;
	for (;;) {
		while (is_name_part(peek(l, 0)))
			l->at++;
		if (peek(l, 0) != ':' || peek(l, 1) != ':' || !is_name_part(peek(l, 2)))
			break;
		l->at += 2;
	}
	t->length = l->at - t->text;
	if (!t->length)
		bad(t, "a lone '.'");
}

/* 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX */
static int lex_hex_float(struct ptx_lexer *l, struct ptx_token *t)
{
	int c = peek(l, 1), digits, i;

	if (peek(l, 0) != '0' || !(c == 'f' || c == 'F' || c == 'd' || c == 'D'))
		return 0;
	t->is_f32 = c == 'f' || c == 'F';
	digits = t->is_f32 ? 8 : 16;
	for (i = 0; i < digits; i++) {
		c = peek(l, 2 + i);
		if (c < 0 || !isxdigit(c))
			return 0;
		t->value = t->value << 4 | (isdigit(c) ? c - '0' : (c | 32) - 'a' + 10);
	}
	l->at += 2 + digits;
	t->kind = TOK_FLOAT;
	return 1;
}

static void lex_decimal_float(struct ptx_lexer *l, struct ptx_token *t, size_t length)
{
	char text[64], *end;
	double value;

	if (length >= sizeof(text)) {
		bad(t, "number too long");
		return;
	}
	memcpy(text, l->at, length);
	text[length] = 0;
	value = strtod(text, &end);
	if (*end) {
		bad(t, "malformed number");
		return;
	}
	memcpy(&t->value, &value, sizeof(value));
	t->kind = TOK_FLOAT;
	l->at += length;
}

static void lex_integer(struct ptx_lexer *l, struct ptx_token *t)
{
	unsigned base = 10, digit;
	size_t digits = 0;
	int c;

	if (peek(l, 0) == '0') {
		c = peek(l, 1);
		base = c == 'x' || c == 'X' ? 16 : c == 'b' || c == 'B' ? 2 : 8;
		l->at += base == 8 ? 0 : 2;
	}
	for (; (c = peek(l, 0)) >= 0 && isxdigit(c); l->at++, digits++) {
		digit = isdigit(c) ? c - '0' : (c | 32) - 'a' + 10;
		if (digit >= base)
			break;
		if (t->value > (UINT64_MAX - digit) / base) {
			bad(t, "integer does not fit 64 bits");
			return;
		}
		t->value = t->value * base + digit;
	}
	if (peek(l, 0) == 'U' || peek(l, 0) == 'u') {
		t->is_unsigned = 1;
		l->at++;
	}
	if (!digits || is_name_part(peek(l, 0)))
		bad(t, "malformed number");
	else
		t->kind = TOK_INT;
}

static void lex_number(struct ptx_lexer *l, struct ptx_token *t)
{
	size_t n = 0;
	int c;

	if (lex_hex_float(l, t))
		return;
	t->value = 0;
	while (peek(l, n) >= 0 && isdigit(peek(l, n)))
		n++;
	c = peek(l, n);
	if (c != '.' && (c != 'e' && c != 'E')) {
		lex_integer(l, t);
		return;
	}
	if (c == '.')
		for (n++; peek(l, n) >= 0 && isdigit(peek(l, n)); n++)
			;
	c = peek(l, n);
	if (c == 'e' || c == 'E') {
		c = peek(l, ++n);
		if (c == '+' || c == '-')
			n++;
		while (peek(l, n) >= 0 && isdigit(peek(l, n)))
			n++;
	}
	lex_decimal_float(l, t, n);
}

static void lex_string(struct ptx_lexer *l, struct ptx_token *t)
{
	l->at++;
	t->kind = TOK_STRING;
	t->text = l->at;
	while (peek(l, 0) != '"') {
		if (peek(l, 0) < 0 || peek(l, 0) == '\n') {
			bad(t, "string is not closed");
			return;
		}
		l->at += peek(l, 0) == '\\' && peek(l, 1) > 0 && peek(l, 1) != '\n' ? 2 : 1;
	}
	t->length = l->at - t->text;
	l->at++;
}

static void lex_punct(struct ptx_lexer *l, struct ptx_token *t)
{
	static const char pairs[][3] = { "<<", ">>", "<=", ">=", "==", "!=", "&&", "||" };
	unsigned i;

	t->kind = TOK_PUNCT;
	t->punct = peek(l, 0);
	for (i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (peek(l, 0) == pairs[i][0] && peek(l, 1) == pairs[i][1]) {
			t->punct = PUNCT2(pairs[i][0], pairs[i][1]);
			t->length = 2;
			l->at += 2;
			return;
		}
	if (!strchr("{}()[],;:@!|+-*/%<>=&^~?", t->punct)) {
		bad(t, "a character that PTX does not use");
		return;
	}
	t->length = 1;
	l->at++;
}

void ptx_lex_next(struct ptx_lexer *l, struct ptx_token *t)
{
	int c;

	memset(t, 0, sizeof(*t));
	if (skip_blank(l)) {
		t->line = l->line;
		bad(t, "comment is not closed");
		return;
	}
	t->line = l->line;
	t->text = l->at;
	c = peek(l, 0);
	if (c < 0) {
		t->kind = TOK_END;
	} else if (c == '.') {
		lex_dot(l, t);
	} else if (isdigit(c)) {
		lex_number(l, t);
	} else if (c == '"') {
		lex_string(l, t);
	} else if (is_name_start(c) && (c != '%' || is_name_part(peek(l, 1)))) {
		t->kind = TOK_NAME;
		for (l->at++; is_name_part(peek(l, 0)); l->at++)
			;
		t->length = l->at - t->text;
	} else {
		lex_punct(l, t);
	}
}
