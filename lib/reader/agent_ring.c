/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a process's agent. */
#include <errno.h>
#include <string.h>

#include "lib/reader/launches.h"
#include "lib/reader/reader.h"
#include "lib/target/context.h"


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
	if (kernel && !record.result)
		kernel->launches++;
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
	struct gt_rec_context record;
	struct gt_queued *queued;

	if (size != sizeof(record))
		return;
	memcpy(&record, payload, sizeof(record));
	if (gt_target_context_seen(process, &record))
		return;
	queued = gt_queued_new(GPUTRACE_EVENT_CONTEXT, process, 0);
	if (queued) {
		queued->event.time = queued->event.end = gt_reader_now();
		queued->event.context = record.context;
		queued->event.device = record.device;
		queued->event.gpu = process->contexts[record.context].gpu;
		queued->event.name = queued->event.gpu->name;
		queued->event.text = gputrace_clock_get_source_text(process->contexts[record.context].clock);
	}
	gt_reader_push(reader, queued);
}

static void take_clock(struct gt_process *process, const uint8_t *payload, uint32_t size)
{
	const struct gputrace_gpu *gpu;
	struct gt_rec_clock record;

	if (size != sizeof(record))
		return;
	memcpy(&record, payload, sizeof(record));
	gpu = record.context < GT_CONTEXTS_MAX ? process->contexts[record.context].gpu : NULL;
	if (gpu && process->clocks[gpu->index])
		gputrace_clock_add_interval(process->clocks[gpu->index], record.before, record.after,
					    record.gpu, GPUTRACE_CLOCK_SOURCE_PING);
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
	default:
		break;	/* a target may write anything */
	}
}

static void count_lost(struct gputrace_reader *reader, struct gt_process *process, struct gt_shm *shm)
{
	uint64_t lost = __atomic_load_n(&shm->agent_ctl.lost, __ATOMIC_RELAXED);

	if (lost > process->agent_lost) {
		gt_reader_push_lost(reader, process, "agent ring", lost - process->agent_lost);
		process->agent_lost = lost;
	}
}

unsigned gt_reader_drain_agent(struct gputrace_reader *reader, struct gt_process *process)
{
	const struct gt_shm *layout = &process->target->layout.shm;
	struct gt_shm *shm = (void *)process->base;
	struct gt_ring ring = {
		.data = process->base + layout->agent_ring,
		.size = layout->agent_ring_size,
		.tail = process->agent_tail,
		.published = &shm->agent_tail,
	};
	struct gt_record record;
	unsigned count = 0;
	int r = 0;

	while (!process->agent_broken && ring.tail - process->agent_tail < ring.size &&
	       (r = gt_ring_take(&ring, &record, reader->payload)) > 0) {
		take(reader, process, &record);
		count++;
	}
	process->agent_tail = ring.tail;
	if (r < 0) {
		process->agent_broken = true;
		gt_reader_push_note(reader, process, "the program has overwritten the agent's ring: nothing more is read from it", 0);
	}
	count_lost(reader, process, shm);
	return count;
}
