/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_INSTRUMENT_COMMON_H
#define TEST_INSTRUMENT_COMMON_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/instrument/instrument.h"
#include "tests/suite.h"

#define HEADER ".version 8.0\n.target sm_75\n.address_size 64\n"

/* A probe function by the convention, whose name tells it apart in the output; its variable keeps it from being written out. */
#define PROBE(name) \
	".func " name "(.param .b64 l, .param .b64 d, .param .b64 h, .param .b32 k,\n" \
	"\t.param .b64 p, .param .b64 a, .param .b32 s, .param .b32 c)\n{\n\t.local .b32 x;\n\tret;\n}\n"

static inline struct gt_ptx *parse(const char *text)
{
	struct gt_ptx_error error = { .text = "" };
	struct gt_ptx *ptx = NULL;
	int r = gt_ptx_parse(text, strlen(text), &ptx, &error);

	ck_assert_msg(r == 0, "line %u: %s", error.line, error.text);
	return ptx;
}

static inline const struct gt_ptx_kernel *only_kernel(const struct gt_ptx *ptx)
{
	ck_assert_uint_eq(gt_ptx_kernel_count(ptx), 1);
	return gt_ptx_kernel(ptx, 0);
}

/*
 * Every kernel gets every probe; the result, malloc'd.  (Not inline: gcc then
 * takes what it returns for a pointer into it.)
 */
static int in_copies;		/* the probes, rather than in the kernels themselves */
#define COPY "__copy"

static __attribute__((noinline)) char *instrument_with(const char *text, const char *probe_text,
						       const struct gt_probe *probes, unsigned count)
{
	struct gt_ptx_error error = { .text = "" };
	struct gt_ptx *ptx = parse(text);
	unsigned kernels = gt_ptx_kernel_count(ptx), which[16], i;
	struct gt_ptx_plan *plans = calloc(kernels + 1, sizeof(*plans));
	char (*names)[256] = calloc(kernels + 1, sizeof(*names)), *out = NULL;
	size_t length = 0;
	int r;

	for (i = 0; i < count; i++)
		which[i] = i;
	for (i = 0; i < kernels; i++)
		plans[i] = (struct gt_ptx_plan){ .kernel_id = 70 + i, .probes = which, .probe_count = count };
	for (i = 0; i < kernels && in_copies; i++) {
		snprintf(names[i], sizeof(names[i]), "%s" COPY, gt_ptx_kernel(ptx, i)->name);
		plans[i].copy = names[i];
	}
	r = gt_ptx_instrument(ptx, probe_text, probes, count, plans, &out, &length, &error);
	ck_assert_msg(r == 0, "line %u: %s", error.line, error.text);
	ck_assert_uint_eq(strlen(out), length);
	free(plans);
	free(names);
	gt_ptx_free(ptx);
	return out;
}

static inline char *instrument(const char *text, const struct gt_probe *probes, unsigned count)
{
	return instrument_with(text, PROBE("probe"), probes, count);
}

static inline unsigned count_of(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

#endif
