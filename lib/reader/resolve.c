/* SPDX-License-Identifier: Apache-2.0 */
/* Ties events together when they are delivered, since their records come by different ways. */
#include <string.h>

#include "lib/reader/copies.h"
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

/* Which launch or copy a call stands for; uprobes do not know what the thread's work belonged to. */
static void resolve_call(struct gputrace_event *event, const struct gt_process *process)
{
	const struct gt_rec_launch *launch;
	const struct gt_rec_copy *copy;

	event->launch_id = gt_launches_within(process->launches, (uint32_t)event->tid, event->time, event->end);
	launch = gt_launches_find(process->launches, event->launch_id);
	copy = gt_copies_find(process->copies, event->launch_id);
	if (launch || copy) {
		event->range_id = launch ? launch->range : copy->range;
		event->external_id = launch ? launch->external : copy->external;
	}
}

/* Does its function launch a kernel, or copy where copies are recorded? */
static bool may_have_id(const struct gputrace_event *event, const struct gt_process *process)
{
	int group = gt_api_group((uint32_t)event->api_function);

	return gt_api_is_launch((uint32_t)event->api_function) ||
	       (process->copies && (group == GT_API_COPY || group == GT_API_MEMSET));
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

void gt_reader_confine_start(struct gputrace_event *event, uint64_t earliest, uint64_t latest, bool with_end)
{
	uint64_t lo, hi, time;

	if (event->time_error > event->time)
		return;
	lo = event->time - event->time_error;
	hi = event->time + event->time_error;
	if (hi < earliest || lo > latest || (lo >= earliest && hi <= latest))
		return;
	lo = lo > earliest ? lo : earliest;
	hi = hi < latest ? hi : latest;
	time = lo + (hi - lo + 1) / 2;
	event->time_error = time - lo;
	if (with_end)
		event->end += time - event->time;
	event->time = time;
}

static void use_causality(struct gputrace_event *event, const struct gt_process *process)
{
	const struct gt_rec_launch *launch = gt_launches_find(process->launches, event->launch_id);

	if (launch && !(launch->flags & GT_LAUNCH_CAPTURED))
		gt_reader_confine_start(event, launch->enter, UINT64_MAX, true);
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

/* What a kernel says of the copies of its stream, if there are any. */
static void learn_order(const struct gputrace_event *event, const struct gt_process *process)
{
	const struct gt_rec_launch *launch = gt_launches_find(process->launches, event->launch_id);
	struct gt_target_context *context = gt_process_context(process, event->context);
	struct gt_stream_work work = { .start = event->gpu_start, .end = event->gpu_end };

	if (!launch || launch->flags & GT_LAUNCH_CAPTURED || !context || !context->order)
		return;
	work.stream = launch->stream;
	work.enter = launch->enter;
	work.leave = launch->leave;
	gt_stream_order_add_kernel(context->order, &context->events, &work);
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
	int type = queued->event.type;
	bool untimed = type == GPUTRACE_EVENT_COPY ? !gt_copy_has_time(queued) :
		       (type == GPUTRACE_EVENT_KERNEL || type == GPUTRACE_EVENT_PRINT) && !has_time(queued);

	if (window_ns < LAUNCH_WINDOW_NS && type != GPUTRACE_EVENT_PRINT &&
	    (untimed || (type == GPUTRACE_EVENT_KERNEL && !has_launch(queued))))
		window_ns = LAUNCH_WINDOW_NS;
	/* What has no time is in the queue by when it can have ended at the earliest, and is waited for from when it was told. */
	return (untimed ? queued->told : queued->event.end) + window_ns;
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
		learn_order(event, process);
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
		if (may_have_id(event, process))
			resolve_call(event, process);
		break;
	case GPUTRACE_EVENT_COPY:
		gt_copy_resolve(queued);
		resolve_gpu(event, process);
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
