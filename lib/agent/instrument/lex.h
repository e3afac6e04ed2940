/* SPDX-License-Identifier: Apache-2.0 */
/* Splits PTX text into tokens; white space and comments vanish. */
#ifndef GT_INSTRUMENT_LEX_H
#define GT_INSTRUMENT_LEX_H

#include <stdint.h>

enum ptx_token_kind {
	PTX_END,	/* of the text */
	PTX_WORD,	/* directive, opcode with modifiers, identifier or number */
	PTX_STRING,
	PTX_PUNCT,	/* any other single character, in `c` */
	PTX_BROKEN,	/* comment or string without an end */
};

struct ptx_token {
	uint32_t at, length;	/* place in the text */
	uint8_t kind;		/* enum ptx_token_kind */
	char c;			/* first character */
};

struct ptx_lexer {
	const char *text;
	uint32_t length, pos;
};

void gt_lex(struct ptx_lexer *lexer, struct ptx_token *ret_token);

/* The next token, which stays to be read. */
void gt_lex_peek(const struct ptx_lexer *lexer, struct ptx_token *ret_token);

#endif
