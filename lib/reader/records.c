/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/object/map.h"
#include "lib/reader/reader.h"
#include "lib/util/error.h"

#define ROOM sizeof(((struct gt_handlers *)0)->bytes)

void gt_handlers_free(struct gt_handlers *handlers)
{
	if (!handlers)
		return;
	for (unsigned i = 0; i < handlers->count; i++)
		gputrace_object_unref(handlers->handlers[i].map->object);
	free(handlers->handlers);
	free(handlers);
}

static struct gt_handler *find(const struct gt_handlers *handlers, const struct gputrace_map *map)
{
	for (unsigned i = 0; handlers && i < handlers->count; i++) {
		if (handlers->handlers[i].map == map)
			return &handlers->handlers[i];
	}
	return NULL;
}

const struct gt_handler *gt_handlers_find(const struct gt_handlers *handlers, const struct gputrace_map *map)
{
	return map ? find(handlers, map) : NULL;
}

static int add(struct gt_handlers *handlers, const struct gt_handler *handler)
{
	struct gt_handler *more = realloc(handlers->handlers, (handlers->count + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	more[handlers->count++] = *handler;
	handlers->handlers = more;
	gputrace_object_ref(handler->map->object);
	return 0;
}

static void drop(struct gt_handlers *handlers, struct gt_handler *handler)
{
	struct gputrace_object *object = handler->map->object;

	*handler = handlers->handlers[--handlers->count];
	gputrace_object_unref(object);
}

int gputrace_reader_set_records(struct gputrace_reader *reader, struct gputrace_map *map, gputrace_records_fn fn,
				void *data)
{
	struct gt_handler *known = find(reader->handlers, map), new = { .map = map, .fn = fn, .data = data };

	if (reader->source)
		return gt_error(-EOPNOTSUPP, "records come in batches to the process that traces, not to one that reads its stream");
	if (!gt_map_is_ring(map))
		return gt_error(-EINVAL, "map %s is no ring buffer", gputrace_map_get_name(map));
	if (known && fn)
		*known = new;
	else if (known)
		drop(reader->handlers, known);
	if (known || !fn)
		return 0;
	if (!reader->handlers)
		reader->handlers = calloc(1, sizeof(*reader->handlers));
	if (!reader->handlers || add(reader->handlers, &new))
		return gt_error(-ENOMEM, "out of memory");
	return 0;
}

static void deliver(const struct gt_handler *handler, struct gputrace_records *records)
{
	if (records->count)
		handler->fn(handler->data, records);
	records->count = records->data_size = 0;
}

unsigned gt_handlers_drain(struct gt_handlers *handlers, const struct gt_handler *handler, struct gt_ring *ring,
			   struct gputrace_records *records, int *ret_error)
{
	/* The function may change who gets what. */
	const struct gt_handler own = *handler;
	uint64_t begin = ring->tail;
	struct gt_record record;
	unsigned taken = 0;
	uint32_t n;

	records->sizes = handlers->sizes;
	records->data = handlers->bytes;
	while (ring->tail - begin < ring->size &&
	       (*ret_error = gt_ring_take(ring, &record, handlers->bytes + records->data_size)) > 0) {
		taken += 1u + record.more;
		if (record.type != GT_REC_DATA)
			continue;
		for (n = 0; n <= record.more; n++)
			handlers->sizes[records->count++] = record.size;
		records->data_size += (uint32_t)gt_record_payload(record.size, record.more);
		if (records->count >= GT_BATCH_RECORDS || records->data_size > ROOM - GT_RECORD_MAX_PAYLOAD)
			deliver(&own, records);
	}
	deliver(&own, records);
	return taken;
}
