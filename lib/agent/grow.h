/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_AGENT_GROW_H
#define GT_AGENT_GROW_H

#include <stdlib.h>

/* An array with room for one more element, doubled when it is full; NULL: out of memory, and it is as it was. */
static inline void *gt_room_for_one_more(void *array, size_t count, size_t *room, size_t element)
{
	size_t more = *room ? 2 * *room : 8;
	void *grown;

	if (count < *room)
		return array;
	grown = realloc(array, more * element);
	if (grown)
		*room = more;
	return grown;
}

#endif
