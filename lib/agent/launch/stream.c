/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/launch/stream.h"

#include <pthread.h>

#include "lib/agent/agent.h"
#include "lib/agent/table.h"

/*
 * It must not be asked for while the stream is captured (that would break the
 * capture), so the answers are kept; a handle that was never seen before is its own
 * number then.
 */
uint64_t gt_stream_number(CUstream stream, bool captured)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct gt_table *numbers;
	void *known = gt_table_get(&numbers, stream);
	unsigned long long id;

	if (captured || !gt_cu.cuStreamGetId)
		return known ? (uint64_t)(uintptr_t)known : (uint64_t)(uintptr_t)stream;
	if (gt_cu.cuStreamGetId(stream, &id))
		return (uint64_t)(uintptr_t)stream;
	if ((uint64_t)(uintptr_t)known != id) {
		pthread_mutex_lock(&lock);
		gt_table_set(&numbers, stream, (void *)(uintptr_t)id);
		pthread_mutex_unlock(&lock);
	}
	return id;
}
