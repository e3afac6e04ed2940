/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/hook/hooks.h"
#include "lib/agent/nvtx/nvtx.h"
#include "lib/agent/thread.h"

_Static_assert(sizeof(struct gt_rec_range) + GT_NVTX_TEXT + GT_NVTX_DOMAIN + 2 <= GT_RECORD_MAX_PAYLOAD,
	       "a record of the longest texts");

static size_t put_text(char *to, const char *text, size_t max)
{
	size_t length = text ? strnlen(text, max) : 0;

	if (length)
		memcpy(to, text, length);
	to[length] = 0;
	return length + 1;
}

/* thread NULL: there is no memory for what it needs, and the record is lost. */
static void emit(struct gt_thread *thread, struct gt_rec_range record, const char *text,
		 const struct gt_nvtx_domain *domain)
{
	char texts[GT_NVTX_TEXT + GT_NVTX_DOMAIN + 2];

	/* A forked child enters its own session. */
	if (!gt_join(false))
		return;
	record.time = gt_thread_now();
	record.name_size = (uint32_t)put_text(texts, text, GT_NVTX_TEXT);
	record.domain_size = (uint32_t)put_text(texts + record.name_size, domain ? domain->name : NULL, GT_NVTX_DOMAIN);
	if (gt_enter() && atomic_load_explicit(&gt_active, memory_order_relaxed) &&
	    gt_session_records(GT_CONFIG_NVTX)) {
		if (thread)
			gt_thread_emit(thread, GT_REC_RANGE, &record, sizeof(record), texts,
				       record.name_size + record.domain_size);
		else
			gt_thread_missing();
	}
	gt_leave();
}

static uint32_t tid_of(const struct gt_thread *thread)
{
	return thread ? thread->tid : 0;
}

static uint64_t next_id(void)
{
	static _Atomic uint64_t next = 1;

	return atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
}

void gt_nvtx_mark(const struct gt_nvtx_domain *domain, const char *text)
{
	struct gt_thread *thread = gt_thread();

	emit(thread, (struct gt_rec_range){ .kind = GT_RANGE_MARK, .tid = tid_of(thread) }, text, domain);
}

static bool make_room(struct gt_thread *thread)
{
	uint32_t room = thread->range_room ? 2 * thread->range_room : 16;
	struct gt_open_range *more;
	int saved = errno;

	if (thread->range_count < thread->range_room)
		return true;
	more = realloc(thread->ranges, room * sizeof(*more));
	errno = saved;
	if (!more)
		return false;
	thread->ranges = more;
	thread->range_room = room;
	return true;
}

static int level_in(const struct gt_thread *thread, const void *domain)
{
	int level = 0;

	for (uint32_t i = 0; i < thread->range_count; i++)
		level += thread->ranges[i].domain == domain;
	return level;
}

int gt_nvtx_push(const struct gt_nvtx_domain *domain, const char *text)
{
	struct gt_thread *thread = gt_thread();
	struct gt_open_range *range;

	if (!thread || !make_room(thread)) {
		emit(NULL, (struct gt_rec_range){ .kind = GT_RANGE_PUSH }, text, domain);
		return -1;
	}
	range = &thread->ranges[thread->range_count++];
	range->id = next_id();
	range->domain = domain;
	emit(thread, (struct gt_rec_range){ .kind = GT_RANGE_PUSH, .id = range->id, .tid = thread->tid }, text,
	     domain);
	return level_in(thread, domain) - 1;
}

/* The latest one of the domain; others, of other domains, may have been pushed since. */
int gt_nvtx_pop(const struct gt_nvtx_domain *domain)
{
	struct gt_thread *thread = gt_thread();
	uint32_t at = thread ? thread->range_count : 0;
	uint64_t id;

	while (at && thread->ranges[at - 1].domain != domain)
		at--;
	if (!at)
		return -1;
	id = thread->ranges[at - 1].id;
	memmove(&thread->ranges[at - 1], &thread->ranges[at], (thread->range_count - at) * sizeof(thread->ranges[0]));
	thread->range_count--;
	emit(thread, (struct gt_rec_range){ .kind = GT_RANGE_END, .id = id, .tid = thread->tid }, NULL, NULL);
	return level_in(thread, domain);
}

uint64_t gt_nvtx_start(uint64_t id, const struct gt_nvtx_domain *domain, const char *text)
{
	struct gt_thread *thread = gt_thread();

	if (!id)
		id = next_id();
	emit(thread, (struct gt_rec_range){ .kind = GT_RANGE_START, .id = id, .tid = tid_of(thread) }, text, domain);
	return id;
}

void gt_nvtx_end(uint64_t id)
{
	struct gt_thread *thread = gt_thread();

	emit(thread, (struct gt_rec_range){ .kind = GT_RANGE_END, .id = id, .tid = tid_of(thread) }, NULL, NULL);
}

void gt_nvtx_name_thread(uint32_t tid, const char *text)
{
	emit(gt_thread(), (struct gt_rec_range){ .kind = GT_RANGE_THREAD, .tid = tid }, text, NULL);
}
