/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given back all at once. */
#ifndef SIM_PTX_ARENA_H
#define SIM_PTX_ARENA_H

#include <stddef.h>

struct arena {
	struct arena_chunk *chunks;
	size_t used, room;	/* in the newest chunk */
	size_t total;
};

/* Zeroed, 16-byte aligned; NULL when the host is out of memory or the size is absurd. */
void *arena_alloc(struct arena *arena, size_t size);
void arena_free(struct arena *arena);

#endif
