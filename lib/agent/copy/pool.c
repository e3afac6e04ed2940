/* SPDX-License-Identifier: Apache-2.0 */
/* The places for copies that are on their way, and the events that they have. */
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/context/context.h"
#include "lib/agent/copy/copy.h"
#include "lib/agent/lock.h"

/* More than streams have room for in a few milliseconds. */
#define COPIES_MAX 4096u

static GT_LOCK(lock);
static struct gt_copy copies[COPIES_MAX];	/* never freed: a thread may have one of a context that has gone */
static unsigned touched;			/* those before have been in a list */
static struct gt_copy_list blank;		/* without events */

void gt_copy_add(struct gt_copy_list *list, struct gt_copy *copy)
{
	copy->next = NULL;
	if (!list->first)
		list->tail = &list->first;
	*list->tail = copy;
	list->tail = &copy->next;
}

struct gt_copy *gt_copy_remove_first(struct gt_copy_list *list)
{
	struct gt_copy *copy = list->first;

	if (copy)
		list->first = copy->next;
	return copy;
}

static struct gt_copy *take_place(struct gt_context *context)
{
	struct gt_copy *copy;

	gt_lock(&lock);
	copy = gt_copy_remove_first(&context->copies.unused);
	if (!copy)
		copy = gt_copy_remove_first(&blank);
	if (!copy && touched < COPIES_MAX)
		copy = &copies[touched++];
	gt_unlock(&lock);
	return copy;
}

static void make_events(struct gt_copy *copy)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	if (gt_cu.cuEventCreate(&copy->start, CU_EVENT_DEFAULT)) {
		copy->start = NULL;
	} else if (gt_cu.cuEventCreate(&copy->end, CU_EVENT_DEFAULT)) {
		gt_cu.cuEventDestroy_v2(copy->start);
		copy->start = NULL;
	}
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
}

struct gt_copy *gt_copy_take(struct gt_context *context)
{
	struct gt_copy *copy = take_place(context);

	if (!copy)
		return NULL;
	if (!copy->start) {
		copy->context = context;
		copy->number = context->number;
		make_events(copy);
	}
	if (copy->start)
		return copy;
	gt_copy_give_back(copy);
	return NULL;
}

/* Its context is gone, and its events with it. */
static bool is_stale(const struct gt_copy *copy)
{
	return !copy->start || !copy->context->usable || copy->number != copy->context->number;
}

static void put(struct gt_copy *copy, bool running)
{
	gt_lock(&lock);
	if (is_stale(copy)) {
		memset(copy, 0, sizeof(*copy));
		gt_copy_add(&blank, copy);
	} else {
		gt_copy_add(running ? &copy->context->copies.running : &copy->context->copies.unused, copy);
	}
	gt_unlock(&lock);
}

void gt_copy_give_back(struct gt_copy *copy)
{
	put(copy, false);
}

void gt_copy_runs(struct gt_copy *copy)
{
	put(copy, true);
}

struct gt_copy_list gt_copies_take_running(struct gt_context *context)
{
	struct gt_copy_list list = { NULL, NULL };
	struct gt_copy *copy;

	gt_lock(&lock);
	copy = context->copies.running.first;
	if (copy)
		list = context->copies.running;
	context->copies.running.first = NULL;
	gt_unlock(&lock);
	return list;
}

void gt_copies_put_running(struct gt_context *context, struct gt_copy_list *list)
{
	struct gt_copy_list *running = &context->copies.running;

	if (!list->first)
		return;
	gt_lock(&lock);
	*list->tail = running->first;
	if (!running->first)
		running->tail = list->tail;
	running->first = list->first;
	gt_unlock(&lock);
	list->first = NULL;
}

bool gt_copies_any(struct gt_context *context)
{
	const struct gt_context_copies *own = &context->copies;
	bool any;

	gt_lock(&lock);
	any = own->running.first || own->ended.first || own->pending;
	gt_unlock(&lock);
	return any;
}

static void forget(struct gt_copy_list *list, bool destroy)
{
	struct gt_copy *copy;

	while ((copy = gt_copy_remove_first(list))) {
		if (destroy) {
			gt_cu.cuEventDestroy_v2(copy->start);
			gt_cu.cuEventDestroy_v2(copy->end);
		}
		memset(copy, 0, sizeof(*copy));
		gt_copy_add(&blank, copy);
	}
}

void gt_copies_forget(struct gt_context *context, bool destroy)
{
	struct gt_context_copies *own = &context->copies;

	gt_lock(&lock);
	forget(&own->running, destroy);
	forget(&own->ended, destroy);
	forget(&own->unused, destroy);
	for (unsigned i = 0; i < 2; i++) {
		if (own->reference[i] && destroy)
			gt_cu.cuEventDestroy_v2(own->reference[i]);
	}
	memset(own, 0, sizeof(*own));
	gt_unlock(&lock);
}
