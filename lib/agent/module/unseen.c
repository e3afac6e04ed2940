/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/module/unseen.h"

#include <stdlib.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/build/parts.h"
#include "lib/agent/module/ask.h"

static struct unseen {
	struct unseen *next;
	struct gt_kernel kernel;
	uint32_t module;	/* its number; 0: not known */
	bool known;		/* handles lead to it */
	bool told;		/* to this session's controller */
} *all;

/* 0: the driver does not tell. */
static unsigned attribute(void *function, CUfunction_attribute which)
{
	int value;

	return gt_ask_attribute(function, which, &value) && value > 0 ? (unsigned)value : 0;
}

static void report(struct unseen *unseen, void *function, enum gt_reason reason, const char *why)
{
	struct gt_cubin_kernel code = {
		.registers = attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS),
		.static_shared = attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
		.local_bytes = attribute(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
	};
	struct gt_report report = {
		.reason = reason,
		.text = why,
		.code = &code,
		.module = unseen->module,
		.arch = attribute(function, CU_FUNC_ATTRIBUTE_BINARY_VERSION),
	};

	gt_report_kernel(&unseen->kernel, &report);
}

static struct unseen *add(const char *name, uint32_t module)
{
	struct unseen *unseen = calloc(1, sizeof(*unseen));

	if (!unseen)
		return NULL;
	unseen->kernel.name = strdup(name);
	if (!unseen->kernel.name) {
		free(unseen);
		return NULL;
	}
	unseen->kernel.id = gt_take_kernel_id();
	unseen->module = module;
	unseen->next = all;
	all = unseen;
	return unseen;
}

static struct unseen *find(const char *name, uint32_t module)
{
	struct unseen *unseen = all;

	while (unseen && (unseen->module != module || strcmp(unseen->kernel.name, name)))
		unseen = unseen->next;
	return unseen;
}

struct gt_kernel *gt_unseen_kernel(void *function, uint32_t module, enum gt_reason reason, const char *why)
{
	const char *name = gt_ask_name(function);
	struct unseen *unseen;

	if (!name)
		name = "(a kernel whose name this driver does not tell)";
	unseen = find(name, module);
	if (!unseen)
		unseen = add(name, module);
	if (!unseen)
		return NULL;
	/* Another session may have found another reason. */
	if (!unseen->told || !unseen->kernel.why || strcmp(unseen->kernel.why, why))
		report(unseen, function, reason, why);
	unseen->known = unseen->told = true;
	return &unseen->kernel;
}

void gt_unseen_tell(void)
{
	for (struct unseen *unseen = all; unseen; unseen = unseen->next) {
		unseen->told = unseen->known;
		if (unseen->known)
			gt_kernel_tell(&unseen->kernel);
	}
}

void gt_unseen_forget(void)
{
	for (struct unseen *unseen = all; unseen; unseen = unseen->next)
		unseen->known = false;
}
