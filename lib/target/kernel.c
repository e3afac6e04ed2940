/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/kernel.h"

#include <stdlib.h>
#include <string.h>

#include <gputrace/gputrace.h>

#include "lib/agent/image/image.h"
#include "lib/util/demangle.h"

/* ---- one ---- */

struct gputrace_kernel *gt_kernel_new(uint32_t number, int pid, uint32_t id, const char *name)
{
	struct gputrace_kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return NULL;
	kernel->name = strdup(name);
	kernel->display_name = gt_demangle(name);
	if (!kernel->name || !kernel->display_name) {
		gt_kernel_free(kernel);
		return NULL;
	}
	kernel->number = number;
	kernel->pid = pid;
	kernel->id = id;
	return kernel;
}

size_t gt_kernel_name_bytes(const struct gputrace_kernel *kernel)
{
	return strlen(kernel->name) + strlen(kernel->display_name);
}

void gt_kernel_set_reason(struct gputrace_kernel *kernel, const char *reason)
{
	free(kernel->reason);
	kernel->reason = reason ? strdup(reason) : NULL;
}

void gt_kernel_free(struct gputrace_kernel *kernel)
{
	if (!kernel)
		return;
	free(kernel->name);
	free(kernel->display_name);
	free(kernel->reason);
	free(kernel);
}

/* ---- those of a target ---- */

struct gputrace_kernel *gt_kernels_add(struct gt_kernels *kernels, int pid, uint32_t id, const char *name)
{
	bool room = kernels->count < GT_KERNELS_MAX && kernels->name_bytes <= GT_KERNEL_NAMES_MAX;
	struct gputrace_kernel *kernel = room ? gt_kernel_new(kernels->count, pid, id, name) : NULL;

	if (!kernel)
		return NULL;
	kernels->count++;
	kernels->name_bytes += gt_kernel_name_bytes(kernel);
	if (kernels->last)
		kernels->last->next = kernel;
	else
		kernels->first = kernel;
	kernels->last = kernel;
	return kernel;
}

static void take_out(struct gt_kernels *kernels, struct gputrace_kernel *kernel)
{
	if (kernel->earlier)
		kernel->earlier->later = kernel->later;
	if (kernel->later)
		kernel->later->earlier = kernel->earlier;
	if (kernels->newest == kernel)
		kernels->newest = kernel->earlier;
	kernel->earlier = kernel->later = NULL;
}

void gt_kernels_touch(struct gt_kernels *kernels, struct gputrace_kernel *kernel)
{
	take_out(kernels, kernel);
	kernel->change = ++kernels->changes;
	kernel->told_launches = kernel->launches;
	kernel->told_plain_launches = kernel->plain_launches;
	kernel->earlier = kernels->newest;
	if (kernels->newest)
		kernels->newest->later = kernel;
	kernels->newest = kernel;
}

void gt_kernels_touch_launched(struct gt_kernels *kernels)
{
	for (struct gputrace_kernel *kernel = kernels->first; kernel; kernel = kernel->next) {
		if (kernel->launches != kernel->told_launches || kernel->plain_launches != kernel->told_plain_launches)
			gt_kernels_touch(kernels, kernel);
	}
}

/* Mostly there is none, or they are the last ones. */
const struct gputrace_kernel *gt_kernels_changed_since(const struct gt_kernels *kernels, uint64_t since)
{
	const struct gputrace_kernel *kernel = kernels->newest, *found = NULL;

	for (; kernel && kernel->change > since; kernel = kernel->earlier)
		found = kernel;
	return found;
}

void gt_kernels_free(struct gt_kernels *kernels)
{
	while (kernels->first) {
		struct gputrace_kernel *kernel = kernels->first;

		kernels->first = kernel->next;
		gt_kernel_free(kernel);
	}
}

/* ---- what a user asks ---- */

int gputrace_kernel_name_matches(const char *name, const char *pattern)
{
	return gt_kernel_matches(pattern, name) != 0;
}

const char *gputrace_kernel_get_name(const struct gputrace_kernel *kernel)
{
	return kernel->name;
}

const char *gputrace_kernel_get_display_name(const struct gputrace_kernel *kernel)
{
	return kernel->display_name;
}

int gputrace_kernel_get_pid(const struct gputrace_kernel *kernel)
{
	return kernel->pid;
}

uint32_t gputrace_kernel_get_id(const struct gputrace_kernel *kernel)
{
	return kernel->id;
}

uint32_t gputrace_kernel_get_module(const struct gputrace_kernel *kernel)
{
	return kernel->module;
}

int gputrace_kernel_get_route(const struct gputrace_kernel *kernel)
{
	return kernel->route;
}

const char *gputrace_kernel_get_reason(const struct gputrace_kernel *kernel)
{
	return kernel->reason;
}

uint32_t gputrace_kernel_get_arch(const struct gputrace_kernel *kernel)
{
	return kernel->arch;
}

uint32_t gputrace_kernel_get_registers(const struct gputrace_kernel *kernel)
{
	return kernel->registers;
}

uint32_t gputrace_kernel_get_shared_bytes(const struct gputrace_kernel *kernel)
{
	return kernel->shared_bytes;
}

uint64_t gputrace_kernel_get_launches(const struct gputrace_kernel *kernel)
{
	return kernel->launches;
}

uint64_t gputrace_kernel_get_plain_launches(const struct gputrace_kernel *kernel)
{
	return kernel->plain_launches;
}
