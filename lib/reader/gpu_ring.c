/* SPDX-License-Identifier: Apache-2.0 */
/* Records that GPU code wrote, of every context of a process. */
#include <stdlib.h>
#include <string.h>

#include "lib/object/map.h"
#include "lib/reader/launches.h"
#include "lib/reader/print.h"
#include "lib/reader/reader.h"
#include "lib/target/area.h"

/*
 * The earliest that the event can have ended, for its place in the queue: taken from there it is
 * resolved again, and goes back if it turns out to be later.
 */
static void place(struct gt_queued *queued, const struct gt_target_context *context, uint64_t gpu)
{
	const struct gt_rec_launch *launch = gt_launches_find(queued->process->launches, queued->event.launch_id);
	struct gputrace_event *event = &queued->event;

	queued->told = gt_reader_now();
	event->end = launch ? launch->enter : queued->told;
	event->time_error = UINT64_MAX;
	if (gt_reader_host_time(context, gpu, &event->end, &event->time_error))
		event->end -= event->time_error < event->end ? event->time_error : event->end;
}

static void take_kernel(struct gputrace_reader *reader, struct gt_process *process,
			const struct gt_target_context *context, uint32_t size)
{
	struct gt_rec_kernel record;
	struct gt_queued *queued;

	if (size != sizeof(record))
		return;
	memcpy(&record, reader->payload, sizeof(record));
	queued = gt_queued_new(GPUTRACE_EVENT_KERNEL, process, 0);
	if (queued) {
		queued->event.launch_id = GT_LAUNCH_OF(record.launch);
		queued->event.kernel_id = record.kernel;
		queued->event.context = context->number;
		queued->event.gpu_start = record.start;
		queued->event.gpu_end = record.end;
		place(queued, context, record.end);
	}
	gt_reader_push(reader, queued);
}

static void take_print(struct gputrace_reader *reader, struct gt_process *process,
		       const struct gt_target_context *context, uint32_t size)
{
	struct gt_rec_printk record;
	struct gt_queued *queued;

	if (size < sizeof(record))
		return;
	memcpy(&record, reader->payload, sizeof(record));
	if (record.fmt_size > GT_PRINTK_MAX || record.fmt_size > size - sizeof(record))
		return;
	queued = gt_queued_new(GPUTRACE_EVENT_PRINT, process, 1024);
	if (queued) {
		gt_print(queued->bytes, 1024, (const char *)reader->payload + sizeof(record),
			 record.fmt_size, record.args, GT_PRINTK_ARGS);
		queued->event.text = queued->bytes;
		queued->event.launch_id = GT_LAUNCH_OF(record.launch);
		queued->event.context = context->number;
		queued->event.gpu_start = queued->event.gpu_end = record.time;
		place(queued, context, record.time);
	}
	gt_reader_push(reader, queued);
}

static void take_data(struct gputrace_reader *reader, struct gt_process *process,
		      const struct gt_target_context *context, const struct gt_layout_ring *ring,
		      const uint8_t *payload, uint32_t size)
{
	struct gt_queued *queued;

	if (!ring->map)
		return;
	queued = gt_queued_new(GPUTRACE_EVENT_DATA, process, size);
	if (queued) {
		memcpy(queued->bytes, payload, size);
		queued->event.data = queued->bytes;
		queued->event.data_size = size;
		queued->event.context = context->number;
		queued->event.name = gputrace_map_get_name(ring->map);
		/* Such a record carries no time that we know of. */
		queued->event.time = queued->event.end = gt_reader_now();
	}
	gt_reader_push(reader, queued);
}

/* Once around at most: what is written meanwhile is for the next time. */
static unsigned take_events(struct gputrace_reader *reader, struct gt_process *process, const struct gt_area *area,
			    const struct gt_layout_ring *where, struct gt_ring *ring, int *ret_error)
{
	uint64_t begin = ring->tail;
	struct gt_record record;
	unsigned count = 0;
	uint32_t n;

	while (ring->tail - begin < ring->size && (*ret_error = gt_ring_take(ring, &record, reader->payload)) > 0) {
		if (record.type == GT_REC_KERNEL)
			take_kernel(reader, process, area->context, record.size);
		else if (record.type == GT_REC_PRINTK)
			take_print(reader, process, area->context, record.size);
		for (n = 0; record.type == GT_REC_DATA && n <= record.more; n++)
			take_data(reader, process, area->context, where,
				  reader->payload + gt_record_payload(record.size, 0) * n, record.size);
		count += 1u + record.more;
	}
	return count;
}

static const char *name_of(const struct gt_layout_ring *where)
{
	return where->map ? gputrace_map_get_name(where->map) : "the ring of kernels and printed text";
}

/* over: nothing more is written there. */
static unsigned drain_ring(struct gputrace_reader *reader, struct gt_process *process, unsigned c,
			   unsigned index, bool over)
{
	const struct gt_layout_ring *where = &process->target->layout.rings[index];
	const struct gt_handler *handler = gt_handlers_find(reader->handlers, where->map);
	struct gt_host_arena *arena = gt_process_area(process, c);
	struct gt_area *area = &process->areas[c];
	struct gt_ring ring = {
		.data = (uint8_t *)arena + where->data,
		.size = where->size,
		.tail = area->tail[index],
		.published = &arena->ring_tail[index],
	};
	struct gputrace_records records = {
		.gpu = area->context->gpu, .pid = process->pid, .context = area->context->number,
	};
	unsigned count;
	int r = 0;

	count = handler ? gt_handlers_drain(reader->handlers, handler, &ring, &records, &r) :
			  take_events(reader, process, area, where, &ring, &r);
	/* A kernel that fails ends within what its threads are at. */
	if (!count && !r && over && gt_ring_pass(&ring, ring.tail + ring.size)) {
		gt_reader_push_lost(reader, process, name_of(where), 1);
		count++;
	}
	area->tail[index] = ring.tail;
	if (r < 0) {
		area->broken |= 1ull << index;
		gt_reader_push_note(reader, process, "the program has overwritten a ring of the GPU's: nothing more is read from it", 0);
	}
	return count;
}

/* What the GPU lost is in its own memory, so it is known as of the last snapshot. */
static void count_lost(struct gputrace_reader *reader, struct gt_process *process, unsigned c)
{
	const struct gt_layout *layout = &process->target->layout;
	struct gt_host_arena *arena = gt_process_area(process, c);
	const struct gt_dev_arena *dev = (const void *)((uint8_t *)arena + layout->shm.snapshot);
	struct gt_area *area = &process->areas[c];
	/* Pairs with the agent's release after it has copied. */
	uint64_t snapshot = __atomic_load_n(&arena->snapshot, __ATOMIC_ACQUIRE);

	if (snapshot == area->snapshot)
		return;
	area->snapshot = snapshot;
	for (unsigned i = 0; i < layout->ring_count; i++) {
		uint64_t lost = __atomic_load_n(&dev->ring[i].lost, __ATOMIC_RELAXED);

		if (lost <= area->lost[i])
			continue;
		gt_reader_push_lost(reader, process, name_of(&layout->rings[i]), lost - area->lost[i]);
		area->lost[i] = lost;
	}
}

static unsigned drain_area(struct gputrace_reader *reader, struct gt_process *process, unsigned c)
{
	/* Pairs with the agent's release: what a context that has gone wrote is there. */
	uint32_t state = __atomic_load_n(&gt_process_area(process, c)->state, __ATOMIC_ACQUIRE);
	bool over = (state == GT_CONTEXT_GONE && !process->areas[c].stuck) ||
		    (process->socket < 0 && !process->ended_announced);
	unsigned count = 0;

	for (unsigned i = 0; i < process->target->layout.ring_count; i++) {
		if (!(process->areas[c].broken & 1ull << i))
			count += drain_ring(reader, process, c, i, over);
	}
	count_lost(reader, process, c);
	if (state == GT_CONTEXT_GONE && !count)
		gt_area_release(process, c);
	return count;
}

unsigned gt_reader_drain_gpu(struct gputrace_reader *reader, struct gt_process *process)
{
	unsigned count = 0;

	for (unsigned c = 0; c < process->target->layout.shm.contexts; c++) {
		if (process->areas[c].context)
			count += drain_area(reader, process, c);
	}
	return count;
}
