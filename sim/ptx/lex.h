/* SPDX-License-Identifier: Apache-2.0 */
/* Words of PTX text. */
#ifndef SIM_PTX_LEX_H
#define SIM_PTX_LEX_H

#include <stddef.h>
#include <stdint.h>

enum ptx_token_kind {
	TOK_END,
	TOK_NAME,	/* identifier, %register, $label */
	TOK_DOT,	/* .word, with any ::word that follows; text excludes the dot */
	TOK_INT,
	TOK_FLOAT,	/* decimal or 0d: value as f64 bits; 0f: as f32 bits with is_f32 */
	TOK_STRING,
	TOK_PUNCT,	/* one character, or two for << >> <= >= == != && || */
	TOK_BAD,	/* text is a message */
};

struct ptx_token {
	enum ptx_token_kind kind;
	const char *text;
	unsigned length;
	unsigned line;
	int punct;		/* character; for two-character ones see PUNCT2 */
	int is_f32, is_unsigned;
	uint64_t value;
};

#define PUNCT2(a, b) ((a) << 8 | (b))

struct ptx_lexer {
	const char *at, *end;
	unsigned line;
};

void ptx_lex_init(struct ptx_lexer *lexer, const char *text, size_t length);
void ptx_lex_next(struct ptx_lexer *lexer, struct ptx_token *ret_token);

/* Go to the end of the current line: directives such as .loc end there. */
void ptx_lex_skip_line(struct ptx_lexer *lexer);

#endif
