/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader/queue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct gt_queued *gt_queued_new(int type, struct gt_process *process, size_t bytes)
{
	struct gt_queued *queued = calloc(1, sizeof(*queued) + bytes);

	if (!queued)
		return NULL;
	queued->event.type = type;
	queued->event.device = -1;
	queued->process = process;
	return queued;
}

static bool before(const struct gt_queue_place *a, const struct gt_queue_place *b)
{
	return a->end != b->end ? a->end < b->end : a->order < b->order;
}

static int make_room(struct gt_queue *queue)
{
	size_t room = queue->room ? 2 * queue->room : 1024;
	struct gt_queue_place *more;

	if (queue->count < queue->room)
		return 0;
	more = realloc(queue->heap, room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	queue->heap = more;
	queue->room = room;
	return 0;
}

int gt_queue_push(struct gt_queue *queue, struct gt_queued *queued)
{
	struct gt_queue_place place = { .end = queued->event.end, .order = queue->next_order++, .queued = queued };
	size_t i = queue->count;

	if (make_room(queue)) {
		free(queued);
		return -ENOMEM;
	}
	for (; i && before(&place, &queue->heap[(i - 1) / 2]); i = (i - 1) / 2)
		queue->heap[i] = queue->heap[(i - 1) / 2];
	queue->heap[i] = place;
	queue->count++;
	return 0;
}

struct gt_queued *gt_queue_first(const struct gt_queue *queue)
{
	return queue->count ? queue->heap[0].queued : NULL;
}

struct gt_queued *gt_queue_pop(struct gt_queue *queue)
{
	struct gt_queued *first = gt_queue_first(queue);
	struct gt_queue_place last;
	size_t i = 0, child;

	if (!first)
		return NULL;
	last = queue->heap[--queue->count];
	while ((child = 2 * i + 1) < queue->count) {
		if (child + 1 < queue->count && before(&queue->heap[child + 1], &queue->heap[child]))
			child++;
		if (!before(&queue->heap[child], &last))
			break;
		queue->heap[i] = queue->heap[child];
		i = child;
	}
	queue->heap[i] = last;
	return first;
}

void gt_queue_free(struct gt_queue *queue)
{
	for (size_t i = 0; i < queue->count; i++)
		free(queue->heap[i].queued);
	free(queue->heap);
}
