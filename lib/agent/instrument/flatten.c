/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Works line by line on text as LLVM writes it, and refuses what looks otherwise.
 * A call becomes
 *	{
 *	.reg .b64 __gt_a7_0;		its arguments
 *	mov.b64 __gt_a7_0, %rd5;
 *	.reg .b64 __gt_r7;		its result
 *	{
 *		the body, with registers and labels of its own
 *	__gt_end7:
 *	}
 *	mov.b64 %rd6, __gt_r7;
 *	}
 * The number is the call's.  Arguments get their values outside the body's braces,
 * where the caller's registers are not yet hidden by those of the same name in it.
 */
#define _GNU_SOURCE 1
#include "lib/agent/instrument/flatten.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/instrument/text.h"

#define FUNCTIONS_MAX 256u
/* BPF allows 8 functions in each other, and those of maps need a few more. */
#define DEPTH_MAX 16u
#define TEXT_MAX (4u << 20)
/* How LLVM's labels begin. */
#define LABEL "$L__BB"

#define BLANK " \t\r"
#define NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.%"

static const char odd_form[] = "the programs' code calls functions in a form that is not known";
static const char too_deep[] = "functions of the programs call themselves or each other too deeply";
static const char too_long[] = "the programs are too long when the functions that they call are written out";

struct span {
	const char *at, *end;
};

struct line {
	const char *at, *end;		/* without the line's end */
	const char *word;		/* behind white space */
};

struct function {
	struct span name;
	const char *start, *body, *close, *after;	/* close: its "}"; body: NULL for a declaration */
};

struct flat {
	struct function functions[FUNCTIONS_MAX];
	unsigned count, calls;
	struct ptx_text out;
	const char *why;		/* the first thing that is wrong */
};

static void refuse(struct flat *flat, const char *why)
{
	if (!flat->why)
		flat->why = why;
}

/* The line at `text`; false at the end of all. */
static bool read_line(const char *text, struct line *line)
{
	line->at = text;
	line->end = text + strcspn(text, "\n");
	line->word = text + strspn(text, BLANK);
	return *text;
}

static const char *next_line(const struct line *line)
{
	return *line->end ? line->end + 1 : line->end;
}

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static bool is(const struct line *line, const char *word)
{
	return begins(line->word, word) && line->word + strlen(word) == line->end;
}

static bool is_span(const struct span *span, const char *word)
{
	size_t length = strlen(word);

	return (size_t)(span->end - span->at) == length && !memcmp(span->at, word, length);
}

static struct span name_at(const char *text)
{
	return (struct span){ text, text + strspn(text, NAME) };
}

/* The instruction's opcode, behind a predicate if it has one. */
static const char *opcode_of(const struct line *line)
{
	const char *at = line->word;

	if (*at != '@')
		return at;
	at += strcspn(at, " \t\n");
	return at + strspn(at, BLANK);
}

/* One with a body. */
static struct function *find_function(struct flat *flat, const struct span *name)
{
	size_t length = (size_t)(name->end - name->at);

	for (unsigned i = 0; i < flat->count; i++) {
		struct function *f = &flat->functions[i];

		if (f->body && (size_t)(f->name.end - f->name.at) == length && !memcmp(f->name.at, name->at, length))
			return f;
	}
	return NULL;
}

/* ---- where the functions are ---- */

static bool begins_function(const struct line *line)
{
	return begins(line->at, ".func") || begins(line->at, ".visible .func");
}

/* .func (.param .b64 func_retval0) NAME( */
static struct span function_name(const struct line *line)
{
	const char *at = strstr(line->at, ".func") + strlen(".func");

	at += strspn(at, BLANK);
	if (*at == '(') {
		at += strcspn(at, ")\n");
		at += *at == ')';
		at += strspn(at, BLANK);
	}
	return name_at(at);
}

/* From its first line on; *line is its last one then. */
static void read_function(struct flat *flat, struct line *line)
{
	struct function *f = &flat->functions[flat->count++];

	*f = (struct function){ .start = line->at, .name = function_name(line) };
	for (const char *at = line->at; read_line(at, line); at = next_line(line)) {
		if (!f->body && line->end > line->at && line->end[-1] == ';')
			break;		/* a declaration */
		if (is(line, "{") && line->word == line->at)
			f->body = next_line(line);
		if (is(line, "}") && line->word == line->at) {
			f->close = line->at;
			break;
		}
		if (at != f->start && begins_function(line))
			break;		/* this one has no end that is seen */
	}
	f->after = next_line(line);
	if (!*line->at || !f->body != !f->close || begins_function(line) != (line->at == f->start) ||
	    f->name.at == f->name.end)
		refuse(flat, odd_form);
}

static void read_functions(struct flat *flat, const char *text)
{
	struct line line;

	for (; read_line(text, &line); text = next_line(&line)) {
		if (!begins_function(&line))
			continue;
		if (flat->count == FUNCTIONS_MAX) {
			refuse(flat, too_long);
			return;
		}
		read_function(flat, &line);
	}
}

/* What is called, by "call.uni (retval0), NAME," or "call NAME,". */
static struct span callee_name(const struct line *line)
{
	const char *at = line->word + strcspn(line->word, " \t\n");

	at += strspn(at, " \t\r\n");
	if (*at == '(')
		at += strcspn(at, ",");
	at += strspn(at, ", \t\r\n");
	return name_at(at);
}

/*
 * Does the line begin the braces around one call?  Then the function that is
 * called, with the last line of the braces, else NULL.
 */
static struct function *read_call(struct flat *flat, struct line line, struct line *ret_last)
{
	struct function *callee = NULL;
	struct span name;

	if (!is(&line, "{"))
		return NULL;
	while (read_line(next_line(&line), &line) && !is(&line, "}") && !is(&line, "{")) {
		if (!begins(line.word, "call"))
			continue;
		if (callee)
			return NULL;
		name = callee_name(&line);
		callee = find_function(flat, &name);
	}
	*ret_last = line;
	return is(&line, "}") ? callee : NULL;
}

/* ---- a call's arguments and result ---- */

static void put(struct flat *flat, struct span span)
{
	gt_text_add(&flat->out, span.at, (size_t)(span.end - span.at));
}

static struct span part(const char *at, const char *stop)
{
	at += strspn(at, BLANK);
	return (struct span){ at, at + strcspn(at, stop) };
}

/* Arrays and vectors, which have longer types, are not passed by programs. */
static bool is_type(const struct span *type)
{
	return is_span(type, ".b16") || is_span(type, ".b32") || is_span(type, ".b64") || is_span(type, ".u16") ||
	       is_span(type, ".u32") || is_span(type, ".u64") || is_span(type, ".s32") || is_span(type, ".s64");
}

/* What stands for a parameter of a call: its number is at the end of LLVM's name, or it is the result. */
static void put_place(struct flat *flat, const struct span *place, unsigned call)
{
	struct span number = { place->end, place->end };

	if (is_span(place, "retval0") || is_span(place, "func_retval0")) {
		gt_text_printf(&flat->out, "__gt_r%u", call);
		return;
	}
	while (number.at > place->at && number.at[-1] >= '0' && number.at[-1] <= '9')
		number.at--;
	if (number.at == number.end)
		refuse(flat, odd_form);
	gt_text_printf(&flat->out, "__gt_a%u_", call);
	put(flat, number);
}

/* "ld.param.b64 %rd1, [NAME];" or "st.param.b64 [NAME], %rd1;" */
struct move {
	struct span type, value, place;
	bool load;
};

static bool read_move(const struct line *line, struct move *move)
{
	const char *comma = memchr(line->at, ',', (size_t)(line->end - line->at));

	move->load = begins(line->word, "ld.param");
	if (!comma)
		return false;
	move->type = part(line->word + strlen("ld.param"), " \t\n");
	move->value = move->load ? part(move->type.end, ",\n") : part(comma + 1, ";\n");
	move->place = part(move->load ? comma + 1 : move->type.end, "]\n");
	if (*move->place.at++ != '[' || *move->place.end != ']' || !is_type(&move->type))
		return false;
	/* "[NAME+0]" is the same. */
	if (move->place.end - move->place.at > 2 && !memcmp(move->place.end - 2, "+0", 2))
		move->place.end -= 2;
	return !memchr(move->place.at, '+', (size_t)(move->place.end - move->place.at));
}

static bool is_move(const struct line *line)
{
	return begins(line->word, "ld.param") || begins(line->word, "st.param");
}

static void put_move(struct flat *flat, const struct line *line, unsigned call)
{
	struct move move;

	if (!read_move(line, &move)) {
		refuse(flat, odd_form);
		return;
	}
	gt_text_puts(&flat->out, "\tmov");
	put(flat, move.type);
	gt_text_puts(&flat->out, " ");
	if (move.load)
		put(flat, move.value);
	else
		put_place(flat, &move.place, call);
	gt_text_puts(&flat->out, ", ");
	if (move.load)
		put_place(flat, &move.place, call);
	else
		put(flat, move.value);
	gt_text_puts(&flat->out, ";\n");
}

/* ".param .b64 param0;" */
static void put_declaration(struct flat *flat, const struct line *line, unsigned call)
{
	struct span type = part(line->word + strlen(".param"), " \t\n"), name = part(type.end, ";\n");

	if (!is_type(&type))
		refuse(flat, odd_form);
	gt_text_puts(&flat->out, "\t.reg ");
	put(flat, type);
	gt_text_puts(&flat->out, " ");
	put_place(flat, &name, call);
	gt_text_puts(&flat->out, ";\n");
}

/* ---- bodies ---- */

/* Labels get the call's number: a body may be there several times. */
static void put_line(struct flat *flat, const struct line *line, unsigned call)
{
	const char *at = line->at, *label;

	while (call && (label = memmem(at, (size_t)(line->end - at), LABEL, strlen(LABEL)))) {
		put(flat, (struct span){ at, label });
		gt_text_printf(&flat->out, "$L__%uBB", call);
		at = label + strlen(LABEL);
	}
	put(flat, (struct span){ at, line->end });
	gt_text_puts(&flat->out, "\n");
}

/* Under the same predicate, if there is one. */
static void put_return(struct flat *flat, const struct line *line, unsigned call)
{
	put(flat, (struct span){ line->at, opcode_of(line) });
	gt_text_printf(&flat->out, "bra __gt_end%u;\n", call);
}

static bool is_return(const struct line *line)
{
	const char *opcode = opcode_of(line);

	return begins(opcode, "ret;") || begins(opcode, "ret.uni;");
}

/* What would mean something else in another function: labels of other kinds, and calls that are not LLVM's. */
static bool is_odd(const struct line *line, unsigned call)
{
	struct span word = name_at(line->word);

	if (begins(opcode_of(line), "call"))
		return true;
	return call && *word.end == ':' && word.at < word.end && !begins(word.at, LABEL);
}

static void put_body(struct flat *flat, const struct function *f, unsigned call, unsigned depth);

static void put_call(struct flat *flat, struct line line, const struct line *last, const struct function *callee,
		     unsigned depth)
{
	unsigned call = ++flat->calls;

	gt_text_puts(&flat->out, "\t{\n");
	while (read_line(next_line(&line), &line) && line.at < last->at) {
		if (begins(line.word, ".param")) {
			put_declaration(flat, &line, call);
		} else if (is_move(&line)) {
			put_move(flat, &line, call);
		} else if (begins(line.word, "call")) {
			gt_text_puts(&flat->out, "\t{\n");
			put_body(flat, callee, call, depth + 1);
			gt_text_printf(&flat->out, "__gt_end%u:\n\t}\n", call);
			/* The names of arguments may follow on lines of their own. */
			while (!memchr(line.at, ';', (size_t)(line.end - line.at)) && line.at < last->at)
				read_line(next_line(&line), &line);
		} else if (line.word != line.end && !begins(line.word, "//")) {
			refuse(flat, odd_form);
		}
	}
	gt_text_puts(&flat->out, "\t}\n");
}

/* call: its number, 0 for a function that stays. */
static void put_body(struct flat *flat, const struct function *f, unsigned call, unsigned depth)
{
	struct function *callee;
	struct line line, last;

	if (depth > DEPTH_MAX)
		refuse(flat, too_deep);
	for (const char *at = f->body; at < f->close && !flat->why; at = next_line(&line)) {
		read_line(at, &line);
		callee = read_call(flat, line, &last);
		if (callee) {
			put_call(flat, line, &last, callee, depth);
			line = last;
		} else if (call && is_move(&line)) {
			put_move(flat, &line, call);
		} else if (call && is_return(&line)) {
			put_return(flat, &line, call);
		} else if (is_odd(&line, call)) {
			refuse(flat, odd_form);
		} else {
			put_line(flat, &line, call);
		}
		if (flat->out.length > TEXT_MAX)
			refuse(flat, too_long);
	}
}

static bool is_wanted(const struct function *f, const struct gt_probe *probes, const unsigned *which, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (is_span(&f->name, probes[which[i]].function))
			return true;
	return false;
}

int gt_probe_text_flatten(const char *text, const struct gt_probe *probes, const unsigned *which, unsigned count,
			  char **ret_text, const char **ret_why)
{
	struct flat *flat = calloc(1, sizeof(*flat));
	int r;

	if (!flat)
		return -ENOMEM;
	read_functions(flat, text);
	for (unsigned i = 0; i < flat->count && !flat->why; i++) {
		const struct function *f = &flat->functions[i];

		put(flat, (struct span){ text, f->start });
		text = f->after;
		if (!f->body || !is_wanted(f, probes, which, count))
			continue;
		put(flat, (struct span){ f->start, f->body });
		put_body(flat, f, 0, 0);
		put(flat, (struct span){ f->close, f->after });
	}
	gt_text_puts(&flat->out, text);
	*ret_why = flat->why;
	r = flat->why ? -EINVAL : flat->out.failed ? -ENOMEM : 0;
	if (r < 0)
		gt_text_free(&flat->out);
	else
		*ret_text = flat->out.data;
	free(flat);
	return r;
}
