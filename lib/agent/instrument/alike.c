/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that count into the same place of a map, such as loads and stores, share the register that they count in. */
#include <string.h>

#include "lib/agent/instrument/fixed.h"
#include "lib/agent/instrument/inline.h"

/* The next statement from `i` on that has to do with where something is added. */
static uint32_t next_of_address(const struct gt_ptx *ptx, const struct ptx_inline *in, uint32_t i)
{
	uint32_t count = ptx->functions[in->function].statement_count;

	while (i < count && !(in->sums.roles[i] & (PTX_SUMS_HELD | PTX_SUMS_ADDRESS)))
		i++;
	return i;
}

static int is_same_token(const struct gt_ptx *ptx, const struct ptx_inline *a, const struct ptx_token *x,
			 const struct ptx_inline *b, const struct ptx_token *y)
{
	unsigned argument = gt_inline_param(ptx, a, x);

	if (argument != PTX_ARG_COUNT)
		return gt_inline_param(ptx, b, y) == argument;
	return x->length == y->length && !memcmp(ptx->text + x->at, ptx->text + y->at, x->length);
}

/* All of it, or of what is held back the address. */
static int is_same_statement(const struct gt_ptx *ptx, const struct ptx_inline *a, uint32_t i, const struct ptx_inline *b,
			     uint32_t j)
{
	struct ptx_lexer x = { ptx->text, ptx->length, ptx->statements[ptx->functions[a->function].statement + i].opcode };
	struct ptx_lexer y = { ptx->text, ptx->length, ptx->statements[ptx->functions[b->function].statement + j].opcode };
	char last = a->sums.roles[i] & PTX_SUMS_HELD ? ']' : ';';
	struct ptx_token of_a, of_b;

	do {
		gt_lex(&x, &of_a);
		gt_lex(&y, &of_b);
		if (!is_same_token(ptx, a, &of_a, b, &of_b))
			return 0;
	} while (!gt_token_is_punct(&of_a, last));
	return 1;
}

int gt_inline_alike(const struct gt_ptx *ptx, const struct ptx_inline *a, const struct ptx_inline *b)
{
	uint32_t end_a = ptx->functions[a->function].statement_count, i = next_of_address(ptx, a, 0);
	uint32_t end_b = ptx->functions[b->function].statement_count, j = next_of_address(ptx, b, 0);

	while (i < end_a && j < end_b) {
		if ((a->sums.roles[i] ^ b->sums.roles[j]) & PTX_SUMS_HELD || !is_same_statement(ptx, a, i, b, j))
			return 0;
		i = next_of_address(ptx, a, i + 1);
		j = next_of_address(ptx, b, j + 1);
	}
	return i == end_a && j == end_b;
}
