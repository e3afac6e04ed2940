/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/module/unseen.h"

#include <stdlib.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/build/parts.h"

static struct unseen {
	struct unseen *next;
	struct gt_kernel kernel;
} *all;

/* Launch functions take handles of both kinds. */
static const char *name_of(void *function)
{
	const char *name;

	if (gt_cu.cuFuncGetName && !gt_cu.cuFuncGetName(&name, function))
		return name;
	if (gt_cu.cuKernelGetName && !gt_cu.cuKernelGetName(&name, function))
		return name;
	return "(a kernel whose name this driver does not tell)";
}

static bool ask_kernel(int *value, CUfunction_attribute which, void *kernel)
{
	CUdevice device;

	return gt_cu.cuKernelGetAttribute && !gt_cu.cuCtxGetDevice(&device) &&
	       !gt_cu.cuKernelGetAttribute(value, which, kernel, device);
}

/* 0: the driver does not tell. */
static unsigned attribute(void *function, CUfunction_attribute which)
{
	int value = 0;

	if ((!gt_cu.cuFuncGetAttribute || gt_cu.cuFuncGetAttribute(&value, which, function)) &&
	    !ask_kernel(&value, which, function))
		return 0;
	return value > 0 ? (unsigned)value : 0;
}

static void report(struct gt_kernel *kernel, void *function)
{
	struct gt_cubin_kernel code = {
		.registers = attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS),
		.static_shared = attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
		.local_bytes = attribute(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
	};
	struct gt_report report = {
		.reason = GT_REASON_BEFORE,
		.text = "loaded before attach",
		.code = &code,
		.arch = attribute(function, CU_FUNC_ATTRIBUTE_BINARY_VERSION),
	};

	gt_report_kernel(kernel, &report);
}

struct gt_kernel *gt_unseen_kernel(void *function)
{
	const char *name = name_of(function);
	struct unseen *unseen;

	for (unseen = all; unseen; unseen = unseen->next) {
		if (!strcmp(unseen->kernel.name, name))
			return &unseen->kernel;
	}
	unseen = calloc(1, sizeof(*unseen));
	if (!unseen)
		return NULL;
	unseen->kernel.name = strdup(name);
	if (!unseen->kernel.name) {
		free(unseen);
		return NULL;
	}
	unseen->kernel.id = gt_take_kernel_id();
	unseen->next = all;
	all = unseen;
	report(&unseen->kernel, function);
	return &unseen->kernel;
}

void gt_unseen_tell(void)
{
	for (const struct unseen *unseen = all; unseen; unseen = unseen->next)
		gt_kernel_tell(&unseen->kernel);
}
