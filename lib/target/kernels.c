/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA kernels that a target has loaded, as its agents report them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/image/image.h"
#include "lib/target/target.h"
#include "lib/util/demangle.h"

/* Ids and names come from the target: do not let it make us allocate without end. */
#define KERNELS_MAX (1u << 22)
#define NAMES_MAX (512ull << 20)	/* bytes, of all kernels of a target */

static int make_room(struct gt_process *process, uint32_t id)
{
	struct gputrace_kernel **more;
	uint32_t room = process->kernel_room ? process->kernel_room : 64;

	if (id >= KERNELS_MAX)
		return -ERANGE;
	if (id < process->kernel_room)
		return 0;
	while (room <= id)
		room *= 2;
	more = realloc(process->kernels, room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + process->kernel_room, 0, (room - process->kernel_room) * sizeof(*more));
	process->kernels = more;
	process->kernel_room = room;
	return 0;
}

struct gputrace_kernel *gt_process_kernel(const struct gt_process *process, uint32_t id)
{
	return id < process->kernel_room ? process->kernels[id] : NULL;
}

static struct gputrace_kernel *new_kernel(struct gt_process *process, uint32_t id, const char *name)
{
	struct gputrace_target *target = process->target;
	struct gputrace_kernel *kernel = target->name_bytes > NAMES_MAX ? NULL : calloc(1, sizeof(*kernel));

	if (!kernel)
		return NULL;
	kernel->name = strdup(name);
	kernel->display_name = gt_demangle(name);
	if (!kernel->name || !kernel->display_name) {
		free(kernel->name);
		free(kernel->display_name);
		free(kernel);
		return NULL;
	}
	target->name_bytes += strlen(name) + strlen(kernel->display_name);
	kernel->process = process;
	kernel->id = id;
	process->kernels[id] = kernel;
	if (target->last_kernel)
		target->last_kernel->next = kernel;
	else
		target->kernels = kernel;
	target->last_kernel = kernel;
	return kernel;
}

int gt_target_add_kernel(struct gt_process *process, const struct gt_rec_function *record,
			 const char *name, const char *reason)
{
	struct gputrace_kernel *kernel;
	int r = make_room(process, record->kernel);

	if (r)
		return r;
	/* The same id again: what is known of it has changed. */
	kernel = gt_process_kernel(process, record->kernel);
	if (!kernel)
		kernel = new_kernel(process, record->kernel, name);
	if (!kernel)
		return -ENOMEM;
	kernel->module = record->module;
	kernel->route = (int)record->route;
	kernel->arch = record->arch;
	if (record->registers) {
		kernel->registers = record->registers;
		kernel->shared_bytes = record->static_shared;
	}
	free(kernel->reason);
	kernel->reason = reason ? strdup(reason) : NULL;
	return 0;
}

const struct gputrace_kernel *gputrace_target_next_kernel(struct gputrace_target *target,
							  const struct gputrace_kernel *previous)
{
	return previous ? previous->next : target->kernels;
}

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
	return kernel->process->pid;
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
