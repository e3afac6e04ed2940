/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a process's agent. */
#include <errno.h>
#include <string.h>

#include "lib/attach/link.h"
#include "lib/reader/copies.h"
#include "lib/reader/launches.h"
#include "lib/reader/ranges.h"
#include "lib/reader/reader.h"
#include "lib/target/context.h"
#include "lib/uprobe/api_trace.h"

/* A string of `size` bytes in the payload that must end in a NUL; NULL if it does not fit. */
static const char *string_in(const uint8_t *payload, uint32_t payload_size, uint32_t offset, uint32_t size)
{
	if (!size || offset > payload_size || size > payload_size - offset || payload[offset + size - 1])
		return NULL;
	return (const char *)payload + offset;
}

static void take_function(struct gputrace_reader *reader, struct gt_process *process,
			  const uint8_t *payload, uint32_t size)
{
	struct gt_rec_function record;
	const char *name, *reason;
	struct gt_queued *queued;
	struct gputrace_kernel *kernel;

	if (size < sizeof(record))
		return;
	memcpy(&record, payload, sizeof(record));
	name = string_in(payload, size, sizeof(record), record.name_size);
	if (!name)
		return;
	reason = string_in(payload, size, (uint32_t)sizeof(record) + record.name_size, record.reason_size);
	if (gt_target_add_kernel(process, &record, name, reason)) {
		gt_reader_push_lost(reader, process, "list of kernels", 1);
		return;
	}
	kernel = gt_process_kernel(process, record.kernel);
	queued = gt_queued_new(GPUTRACE_EVENT_FUNCTION, process, reason ? record.reason_size : 0);
	if (queued) {
		queued->event.time = queued->event.end = gt_reader_now();
		queued->event.kernel_id = record.kernel;
		queued->event.name = kernel->display_name;
		if (reason)
			queued->event.text = strcpy(queued->bytes, reason);
	}
	gt_reader_push(reader, queued);
}

static void take_launch(struct gputrace_reader *reader, struct gt_process *process,
			const uint8_t *payload, uint32_t size)
{
	struct gt_rec_launch record;
	struct gputrace_kernel *kernel;
	struct gt_queued *queued;

	if (size != sizeof(record))
		return;
	memcpy(&record, payload, sizeof(record));
	process->started += !record.result && !(record.flags & GT_LAUNCH_CAPTURED) &&
			    record.launch & (GT_LAUNCH_SLOTS - 1);
	record.launch = GT_LAUNCH_OF(record.launch);
	gt_launches_add(process->launches, &record);
	kernel = gt_process_kernel(process, record.kernel);
	if (kernel && !record.result) {
		kernel->launches++;
		kernel->plain_launches += kernel->route != GPUTRACE_ROUTE_NONE &&
					  !(record.flags & GT_LAUNCH_PROBED);
	}
	queued = gt_queued_new(GPUTRACE_EVENT_LAUNCH, process, 0);
	if (queued) {
		queued->event.time = record.enter;
		queued->event.end = record.leave;
		queued->event.launch_id = record.launch;
		queued->event.tid = (int)record.tid;
		queued->event.result = record.result;
	}
	gt_reader_push(reader, queued);
}

static void take_context(struct gputrace_reader *reader, struct gt_process *process,
			 const uint8_t *payload, uint32_t size)
{
	const struct gt_target_context *context;
	struct gt_rec_context record;
	struct gt_queued *queued;

	if (size != sizeof(record))
		return;
	memcpy(&record, payload, sizeof(record));
	if (gt_target_context_seen(process, &record))
		return;
	context = gt_process_context(process, record.context);
	queued = gt_queued_new(GPUTRACE_EVENT_CONTEXT, process, 0);
	if (queued) {
		queued->event.time = queued->event.end = gt_reader_now();
		queued->event.context = record.context;
		queued->event.device = record.device;
		queued->event.gpu = context->gpu;
		queued->event.name = queued->event.gpu->name;
		queued->event.text = gputrace_clock_get_source_text(context->clock);
	}
	gt_reader_push(reader, queued);
}

static void take_clock(struct gt_process *process, const uint8_t *payload, uint32_t size)
{
	const struct gt_target_context *context;
	struct gputrace_clock *clock;
	struct gt_rec_clock record;

	if (size != sizeof(record))
		return;
	memcpy(&record, payload, sizeof(record));
	context = gt_process_context(process, record.context);
	clock = context && context->gpu ? process->clocks[context->gpu->index] : NULL;
	if (clock)
		gputrace_clock_add_interval(clock, record.before, record.after, record.gpu,
					    GPUTRACE_CLOCK_SOURCE_PING);
}

static void take_note(struct gputrace_reader *reader, struct gt_process *process,
		      const uint8_t *payload, uint32_t size)
{
	struct gt_rec_note record;
	const char *text;

	if (size < sizeof(record))
		return;
	memcpy(&record, payload, sizeof(record));
	text = string_in(payload, size, sizeof(record), record.text_size);
	if (text)
		gt_reader_push_note(reader, process, text, record.text_size);
}

/* Also of links that are gone: their calls still come. */
static uint32_t stack_frames(const struct gputrace_target *target)
{
	uint32_t frames = 0;

	for (const struct gputrace_link *link = target->links; link; link = link->next)
		frames = link->stack_frames > frames ? link->stack_frames : frames;
	return frames;
}

static void take_call(struct gputrace_reader *reader, struct gt_process *process,
		      const uint8_t *payload, uint32_t size)
{
	struct gt_api_call call = { .pid = (uint32_t)process->pid };
	/* The reader's copy of the record begins at a multiple of eight bytes. */
	const uint64_t *words = (const void *)(payload + sizeof(struct gt_rec_call));
	struct gt_rec_call record;
	uint32_t within;

	if (size < sizeof(record))
		return;
	memcpy(&record, payload, sizeof(record));
	call.name = gt_api_name(record.function);
	within = record.within ? GT_CALL_WITHIN_WORDS : 0;
	if (record.arg_count > GT_CALL_ARGS || record.stack_count > GT_CALL_FRAMES || !call.name ||
	    record.stack_bytes > size ||
	    size - record.stack_bytes != sizeof(record) +
	    (within + record.arg_count + record.stack_count) * sizeof(uint64_t))
		return;
	call.range = within ? words[0] : 0;
	call.external = within ? words[1] : 0;
	words += within;
	call.enter = record.enter;
	call.leave = record.leave;
	call.tid = record.tid;
	call.function = record.function;
	call.value = record.result;
	call.result = (int32_t)record.result;
	call.arg_count = record.arg_count;
	memcpy(call.args, words, record.arg_count * sizeof(uint64_t));
	for (unsigned i = 0; i < record.arg_count; i++)
		call.args[i] = gt_api_widen(call.function, i, call.args[i]);
	call.stack = words + record.arg_count;
	call.stack_count = record.stack_count;
	if (record.stack_bytes >= sizeof(*call.registers) && record.stack_bytes % 8 == 0) {
		call.registers = (const void *)(payload + size - record.stack_bytes);
		call.copy = (const uint8_t *)(call.registers + 1);
		call.copy_bytes = record.stack_bytes - (uint32_t)sizeof(*call.registers);
		call.stack_frames = stack_frames(process->target);
	}
	gt_reader_push_call(reader, process, &call, GPUTRACE_EVENT_API);
}

static void take(struct gputrace_reader *reader, struct gt_process *process,
		 const struct gt_record *record)
{
	switch (record->type) {
	case GT_REC_FUNCTION:
		take_function(reader, process, reader->payload, record->size);
		break;
	case GT_REC_LAUNCH:
		take_launch(reader, process, reader->payload, record->size);
		break;
	case GT_REC_CONTEXT:
		take_context(reader, process, reader->payload, record->size);
		break;
	case GT_REC_CLOCK:
		take_clock(process, reader->payload, record->size);
		break;
	case GT_REC_NOTE:
		take_note(reader, process, reader->payload, record->size);
		break;
	case GT_REC_RANGE:
		gt_reader_take_range(reader, process, reader->payload, record->size);
		break;
	case GT_REC_CALL:
		take_call(reader, process, reader->payload, record->size);
		break;
	case GT_REC_COPY:
		gt_reader_take_copy(reader, process, reader->payload, record->size);
		break;
	case GT_REC_COPY_TIME:
		gt_reader_take_copy_time(reader, process, reader->payload, record->size);
		break;
	case GT_REC_EVENT_CLOCK:
		gt_reader_take_event_clock(process, reader->payload, record->size);
		break;
	default:
		break;	/* a target may write anything */
	}
}

/* `shared` counts for ever, and the target may count as it likes. */
static void count_lost(struct gputrace_reader *reader, struct gt_process *process, const char *where,
		       const uint64_t *shared, uint64_t *known)
{
	uint64_t lost = __atomic_load_n(shared, __ATOMIC_RELAXED);

	if (lost > *known) {
		gt_reader_push_lost(reader, process, where, lost - *known);
		*known = lost;
	}
}

/* One of a process's rings, in shared memory. */
struct place {
	const char *name;
	uint8_t *data;
	uint64_t size;
	uint64_t *tail;
	const uint64_t *head, *lost;
};

/* Longer than a thread of the program is put aside between two steps. */
#define PATIENCE_NS 1000000000u

/* Has the record at the tail been begun so long ago that it will not be finished? */
static bool is_left(const struct gt_process *process, struct gt_agent_ring *known, uint64_t tail)
{
	uint64_t now = gt_reader_now();

	if (process->socket < 0)
		return true;
	if (known->waiting_at != tail || !known->since) {
		known->waiting_at = tail;
		known->since = now;
	}
	return now - known->since >= PATIENCE_NS;
}

/*
 * A thread of the program may be led away by a signal's handler, or end with the program, after it
 * has taken its place in the ring and before its record is there.  The others' are behind that,
 * and are not to wait for ever.  How many records were passed over.
 */
static unsigned pass_over(struct gputrace_reader *reader, struct gt_process *process, const struct place *place,
			  struct gt_ring *ring, struct gt_agent_ring *known)
{
	uint64_t head = __atomic_load_n(place->head, __ATOMIC_RELAXED);

	if (head == ring->tail || process->ended_announced || !is_left(process, known, ring->tail))
		return 0;
	known->since = 0;
	if (!gt_ring_pass(ring, head))
		return 0;
	gt_reader_push_lost(reader, process, place->name, 1);
	return 1;
}

/* Take in what is in one of the process's rings, no more than it holds; how many records. */
static unsigned drain(struct gputrace_reader *reader, struct gt_process *process, const struct place *place,
		      struct gt_agent_ring *known)
{
	struct gt_ring ring = { .data = place->data, .size = place->size, .tail = known->tail, .published = place->tail };
	struct gt_record record;
	unsigned count = 0;
	int r = 0;

	while (!process->agent_broken && ring.tail - known->tail < ring.size &&
	       (r = gt_ring_take(&ring, &record, reader->payload)) > 0) {
		take(reader, process, &record);
		count++;
	}
	if (r < 0) {
		process->agent_broken = true;
		gt_reader_push_note(reader, process, "the program has overwritten the agent's ring: nothing more is read from it", 0);
	} else if (!count && !process->agent_broken) {
		count = pass_over(reader, process, place, &ring, known);
	}
	known->tail = ring.tail;
	count_lost(reader, process, place->name, place->lost, &known->lost);
	return count;
}

static unsigned drain_threads(struct gputrace_reader *reader, struct gt_process *process)
{
	const struct gt_shm *layout = &process->target->layout.shm;
	struct gt_thread_ring *blocks = (void *)(process->base + layout->thread_rings);
	uint8_t *data = (uint8_t *)(blocks + GT_THREAD_RINGS);
	unsigned count = 0;

	if (!layout->thread_ring_size)
		return 0;
	for (unsigned i = 0; i < GT_THREAD_RINGS; i++) {
		const struct place place = {
			.name = "ring of a thread",
			.data = data + i * layout->thread_ring_size,
			.size = layout->thread_ring_size,
			.tail = &blocks[i].tail,
			.head = &blocks[i].head,
			.lost = &blocks[i].lost,
		};

		count += drain(reader, process, &place, &process->thread_rings[i]);
	}
	return count;
}

unsigned gt_reader_drain_agent(struct gputrace_reader *reader, struct gt_process *process)
{
	const struct gt_shm *layout = &process->target->layout.shm;
	struct gt_shm *shm = (void *)process->base;
	const struct place place = {
		.name = "agent ring",
		.data = process->base + layout->agent_ring,
		.size = layout->agent_ring_size,
		.tail = &shm->agent_tail,
		.head = &shm->agent_ctl.head,
		.lost = &shm->agent_ctl.lost,
	};

	return drain(reader, process, &place, &process->agent_ring) + drain_threads(reader, process);
}
