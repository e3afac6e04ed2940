/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ctx.h"
#include "lib/target/area.h"
#include "lib/target/target.h"

/* For the life of a process; it may say what it likes. */
#define CONTEXTS_MAX (1u << 20)

/* Numbers come in order, but for those whose announcement is late. */
static int add_context(struct gt_process *process, uint32_t number, struct gt_target_context **ret_context)
{
	uint32_t room = process->context_room ? process->context_room : 16;
	struct gt_target_context **more;

	if (number >= CONTEXTS_MAX)
		return -ENOSPC;
	while (room <= number)
		room *= 2;
	if (room > process->context_room) {
		more = realloc(process->contexts, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + process->context_room, 0, (room - process->context_room) * sizeof(*more));
		process->contexts = more;
		process->context_room = room;
	}
	*ret_context = process->contexts[number] = calloc(1, sizeof(**ret_context));
	if (!*ret_context)
		return -ENOMEM;
	if (number >= process->context_count)
		process->context_count = number + 1;
	(*ret_context)->number = number;
	return 0;
}

/* The timer register first; where it cannot be read this process's stamps serve, and nobody else's: they may be lies. */
static int find_clock(struct gt_process *process, struct gt_target_context *context, struct gputrace_gpu *gpu)
{
	struct gputrace_clock_opts opts = {
		.size = sizeof(opts), .select = GPUTRACE_CLOCK_NO_DEVICE, .tick_ns = gputrace_clock_get_tick(gpu->clock),
	};
	struct gputrace_clock **own = &process->clocks[gpu->index];
	int r;

	context->clock = gpu->clock;
	if (gputrace_clock_get_source(gpu->clock) != GPUTRACE_CLOCK_SOURCE_NONE)
		return 0;
	if (!*own) {
		r = gputrace_clock_open(process->target->ctx, &opts, own);
		if (r)
			return r;
	}
	context->clock = *own;
	if (!process->target->software_device)
		gt_process_send(process, GT_MSG_STAMP, context->number);
	return 0;
}

static int follow(struct gt_process *process, struct gt_target_context *context, const struct gt_rec_context *record)
{
	struct gputrace_gpu *gpu;
	int r = gt_gpu_get(process->target, record, &gpu);

	context->device = record->device;
	if (!r)
		r = find_clock(process, context, gpu);
	if (r)
		return r;
	context->gpu = gpu;
	context->events.arch = gpu->arch;
	return record->area == UINT32_MAX ? 0 : gt_area_take(process, record->area, context);
}

int gt_target_context_seen(struct gt_process *process, const struct gt_rec_context *record)
{
	struct gt_target_context *context;
	int r;

	if (gt_process_context(process, record->context))
		return -EALREADY;
	r = add_context(process, record->context, &context);
	if (!r)
		r = follow(process, context, record);
	if (r)
		gt_log(process->target->ctx, GPUTRACE_LOG_ERROR, "a CUDA context of process %d cannot be followed: %s",
		       process->pid, strerror(-r));
	return r;
}

void gt_target_context_ended(struct gt_target_context *context)
{
	free(context->order);
	context->order = NULL;
}

void gt_target_context_free(struct gt_target_context *context)
{
	if (context)
		gt_target_context_ended(context);
	free(context);
}

/* Quickly at first, since one sample says nothing of the rate; then ten times a second. */
static void update_clock(struct gputrace_gpu *gpu, uint64_t now)
{
	uint64_t pause = 5000000ull << (gpu->updates < 5 ? gpu->updates : 5);

	if (now < gpu->next_update)
		return;
	gputrace_clock_update(gpu->clock);
	gpu->updates++;
	gpu->next_update = now + (pause < 100000000 ? pause : 100000000);
}

void gt_target_update_clocks(struct gputrace_target *target, uint64_t now)
{
	if (target->software_device)
		return;
	for (struct gputrace_gpu *gpu = target->gpus; gpu; gpu = gpu->next) {
		if (gputrace_clock_get_source(gpu->clock) != GPUTRACE_CLOCK_SOURCE_NONE)
			update_clock(gpu, now);
	}
}
