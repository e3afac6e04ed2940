/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/nested.h"

#include <stdlib.h>
#include <string.h>

#define THREADS 1024u	/* followed at a time; a power of two */
#define CALLS 64u	/* of a thread, not yet known to be within another */

/* Calls that have ended, or several in a row as one. */
struct ended {
	uint64_t time;		/* when the first began */
	uint64_t length;	/* of all together */
};

struct thread {
	int pid, tid;
	unsigned count;
	struct ended calls[CALLS];
};

struct gt_nested {
	struct thread *threads[THREADS];
};

struct gt_nested *gt_nested_new(void)
{
	return calloc(1, sizeof(struct gt_nested));
}

void gt_nested_free(struct gt_nested *nested)
{
	if (!nested)
		return;
	for (unsigned i = 0; i < THREADS; i++)
		free(nested->threads[i]);
	free(nested);
}

/* NULL: no memory. */
static struct thread *thread_of(struct gt_nested *nested, int pid, int tid)
{
	struct thread **slot = &nested->threads[((unsigned)pid * 40503u + (unsigned)tid) & (THREADS - 1)];

	if (!*slot)
		*slot = calloc(1, sizeof(**slot));
	if (*slot && ((*slot)->pid != pid || (*slot)->tid != tid)) {
		(*slot)->pid = pid;
		(*slot)->tid = tid;
		(*slot)->count = 0;
	}
	return *slot;
}

static void push(struct thread *thread, uint64_t time, uint64_t length)
{
	struct ended *calls = thread->calls;

	if (thread->count == CALLS) {
		/* Whatever is still around the oldest is around what follows it, too. */
		calls[1].time = calls[0].time;
		calls[1].length += calls[0].length;
		memmove(calls, calls + 1, (CALLS - 1) * sizeof(*calls));
		thread->count--;
	}
	calls[thread->count++] = (struct ended){ .time = time, .length = length };
}

uint64_t gt_nested_own_time(struct gt_nested *nested, int pid, int tid, uint64_t time, uint64_t end)
{
	struct thread *thread = thread_of(nested, pid, tid);
	uint64_t length = end > time ? end - time : 0, within = 0;

	if (!thread)
		return length;
	while (thread->count && thread->calls[thread->count - 1].time >= time)
		within += thread->calls[--thread->count].length;
	push(thread, time, length);
	return within < length ? length - within : 0;
}
