/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX text of stubs: the instrumenter's own, with numbers of ours made variable. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/graft.h"
#include "lib/agent/graft/why.h"
#include "lib/agent/instrument/instrument.h"
#include "lib/agent/instrument/text.h"

#define ENTRY ".entry __gt_stub"

/* Stands for the kernel's id in the instrumenter's text. */
#define KERNEL_ID 1196708169u
#define KERNEL_ID_TEXT "1196708169"

/* The address of the parameters needs a newer language than the rest. */
static const char empty_kernel[] =
	".version 6.3\n.target sm_75\n.address_size 64\n.visible " ENTRY "()\n{\n\tret;\n}\n";
static const char empty_kernel_params[] =
	".version 7.7\n.target sm_75\n.address_size 64\n.visible " ENTRY "()\n{\n\tret;\n}\n";

/* See stub.h for what becomes of the special registers. */
static const char preamble[] =
	"\n\t.reg .b32 %__gt_m, %__gt_n, %__gt_id;\n"
	"\t.reg .b64 %__gt_base, %__gt_moved;\n"
	"\tmov.u32 %__gt_m, %lanemask_gt;\n"
	"\tand.b32 %__gt_n, %__gt_m, 0xffff;\n"
	"\tcvt.u64.u32 %__gt_base, %__gt_n;\n"
	"\tshr.u32 %__gt_n, %__gt_m, 16;\n"
	"\tcvt.u64.u32 %__gt_moved, %__gt_n;\n"
	"\tmov.u32 %__gt_id, %lanemask_ge;\n"
	"\tand.b32 %__gt_id, %__gt_id, 0x7fffffff;\n";

/* Always 0, which compilers do not see: keeps what it is added to out of the uniform data path. */
#define ZERO_INTO(reg, scratch) \
	"\tmov.u32 " reg ", %lanemask_eq;\n" \
	"\tmov.u32 " scratch ", %lanemask_lt;\n" \
	"\tand.b32 " reg ", " reg ", " scratch ";\n"

static const char preamble_exit[] =
	"\t.reg .b32 %__gt_z, %__gt_y;\n"
	ZERO_INTO("%__gt_z", "%__gt_y");

/* What to write in place of what, in the kernel's body. */
struct substitution {
	const char *from, *to;
};

static const struct substitution in_body[] = {
	{ "[__gt_launch+", "[%__gt_base+" },
	{ KERNEL_ID_TEXT, "%__gt_id" },
	{ "mov.b64 %__gt_q, __gt_launch;",
	  "mov.b64 %__gt_q, __gt_launch;\n\tadd.s64 %__gt_q, %__gt_q, %__gt_moved;" },
};

/* At exit values that are the same in the whole warp must not be kept as such. */
static const struct substitution in_body_at_exit[] = {
	/* The election of one thread in a group; probes' own are another matter. */
	{ "activemask.b32 %__gt_t;",
	  "activemask.b32 %__gt_t;\n\tadd.u32 %__gt_t, %__gt_t, %__gt_z;" },
};

/* Past what was replaced at `at`; NULL: nothing. */
static const char *substitute(struct ptx_text *out, const struct substitution *list, unsigned count, const char *at)
{
	for (unsigned i = 0; i < count; i++) {
		size_t length = strlen(list[i].from);

		if (strncmp(at, list[i].from, length))
			continue;
		gt_text_puts(out, list[i].to);
		return at + length;
	}
	return NULL;
}

/* ---- what probes do at exit ---- */

/*
 * Threads that leave together need not stay together within the stub: there is
 * no barrier to meet at that would not disturb those that have not left.  So
 * each thread is a group of its own, in which it finds itself alone.
 */

/* A statement's operands, up to three. */
struct operands {
	const char *at[3];
	size_t length[3];
	unsigned count;
};

static struct operands split(const char *text, const char *end)
{
	struct operands operands = { 0 };
	const char *comma;
	size_t length;

	while (operands.count < 3 && text < end) {
		text += strspn(text, " \t\n\r");
		comma = memchr(text, ',', (size_t)(end - text));
		length = (size_t)((comma ? comma : end) - text);
		operands.at[operands.count] = text;
		operands.length[operands.count++] = length;
		text += length + 1;
	}
	return operands;
}

static void add_operand(struct ptx_text *out, const struct operands *operands, unsigned index)
{
	gt_text_add(out, operands->at[index], operands->length[index]);
}

static bool operand_begins(const struct operands *operands, unsigned index, const char *text)
{
	return index < operands->count && operands->length[index] >= strlen(text) &&
	       !strncmp(operands->at[index], text, strlen(text));
}

/* A special register that is the same in the whole block. */
static bool is_uniform_special(const struct operands *operands)
{
	return operands->count == 2 &&
	       (operand_begins(operands, 1, "%ctaid.") || operand_begins(operands, 1, "%nctaid.") ||
		operand_begins(operands, 1, "%ntid."));
}

static void write_uniform_special(struct ptx_text *out, const struct operands *operands)
{
	gt_text_puts(out, "{ .reg .b32 %__gt_z, %__gt_y;\n" ZERO_INTO("%__gt_z", "%__gt_y") "\tmov.u32 ");
	add_operand(out, operands, 0);
	gt_text_puts(out, ", ");
	add_operand(out, operands, 1);
	gt_text_puts(out, ";\n\tadd.u32 ");
	add_operand(out, operands, 0);
	gt_text_puts(out, ", ");
	add_operand(out, operands, 0);
	gt_text_puts(out, ", %__gt_z; }");
}

/* The length of the opcode when it is `opcode`, whole. */
static size_t opcode_is(const char *text, const char *opcode)
{
	size_t length = strlen(opcode);

	return !strncmp(text, opcode, length) && strchr(" \t", text[length]) ? length : 0;
}

/* Writes the statement at `text` in another form; its end, or NULL when it stays as it is. */
static const char *rewrite_statement(struct ptx_text *out, const char *text, const char *limit)
{
	const char *end = memchr(text, ';', (size_t)(limit - text));
	struct operands operands;
	size_t length;

	if (!end)
		return NULL;
	if ((length = opcode_is(text, "activemask.b32"))) {
		operands = split(text + length, end);
		gt_text_puts(out, "mov.u32 ");
		add_operand(out, &operands, 0);
		gt_text_puts(out, ", %lanemask_eq;");
		return end + 1;
	}
	if ((length = opcode_is(text, "shfl.sync.idx.b32"))) {
		operands = split(text + length, end);
		if (operands.count < 3 || memchr(operands.at[0], '|', operands.length[0]))
			return NULL;
		gt_text_puts(out, "mov.b32 ");
		add_operand(out, &operands, 0);
		gt_text_puts(out, ", ");
		add_operand(out, &operands, 1);
		gt_text_puts(out, ";");
		return end + 1;
	}
	if ((length = opcode_is(text, "mov.u32"))) {
		operands = split(text + length, end);
		if (!is_uniform_special(&operands))
			return NULL;
		write_uniform_special(out, &operands);
		return end + 1;
	}
	return NULL;
}

/* Functions, or the kernel's body. */
static void write_part(struct ptx_text *out, const char *text, const char *end, bool body, bool exit)
{
	bool fresh = true;	/* a statement may begin here */
	const char *past;

	while (text < end) {
		past = body ? substitute(out, in_body, sizeof(in_body) / sizeof(in_body[0]), text) : NULL;
		if (!past && body && exit)
			past = substitute(out, in_body_at_exit,
					  sizeof(in_body_at_exit) / sizeof(in_body_at_exit[0]), text);
		if (!past && fresh && exit)
			past = rewrite_statement(out, text, end);
		if (past) {
			text = past;
			fresh = true;
		} else {
			fresh = strchr(" \t\n\r;{}", *text);
			gt_text_add(out, text++, 1);
		}
	}
}

/* From the instrumenter's text of the empty kernel to the stub's. */
static int rewrite(const char *text, bool exit, char **ret_text, char *why)
{
	const char *kernel = strstr(text, ENTRY), *body;
	struct ptx_text out = { 0 };

	body = kernel ? strchr(kernel, '{') : NULL;
	if (!body)
		return gt_graft_fail(why, "the text of the probes cannot be brought into a kernel of their own");
	write_part(&out, text, kernel, false, exit);
	gt_text_add(&out, kernel, (size_t)(body + 1 - kernel));
	gt_text_puts(&out, preamble);
	if (exit)
		gt_text_puts(&out, preamble_exit);
	write_part(&out, body + 1, body + strlen(body), true, exit);
	if (out.failed) {
		gt_text_free(&out);
		return -ENOMEM;
	}
	*ret_text = out.data;
	return 0;
}

static bool wants_params(const struct gt_probe *probes, const unsigned *which, unsigned count)
{
	unsigned i;

	for (i = 0; i < count; i++)
		if (probes[which[i]].flags & GT_PROBE_WANTS_PARAMS)
			return true;
	return false;
}

static int check_probes(const struct gt_probe *probes, unsigned probe_count, const unsigned *which,
			unsigned count, uint32_t point, char *why)
{
	unsigned i;

	if (point != GT_POINT_ENTRY && point != GT_POINT_EXIT)
		return gt_graft_fail(why, "only entry and exit can be grafted");
	if (!count)
		return gt_graft_fail(why, "there is no probe for this point");
	for (i = 0; i < count; i++)
		if (which[i] >= probe_count || probes[which[i]].point != point)
			return gt_graft_fail(why, "the plan names a probe of another point");
	return 0;
}

int gt_graft_stub_text(const char *probe_text, const struct gt_probe *probes, unsigned probe_count,
		       const unsigned *which, unsigned count, uint32_t point, char **ret_text,
		       char why[GT_GRAFT_WHY])
{
	struct gt_ptx_plan plan = { KERNEL_ID, which, count };
	struct gt_ptx_error error = { 0 };
	const char *empty;
	struct gt_ptx *ptx;
	size_t length;
	char *text;
	int r;

	r = check_probes(probes, probe_count, which, count, point, why);
	if (r < 0)
		return r;
	if (strstr(probe_text, "%lanemask_gt") || strstr(probe_text, "%lanemask_ge") ||
	    strstr(probe_text, ENTRY) || strstr(probe_text, KERNEL_ID_TEXT))
		return gt_graft_fail(why, "the probes use names or special registers that stubs need");
	empty = wants_params(probes, which, count) ? empty_kernel_params : empty_kernel;
	r = gt_ptx_parse(empty, strlen(empty), &ptx, &error);
	if (r < 0)
		return r == -ENOMEM ? r : gt_graft_fail(why, "%s", error.text);
	r = gt_ptx_instrument(ptx, probe_text, probes, probe_count, &plan, &text, &length, &error);
	gt_ptx_free(ptx);
	if (r < 0)
		return r == -ENOMEM ? r : gt_graft_fail(why, "%s", error.text);
	r = rewrite(text, point == GT_POINT_EXIT, ret_text, why);
	free(text);
	return r;
}
