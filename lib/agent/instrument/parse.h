/* SPDX-License-Identifier: Apache-2.0 */
/* The parser's state, shared by its module level (parse.c), declarations (declare.c) and bodies (body.c). */
#ifndef GT_INSTRUMENT_PARSE_H
#define GT_INSTRUMENT_PARSE_H

#include "lib/agent/instrument/lex.h"
#include "lib/agent/instrument/names.h"
#include "lib/agent/instrument/ptx.h"

struct ptx_parser {
	struct gt_ptx *ptx;
	struct gt_ptx_error *error;
	struct ptx_lexer lexer;
	struct ptx_token token;		/* the current one */
	int past_header;
	uint32_t item_start;		/* where the item at module level begins, PTX_NONE: at the token */
	struct ptx_names names;
	struct ptx_kernel *kernel;	/* the one being read, else NULL */
	struct ptx_token *operands;	/* of the current instruction */
	uint32_t operand_count, operand_room;
};

/* Fails at the current token. */
#define gt_parse_fail(p, ...) \
	gt_ptx_fail((p)->ptx, (p)->error, -1, (p)->token.at, __VA_ARGS__)

/* All of these leave the first token after what they read as the current one. */
int gt_parse_next(struct ptx_parser *p);
int gt_parse_skip(struct ptx_parser *p);	/* past the ';' that ends the statement */
int gt_parse_skip_group(struct ptx_parser *p);	/* from an opening bracket past its closing one */
int gt_parse_count(struct ptx_parser *p, uint32_t *ret_value);
int gt_parse_loc(struct ptx_parser *p);
int gt_parse_file(struct ptx_parser *p);
int gt_parse_declaration(struct ptx_parser *p);	/* past its ';' */
/* "( .param ..., ... )": the names become known, a kernel's layout too; *ret_end: place of the ')'. */
int gt_parse_params(struct ptx_parser *p, int of_kernel, uint32_t *ret_count, uint32_t *ret_end);
int gt_parse_body(struct ptx_parser *p, struct ptx_function *function);	/* from '{' past '}' */

int gt_parse_is_declaration(const struct ptx_parser *p);
int gt_token_is(const struct ptx_parser *p, const char *word);
int gt_token_punct(const struct ptx_parser *p, char c);

#define PTX_LAUNCHED_BY_DEVICE \
	"device code takes its address, so that it could be launched without the hidden parameter"

/* Notes it when the word names a kernel: its address is taken. */
void gt_parse_mention(struct ptx_parser *p, const struct ptx_token *word);

#endif
