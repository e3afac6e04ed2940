/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/instrument/inline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/instrument/fixed.h"
#include "lib/agent/instrument/lex.h"
#include "lib/agent/instrument/operand.h"

#define HEADER ".version 9.0\n.target sm_75\n"

/* A kernel is entered and left at few places, mostly at one, but accesses memory at many. */
#define INSTRUCTIONS_MAX_ENDS 192u
#define INSTRUCTIONS_MAX 24u
#define INSTRUCTIONS_MAX_SUMS 64u	/* where memory need not be waited for */

static int same(const struct gt_ptx *ptx, const struct ptx_token *token, struct ptx_range range)
{
	return token->kind == PTX_WORD && token->length == range.length &&
	       !memcmp(ptx->text + token->at, ptx->text + range.at, range.length);
}

static int is_word(const struct gt_ptx *ptx, const struct ptx_token *token, const char *word)
{
	return token->kind == PTX_WORD && token->length == strlen(word) &&
	       !memcmp(ptx->text + token->at, word, token->length);
}

/* The names are the last words before each ',' and the ')'. */
static int read_params(const struct gt_ptx *ptx, const struct ptx_function *function,
		       struct ptx_range params[PTX_ARG_COUNT])
{
	struct ptx_lexer lexer = { ptx->text, function->params_end + 1,
				   function->name.at + function->name.length };
	struct ptx_token token, last = { 0 };
	unsigned count = 0;

	for (gt_lex(&lexer, &token); token.length; gt_lex(&lexer, &token)) {
		if (gt_token_is_punct(&token, '['))
			return 0;
		if (gt_token_is_punct(&token, ',') || gt_token_is_punct(&token, ')')) {
			if (count == PTX_ARG_COUNT || last.kind != PTX_WORD)
				return 0;
			params[count++] = (struct ptx_range){ last.at, last.length };
		}
		last = token;
	}
	return count == PTX_ARG_COUNT;
}

unsigned gt_inline_param(const struct gt_ptx *ptx, const struct ptx_inline *in, const struct ptx_token *token)
{
	unsigned i;

	for (i = 0; i < PTX_ARG_COUNT; i++)
		if (same(ptx, token, in->params[i]))
			break;
	return i;
}

static uint32_t argument_size(unsigned argument)
{
	return argument == PTX_ARG_KERNEL || argument == PTX_ARG_SIZE || argument == PTX_ARG_SPACE ? 4 : 8;
}

/*
 * Is this "ld.param.TYPE register, [argument]" for a whole argument?  Then its
 * number, the register and the end of the instruction; else PTX_ARG_COUNT.
 */
static unsigned read_argument_load(const struct gt_ptx *ptx, const struct ptx_inline *in,
				   const struct ptx_statement *statement,
				   struct ptx_range *ret_register, uint32_t *ret_end)
{
	struct ptx_lexer lexer = { ptx->text, ptx->length, statement->opcode };
	struct ptx_token token[7];
	unsigned i, argument;

	for (i = 0; i < 7; i++)
		gt_lex(&lexer, &token[i]);
	argument = gt_inline_param(ptx, in, &token[4]);
	if (argument == PTX_ARG_COUNT || token[0].length < 11 ||
	    memcmp(ptx->text + token[0].at, "ld.param.", 9) || token[1].kind != PTX_WORD ||
	    !gt_token_is_punct(&token[2], ',') || !gt_token_is_punct(&token[3], '[') || !gt_token_is_punct(&token[5], ']') ||
	    !gt_token_is_punct(&token[6], ';') || statement->predicate_length ||
	    gt_ptx_type_size(ptx->text + token[0].at + 9, token[0].length - 9) != argument_size(argument))
		return PTX_ARG_COUNT;
	*ret_register = (struct ptx_range){ token[1].at, token[1].length };
	*ret_end = token[6].at + 1;
	return argument;
}

/* Not what has variables, calls, arguments used otherwise.  arguments: as struct ptx_fixed's. */
static int can_move(const struct gt_ptx *ptx, const struct ptx_function *function,
		    struct ptx_inline *in, uint8_t *arguments)
{
	static const char *const variables[] = { ".shared", ".global", ".const", ".param", ".loc" };
	struct ptx_lexer lexer = { ptx->text, function->end, function->body };
	const struct ptx_statement *statement;
	struct ptx_range unused;
	struct ptx_token token;
	uint32_t i, end, loads = 0, mentions = 0;
	unsigned argument;
	size_t v;

	for (i = 0; i < function->statement_count; i++) {
		statement = &ptx->statements[function->statement + i];
		if (statement->kind != PTX_INSTRUCTION)
			continue;
		in->instructions++;
		if (statement->flags & (PTX_CALL | PTX_EXIT))
			return 0;
		if (!(statement->flags & PTX_PARAM_MOVE))
			continue;
		argument = read_argument_load(ptx, in, statement, &unused, &end);
		if (argument == PTX_ARG_COUNT)
			return 0;
		in->uses[argument] = 1;
		arguments[i] = argument <= PTX_ARG_KERNEL ? PTX_ARGUMENT_FIXED :
			       argument == PTX_ARG_SIZE ? PTX_ARGUMENT_SIZE : 0;
		loads++;
	}
	for (gt_lex(&lexer, &token); token.length; gt_lex(&lexer, &token)) {
		for (v = 0; v < sizeof(variables) / sizeof(variables[0]); v++)
			if (is_word(ptx, &token, variables[v]))
				return 0;
		in->local |= is_word(ptx, &token, ".local");
		mentions += gt_inline_param(ptx, in, &token) != PTX_ARG_COUNT;
	}
	return mentions == loads;
}

static int is_at_ends(const struct gt_probe *probe)
{
	return probe->point == GT_POINT_ENTRY || probe->point == GT_POINT_EXIT;
}

static int is_global_atomic(const struct gt_ptx *ptx, const struct ptx_statement *statement)
{
	char opcode[PTX_OPCODE_MAX];

	return statement->kind == PTX_INSTRUCTION && gt_ptx_opcode(ptx, statement->opcode, opcode) &&
	       (!strncmp(opcode, "red.", 4) || !strncmp(opcode, "atom.", 5)) && strstr(opcode, ".global");
}

static int has_atomics(const struct gt_ptx *ptx, const struct ptx_function *function)
{
	uint32_t i;

	for (i = 0; i < function->statement_count; i++)
		if (is_global_atomic(ptx, &ptx->statements[function->statement + i]))
			return 1;
	return 0;
}

static int has_one_elected(const struct gt_probe *probe)
{
	return probe->granularity == GT_PER_WARP || probe->granularity == GT_PER_BLOCK;
}

/* -ENOMEM. */
static int find_ahead(const struct gt_ptx *ptx, const struct ptx_function *function, const uint8_t *arguments,
		      struct ptx_inline *in)
{
	struct ptx_fixed fixed;
	int r = gt_fixed_find(ptx, function, arguments, &fixed);

	if (r < 0)
		return r;
	if (memchr(fixed.is, 1, function->statement_count)) {
		in->ahead = fixed.is;
		fixed.is = NULL;
	}
	gt_fixed_free(&fixed);
	return 0;
}

/* What of it need not be done at its places, or not by the elected thread alone.  -ENOMEM. */
static int relieve(const struct gt_ptx *ptx, const struct gt_probe *probe, const uint8_t *arguments,
		   struct ptx_inline *in)
{
	const struct ptx_function *function = &ptx->functions[in->function];
	int r = 0;

	if (is_at_ends(probe))
		return has_one_elected(probe) ? find_ahead(ptx, function, arguments, in) : 0;
	in->atomics_alone = has_one_elected(probe) && has_atomics(ptx, function);
	if (probe->flags & GT_PROBE_ADDS_LATER)
		r = gt_sums_find(ptx, function, arguments, &in->sums);
	return r ? r : gt_hoist_find(ptx, function, &in->hoist);
}

static void find_alike(struct ptx_inlines *inlines)
{
	struct ptx_inline *of = inlines->of;
	unsigned i, j;

	for (i = 0; i < inlines->count; i++) {
		for (j = 0; of[i].sums.count && j < i; j++)
			if (of[j].sums.count && gt_inline_alike(inlines->ptx, &of[j], &of[i]))
				break;
		of[i].sums.alike = j;
	}
}

static const struct ptx_function *find_function(const struct gt_ptx *ptx, const char *name)
{
	const struct ptx_function *function;
	uint32_t f;

	for (f = 0; f < ptx->function_count; f++) {
		function = &ptx->functions[f];
		if (function->has_body && !function->is_kernel && function->params_end != PTX_NONE &&
		    function->name.length == strlen(name) &&
		    !memcmp(ptx->text + function->name.at, name, function->name.length))
			return function;
	}
	return NULL;
}

/* -ENOMEM. */
static int read_one(const struct gt_ptx *ptx, const struct gt_probe *probe, struct ptx_inline *in)
{
	const struct ptx_function *function = find_function(ptx, probe->function);
	uint8_t *arguments;
	int r = 0;

	if (!function)
		return 0;
	arguments = calloc(function->statement_count + (size_t)1, 1);
	if (!arguments)
		return -ENOMEM;
	in->function = (uint32_t)(function - ptx->functions);
	in->possible = read_params(ptx, function, in->params) && can_move(ptx, function, in, arguments);
	if (in->possible)
		r = relieve(ptx, probe, arguments, in);
	free(arguments);
	return r;
}

int gt_inlines_read(const char *probe_text, const struct gt_probe *probes, unsigned count,
		    struct ptx_inlines *ret_inlines)
{
	struct ptx_inlines inlines = { .of = calloc(count + (size_t)1, sizeof(*inlines.of)) };
	size_t length = strlen(probe_text);
	char *text = malloc(length + sizeof(HEADER));
	unsigned i;
	int r;

	if (!inlines.of || !text) {
		free(inlines.of);
		free(text);
		return -ENOMEM;
	}
	memcpy(text, HEADER, sizeof(HEADER) - 1);
	memcpy(text + sizeof(HEADER) - 1, probe_text, length + 1);
	r = gt_ptx_parse(text, length + sizeof(HEADER) - 1, &inlines.ptx, NULL);
	free(text);
	if (r == -ENOMEM) {
		free(inlines.of);
		return r;
	}
	inlines.count = count;
	for (i = 0; inlines.ptx && !r && i < count; i++)
		r = read_one(inlines.ptx, &probes[i], &inlines.of[i]);
	if (r == -ENOMEM) {
		gt_inlines_free(&inlines);
		return r;
	}
	find_alike(&inlines);
	*ret_inlines = inlines;
	return 0;
}

void gt_inlines_free(struct ptx_inlines *inlines)
{
	unsigned i;

	for (i = 0; i < inlines->count; i++) {
		free(inlines->of[i].ahead);
		gt_hoist_free(&inlines->of[i].hoist);
		gt_sums_free(&inlines->of[i].sums);
	}
	gt_ptx_free(inlines->ptx);
	free(inlines->of);
}

int gt_inline_wanted(const struct ptx_inline *inline_, const struct gt_probe *probe, int any)
{
	uint32_t limit = is_at_ends(probe) ? INSTRUCTIONS_MAX_ENDS :
			 inline_->sums.count ? INSTRUCTIONS_MAX_SUMS : INSTRUCTIONS_MAX;
	uint32_t once = inline_->sums.count ? inline_->sums.gone : inline_->hoist.count;

	if (any && is_at_ends(probe))
		return inline_->possible;
	return inline_->possible && !inline_->local && inline_->instructions - once <= limit;
}

/* "ret;" becomes a jump to the end of the body, under the same predicate. */
static uint32_t write_return(struct ptx_text *out, const struct gt_ptx *ptx,
			     const struct ptx_statement *statement)
{
	if (statement->predicate_length) {
		gt_text_puts(out, statement->flags & PTX_NEGATED ? "@!" : "@");
		gt_text_add(out, ptx->text + statement->predicate, statement->predicate_length);
		gt_text_puts(out, " ");
	}
	gt_text_puts(out, "bra __gt_return;");
	return gt_statement_end(ptx, statement);
}

static int is_return(const struct gt_ptx *ptx, const struct ptx_statement *statement)
{
	char opcode[PTX_OPCODE_MAX];

	return gt_ptx_opcode(ptx, statement->opcode, opcode) &&
	       (!strcmp(opcode, "ret") || !strcmp(opcode, "ret.uni"));
}

/* %__gt_zNUMBER: 0, which the compiler takes for something that differs from thread to thread. */
static void write_zero(struct ptx_text *out, unsigned index)
{
	gt_text_printf(out, "\n\t.reg .b64 %%__gt_z%u;\n\t{\n\t.reg .b32 %%__gt_t, %%__gt_u;\n"
		       "\tmov.u32 %%__gt_t, %%lanemask_eq;\n\tmov.u32 %%__gt_u, %%lanemask_lt;\n"
		       "\tand.b32 %%__gt_t, %%__gt_t, %%__gt_u;\n\tcvt.u64.u32 %%__gt_z%u, %%__gt_t;\n\t}\n\t",
		       index, index);
}

/* The atomic at its address plus that zero, unless the address is no register. */
static uint32_t write_atomic_alone(struct ptx_text *out, const struct gt_ptx *ptx,
				   const struct ptx_statement *statement, unsigned index)
{
	struct ptx_lexer lexer = { ptx->text, ptx->length, statement->opcode };
	uint32_t end = gt_statement_end(ptx, statement), at = statement->at;
	struct ptx_token token;

	do {
		gt_lex(&lexer, &token);
	} while (token.at + token.length < end && !gt_token_is_punct(&token, '['));
	gt_lex(&lexer, &token);
	if (token.at < end && token.kind == PTX_WORD && token.c == '%') {
		gt_text_puts(out, "add.s64 %__gt_l, ");
		gt_text_add(out, ptx->text + token.at, token.length);
		gt_text_printf(out, ", %%__gt_z%u; ", index);
		gt_text_add(out, ptx->text + at, token.at - at);
		gt_text_puts(out, "%__gt_l");
		at = token.at + token.length;
	}
	gt_text_add(out, ptx->text + at, end - at);
	return end;
}

void gt_inline_write_entry(struct ptx_text *out, const struct ptx_inlines *inlines, unsigned index)
{
	const struct ptx_inline *inline_ = &inlines->of[index];

	if (inline_->called)
		return;
	if (inline_->hoist.count)
		gt_hoist_write_entry(out, inlines->ptx, &inlines->ptx->functions[inline_->function], &inline_->hoist,
				     index);
	if (inline_->atomics_alone)
		write_zero(out, index);
}

static uint32_t write_argument(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_inline *in,
			       const struct ptx_statement *statement, const struct ptx_source sources[PTX_ARG_COUNT])
{
	struct ptx_range reg;
	uint32_t end;
	unsigned argument = read_argument_load(ptx, in, statement, &reg, &end);

	gt_text_puts(out, sources[argument].opcode);
	gt_text_puts(out, " ");
	gt_text_add(out, ptx->text + reg.at, reg.length);
	gt_text_puts(out, ", ");
	gt_text_puts(out, sources[argument].operand);
	gt_text_puts(out, ";");
	return end;
}

static unsigned index_of_held(const struct ptx_sums *sums, uint32_t statement)
{
	unsigned i = 0;

	while (sums->held[i] != statement)
		i++;
	return i;
}

/* What goes to the place of a statement, and where the text goes on; the statement's begin: it stays. */
static uint32_t write_statement(struct ptx_text *out, const struct ptx_inlines *inlines, unsigned index, uint32_t i,
				enum ptx_inline_how how, const struct ptx_source sources[PTX_ARG_COUNT])
{
	const struct ptx_inline *in = &inlines->of[index];
	const struct gt_ptx *ptx = inlines->ptx;
	const struct ptx_function *function = &ptx->functions[in->function];
	const struct ptx_statement *statement = &ptx->statements[function->statement + i];
	uint8_t role = how == PTX_INLINE_SUMS ? in->sums.roles[i] : 0;

	if (is_return(ptx, statement))
		return write_return(out, ptx, statement);
	if (role & PTX_SUMS_HELD)
		return gt_sums_write_addition(out, ptx, &in->sums, statement, index_of_held(&in->sums, i));
	if (role & PTX_SUMS_GONE || (how == PTX_INLINE_AHEAD && in->ahead[i]))
		return gt_statement_end(ptx, statement);
	if (how == PTX_INLINE_PREPARED && in->atomics_alone && is_global_atomic(ptx, statement))
		return write_atomic_alone(out, ptx, statement, index);
	if (how == PTX_INLINE_PREPARED && in->hoist.count && in->hoist.moved[i]) {
		gt_hoist_write_use(out, ptx, function, &in->hoist, i, index);
		return gt_statement_end(ptx, statement);
	}
	if (statement->flags & PTX_PARAM_MOVE)
		return write_argument(out, ptx, in, statement, sources);
	return statement->at;
}

/* Before it stand declarations. */
static const struct ptx_statement *first_instruction(const struct gt_ptx *ptx, const struct ptx_function *function)
{
	const struct ptx_statement *statement = &ptx->statements[function->statement];

	while (statement->kind != PTX_INSTRUCTION)
		statement++;
	return statement;
}

void gt_inline_write_ahead(struct ptx_text *out, const struct ptx_inlines *inlines, unsigned index,
			   const struct ptx_source sources[PTX_ARG_COUNT])
{
	const struct ptx_inline *in = &inlines->of[index];
	const struct gt_ptx *ptx = inlines->ptx;
	const struct ptx_function *function = &ptx->functions[in->function];
	const struct ptx_statement *statement = &ptx->statements[function->statement];
	uint32_t i;

	gt_text_puts(out, "\t{");
	gt_text_add(out, ptx->text + function->body, first_instruction(ptx, function)->at - function->body);
	for (i = 0; i < function->statement_count; i++, statement++) {
		if (!in->ahead[i])
			continue;
		if (statement->flags & PTX_PARAM_MOVE)
			write_argument(out, ptx, in, statement, sources);
		else
			gt_text_add(out, ptx->text + statement->at, gt_statement_end(ptx, statement) - statement->at);
		gt_text_puts(out, "\n\t");
	}
}

void gt_inline_write(struct ptx_text *out, const struct ptx_inlines *inlines, unsigned index, enum ptx_inline_how how,
		     const struct ptx_source sources[PTX_ARG_COUNT])
{
	const struct gt_ptx *ptx = inlines->ptx;
	const struct ptx_function *function = &ptx->functions[inlines->of[index].function];
	const struct ptx_statement *statement = &ptx->statements[function->statement];
	uint32_t i, copied = function->body;

	if (how == PTX_INLINE_AHEAD)
		copied = first_instruction(ptx, function)->at;
	else
		gt_text_puts(out, "\t{");
	for (i = 0; i < function->statement_count; i++, statement++) {
		if (statement->kind != PTX_INSTRUCTION)
			continue;
		gt_text_add(out, ptx->text + copied, statement->at - copied);
		copied = write_statement(out, inlines, index, i, how, sources);
	}
	gt_text_add(out, ptx->text + copied, function->end - copied);
	gt_text_puts(out, "\n__gt_return:\n\t}\n");
}

void gt_inline_write_totals(struct ptx_text *out, const struct ptx_inlines *inlines, unsigned index,
			    const struct ptx_source sources[PTX_ARG_COUNT])
{
	const struct ptx_inline *in = &inlines->of[index];
	const struct gt_ptx *ptx = inlines->ptx;
	const struct ptx_function *function = &ptx->functions[in->function];
	const struct ptx_statement *statement = &ptx->statements[function->statement];
	uint32_t i, copied = function->body;

	gt_text_puts(out, "\t{");
	for (i = 0; i < function->statement_count; i++, statement++) {
		if (statement->kind != PTX_INSTRUCTION)
			continue;
		/* Declarations. */
		gt_text_add(out, ptx->text + copied, statement->at - copied);
		copied = gt_statement_end(ptx, statement);
		if (in->sums.roles[i] & PTX_SUMS_HELD)
			gt_sums_write_total(out, ptx, &in->sums, statement, index_of_held(&in->sums, i));
		else if (in->sums.roles[i] & PTX_SUMS_ADDRESS && statement->flags & PTX_PARAM_MOVE)
			write_argument(out, ptx, in, statement, sources);
		else if (in->sums.roles[i] & PTX_SUMS_ADDRESS)
			gt_text_add(out, ptx->text + statement->at, copied - statement->at);
	}
	gt_text_puts(out, "\n\t}\n");
}

/* Is the function named anywhere but at its definition? */
static int is_mentioned(const struct gt_ptx *ptx, const struct ptx_function *function)
{
	struct ptx_lexer lexer = { ptx->text, ptx->length, 0 };
	struct ptx_token token;

	for (gt_lex(&lexer, &token); token.length; gt_lex(&lexer, &token))
		if (token.at != function->name.at && same(ptx, &token, function->name))
			return 1;
	return 0;
}

static int is_needed(const struct ptx_inlines *inlines, unsigned count, uint32_t function)
{
	unsigned i;
	int inlined = 0;

	for (i = 0; i < count; i++) {
		if (!inlines->of[i].possible || inlines->of[i].function != function)
			continue;
		if (inlines->of[i].called)
			return 1;
		inlined = 1;
	}
	return !inlined || is_mentioned(inlines->ptx, &inlines->ptx->functions[function]);
}

void gt_inlines_write_rest(struct ptx_text *out, const struct ptx_inlines *inlines,
			   const char *probe_text, unsigned count)
{
	const struct gt_ptx *ptx = inlines->ptx;
	uint32_t f, copied = sizeof(HEADER) - 1;

	if (!ptx) {
		gt_text_puts(out, probe_text);
		return;
	}
	for (f = 0; f < ptx->function_count; f++) {
		if (is_needed(inlines, count, f))
			continue;
		gt_text_add(out, ptx->text + copied, ptx->functions[f].start - copied);
		copied = ptx->functions[f].end + 1;
	}
	gt_text_add(out, ptx->text + copied, ptx->length - copied);
}
