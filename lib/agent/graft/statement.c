/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/graft/statement.h"

#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/stub.h"
#include "lib/agent/instrument/ptx.h"

/* A statement's operands, of those that we know. */
struct operands {
	const char *at[5];
	size_t length[5];
	unsigned count;
};

static struct operands split(const char *text, const char *end)
{
	struct operands operands = { 0 };
	const char *comma;
	size_t length;

	while (operands.count < 5 && text < end) {
		text += strspn(text, " \t\n\r");
		comma = memchr(text, ',', (size_t)(end - text));
		length = (size_t)((comma ? comma : end) - text);
		operands.at[operands.count] = text;
		operands.length[operands.count++] = length;
		text += length + 1;
	}
	return operands;
}

/* Behind the opcode when it is `opcode`, whole, or begins with it when that ends in a point. */
static const char *behind(const char *text, const char *opcode)
{
	size_t length = strlen(opcode);

	if (strncmp(text, opcode, length))
		return NULL;
	if (opcode[length - 1] == '.')
		length += strcspn(text + length, " \t");
	return strchr(" \t", text[length]) ? text + length : NULL;
}

static void add_operand(struct ptx_text *out, const struct operands *operands, unsigned index)
{
	gt_text_add(out, operands->at[index], operands->length[index]);
}

/* What compilers do not see. */
#define ZERO_INTO_Y \
	".reg .b32 %__gt_y, %__gt_z; mov.u32 %__gt_y, %lanemask_eq; mov.u32 %__gt_z, %lanemask_lt; " \
	"and.b32 %__gt_y, %__gt_y, %__gt_z; "

/* ---- values of the block ---- */

/* A special register that is the same in the whole block, or warp; -1: it is none. */
static int value_of(const struct operands *operands)
{
	static const struct {
		const char *name;
		int value;
	} specials[] = {
		{ "%ntid.x", GT_VALUE_BLOCK_SIZE },
		{ "%ntid.y", GT_VALUE_BLOCK_SIZE + 1 },
		{ "%ntid.z", GT_VALUE_BLOCK_SIZE + 2 },
		{ "%nctaid.x", GT_VALUE_GRID_SIZE },
		{ "%nctaid.y", GT_VALUE_GRID_SIZE + 1 },
		{ "%nctaid.z", GT_VALUE_GRID_SIZE + 2 },
		{ "%ctaid.x", GT_VALUE_BLOCK },
		{ "%ctaid.y", GT_VALUE_BLOCK + 1 },
		{ "%ctaid.z", GT_VALUE_BLOCK + 2 },
		{ "%smid", GT_VALUE_SM },
	};

	for (unsigned i = 0; operands->count == 2 && i < sizeof(specials) / sizeof(specials[0]); i++) {
		if (operands->length[1] == strlen(specials[i].name) &&
		    !strncmp(operands->at[1], specials[i].name, operands->length[1]))
			return specials[i].value;
	}
	return -1;
}

static void write_load(struct ptx_text *out, const char *to, size_t length, unsigned value)
{
	gt_text_puts(out, "ld.const.u32 ");
	gt_text_add(out, to, length);
	gt_text_printf(out, ", [%%__gt_m+%u];", GT_VALUE_FIRST + GT_VALUE_STEP * value);
}

/* See stub.h. */
static bool write_value(struct ptx_text *out, const struct operands *operands, enum gt_stub_part part)
{
	bool body = part != GT_PART_FUNCTION;
	int value = value_of(operands);

	if (value < 0)
		return false;
	if (value == GT_VALUE_SM && part == GT_PART_BODY_PACKED) {
		gt_text_puts(out, "shr.u32 ");
		add_operand(out, operands, 0);
		gt_text_puts(out, ", " GT_PTX_VIRTUAL ", " GT_VIRTUAL_SM_AT ";");
		return true;
	}
	if (!body)
		gt_text_puts(out, "{ .reg .b32 %__gt_m; mov.u32 %__gt_m, %lanemask_eq; ");
	write_load(out, operands->at[0], operands->length[0], (unsigned)value);
	gt_text_puts(out, body ? "" : " }");
	return true;
}

/* A word of the hidden parameter, or two. */
static bool write_launch(struct ptx_text *out, const struct operands *operands, bool wide)
{
	static const char hidden[] = "[" PTX_HIDDEN "+", low[] = "%__gt_y", high[] = "%__gt_z";
	unsigned value;

	if (operands->count != 2 || strncmp(operands->at[1], hidden, strlen(hidden)))
		return false;
	value = GT_VALUE_LAUNCH + (unsigned)strtoul(operands->at[1] + strlen(hidden), NULL, 10) / 4;
	if (!wide) {
		write_load(out, operands->at[0], operands->length[0], value);
		return true;
	}
	gt_text_puts(out, "{ .reg .b32 %__gt_y, %__gt_z; ");
	write_load(out, low, strlen(low), value);
	gt_text_puts(out, " ");
	write_load(out, high, strlen(high), value + 1);
	gt_text_puts(out, " mov.b64 ");
	add_operand(out, operands, 0);
	gt_text_puts(out, ", {%__gt_y, %__gt_z}; }");
	return true;
}

static bool write_any_launch(struct ptx_text *out, const char *text, const char *end)
{
	const char *narrow = behind(text, "ld.param.b32"), *wide = behind(text, "ld.param.b64");
	struct operands operands;

	if (!narrow && !wide)
		return false;
	operands = split(wide ? wide : narrow, end);
	return write_launch(out, &operands, wide);
}

/* ---- numbers and places on the stack ---- */

/*
 * What compilers can follow to a number or to a place on the stack they keep and count on
 * in uniform registers, up to addresses; so something is added that they cannot see is 0.
 */
static bool write_constant(struct ptx_text *out, const struct operands *operands, bool wide)
{
	static const char stack[] = "__local_depot";
	const char *from = operands->count == 2 ? operands->at[1] : "%";

	if (!strchr("-0123456789", *from) && strncmp(from, stack, strlen(stack)))
		return false;
	gt_text_puts(out, "{ .reg .b64 %__gt_c; " ZERO_INTO_Y "cvt.u64.u32 %__gt_c, %__gt_y; ");
	gt_text_puts(out, wide ? "mov.b64 " : "mov.b32 ");
	add_operand(out, operands, 0);
	gt_text_puts(out, ", ");
	add_operand(out, operands, 1);
	gt_text_puts(out, wide ? "; add.s64 " : "; add.s32 ");
	add_operand(out, operands, 0);
	gt_text_puts(out, ", ");
	add_operand(out, operands, 0);
	gt_text_puts(out, wide ? ", %__gt_c; }" : ", %__gt_y; }");
	return true;
}

static bool write_any_constant(struct ptx_text *out, const char *text, const char *end)
{
	static const char *const moves[] = { "mov.b32", "mov.u32", "mov.s32", "mov.b64", "mov.u64", "mov.s64" };
	struct operands operands;
	const char *at;

	for (unsigned i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		at = behind(text, moves[i]);
		if (!at)
			continue;
		operands = split(at, end);
		return write_constant(out, &operands, strstr(moves[i], "64"));
	}
	return false;
}

/* ---- wide numbers ---- */

/* Does not fit into the 32 bits that an instruction has for a number. */
static bool is_wide(const char *text, size_t length)
{
	char number[32] = "", *end;
	unsigned long long value;

	if (!length || length >= sizeof(number))
		return false;
	memcpy(number, text, length);
	value = strtoull(number, &end, 0);
	return end == number + length && value + 0x80000000u > 0xffffffffu;
}

/*
 * Added to a product, such a number goes into a bank of constants of the kernel's
 * own before compute capability 9.0.  Nothing that compilers see through is added
 * to it first.
 */
static bool write_wide(struct ptx_text *out, const char *text, const struct operands *operands)
{
	unsigned last = operands->count - 1;

	if (operands->count < 3 || !is_wide(operands->at[last], operands->length[last]))
		return false;
	gt_text_puts(out, "{ .reg .b64 %__gt_c; " ZERO_INTO_Y "cvt.u64.u32 %__gt_c, %__gt_y; add.u64 %__gt_c, %__gt_c, ");
	add_operand(out, operands, last);
	gt_text_puts(out, "; ");
	gt_text_add(out, text, (size_t)(operands->at[last] - text));
	gt_text_puts(out, "%__gt_c; }");
	return true;
}

/* ---- division ---- */

/*
 * The compiler's own division of 64 bits is a function apart, which a stub cannot bring
 * along.  BPF's seldom comes so far: there is another for numbers of 32 bits before it.
 * Bit by bit, from the first that is set: the quotient grows in %__gt_n as the dividend leaves it.
 */
static const char divide_unsigned[] =
	"mov.u64 %__gt_r, 0; clz.b64 %__gt_i, %__gt_n; shl.b64 %__gt_n, %__gt_n, %__gt_i; sub.s32 %__gt_i, 64, %__gt_i;\n"
	"\tsetp.eq.s32 %__gt_b, %__gt_i, 0; @%__gt_b bra __gt_divided;\n"
	"__gt_bit: .pragma \"nounroll\";\n"
	"\tsetp.lt.s64 %__gt_b, %__gt_r, 0; shl.b64 %__gt_r, %__gt_r, 1; shr.u64 %__gt_x, %__gt_n, 63; or.b64 %__gt_r, %__gt_r, %__gt_x;\n"
	"\tshl.b64 %__gt_n, %__gt_n, 1; setp.ge.or.u64 %__gt_b, %__gt_r, %__gt_v, %__gt_b;\n"
	"\t@%__gt_b sub.u64 %__gt_r, %__gt_r, %__gt_v; @%__gt_b or.b64 %__gt_n, %__gt_n, 1;\n"
	"\tadd.s32 %__gt_i, %__gt_i, -1; setp.ne.s32 %__gt_b, %__gt_i, 0; @%__gt_b bra __gt_bit;\n__gt_divided:\n\t";

static bool write_division(struct ptx_text *out, const struct operands *operands, bool is_signed, bool rest)
{
	if (operands->count != 3)
		return false;
	gt_text_puts(out, "{ .reg .b64 %__gt_n, %__gt_v, %__gt_r, %__gt_x, %__gt_f; .reg .b32 %__gt_i; .reg .pred %__gt_b; mov.b64 %__gt_n, ");
	add_operand(out, operands, 1);
	gt_text_puts(out, "; mov.b64 %__gt_v, ");
	add_operand(out, operands, 2);
	gt_text_puts(out, "; ");
	if (is_signed) {
		gt_text_puts(out, rest ? "mov.b64 %__gt_f, %__gt_n; " : "xor.b64 %__gt_f, %__gt_n, %__gt_v; ");
		gt_text_puts(out, "abs.s64 %__gt_n, %__gt_n; abs.s64 %__gt_v, %__gt_v; ");
	}
	gt_text_puts(out, divide_unsigned);
	if (rest)
		gt_text_puts(out, "mov.b64 %__gt_n, %__gt_r; ");
	if (is_signed)
		gt_text_puts(out, "setp.lt.s64 %__gt_b, %__gt_f, 0; @%__gt_b neg.s64 %__gt_n, %__gt_n; ");
	gt_text_puts(out, "mov.b64 ");
	add_operand(out, operands, 0);
	gt_text_puts(out, ", %__gt_n; }");
	return true;
}

/* ---- threads together ---- */

/*
 * Who is there, asked in a way that compilers answer with the thread's own
 * register: a vote in which all say yes, which they do not see.
 */
static bool write_who(struct ptx_text *out, const struct operands *operands)
{
	gt_text_puts(out, "{ .reg .pred %__gt_yes; " ZERO_INTO_Y
			  "setp.eq.u32 %__gt_yes, %__gt_y, 0; vote.sync.ballot.b32 ");
	add_operand(out, operands, 0);
	gt_text_puts(out, ", %__gt_yes, -1; }");
	return true;
}

/* The mask, which is the last operand, becomes that of all: no waiting for others. */
static bool write_for_all(struct ptx_text *out, const char *text, const struct operands *operands)
{
	const char *mask = operands->count ? operands->at[operands->count - 1] : text;

	gt_text_add(out, text, (size_t)(mask - text));
	gt_text_puts(out, "-1;");
	return true;
}

/* ---- each alone ---- */

static bool write_move(struct ptx_text *out, const char *opcode, const struct operands *operands, const char *from,
		       size_t length)
{
	gt_text_puts(out, opcode);
	add_operand(out, operands, 0);
	gt_text_puts(out, ", ");
	gt_text_add(out, from, length);
	gt_text_puts(out, ";");
	return true;
}

/* One's own value. */
static bool write_own(struct ptx_text *out, const char *opcode, const struct operands *operands)
{
	if (operands->count < 3 || memchr(operands->at[0], '|', operands->length[0]) || operands->at[1][0] == '!')
		return false;
	return write_move(out, opcode, operands, operands->at[1], operands->length[1]);
}

static bool write_alone(struct ptx_text *out, const struct operands *operands)
{
	static const char itself[] = "%lanemask_eq";

	return write_move(out, "mov.b32 ", operands, itself, strlen(itself));
}

/* ---- which statement is it ---- */

static bool write_group(struct ptx_text *out, const char *text, const char *end, bool alone)
{
	struct operands operands;
	const char *at;

	if ((at = behind(text, "activemask.b32"))) {
		operands = split(at, end);
		return alone ? write_alone(out, &operands) : write_who(out, &operands);
	}
	if ((at = behind(text, "shfl.sync.idx.b32"))) {
		operands = split(at, end);
		return alone ? write_own(out, "mov.b32 ", &operands) : write_for_all(out, text, &operands);
	}
	if ((at = behind(text, "vote.sync.all.pred")) || (at = behind(text, "vote.sync.any.pred"))) {
		operands = split(at, end);
		return alone ? write_own(out, "mov.pred ", &operands) : write_for_all(out, text, &operands);
	}
	if (!alone && ((at = behind(text, "shfl.sync.")) || (at = behind(text, "vote.sync.")))) {
		operands = split(at, end);
		return write_for_all(out, text, &operands);
	}
	return false;
}

/* An addition of 64 bits; behind its opcode. */
static const char *addition(const char *text)
{
	static const char *const opcodes[] = {
		"add.s64", "add.u64", "sub.s64", "sub.u64", "mad.lo.s64", "mad.lo.u64",
	};
	const char *at = NULL;

	for (unsigned i = 0; !at && i < sizeof(opcodes) / sizeof(opcodes[0]); i++)
		at = behind(text, opcodes[i]);
	return at;
}

static bool write_any_division(struct ptx_text *out, const char *text, const char *end)
{
	static const struct {
		const char *opcode;
		bool is_signed, rest;
	} divisions[] = {
		{ "div.u64", false, false }, { "div.s64", true, false }, { "rem.u64", false, true }, { "rem.s64", true, true },
	};
	struct operands operands;
	const char *at;

	for (unsigned i = 0; i < sizeof(divisions) / sizeof(divisions[0]); i++) {
		at = behind(text, divisions[i].opcode);
		if (!at)
			continue;
		operands = split(at, end);
		return write_division(out, &operands, divisions[i].is_signed, divisions[i].rest);
	}
	return false;
}

const char *gt_stub_statement(struct ptx_text *out, const char *text, const char *limit, enum gt_exit_form form,
			      enum gt_stub_part part)
{
	const char *end = memchr(text, ';', (size_t)(limit - text)), *at;
	struct operands operands;

	if (!end)
		return NULL;
	if ((at = addition(text))) {
		operands = split(at, end);
		return write_wide(out, text, &operands) ? end + 1 : NULL;
	}
	if (write_any_division(out, text, end) || (part != GT_PART_FUNCTION && write_any_launch(out, text, end)))
		return end + 1;
	if (form == GT_EXIT_OPAQUE && write_any_constant(out, text, end))
		return end + 1;
	if ((at = behind(text, "mov.u32"))) {
		operands = split(at, end);
		return write_value(out, &operands, part) ? end + 1 : NULL;
	}
	if (form == GT_EXIT_NONE)
		return NULL;
	return write_group(out, text, end, form != GT_EXIT_TOGETHER) ? end + 1 : NULL;
}
