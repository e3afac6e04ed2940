/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/section-name.h"

#include <errno.h>
#include <string.h>

#include <gputrace/object.h>

#include "lib/util/error.h"

static const char *after(const char *text, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(text, prefix, length) ? NULL : text + length;
}

struct word {
	const char *text;
	int value;
};

static const struct word points[] = {
	{ "entry", GPUTRACE_POINT_ENTRY }, { "exit", GPUTRACE_POINT_EXIT },
	{ "load", GPUTRACE_POINT_LOAD },   { "store", GPUTRACE_POINT_STORE },
	{ "atomic", GPUTRACE_POINT_ATOMIC }, { "inst", GPUTRACE_POINT_INST },
	{ "block", GPUTRACE_POINT_BLOCK },
};

static const struct word granularities[] = {
	{ "cuda/", GPUTRACE_PER_THREAD },
	{ "cuda.warp/", GPUTRACE_PER_WARP },
	{ "cuda.cta/", GPUTRACE_PER_BLOCK },
};

/* "opcode@kernel", "opcode" */
static int parse_inst(const char *name, const char *rest, struct gt_attach_point *point)
{
	const char *at = strchr(rest, '@');

	point->opcode = rest;
	point->opcode_length = (unsigned)(at ? (size_t)(at - rest) : strlen(rest));
	point->pattern = at ? at + 1 : "*";
	if (!point->opcode_length || !*point->pattern)
		return gt_error(-ENOTSUP, "section %s: an instruction section is named "
				"cuda/inst:<opcode>@<kernel>", name);
	return 0;
}

static int parse_cuda(const char *name, const char *rest, struct gt_attach_point *point)
{
	const char *colon = strchr(rest, ':');
	size_t length = colon ? (size_t)(colon - rest) : strlen(rest);
	unsigned i;

	for (i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		if (strlen(points[i].text) != length || strncmp(points[i].text, rest, length))
			continue;
		point->point = points[i].value;
		if (colon && !colon[1])
			return gt_error(-ENOTSUP, "section %s: no kernel name after the colon", name);
		if (point->point == GPUTRACE_POINT_INST)
			return parse_inst(name, colon ? colon + 1 : "", point);
		point->pattern = colon ? colon + 1 : "*";
		return 0;
	}
	return gt_error(-ENOTSUP, "section %s: after cuda/ comes entry, exit, load, store, atomic, "
			"inst or block, then a colon and a kernel name", name);
}

int gt_section_parse(const char *name, struct gt_attach_point *ret_point)
{
	struct gt_attach_point point = { .point = GPUTRACE_POINT_KERNEL };
	const char *rest;
	unsigned i;
	int r;

	for (i = 0; i < sizeof(granularities) / sizeof(granularities[0]); i++) {
		rest = after(name, granularities[i].text);
		if (!rest)
			continue;
		point.granularity = granularities[i].value;
		r = parse_cuda(name, rest, &point);
		if (r < 0)
			return r;
		*ret_point = point;
		return 0;
	}
	if (after(name, "cuda.") || after(name, "cuda/") || !strcmp(name, "cuda"))
		return gt_error(-ENOTSUP, "section %s: GPU sections begin with cuda/, cuda.warp/ or "
				"cuda.cta/", name);
	*ret_point = point;
	return 0;
}

bool gt_section_parse_bpftime(const char *name, const char *function,
			      struct gt_attach_point *ret_point, bool *ret_certain)
{
	struct gt_attach_point point = { .granularity = GPUTRACE_PER_THREAD };
	const char *kernel = after(name, "kprobe/");

	point.point = GPUTRACE_POINT_ENTRY;
	if (!kernel) {
		kernel = after(name, "kretprobe/");
		point.point = GPUTRACE_POINT_EXIT;
	}
	if (!kernel || !*kernel)
		return false;
	if (!strcmp(kernel, "__memcapture")) {
		/* every load and store: one pattern for ld and st */
		point.point = GPUTRACE_POINT_INST;
		point.opcode = "[ls][dt].*";
		point.opcode_length = (unsigned)strlen(point.opcode);
		kernel = "*";
		*ret_certain = true;
	} else {
		/* Functions of the operating system's kernel are C: no name of theirs is mangled. */
		*ret_certain = after(kernel, "_Z") || after(kernel, "cuda_") ||
			       !strcmp(kernel, "__directly_run") || after(function, "cuda__");
		if (after(kernel, "cuda_"))
			kernel += strlen("cuda_");
	}
	point.pattern = kernel;
	*ret_point = point;
	return true;
}
