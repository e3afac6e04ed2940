/* SPDX-License-Identifier: Apache-2.0 */
/* PTX within functions: scopes, labels, declarations, instructions. */
#include <errno.h>
#include <string.h>

#include "lib/agent/instrument/operand.h"
#include "lib/agent/instrument/parse.h"

struct body {
	struct ptx_function *function;
	uint32_t depth;			/* of scopes, the function's own is 1 */
	int leader;			/* a block begins here */
	int reached;			/* control may get here, labels since the last instruction aside */
	int labelled;			/* such a label there was */
	uint32_t sequence;		/* first statement of the argument sequence of a call, or PTX_NONE */
	int called;			/* the call of that sequence is behind us */
};

static int add_statement(struct ptx_parser *p, const struct ptx_statement *statement)
{
	struct gt_ptx *ptx = p->ptx;
	int r = gt_ptx_grow(&ptx->statements, ptx->statement_count, &ptx->statement_room,
			    sizeof(*ptx->statements));

	if (r < 0)
		return r;
	ptx->statements[ptx->statement_count++] = *statement;
	return 0;
}

static int add_mark(struct ptx_parser *p, enum ptx_statement_kind kind, uint32_t at)
{
	struct ptx_statement statement = {
		.kind = kind, .at = at, .access = PTX_NONE, .before = p->ptx->statement_count,
	};

	return add_statement(p, &statement);
}

void gt_parse_mention(struct ptx_parser *p, const struct ptx_token *word)
{
	struct gt_ptx *ptx = p->ptx;
	uint32_t id;

	if (gt_names_find(&p->names, word->at, word->length, &id) != PTX_CLASS_KERNEL)
		return;
	if (ptx->functions[id].has_body)
		ptx->kernels[ptx->functions[id].kernel].public.refusal =
			PTX_LAUNCHED_BY_DEVICE;
	else
		ptx->functions[id].launched = 1;
}

/* Tokens up to the ';', which is left behind. */
static int gather_operands(struct ptx_parser *p)
{
	uint32_t depth = 0;
	int r;

	p->operand_count = 0;
	while (depth || !gt_token_punct(p, ';')) {
		if (p->token.kind == PTX_END || gt_token_punct(p, ';'))
			return gt_parse_fail(p, "an instruction has no proper end");
		if (p->token.kind == PTX_PUNCT && strchr("([{", p->token.c))
			depth++;
		else if (p->token.kind == PTX_PUNCT && strchr(")]}", p->token.c) && !depth--)
			return gt_parse_fail(p, "unexpected '%c' in an instruction", p->token.c);
		r = gt_ptx_grow(&p->operands, p->operand_count, &p->operand_room,
				sizeof(*p->operands));
		if (r < 0)
			return r;
		p->operands[p->operand_count++] = p->token;
		r = gt_parse_next(p);
		if (r < 0)
			return r;
	}
	return gt_parse_next(p);
}

/* call (results), NAME, (arguments): notes the name, or that it is in a register. */
static int note_call(struct ptx_parser *p, struct ptx_function *function)
{
	struct gt_ptx *ptx = p->ptx;
	const struct ptx_token *t = p->operands, *end = t + p->operand_count;
	enum ptx_class class;
	int r;

	if (t < end && t->kind == PTX_PUNCT && t->c == '(') {
		while (t < end && !(t->kind == PTX_PUNCT && t->c == ')'))
			t++;
		t += t < end;
		t += t < end;	/* the comma */
	}
	if (t == end || t->kind != PTX_WORD)
		return gt_parse_fail(p, "a call without a callee");
	class = gt_names_find(&p->names, t->at, t->length, NULL);
	if (class != PTX_CLASS_FUNCTION && class != PTX_CLASS_NONE) {
		function->calls_pointer = 1;
		return 0;
	}
	r = gt_ptx_grow(&ptx->calls, ptx->call_count, &ptx->call_room, sizeof(*ptx->calls));
	if (r < 0)
		return r;
	ptx->calls[ptx->call_count++] = (struct ptx_range){ t->at, t->length };
	function->call_count++;
	return 0;
}

static int root_is(const char *opcode, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(opcode, word, n) && (!opcode[n] || opcode[n] == '.');
}

static uint8_t classify(const char *opcode, const struct ptx_function *function)
{
	if (root_is(opcode, "exit") || (root_is(opcode, "ret") && function->is_kernel))
		return PTX_EXIT | PTX_FLOW;
	if (root_is(opcode, "ret") || root_is(opcode, "bra") || root_is(opcode, "brx") ||
	    root_is(opcode, "trap"))
		return PTX_FLOW;
	if (root_is(opcode, "call"))
		return PTX_CALL;
	if (root_is(opcode, "st.param") || root_is(opcode, "ld.param"))
		return PTX_PARAM_MOVE;
	return 0;
}

/* Follows the sequences st.param... call ld.param..., see ptx_statement.before. */
static void follow_sequence(struct ptx_parser *p, struct body *body,
			    struct ptx_statement *statement, const char *opcode)
{
	uint32_t self = p->ptx->statement_count;

	if (statement->flags & PTX_FLOW) {
		body->sequence = PTX_NONE;
		return;
	}
	if (body->called && !root_is(opcode, "ld.param"))
		body->sequence = PTX_NONE;
	if (body->sequence == PTX_NONE)
		body->called = 0;
	if (root_is(opcode, "st.param") || (statement->flags & PTX_CALL)) {
		if (body->sequence == PTX_NONE)
			body->sequence = self;
		statement->before = body->sequence;
		body->called |= !!(statement->flags & PTX_CALL);
	} else if (body->called) {
		statement->before = body->sequence;
	}
}

static int read_instruction(struct ptx_parser *p, struct body *body, struct ptx_statement *statement)
{
	struct gt_ptx *ptx = p->ptx;
	char opcode[PTX_OPCODE_MAX];
	uint32_t i;
	int r;

	statement->opcode = p->token.at;
	if (!gt_ptx_opcode(ptx, p->token.at, opcode))
		return gt_parse_fail(p, "this opcode is too long");
	do {
		r = gt_parse_next(p);
	} while (!r && p->token.kind == PTX_WORD && p->token.c == '.');
	r = r ? r : gather_operands(p);
	if (r < 0)
		return r;
	statement->flags |= classify(opcode, body->function);
	if (statement->flags & PTX_CALL) {
		r = note_call(p, body->function);
		if (r < 0)
			return r;
	}
	if (root_is(opcode, "mov"))
		for (i = 0; i < p->operand_count; i++)
			if (p->operands[i].kind == PTX_WORD)
				gt_parse_mention(p, &p->operands[i]);
	r = gt_ptx_grow(&ptx->accesses, ptx->access_count, &ptx->access_room,
			sizeof(*ptx->accesses));
	if (r < 0)
		return r;
	if (gt_access_read(ptx->text, &p->names, opcode, p->operands, p->operand_count,
			   &ptx->accesses[ptx->access_count]))
		statement->access = ptx->access_count++;
	follow_sequence(p, body, statement, opcode);
	if (statement->flags & PTX_EXIT)
		body->function->exits++;
	return 0;
}

/* {@{!}p} opcode operands; */
static int parse_instruction(struct ptx_parser *p, struct body *body)
{
	struct ptx_statement statement = {
		.kind = PTX_INSTRUCTION, .at = p->token.at, .access = PTX_NONE,
		.before = p->ptx->statement_count,
	};
	int r = 0;

	if (gt_token_punct(p, '@')) {
		r = gt_parse_next(p);
		if (!r && gt_token_punct(p, '!')) {
			statement.flags |= PTX_NEGATED;
			r = gt_parse_next(p);
		}
		if (!r && (p->token.kind != PTX_WORD || p->token.length > UINT16_MAX))
			return gt_parse_fail(p, "expected a predicate");
		statement.predicate = p->token.at;
		statement.predicate_length = (uint16_t)p->token.length;
		r = r ? r : gt_parse_next(p);
		if (!r && (p->token.kind != PTX_WORD || p->token.c == '.'))
			return gt_parse_fail(p, "expected an instruction after the predicate");
	}
	r = r ? r : read_instruction(p, body, &statement);
	if (r < 0)
		return r;
	if (body->leader)
		statement.flags |= PTX_LEADER;
	body->leader = !!(statement.flags & PTX_FLOW);
	body->reached |= body->labelled;
	body->labelled = 0;
	if ((statement.flags & PTX_FLOW) && !statement.predicate_length)
		body->reached = 0;
	return add_statement(p, &statement);
}

static int is_table(const struct ptx_parser *p)
{
	return gt_token_is(p, ".branchtargets") || gt_token_is(p, ".calltargets") ||
	       gt_token_is(p, ".callprototype");
}

/* NAME: which may also name a table of targets, and then control cannot go there. */
static int parse_label(struct ptx_parser *p, struct body *body)
{
	uint32_t at = p->token.at;
	int r = gt_parse_next(p);

	r = r ? r : gt_parse_next(p);
	if (r < 0)
		return r;
	if (is_table(p))
		return gt_parse_skip(p);
	body->leader = body->labelled = 1;
	body->sequence = PTX_NONE;
	return add_mark(p, PTX_LABEL, at);
}

static int parse_word(struct ptx_parser *p, struct body *body)
{
	struct ptx_token ahead;

	gt_lex_peek(&p->lexer, &ahead);
	if (ahead.kind == PTX_PUNCT && ahead.c == ':' && p->token.c != '.')
		return parse_label(p, body);
	if (p->token.c != '.')
		return parse_instruction(p, body);
	if (gt_parse_is_declaration(p))
		return gt_parse_declaration(p);
	if (gt_token_is(p, ".loc"))
		return gt_parse_loc(p);
	if (gt_token_is(p, ".file"))
		return gt_parse_file(p);
	return gt_parse_skip(p);
}

static int open_scope(struct ptx_parser *p, struct body *body)
{
	int r = add_mark(p, PTX_OPEN, p->token.at);

	r = r ? r : gt_names_push(&p->names);
	if (r == -E2BIG)
		return gt_parse_fail(p, "scopes nest too deep");
	body->depth++;
	return r ? r : gt_parse_next(p);
}

static int close_scope(struct ptx_parser *p, struct body *body)
{
	int r = add_mark(p, PTX_CLOSE, p->token.at);

	gt_names_pop(&p->names);
	body->depth--;
	return r ? r : gt_parse_next(p);
}

static int parse_statement(struct ptx_parser *p, struct body *body)
{
	if (gt_token_punct(p, '{'))
		return open_scope(p, body);
	if (gt_token_punct(p, '}'))
		return close_scope(p, body);
	if (gt_token_punct(p, '@'))
		return parse_instruction(p, body);
	if (p->token.kind == PTX_WORD)
		return parse_word(p, body);
	if (p->token.kind == PTX_END)
		return gt_parse_fail(p, "the text ends within a function");
	return gt_parse_fail(p, "unexpected '%c'", p->token.c);
}

/* Does anything in the function refer to the label at this place?  Debug builds end in labels that only debug sections use. */
static int label_is_used(const struct gt_ptx *ptx, const struct ptx_function *function, uint32_t at)
{
	struct ptx_lexer lexer = { ptx->text, function->end, at };
	struct ptx_token label, token, next;

	gt_lex(&lexer, &label);
	lexer.pos = function->body;
	for (gt_lex(&lexer, &token); token.length; token = next) {
		gt_lex(&lexer, &next);
		if (token.kind == PTX_WORD && token.length == label.length &&
		    !memcmp(ptx->text + token.at, ptx->text + label.at, label.length) &&
		    !(next.kind == PTX_PUNCT && next.c == ':'))
			return 1;
	}
	return 0;
}

/* Can control get from a label to the end, past no instruction?  Beyond a few labels: say yes. */
#define LABELS_LOOKED_FOR 64

static int end_is_target(const struct gt_ptx *ptx, const struct ptx_function *function)
{
	const struct ptx_statement *statement;
	uint32_t i = ptx->statement_count, labels = 0;

	while (i-- > function->statement) {
		statement = &ptx->statements[i];
		if (statement->kind == PTX_INSTRUCTION)
			break;
		if (statement->kind != PTX_LABEL)
			continue;
		if (labels++ == LABELS_LOOKED_FOR || label_is_used(ptx, function, statement->at))
			return 1;
	}
	return 0;
}

int gt_parse_body(struct ptx_parser *p, struct ptx_function *function)
{
	struct gt_ptx *ptx = p->ptx;
	struct body body = {
		.function = function, .depth = 1, .leader = 1, .reached = 1, .sequence = PTX_NONE,
	};
	int r = gt_names_push(&p->names);

	function->body = p->token.at + 1;
	function->statement = ptx->statement_count;
	function->call = ptx->call_count;
	r = r ? r : gt_parse_next(p);
	while (!r && !(body.depth == 1 && gt_token_punct(p, '}')))
		r = parse_statement(p, &body);
	if (r < 0)
		return r;
	function->end = p->token.at;
	function->statement_count = ptx->statement_count - function->statement;
	if (!body.reached && body.labelled)
		body.reached = end_is_target(ptx, function);
	function->falls_off = body.reached && function->is_kernel;
	function->end_is_leader = body.leader && body.reached;
	gt_names_pop(&p->names);
	return gt_parse_next(p);
}
