/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/instrument/common.h"

bool in_copies;

struct gt_ptx *parse(const char *text)
{
	struct gt_ptx_error error = { .text = "" };
	struct gt_ptx *ptx = NULL;
	int r = gt_ptx_parse(text, strlen(text), &ptx, &error);

	ck_assert_msg(r == 0, "line %u: %s", error.line, error.text);
	return ptx;
}

const struct gt_ptx_kernel *only_kernel(const struct gt_ptx *ptx)
{
	ck_assert_uint_eq(gt_ptx_kernel_count(ptx), 1);
	return gt_ptx_kernel(ptx, 0);
}

struct gt_probe probe_at(uint32_t point)
{
	return (struct gt_probe){ .point = point, .function = "probe", .kernel = "*", .opcode = "*" };
}

char *instrument_with(const char *text, const char *probe_text,
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

char *instrument(const char *text, const struct gt_probe *probes, unsigned count)
{
	return instrument_with(text, PROBE("probe"), probes, count);
}

char *weave_with(const char *text, const struct gt_probe *probes, unsigned probe_count,
		 const struct gt_ptx_plan *plans, int expected, struct gt_ptx_error *error)
{
	struct gt_ptx *ptx = parse(text);
	size_t length;
	char *out = NULL;

	ck_assert_int_eq(gt_ptx_instrument(ptx, PROBE("probe"), probes, probe_count, plans, &out, &length, error),
			 expected);
	gt_ptx_free(ptx);
	return out;
}

unsigned count_of(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

const char *after_site(const char *text, unsigned index)
{
	static const char end[] = "__gt_off:\n\t}\n\t";

	for (; (text = strstr(text, end)); index--) {
		text += strlen(end);
		if (!index)
			return text;
	}
	return NULL;
}

void check_sites(const char *out, const char *const *follow)
{
	const char *at;
	unsigned i;

	for (i = 0; follow[i]; i++) {
		at = after_site(out, i);
		ck_assert_msg(at != NULL, "place %u: %s\n%s", i, follow[i], out);
		ck_assert_msg(!strncmp(at, follow[i], strlen(follow[i])), "place %u: %s, not %.40s", i,
			      follow[i], at);
	}
	ck_assert_msg(!after_site(out, i), "more than %u places\n%s", i, out);
	ck_assert_uint_eq(count_of(out, "call probe,"), i);
}
