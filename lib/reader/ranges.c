/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader/ranges.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/reader/reader.h"

/* A target can make as many as it likes: memory is bounded whatever it does. */
#define BUCKETS 4096u
#define OPEN_MAX 65536u
#define STEPS 256u		/* looked at for an id: it may be chosen to collide with others */

/* One whose beginning or, when threads' rings are read in another order than they were written, end is known. */
struct range {
	struct range *next;
	uint64_t id, begin, end;	/* 0: not known yet */
	uint32_t tid;
	bool spans;			/* need not nest with others of its thread */
	uint32_t name_size, domain_size;
	char texts[];			/* both, each with its NUL */
};

struct gt_ranges {
	struct range *buckets[BUCKETS];
	uint32_t count;
};

/* Where the id is or would be; NULL when too many others are in its way. */
static struct range **place_of(struct gt_ranges *ranges, uint64_t id)
{
	struct range **place = &ranges->buckets[(id ^ id >> 32) % BUCKETS];

	for (unsigned step = 0; step < STEPS; step++, place = &(*place)->next) {
		if (!*place || (*place)->id == id)
			return place;
	}
	return NULL;
}

static bool check_texts(const struct gt_rec_range *record, const char *texts, uint32_t size)
{
	return record->name_size && record->domain_size && record->name_size < size &&
	       record->domain_size == size - record->name_size && !texts[record->name_size - 1] &&
	       !texts[size - 1];
}

static void push_event(struct gputrace_reader *reader, struct gt_process *process, int type,
		       const struct range *range, const char *text)
{
	size_t size = (size_t)range->name_size + range->domain_size;
	struct gt_queued *queued = gt_queued_new(type, process, size);

	if (queued) {
		memcpy(queued->bytes, range->texts, size);
		queued->event.time = range->begin;
		queued->event.end = range->end;
		queued->event.tid = (int)range->tid;
		queued->event.name = queued->bytes;
		queued->event.domain = queued->bytes + range->name_size;
		queued->event.range_id = range->id;
		queued->event.spans = range->spans;
		queued->event.text = text;
	}
	gt_reader_push(reader, queued);
}

static struct range *new_range(const struct gt_rec_range *record, const char *texts)
{
	size_t size = (size_t)record->name_size + record->domain_size;
	struct range *range = calloc(1, sizeof(*range) + size);

	if (!range)
		return NULL;
	range->id = record->id;
	range->tid = record->tid;
	range->spans = record->kind == GT_RANGE_START;
	range->name_size = record->name_size;
	range->domain_size = record->domain_size;
	memcpy(range->texts, texts, size);
	return range;
}

/* Known from one side only, until the other comes. */
static void keep(struct gputrace_reader *reader, struct gt_process *process, struct range *range)
{
	struct range **place = NULL;

	if (!process->ranges)
		process->ranges = calloc(1, sizeof(*process->ranges));
	if (process->ranges && process->ranges->count < OPEN_MAX)
		place = place_of(process->ranges, range->id);
	if (!place) {
		gt_reader_push_lost(reader, process, "list of open ranges", 1);
		free(range);
		return;
	}
	range->next = *place;
	*place = range;
	process->ranges->count++;
}

/* Take out the one with this id whose beginning (or end) is known; NULL: there is none. */
static struct range *take_known(struct gt_process *process, uint64_t id, bool beginning)
{
	struct range **place, *range;

	if (!process->ranges)
		return NULL;
	place = place_of(process->ranges, id);
	range = place ? *place : NULL;
	if (!range || !(beginning ? range->begin : range->end))
		return NULL;
	*place = range->next;
	process->ranges->count--;
	return range;
}

static void begin(struct gputrace_reader *reader, struct gt_process *process, struct range *range)
{
	struct range *ended = take_known(process, range->id, false);

	if (!ended) {
		keep(reader, process, range);
		return;
	}
	range->end = ended->end > range->begin ? ended->end : range->begin;
	push_event(reader, process, GPUTRACE_EVENT_RANGE, range, NULL);
	free(range);
	free(ended);
}

static void end(struct gputrace_reader *reader, struct gt_process *process, struct range *ended)
{
	struct range *range = take_known(process, ended->id, true);

	if (!range) {
		keep(reader, process, ended);
		return;
	}
	range->end = ended->end > range->begin ? ended->end : range->begin;
	push_event(reader, process, GPUTRACE_EVENT_RANGE, range, NULL);
	free(range);
	free(ended);
}

void gt_reader_take_range(struct gputrace_reader *reader, struct gt_process *process, const uint8_t *payload,
			  uint32_t size)
{
	struct gt_rec_range record;
	struct range *range;

	if (size < sizeof(record))
		return;
	memcpy(&record, payload, sizeof(record));
	if (record.kind > GT_RANGE_THREAD || !record.time ||
	    !check_texts(&record, (const char *)payload + sizeof(record), size - (uint32_t)sizeof(record)))
		return;
	range = new_range(&record, (const char *)payload + sizeof(record));
	if (!range) {
		gt_reader_push_lost(reader, process, "list of open ranges", 1);
		return;
	}
	if (record.kind == GT_RANGE_END) {
		range->end = record.time;
		end(reader, process, range);
	} else if (record.kind == GT_RANGE_MARK || record.kind == GT_RANGE_THREAD) {
		range->begin = range->end = record.time;
		push_event(reader, process, record.kind == GT_RANGE_MARK ? GPUTRACE_EVENT_MARK : GPUTRACE_EVENT_THREAD,
			   range, NULL);
		free(range);
	} else {
		range->begin = record.time;
		begin(reader, process, range);
	}
}

void gt_reader_close_ranges(struct gputrace_reader *reader, struct gt_process *process)
{
	uint64_t orphans = 0;

	for (uint32_t i = 0; process->ranges && i < BUCKETS; i++) {
		for (struct range *range = process->ranges->buckets[i]; range; range = range->next) {
			orphans += !range->begin;
			if (!range->begin)
				continue;
			range->end = gt_reader_now();
			range->spans = true;	/* what it lay in may have ended long ago */
			push_event(reader, process, GPUTRACE_EVENT_RANGE, range, "its end was not seen");
		}
	}
	if (orphans)
		gt_reader_push_lost(reader, process, "ends of ranges whose beginnings were lost", orphans);
	gt_ranges_free(process->ranges);
	process->ranges = NULL;
}

void gt_ranges_free(struct gt_ranges *ranges)
{
	for (uint32_t i = 0; ranges && i < BUCKETS; i++) {
		while (ranges->buckets[i]) {
			struct range *range = ranges->buckets[i];

			ranges->buckets[i] = range->next;
			free(range);
		}
	}
	free(ranges);
}
