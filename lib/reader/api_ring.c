/* SPDX-License-Identifier: Apache-2.0 */
/* API calls that the operating system's kernel saw. */
#include <stdlib.h>
#include <string.h>

#include "lib/attach/link.h"
#include "lib/reader/reader.h"
#include "lib/uprobe/api_trace.h"

static struct gt_process *process_by_pid(struct gputrace_target *target, uint32_t pid)
{
	struct gt_process *found = NULL;

	/* The latest, should a pid have come again. */
	for (struct gt_process *process = target->processes; process; process = process->next) {
		if (process->configured && process->pid == (int)pid)
			found = process;
	}
	return found;
}

static void take_call(void *data, const struct gt_api_call *call)
{
	struct gputrace_reader *reader = data;
	struct gt_queued *queued;
	unsigned count = gt_api_arg_count(call->function);

	queued = gt_queued_new(GPUTRACE_EVENT_API, process_by_pid(reader->target, call->pid), 0);
	if (queued) {
		queued->event.time = call->enter;
		queued->event.end = call->leave;
		queued->event.pid = (int)call->pid;
		queued->event.tid = (int)call->tid;
		queued->event.name = gt_api_name(call->function);
		queued->event.api_function = (int)call->function;
		queued->event.result = call->result;
		if (call->flags & GT_API_CALL_UNFINISHED)
			queued->event.text = "it never returned";
		queued->event.arg_count = count < GT_API_CALL_ARGS ? count : GT_API_CALL_ARGS;
		memcpy(queued->event.args, call->args, sizeof(queued->event.args));
	}
	gt_reader_push(reader, queued);
}

unsigned gt_reader_drain_api(struct gputrace_reader *reader)
{
	uint64_t lost = 0;
	unsigned count = 0;

	for (struct gputrace_link *link = reader->target->links; link; link = link->next) {
		int n = link->api ? gt_api_trace_consume(link->api, take_call, reader) : 0;

		if (n > 0)
			count += (unsigned)n;
		if (link->api)
			lost += gt_api_trace_lost(link->api);
	}
	if (lost > reader->api_lost) {
		gt_reader_push_lost(reader, NULL, "kernel ring of API calls", lost - reader->api_lost);
		reader->api_lost = lost;
	}
	return count;
}
