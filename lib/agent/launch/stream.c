/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/launch/stream.h"

#include "lib/agent/agent.h"
#include "lib/agent/lock.h"
#include "lib/agent/table.h"

static GT_LOCK(lock);

/*
 * It must not be asked for while the stream is captured (that would break the
 * capture), so the answers are kept; a handle that was never seen before is its own
 * number then.
 */
uint64_t gt_stream_number(CUstream stream, bool captured)
{
	static struct gt_table *numbers;
	void *known = gt_table_get(&numbers, stream);
	unsigned long long id;

	if (captured || !gt_cu.cuStreamGetId)
		return known ? (uint64_t)(uintptr_t)known : (uint64_t)(uintptr_t)stream;
	if (gt_cu.cuStreamGetId(stream, &id))
		return (uint64_t)(uintptr_t)stream;
	if ((uint64_t)(uintptr_t)known != id) {
		gt_lock(&lock);
		gt_table_set(&numbers, stream, (void *)(uintptr_t)id);
		gt_unlock(&lock);
	}
	return id;
}
