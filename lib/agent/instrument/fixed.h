/* SPDX-License-Identifier: Apache-2.0 */
/* Which statements of a probe give the same wherever in its thread's life they run. */
#ifndef GT_INSTRUMENT_FIXED_H
#define GT_INSTRUMENT_FIXED_H

#include "lib/agent/instrument/lex.h"
#include "lib/agent/instrument/ptx.h"

/* What a statement of a probe takes of its arguments. */
#define PTX_ARGUMENT_FIXED 1u	/* one that is the same all through the kernel */
#define PTX_ARGUMENT_SIZE 2u	/* the bytes of the access */

struct ptx_fixed_register {
	struct ptx_range name;
	uint32_t definitions;
	uint32_t statement;	/* the one that defines it, if that is fixed, else PTX_NONE */
	uint8_t needed;		/* for the owner's use */
};

struct ptx_fixed {
	const struct gt_ptx *ptx;
	const struct ptx_function *function;
	/* By statement, not NULL: PTX_ARGUMENT_*. */
	const uint8_t *arguments;
	struct ptx_fixed_register *registers;
	uint32_t count, room;
	uint8_t *is;		/* by statement */
};

/*
 * What depends on numbers and the thread's place in the grid alone, in 32 bits; with `arguments`, whose caller
 * keeps them, also on those, on the multiprocessor that the thread is on, and in 64 bits.
 * Nothing in functions with scopes or very many statements.  -ENOMEM.
 */
int gt_fixed_find(const struct gt_ptx *ptx, const struct ptx_function *function, const uint8_t *arguments,
		  struct ptx_fixed *ret_fixed);
void gt_fixed_free(struct ptx_fixed *fixed);

const struct ptx_statement *gt_fixed_statement(const struct ptx_fixed *fixed, uint32_t index);

/* NULL: it names no register, or none that was seen. */
struct ptx_fixed_register *gt_fixed_register(const struct ptx_fixed *fixed, const struct ptx_token *token);

/* An instruction's operands, token by token. */
struct ptx_operands {
	struct ptx_lexer lexer;
	struct ptx_token token;
	unsigned operand, depth;	/* which one; within how many brackets */
};

struct ptx_operands gt_operands(const struct gt_ptx *ptx, const struct ptx_statement *statement);
/* False at the ';'. */
int gt_operands_next(struct ptx_operands *operands);

int gt_token_is_punct(const struct ptx_token *token, char c);

/* Of an instruction: the place behind its ';'. */
uint32_t gt_statement_end(const struct gt_ptx *ptx, const struct ptx_statement *statement);

#endif
