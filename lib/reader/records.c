/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/object/map.h"
#include "lib/reader/reader.h"
#include "lib/util/error.h"

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

unsigned gt_handlers_drain(struct gt_handlers *handlers, const struct gt_handler *handler, struct gt_ring *ring,
			   struct gputrace_records *records, int *ret_error)
{
	/* The function may change who gets what. */
	const struct gt_handler own = *handler;
	struct gt_batch *batch = &handlers->batch;
	uint64_t begin = ring->tail;
	unsigned taken = 0;

	records->sizes = batch->sizes;
	records->data = batch->data;
	do {
		taken += gt_ring_take_batch(ring, batch, ret_error);
		records->count = batch->count;
		records->data_size = batch->bytes;
		if (batch->count)
			own.fn(own.data, records);
	} while (*ret_error > 0 && ring->tail - begin < ring->size);
	return taken;
}
