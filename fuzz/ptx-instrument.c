/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as PTX: parsed, and when that works, given probes at every point and parsed again. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/agent/instrument/instrument.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct gt_probe probes[] = {
	{ GT_POINT_ENTRY, GT_PER_WARP, 0, GT_PROBE_WANTS_PARAMS, "p", "*", NULL, 0 },
	{ GT_POINT_EXIT, GT_PER_GROUP, 1, 0, "p", "*", NULL, 1 },
	{ GT_POINT_LOAD, GT_PER_THREAD, 2, 0, "p", "*", NULL, 2 },
	{ GT_POINT_STORE, GT_PER_BLOCK, 3, GT_PROBE_ADDS_LATER, "s", "*", NULL, 3 },
	{ GT_POINT_ATOMIC, GT_PER_THREAD, 4, 0, "p", "*", NULL, 4 },
	{ GT_POINT_INST, GT_PER_THREAD, 5, 0, "p", "*", "*a*", 5 },
	{ GT_POINT_BLOCK, GT_PER_THREAD, 6, GT_PROBE_ADDS_LATER, "s", "*", NULL, 6 },
};

/* Short, so written out; the second one sums up. */
#define PARAMS \
	"(.param .b64 l, .param .b64 d, .param .b64 h, .param .b32 k, .param .b64 p, .param .b64 a," \
	" .param .b32 s, .param .b32 c)"
static const char probe_text[] =
	".func p" PARAMS " { .reg .b64 %a; ld.param.b64 %a, [a]; ret; }\n"
	".func s" PARAMS " { .reg .b64 %a1, %a2; ld.param.b64 %a1, [d]; ld.param.b32 %a2, [s];"
	" red.relaxed.gpu.global.add.u64 [%a1+8], %a2; red.relaxed.gpu.global.add.u32 [%a1], 1; ret; }";

/* Could the kernels run from a second module? */
static void set_apart(const struct gt_ptx *ptx)
{
	struct gt_ptx_apart *aparts = calloc(gt_ptx_kernel_count(ptx) + 1, sizeof(*aparts));

	if (aparts)
		gt_ptx_apart(ptx, aparts);
	free(aparts);
}

static void find_places(const struct gt_ptx *ptx, const struct gt_ptx_plan *plans)
{
	uint64_t *places = calloc(gt_ptx_kernel_count(ptx) + 1, sizeof(*places));

	if (places)
		gt_ptx_places(ptx, probes, 7, plans, places);
	free(places);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned all[] = { 0, 1, 2, 3, 4, 5, 6 };
	struct gt_ptx_error error;
	struct gt_ptx_plan *plans;
	struct gt_ptx *ptx, *again;
	unsigned i, kernels, copies = 0;
	char *out, (*names)[16];
	size_t length;

	if (gt_ptx_parse((const char *)data, size, &ptx, &error) < 0)
		return 0;
	set_apart(ptx);
	kernels = gt_ptx_kernel_count(ptx);
	plans = calloc(kernels + 1, sizeof(*plans));
	names = calloc(kernels + 1, sizeof(*names));
	for (i = 0; plans && names && i < kernels; i++) {
		plans[i] = (struct gt_ptx_plan){ .kernel_id = i, .probes = all, .probe_count = 7 };
		if (gt_ptx_kernel(ptx, i)->refusal || i % 3 == 2)
			plans[i].probe_count = 0;
		if (i % 2 == size % 2) {
			snprintf(names[i], sizeof(names[i]), "copy%u", i);
			plans[i].copy = names[i];
			plans[i].max_registers = 64;
			copies += plans[i].probe_count != 0;
		}
	}
	if (plans && names && !gt_ptx_instrument(ptx, probe_text, probes, 7, plans, &out, &length, &error)) {
		/* What was understood once stays so. */
		if (gt_ptx_parse(out, length, &again, &error) < 0 || gt_ptx_kernel_count(again) != kernels + copies)
			abort();
		gt_ptx_free(again);
		free(out);
		find_places(ptx, plans);
	}
	free(names);
	free(plans);
	gt_ptx_free(ptx);
	return 0;
}
