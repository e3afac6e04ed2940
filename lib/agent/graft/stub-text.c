/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX text of stubs: the instrumenter's own, with numbers of ours made variable. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/graft.h"
#include "lib/agent/graft/keep.h"
#include "lib/agent/graft/statement.h"
#include "lib/agent/graft/stub.h"
#include "lib/agent/graft/why.h"
#include "lib/agent/instrument/flatten.h"
#include "lib/agent/instrument/instrument.h"
#include "lib/agent/instrument/ptx.h"
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
	"\n\t.reg .b32 %__gt_m, %__gt_id;\n"
	"\tmov.u32 %__gt_m, %lanemask_le;\n"
	"\tld.const.u32 %__gt_id, [%__gt_m+5248];\n";
_Static_assert(GT_VALUE_FIRST + GT_VALUE_STEP * GT_VALUE_KERNEL == 5248, "as in the text");

/* Asked once, however many want to know: compilers leave it out where nobody does. */
static const char preamble_packed[] =
	"\t.reg .b32 " GT_PTX_VIRTUAL ";\n"
	"\tld.const.u32 " GT_PTX_VIRTUAL ", [%__gt_m+5184];\n";
_Static_assert(GT_VALUE_FIRST + GT_VALUE_STEP * GT_VALUE_VIRTUAL == 5184, "as in the text");

/* The parameters' address and above it their size, as the instrumenter gives it; 0: there are none. */
static const char preamble_params[] =
	"\t.reg .b32 %__gt_number, %__gt_n;\n"
	"\t.reg .b64 %__gt_params, %__gt_size, %__gt_moved;\n"
	"\t.reg .pred %__gt_none;\n"
	"\tmov.u32 %__gt_number, %lanemask_gt;\n"
	"\tshr.u32 %__gt_n, %__gt_number, 16;\n"
	"\tcvt.u64.u32 %__gt_moved, %__gt_n;\n"
	"\tand.b32 %__gt_n, %__gt_number, 0xffff;\n"
	"\tcvt.u64.u32 %__gt_size, %__gt_n;\n"
	"\tsub.s64 %__gt_size, %__gt_size, %__gt_moved;\n"
	"\tand.b64 %__gt_moved, %__gt_moved, -8;\n"
	"\tmov.b64 %__gt_params, __gt_launch;\n"
	"\tadd.s64 %__gt_params, %__gt_params, %__gt_moved;\n"
	"\tcvta.param.u64 %__gt_params, %__gt_params;\n"
	"\tsetp.eq.s64 %__gt_none, %__gt_size, 0;\n"
	"\tshl.b64 %__gt_size, %__gt_size, 48;\n"
	"\tor.b64 %__gt_params, %__gt_params, %__gt_size;\n"
	"\tselp.b64 %__gt_params, 0, %__gt_params, %__gt_none;\n";

/* What the access's detour has left below the stack: see keep.h. */
static const char preamble_access[] =
	"\t.reg .b32 %__gt_low, %__gt_high, " GT_PTX_TOLD_BYTES ", " GT_PTX_TOLD_SPACE ";\n"
	"\t.reg .b64 %__gt_stack, " GT_PTX_TOLD_ADDRESS ";\n"
	"\tmov.u32 %__gt_low, %lanemask_le;\n"
	"\tcvt.u64.u32 %__gt_stack, %__gt_low;\n"
	"\tld.local.u32 %__gt_low, [%__gt_stack+-32];\n"
	"\tld.local.u32 %__gt_high, [%__gt_stack+-28];\n"
	"\tmov.b64 " GT_PTX_TOLD_ADDRESS ", {%__gt_low, %__gt_high};\n"
	"\tld.local.u32 %__gt_low, [%__gt_stack+-24];\n"
	"\tand.b32 " GT_PTX_TOLD_BYTES ", %__gt_low, 255;\n"
	"\tshr.u32 " GT_PTX_TOLD_SPACE ", %__gt_low, 8;\n";
_Static_assert(GT_KEPT_ADDRESS == 32 && GT_KEPT_INFO == 24 && GT_INFO_SPACE_AT == 8, "as in the text");

/* What to write in place of what, in the kernel's body. */
struct substitution {
	const char *from, *to;
};

static const struct substitution in_body[] = {
	{ KERNEL_ID_TEXT, "%__gt_id" },
	/* The empty kernel has no parameters. */
	{ "mov.b64 %__gt_q, 0;", "mov.b64 %__gt_q, %__gt_params;" },
	/* One question instead of several, where the answer is known: see stub.h. */
	{ PTX_FIRST_THREAD, "ld.const.u32 %__gt_t, [%__gt_m+5056];" },
	{ PTX_LANE, "and.b32 %__gt_t, " GT_PTX_VIRTUAL ", " GT_VIRTUAL_LANE ";" },
};

/* How many of them there are in each part of the text. */
static const unsigned substitutions[] = { [GT_PART_FUNCTION] = 0, [GT_PART_BODY] = 2, [GT_PART_BODY_PACKED] = 4 };
_Static_assert(sizeof(in_body) / sizeof(in_body[0]) == 4, "all of them");
_Static_assert(GT_VALUE_FIRST + GT_VALUE_STEP * GT_VALUE_THREAD == 5056, "as in the text");

/* Past what was replaced at `at`; NULL: nothing. */
static const char *substitute(struct ptx_text *out, enum gt_stub_part part, const char *at)
{
	for (unsigned i = 0; i < substitutions[part]; i++) {
		size_t length = strlen(in_body[i].from);

		if (strncmp(at, in_body[i].from, length))
			continue;
		gt_text_puts(out, in_body[i].to);
		return at + length;
	}
	return NULL;
}

/* At the beginning of its line or behind another: under a predicate it has to stay one instruction. */
static bool begins_statement(const char *begin, const char *at)
{
	while (at > begin && strchr(" \t", at[-1]))
		at--;
	return at == begin || strchr("\n;{}:", at[-1]);
}

static void write_part(struct ptx_text *out, const char *text, const char *end, enum gt_stub_part part, enum gt_exit_form form)
{
	const char *past, *begin = text;
	bool fresh = true;	/* a word begins here */

	while (text < end) {
		past = substitute(out, part, text);
		if (!past && fresh && begins_statement(begin, text))
			past = gt_stub_statement(out, text, end, form, part);
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
static int rewrite(const char *text, uint32_t point, enum gt_exit_form form, unsigned arch, bool params, char **ret_text,
		   char *why)
{
	enum gt_stub_part part = arch < GT_PACKED_SINCE ? GT_PART_BODY : GT_PART_BODY_PACKED;
	const char *kernel = strstr(text, ENTRY), *body;
	struct ptx_text out = { 0 };

	if (point == GT_POINT_ENTRY)
		form = GT_EXIT_NONE;
	body = kernel ? strchr(kernel, '{') : NULL;
	if (!body)
		return gt_graft_fail(why, "the text of the probes cannot be brought into a kernel of their own");
	write_part(&out, text, kernel, GT_PART_FUNCTION, form);
	gt_text_add(&out, kernel, (size_t)(body + 1 - kernel));
	gt_text_puts(&out, preamble);
	if (part == GT_PART_BODY_PACKED)
		gt_text_puts(&out, preamble_packed);
	if (params)
		gt_text_puts(&out, preamble_params);
	if (point >= GT_POINT_LOAD)
		gt_text_puts(&out, preamble_access);
	write_part(&out, body + 1, body + strlen(body), part, form);
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

	if (point >= GT_GRAFT_POINTS)
		return gt_graft_fail(why, "only entry, exit and memory accesses can be grafted");
	if (!count)
		return gt_graft_fail(why, "there is no probe for this point");
	for (i = 0; i < count; i++)
		if (which[i] >= probe_count || probes[which[i]].point != point)
			return gt_graft_fail(why, "the plan names a probe of another point");
	return 0;
}

/* The empty kernel with the probes written out in it: those at accesses at its exit, but told of an access. */
static int instrument(const char *empty, const char *probe_text, const struct gt_probe *probes, unsigned probe_count,
		      const struct gt_ptx_plan *plan, bool access, char **ret_text, char *why)
{
	struct gt_ptx_error error = { 0 };
	struct gt_ptx *ptx;
	size_t length;
	int r = gt_ptx_parse(empty, strlen(empty), &ptx, &error);

	if (!r) {
		gt_ptx_write_out(ptx);
		if (access)
			gt_ptx_tell_access(ptx);
		r = gt_ptx_instrument(ptx, probe_text, probes, probe_count, plan, ret_text, &length, &error);
		gt_ptx_free(ptx);
	}
	return r < 0 && r != -ENOMEM ? gt_graft_fail(why, "%s", error.text) : r;
}

/* At exit, if they are at accesses. */
static struct gt_probe *copy_probes(const struct gt_probe *probes, unsigned count, bool access)
{
	struct gt_probe *copy = malloc((count + (size_t)1) * sizeof(*copy));

	for (unsigned i = 0; copy && i < count; i++) {
		copy[i] = probes[i];
		if (access)
			copy[i].point = GT_POINT_EXIT;
	}
	return copy;
}

int gt_graft_stub_text(const char *probe_text, const struct gt_probe *probes, unsigned probe_count,
		       const unsigned *which, unsigned count, uint32_t point, enum gt_exit_form form, unsigned arch,
		       char **ret_text, char why[GT_GRAFT_WHY])
{
	struct gt_ptx_plan plan = { .kernel_id = KERNEL_ID, .probes = which, .probe_count = count };
	bool params = wants_params(probes, which, count);
	const char *empty = params ? empty_kernel_params : empty_kernel;
	bool access = point >= GT_POINT_LOAD;
	struct gt_probe *written;
	const char *reason;
	char *flat, *text;
	int r;

	r = check_probes(probes, probe_count, which, count, point, why);
	if (r < 0)
		return r;
	if (strstr(probe_text, "%lanemask_gt") || strstr(probe_text, "%lanemask_le") ||
	    strstr(probe_text, ENTRY) || strstr(probe_text, KERNEL_ID_TEXT))
		return gt_graft_fail(why, "the probes use names or special registers that stubs need");
	r = gt_probe_text_flatten(probe_text, probes, which, count, &flat, &reason);
	if (r < 0)
		return r == -ENOMEM ? r : gt_graft_fail(why, "%s", reason);
	written = copy_probes(probes, probe_count, access);
	r = written ? instrument(empty, flat, written, probe_count, &plan, access, &text, why) : -ENOMEM;
	free(written);
	free(flat);
	if (r < 0)
		return r;
	r = rewrite(text, point, form, arch, params, ret_text, why);
	free(text);
	return r;
}
