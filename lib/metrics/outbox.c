/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/metrics/outbox.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define METRICS_MAX 65536u

void gt_outbox_init(struct gt_outbox *outbox)
{
	*outbox = (struct gt_outbox){ 0 };
	pthread_mutex_init(&outbox->lock, NULL);
}

void gt_outbox_free(struct gt_outbox *outbox)
{
	for (size_t i = 0; i < outbox->count; i++)
		free(outbox->metrics[i].note);
	free(outbox->metrics);
	pthread_mutex_destroy(&outbox->lock);
}

static int make_room(struct gt_outbox *outbox)
{
	size_t room = outbox->room ? 2 * outbox->room : 64;
	struct gt_metric *more;

	if (outbox->count < outbox->room)
		return 1;
	more = room <= METRICS_MAX ? realloc(outbox->metrics, room * sizeof(*more)) : NULL;
	if (!more)
		return 0;
	outbox->metrics = more;
	outbox->room = room;
	return 1;
}

void gt_outbox_put(struct gt_outbox *outbox, const struct gt_metric *metric)
{
	pthread_mutex_lock(&outbox->lock);
	if (make_room(outbox)) {
		outbox->metrics[outbox->count++] = *metric;
	} else {
		outbox->lost++;
		free(metric->note);
	}
	atomic_store_explicit(&outbox->filled, true, memory_order_relaxed);
	pthread_mutex_unlock(&outbox->lock);
}

void gt_outbox_put_note(struct gt_outbox *outbox, const char *format, ...)
{
	struct gt_metric note = { 0 };
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&note.note, format, arguments);
	va_end(arguments);
	if (length >= 0)
		gt_outbox_put(outbox, &note);
}

struct gt_metric *gt_outbox_take(struct gt_outbox *outbox, size_t *ret_count, uint64_t *ret_lost)
{
	struct gt_metric *metrics;

	*ret_count = 0;
	*ret_lost = 0;
	/* A reader that polls asks very often; the lock orders what it finds. */
	if (!atomic_load_explicit(&outbox->filled, memory_order_relaxed))
		return NULL;
	pthread_mutex_lock(&outbox->lock);
	metrics = outbox->metrics;
	*ret_count = outbox->count;
	*ret_lost = outbox->lost;
	outbox->metrics = NULL;
	outbox->count = outbox->room = 0;
	outbox->lost = 0;
	atomic_store_explicit(&outbox->filled, false, memory_order_relaxed);
	pthread_mutex_unlock(&outbox->lock);
	return metrics;
}
