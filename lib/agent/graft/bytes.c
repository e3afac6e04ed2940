/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/edit.h"

static bool make_room(struct gt_bytes *bytes, size_t size)
{
	size_t room = bytes->room ? bytes->room : 256;
	uint8_t *data;

	if (bytes->failed)
		return false;
	while (room - bytes->size < size)
		room *= 2;
	if (room == bytes->room)
		return true;
	data = realloc(bytes->data, room);
	bytes->failed = !data;
	if (data) {
		bytes->data = data;
		bytes->room = room;
	}
	return data;
}

void gt_bytes_add(struct gt_bytes *bytes, const void *data, size_t size)
{
	if (!size || !make_room(bytes, size))
		return;
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
}

void gt_bytes_fill(struct gt_bytes *bytes, size_t align)
{
	size_t size = align > 1 ? (align - bytes->size % align) % align : 0;

	if (!size || !make_room(bytes, size))
		return;
	memset(bytes->data + bytes->size, 0, size);
	bytes->size += size;
}

void gt_bytes_add_word(struct gt_bytes *bytes, gt_word word)
{
	gt_bytes_add(bytes, &word, sizeof(word));
}
