/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ctx.h"
#include "lib/object/map.h"
#include "lib/target/target.h"

static int refresh(void *target, int timeout_ms)
{
	return gt_target_flush(target, timeout_ms);
}

static int add_instances(struct gt_process *process, unsigned index)
{
	struct gputrace_target *target = process->target;
	const struct gt_layout *layout = &target->layout;
	uint8_t *area = (uint8_t *)gt_process_area(process, index);
	struct gt_target_context *context = &process->contexts[index];

	struct gputrace_instance_info info = {
		.pid = process->pid, .context = index, .gpu = context->gpu->index,
	};

	if (!layout->map_count)
		return 0;
	memcpy(info.uuid, context->gpu->uuid, sizeof(info.uuid));
	context->instances = calloc(layout->map_count, sizeof(*context->instances));
	if (!context->instances)
		return -ENOMEM;
	for (unsigned i = 0; i < layout->map_count; i++) {
		struct gputrace_map *map = layout->maps[i];
		uint8_t *memory = area + map->place.offset;
		int r = 0;

		if (gt_map_arena(map) == GT_ARENA_DEV)
			memory += layout->shm.snapshot;
		/* What all contexts and the operating system's kernel share is there already. */
		if (map->live)
			context->instances[i] = map->live_instance;
		else
			r = gt_map_add_instance(map, memory, refresh, target, &info,
						&context->instances[i]);
		if (r)
			return r;
		context->instance_count++;
	}
	return 0;
}

/* The timer register first; where it cannot be read this process's stamps serve, and nobody else's: they may be lies. */
static int find_clock(struct gt_process *process, unsigned index, struct gputrace_gpu *gpu)
{
	struct gputrace_clock_opts opts = {
		.size = sizeof(opts), .select = GPUTRACE_CLOCK_NO_DEVICE, .tick_ns = gputrace_clock_get_tick(gpu->clock),
	};
	struct gt_target_context *context = &process->contexts[index];
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
		gt_process_send(process, GT_MSG_STAMP, index);
	return 0;
}

int gt_target_context_seen(struct gt_process *process, const struct gt_rec_context *record)
{
	struct gt_target_context *context;
	struct gputrace_gpu *gpu;
	int r;

	if (record->context >= GT_CONTEXTS_MAX)
		return -ERANGE;
	context = &process->contexts[record->context];
	if (context->known)
		return -EALREADY;
	context->known = true;
	context->device = record->device;
	r = gt_gpu_get(process->target, record, &gpu);
	if (!r)
		r = find_clock(process, record->context, gpu);
	if (!r) {
		context->gpu = gpu;
		r = add_instances(process, record->context);
	}
	if (r)
		gt_log(process->target->ctx, GPUTRACE_LOG_ERROR, "a CUDA context of process %d cannot be followed: %s",
		       process->pid, strerror(-r));
	return r;
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

void gt_target_keep_maps(struct gputrace_target *target)
{
	for (struct gt_process *process = target->processes; process; process = process->next) {
		for (unsigned c = 0; c < GT_CONTEXTS_MAX; c++) {
			struct gt_target_context *context = &process->contexts[c];

			for (unsigned i = 0; i < context->instance_count; i++)
				gt_map_keep_instance(target->layout.maps[i], context->instances[i]);
			free(context->instances);
			context->instances = NULL;
			context->instance_count = 0;
		}
	}
}
