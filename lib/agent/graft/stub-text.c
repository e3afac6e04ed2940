/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX text of stubs: the instrumenter's own, with numbers of ours made variable. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/stub.h"
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
	"\t.reg .b64 %__gt_base;\n"
	"\tmov.u32 %__gt_m, %lanemask_gt;\n"
	"\tand.b32 %__gt_n, %__gt_m, 0xffff;\n"
	"\tcvt.u64.u32 %__gt_base, %__gt_n;\n"
	"\tmov.u32 %__gt_id, %lanemask_ge;\n"
	"\tand.b32 %__gt_id, %__gt_id, 0x7fffffff;\n";

/* The parameters' address and above it their size, as the instrumenter gives it; 0: there are none. */
static const char preamble_params[] =
	"\t.reg .b64 %__gt_params, %__gt_size, %__gt_moved;\n"
	"\t.reg .pred %__gt_none;\n"
	"\tshr.u32 %__gt_n, %__gt_m, 16;\n"
	"\tcvt.u64.u32 %__gt_size, %__gt_n;\n"
	"\tand.b64 %__gt_moved, %__gt_size, -8;\n"
	"\tsub.s64 %__gt_size, %__gt_base, %__gt_size;\n"
	"\tmov.b64 %__gt_params, __gt_launch;\n"
	"\tadd.s64 %__gt_params, %__gt_params, %__gt_moved;\n"
	"\tcvta.param.u64 %__gt_params, %__gt_params;\n"
	"\tsetp.eq.s64 %__gt_none, %__gt_size, 0;\n"
	"\tshl.b64 %__gt_size, %__gt_size, 48;\n"
	"\tor.b64 %__gt_params, %__gt_params, %__gt_size;\n"
	"\tselp.b64 %__gt_params, 0, %__gt_params, %__gt_none;\n";

/* What to write in place of what, in the kernel's body. */
struct substitution {
	const char *from, *to;
};

static const struct substitution in_body[] = {
	{ "[__gt_launch+", "[%__gt_base+" },
	{ KERNEL_ID_TEXT, "%__gt_id" },
	/* The empty kernel has no parameters. */
	{ "mov.b64 %__gt_q, 0;", "mov.b64 %__gt_q, %__gt_params;" },
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

/* A special register that is the same in the whole block; -1: it is none. */
static int value_of(const struct operands *operands)
{
	static const struct {
		const char *name;
		int value;
	} specials[] = {
		{ "%ntid.", GT_VALUE_BLOCK_SIZE }, { "%nctaid.", GT_VALUE_GRID_SIZE }, { "%ctaid.", GT_VALUE_BLOCK },
	};

	for (unsigned i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
		size_t length = strlen(specials[i].name);
		char axis;

		if (operands->count != 2 || operands->length[1] <= length ||
		    strncmp(operands->at[1], specials[i].name, length))
			continue;
		axis = operands->at[1][length];
		return axis >= 'x' && axis <= 'z' ? specials[i].value + axis - 'x' : -1;
	}
	return -1;
}

/* See stub.h.  In the kernel's body there is a register that is different in every thread. */
static void write_load(struct ptx_text *out, const struct operands *operands, int value, bool body)
{
	if (!body)
		gt_text_puts(out, "{ .reg .b32 %__gt_m; mov.u32 %__gt_m, %lanemask_eq; ");
	gt_text_puts(out, "ld.const.u32 ");
	add_operand(out, operands, 0);
	gt_text_printf(out, ", [%%__gt_m+%u];%s", GT_VALUE_FIRST + GT_VALUE_STEP * (unsigned)value, body ? "" : " }");
}

/* The instrumenter's election of one thread in a group asks who is there. */
static bool is_election(const struct operands *operands)
{
	static const char name[] = "%__gt_t";

	return operands->length[0] == strlen(name) && !strncmp(operands->at[0], name, strlen(name));
}

/* The length of the opcode when it is `opcode`, whole. */
static size_t opcode_is(const char *text, const char *opcode)
{
	size_t length = strlen(opcode);

	return !strncmp(text, opcode, length) && strchr(" \t", text[length]) ? length : 0;
}

static void write_move(struct ptx_text *out, const struct operands *operands, const char *from, size_t length)
{
	gt_text_puts(out, "mov.b32 ");
	add_operand(out, operands, 0);
	gt_text_puts(out, ", ");
	gt_text_add(out, from, length);
	gt_text_puts(out, ";");
}

/* Writes the statement at `text` in another form; its end, or NULL when it stays as it is. */
static const char *rewrite_statement(struct ptx_text *out, const char *text, const char *limit, bool body)
{
	static const char alone[] = "%lanemask_eq";
	const char *end = memchr(text, ';', (size_t)(limit - text));
	struct operands operands;
	size_t length;

	if (!end)
		return NULL;
	if ((length = opcode_is(text, "activemask.b32"))) {
		operands = split(text + length, end);
		if (body && is_election(&operands))
			write_load(out, &operands, GT_VALUE_TOGETHER, body);
		else
			write_move(out, &operands, alone, strlen(alone));
	} else if ((length = opcode_is(text, "shfl.sync.idx.b32"))) {
		operands = split(text + length, end);
		if (operands.count < 3 || memchr(operands.at[0], '|', operands.length[0]))
			return NULL;
		write_move(out, &operands, operands.at[1], operands.length[1]);
	} else if ((length = opcode_is(text, "mov.u32"))) {
		operands = split(text + length, end);
		if (value_of(&operands) < 0)
			return NULL;
		write_load(out, &operands, value_of(&operands), body);
	} else {
		return NULL;
	}
	return end + 1;
}

/* Functions, or the kernel's body. */
static void write_part(struct ptx_text *out, const char *text, const char *end, bool body, bool exit)
{
	bool fresh = true;	/* a statement may begin here */
	const char *past;

	while (text < end) {
		past = body ? substitute(out, in_body, sizeof(in_body) / sizeof(in_body[0]), text) : NULL;
		if (!past && fresh && exit)
			past = rewrite_statement(out, text, end, body);
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
static int rewrite(const char *text, bool exit, bool params, char **ret_text, char *why)
{
	const char *kernel = strstr(text, ENTRY), *body;
	struct ptx_text out = { 0 };

	body = kernel ? strchr(kernel, '{') : NULL;
	if (!body)
		return gt_graft_fail(why, "the text of the probes cannot be brought into a kernel of their own");
	write_part(&out, text, kernel, false, exit);
	gt_text_add(&out, kernel, (size_t)(body + 1 - kernel));
	gt_text_puts(&out, preamble);
	if (params)
		gt_text_puts(&out, preamble_params);
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
	bool params = wants_params(probes, which, count);
	const char *empty = params ? empty_kernel_params : empty_kernel;
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
	r = gt_ptx_parse(empty, strlen(empty), &ptx, &error);
	if (r < 0)
		return r == -ENOMEM ? r : gt_graft_fail(why, "%s", error.text);
	gt_ptx_write_out(ptx);
	r = gt_ptx_instrument(ptx, probe_text, probes, probe_count, &plan, &text, &length, &error);
	gt_ptx_free(ptx);
	if (r < 0)
		return r == -ENOMEM ? r : gt_graft_fail(why, "%s", error.text);
	r = rewrite(text, point == GT_POINT_EXIT, params, ret_text, why);
	free(text);
	return r;
}
