/* SPDX-License-Identifier: Apache-2.0 */
/* What the program says of its work by calling us: numbers and ranges, see <gputrace/agent.h>. */
#include <errno.h>
#include <stdlib.h>

#include "lib/agent/agent.h"
#include "lib/agent/nvtx/nvtx.h"
#include "lib/agent/thread.h"

__attribute__((visibility("default"))) int gputrace_agent_push_id(uint64_t id);
__attribute__((visibility("default"))) int gputrace_agent_pop_id(uint64_t *ret_id);
__attribute__((visibility("default"))) int gputrace_agent_push_range(const char *text);
__attribute__((visibility("default"))) int gputrace_agent_pop_range(void);

static int push(struct gt_thread *thread, uint64_t id)
{
	if (!thread)
		return -ENOMEM;
	if (thread->external_count == thread->external_room) {
		uint32_t room = thread->external_room ? 2 * thread->external_room : 16;
		uint64_t *more = realloc(thread->externals, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		thread->externals = more;
		thread->external_room = room;
	}
	thread->externals[thread->external_count++] = id;
	return 0;
}

int gputrace_agent_push_id(uint64_t id)
{
	int saved = errno, r = push(gt_thread(), id);

	errno = saved;
	return r;
}

int gputrace_agent_pop_id(uint64_t *ret_id)
{
	struct gt_thread *thread = gt_thread_known;

	if (!thread || !thread->external_count)
		return -ENOENT;
	thread->external_count--;
	if (ret_id)
		*ret_id = thread->externals[thread->external_count];
	return 0;
}

/* As NVTX's, for programs that cannot include its header. */
int gputrace_agent_push_range(const char *text)
{
	int saved = errno, level = gt_nvtx_push(NULL, text);

	errno = saved;
	return level < 0 ? -ENOMEM : 0;
}

int gputrace_agent_pop_range(void)
{
	int saved = errno, level = gt_nvtx_pop(NULL);

	errno = saved;
	return level < 0 ? -ENOENT : 0;
}
