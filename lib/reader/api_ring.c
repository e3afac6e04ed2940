/* SPDX-License-Identifier: Apache-2.0 */
/* API calls, most of them from the ring of the operating system's kernel. */
#include <stdlib.h>
#include <string.h>

#include "lib/attach/link.h"
#include "lib/reader/reader.h"
#include "lib/symbol/symbolizer.h"
#include "lib/uprobe/api_trace.h"
#include "lib/uprobe/kernel_programs.h"

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

struct stack {
	const uint64_t *frames;
	unsigned count;
	int end;		/* enum gputrace_stack_end */
};

/* NULL: no memory. */
static struct gputrace_symbolizer *unwinder(struct gputrace_reader *reader)
{
	if (!reader->symbolizer && !reader->unwinder)
		gputrace_symbolizer_new(NULL, &reader->unwinder);
	return reader->symbolizer ? reader->symbolizer : reader->unwinder;
}

void gt_reader_meet(struct gputrace_reader *reader, const struct gt_process *process)
{
	bool unwinds = false;

	for (const struct gputrace_link *link = reader->target->links; link; link = link->next)
		unwinds |= link->unwinds;
	if (unwinds && unwinder(reader))
		gt_symbolizer_meet(unwinder(reader), process->pid);
}

/* Now, while the process is most likely there, whose files it takes. */
static struct stack unwind(struct gputrace_reader *reader, const struct gt_api_call *call)
{
	uint32_t max = call->stack_frames < GT_UNWIND_FRAMES ? call->stack_frames : GT_UNWIND_FRAMES;
	struct gputrace_symbolizer *symbolizer = unwinder(reader);
	struct stack stack = { .frames = reader->frames, .end = GPUTRACE_STACK_LOST };

	if (symbolizer)
		stack.count = gt_symbolizer_unwind(symbolizer, (int)call->pid, call->enter, call->registers,
						   call->copy, call->copy_bytes, reader->frames, max, &stack.end);
	return stack;
}

static struct stack stack_of(struct gputrace_reader *reader, const struct gt_api_call *call)
{
	if (call->registers)
		return unwind(reader, call);
	if (reader->symbolizer && call->stack_count)
		gt_symbolizer_note(reader->symbolizer, (int)call->pid, call->enter, call->stack, call->stack_count);
	return (struct stack){ .frames = call->stack, .count = call->stack_count };
}

void gt_reader_push_call(struct gputrace_reader *reader, struct gt_process *process,
			 const struct gt_api_call *call, int type)
{
	struct stack stack = stack_of(reader, call);
	struct gt_queued *queued = gt_queued_new(type, process, stack.count * sizeof(*stack.frames));

	if (queued) {
		queued->event.time = call->enter;
		queued->event.end = call->leave;
		queued->event.pid = (int)call->pid;
		queued->event.tid = (int)call->tid;
		queued->event.name = call->name;
		memcpy(queued->event.command, call->comm, sizeof(call->comm));
		queued->event.api_function = (int)call->function;
		queued->event.result = call->result;
		queued->event.value = call->value;
		queued->event.range_id = call->range;
		queued->event.external_id = call->external;
		if (call->flags & GT_API_CALL_UNFINISHED)
			queued->event.text = "it never returned";
		queued->event.arg_count = call->arg_count;
		memcpy(queued->event.args, call->args, sizeof(queued->event.args));
		if (stack.count)
			queued->event.stack = memcpy(queued->bytes, stack.frames, stack.count * sizeof(*stack.frames));
		queued->event.stack_count = stack.count;
		queued->event.stack_end = stack.end;
	}
	gt_reader_push(reader, queued);
}

static void take_api_call(void *data, const struct gt_api_call *call)
{
	struct gputrace_reader *reader = data;

	gt_reader_push_call(reader, process_by_pid(reader->target, call->pid), call, GPUTRACE_EVENT_API);
}

static void take_function_call(void *data, const struct gt_api_call *call)
{
	struct gputrace_reader *reader = data;

	gt_reader_push_call(reader, process_by_pid(reader->target, call->pid), call, GPUTRACE_EVENT_CALL);
}

/* What is to be known of how calls are recorded. */
static void say_notes(struct gputrace_reader *reader, struct gputrace_link *link)
{
	char *note;

	while ((note = gt_notes_take(&link->notes))) {
		gt_reader_push_note(reader, NULL, note, 0);
		free(note);
	}
}

unsigned gt_reader_drain_api(struct gputrace_reader *reader)
{
	uint64_t lost = 0;
	unsigned count = 0;

	for (struct gputrace_link *link = reader->target->links; link; link = link->next) {
		int n = 0;

		if (link->api)
			n = gt_api_trace_consume(link->api, link->by_pattern ? take_function_call : take_api_call, reader);
		if (n > 0)
			count += (unsigned)n;
		lost += link->api ? gt_api_trace_lost(link->api) : 0;
		if (link->programs)
			gt_kernel_programs_look(link->programs);
		say_notes(reader, link);
	}
	if (lost > reader->api_lost) {
		gt_reader_push_lost(reader, NULL, "kernel ring of calls", lost - reader->api_lost);
		reader->api_lost = lost;
	}
	return count;
}
