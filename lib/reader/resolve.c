/* SPDX-License-Identifier: Apache-2.0 */
/* Ties events together when they are delivered, since their records come by different ways. */
#include <string.h>

#include "lib/reader/launches.h"
#include "lib/reader/reader.h"
#include "lib/uprobe/api_trace.h"

#define LAUNCH_WINDOW_NS 1000000000u

bool gt_reader_host_time(const struct gt_target_context *context, uint64_t gpu, uint64_t *ret_host,
			 uint64_t *ret_error)
{
	return context && context->clock && !gputrace_clock_to_host(context->clock, gpu, GPUTRACE_CLOCK_BOUND_REGISTER,
							 ret_host, ret_error);
}

static void resolve_name(struct gputrace_event *event, const struct gt_process *process)
{
	const struct gputrace_kernel *kernel = gt_process_kernel(process, event->kernel_id);

	event->name = kernel ? kernel->display_name : "(unknown kernel)";
}

static void resolve_gpu(struct gputrace_event *event, const struct gt_process *process)
{
	const struct gt_target_context *context = gt_process_context(process, event->context);

	if (!context)
		return;
	event->device = context->device;
	event->gpu = context->gpu;
}

static void resolve_launch(struct gputrace_event *event, struct gt_process *process)
{
	const struct gt_rec_launch *launch = gt_launches_find(process->launches, event->launch_id);

	if (launch) {
		process->finished += event->type == GPUTRACE_EVENT_KERNEL &&
				     !(launch->flags & GT_LAUNCH_CAPTURED);
		/* A kernel's own record says which it was. */
		if (event->type != GPUTRACE_EVENT_KERNEL)
			event->kernel_id = launch->kernel;
		event->context = launch->context;
		event->stream = launch->stream;
		event->shared_bytes = launch->shared_bytes;
		event->range_id = launch->range;
		event->external_id = launch->external;
		memcpy(event->grid, launch->grid, sizeof(event->grid));
		memcpy(event->block, launch->block, sizeof(event->block));
		if (event->type == GPUTRACE_EVENT_KERNEL)
			event->tid = (int)launch->tid;
	}
	resolve_gpu(event, process);
	resolve_name(event, process);
}

/* Which launch a call of a launch function stands for; uprobes do not know what the thread's work belonged to. */
static void resolve_call(struct gputrace_event *event, const struct gt_process *process)
{
	const struct gt_rec_launch *launch;

	event->launch_id = gt_launches_within(process->launches, (uint32_t)event->tid, event->time, event->end);
	launch = gt_launches_find(process->launches, event->launch_id);
	if (launch) {
		event->range_id = launch->range;
		event->external_id = launch->external;
	}
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

void gt_reader_keep_length(struct gputrace_event *event, uint64_t start_error, uint64_t end_error)
{
	int64_t length = (int64_t)(event->gpu_end - event->gpu_start);
	int64_t start = (int64_t)event->time, end = (int64_t)event->end;
	int64_t lo = start - (int64_t)start_error, hi = start + (int64_t)start_error;

	if (lo < end - (int64_t)end_error - length)
		lo = end - (int64_t)end_error - length;
	if (hi > end + (int64_t)end_error - length)
		hi = end + (int64_t)end_error - length;
	if (length < 0 || lo > hi || lo < 0)
		return;
	event->time = (uint64_t)(lo + (hi - lo) / 2);
	event->end = event->time + (uint64_t)length;
	start_error += distance(event->time, (uint64_t)start);
	end_error += distance(event->end, (uint64_t)end);
	event->time_error = start_error > end_error ? start_error : end_error;
}

/*
 * A kernel starts after its launch was entered: where that is later than the clock's
 * error allows for, it narrows the error.  Beyond the error it is a contradiction,
 * which stays as it is, to be seen.
 */
static void use_causality(struct gputrace_event *event, const struct gt_process *process)
{
	const struct gt_rec_launch *launch = gt_launches_find(process->launches, event->launch_id);
	uint64_t later;

	if (!launch || launch->flags & GT_LAUNCH_CAPTURED || event->time_error == UINT64_MAX ||
	    event->time + event->time_error < launch->enter ||
	    event->time >= launch->enter + event->time_error)
		return;
	/* From [time - error, time + error] to [enter, time + error]. */
	later = (launch->enter + event->time + event->time_error + 1) / 2 - event->time;
	event->time_error -= later < event->time_error ? later : event->time_error;
	event->time += later;
	event->end += later;
}

static void resolve_gpu_time(struct gputrace_event *event, const struct gt_process *process)
{
	const struct gt_target_context *context = gt_process_context(process, event->context);
	uint64_t start_error = 0, end_error = 0;

	if (gt_reader_host_time(context, event->gpu_start, &event->time, &start_error) &&
	    gt_reader_host_time(context, event->gpu_end, &event->end, &end_error)) {
		event->time_error = start_error > end_error ? start_error : end_error;
		gt_reader_keep_length(event, start_error, end_error);
	} else {
		event->time = event->end;
		event->time_error = UINT64_MAX;
	}
}

static bool has_launch(const struct gt_queued *queued)
{
	uint64_t launch = queued->event.launch_id;

	return !launch || gt_launches_find(queued->process->launches, launch);
}

/* Had the clock learnt anything when it was taken in, or has it since? */
static bool has_time(const struct gt_queued *queued)
{
	const struct gt_target_context *context = gt_process_context(queued->process, queued->event.context);
	uint64_t host, error;

	return queued->event.time_error != UINT64_MAX ||
	       gt_reader_host_time(context, queued->event.gpu_end, &host, &error);
}

uint64_t gt_reader_due(const struct gt_queued *queued, uint64_t window_ns)
{
	if (queued->event.type == GPUTRACE_EVENT_KERNEL && window_ns < LAUNCH_WINDOW_NS &&
	    !(has_launch(queued) && has_time(queued)))
		window_ns = LAUNCH_WINDOW_NS;
	return queued->event.end + window_ns;
}

void gt_reader_resolve(struct gt_queued *queued)
{
	struct gputrace_event *event = &queued->event;
	struct gt_process *process = queued->process;

	if (!process)
		return;
	event->pid = process->pid;
	switch (event->type) {
	case GPUTRACE_EVENT_KERNEL:
		resolve_gpu_time(event, process);
		use_causality(event, process);
		resolve_launch(event, process);
		break;
	case GPUTRACE_EVENT_PRINT:
		resolve_gpu_time(event, process);
		resolve_launch(event, process);
		break;
	case GPUTRACE_EVENT_LAUNCH:
		resolve_launch(event, process);
		break;
	case GPUTRACE_EVENT_API:
		if (gt_api_is_launch((uint32_t)event->api_function))
			resolve_call(event, process);
		break;
	case GPUTRACE_EVENT_EXIT:
		if (process->started > process->finished) {
			event->count = process->started - process->finished;
			event->text = "the ends of some kernels were not seen: they failed, were still running, or their records were lost";
		}
		break;
	case GPUTRACE_EVENT_DATA:
		resolve_gpu(event, process);
		break;
	default:
		break;
	}
}
