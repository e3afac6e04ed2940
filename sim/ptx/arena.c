/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "arena.h"

#define CHUNK 65536
#define LIMIT ((size_t)4 << 30)

struct arena_chunk {
	struct arena_chunk *next;
	void *pad;
	unsigned char data[];
};

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_chunk *chunk;
	size_t room;

	if (size > LIMIT)
		return NULL;
	size = (size + 15) & ~(size_t)15;
	if (arena->room - arena->used < size || !arena->chunks) {
		room = size > CHUNK ? size : CHUNK;
		if (arena->total + room > LIMIT)
			return NULL;
		chunk = calloc(1, sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		chunk->next = arena->chunks;
		arena->chunks = chunk;
		arena->room = room;
		arena->used = 0;
		arena->total += room;
	}
	arena->used += size;
	return arena->chunks->data + arena->used - size;
}

void arena_free(struct arena *arena)
{
	struct arena_chunk *chunk;

	while ((chunk = arena->chunks)) {
		arena->chunks = chunk->next;
		free(chunk);
	}
	arena->used = arena->room = arena->total = 0;
}
