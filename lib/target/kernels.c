/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA kernels that a target has loaded, as its agents report them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/attach/link.h"
#include "lib/target/target.h"

static int make_room(struct gt_process *process, uint32_t id)
{
	struct gputrace_kernel **more;
	uint32_t room = process->kernel_room ? process->kernel_room : 64;

	if (id >= GT_KERNELS_MAX)
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

int gt_target_add_kernel(struct gt_process *process, const struct gt_rec_function *record,
			 const char *name, const char *reason)
{
	struct gt_kernels *kernels = &process->target->kernels;
	struct gputrace_kernel *kernel;
	int r = make_room(process, record->kernel);

	if (r)
		return r;
	/* The same id again: what is known of it has changed. */
	kernel = gt_process_kernel(process, record->kernel);
	if (!kernel)
		kernel = gt_kernels_add(kernels, process->pid, record->kernel, name);
	if (!kernel)
		return -ENOMEM;
	process->kernels[record->kernel] = kernel;
	kernel->target = process->target;
	kernel->module = record->module;
	kernel->route = record->route <= GPUTRACE_ROUTE_GRAFT ? (int)record->route : GPUTRACE_ROUTE_NONE;
	kernel->places = kernel->route == GPUTRACE_ROUTE_NONE ? 0 : record->places;
	kernel->arch = record->arch;
	if (record->registers) {
		kernel->registers = record->registers;
		kernel->shared_bytes = record->static_shared;
	}
	gt_kernel_set_reason(kernel, reason);
	gt_kernels_touch(kernels, kernel);
	return 0;
}

const struct gputrace_kernel *gputrace_target_next_kernel(struct gputrace_target *target,
							  const struct gputrace_kernel *previous)
{
	return previous ? previous->next : target->kernels.first;
}

static bool has_attached(const struct gputrace_kernel *kernel, const struct gt_attached *attached)
{
	return attached->probe.number < GT_PROBES_MAX && kernel->places >> attached->probe.number & 1;
}

int gputrace_kernel_has_program(const struct gputrace_kernel *kernel, const struct gputrace_program *program)
{
	const struct gputrace_link *link = program && kernel->target ? kernel->target->links : NULL;

	for (; link; link = link->next) {
		for (unsigned i = 0; i < link->attached_count; i++) {
			if (link->attached[i].program == program && has_attached(kernel, &link->attached[i]))
				return 1;
		}
	}
	return 0;
}
