/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/instrument/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEADS 8192u

struct ptx_name {
	uint32_t at, length;
	uint32_t series;	/* 0: the plain name */
	uint32_t next;		/* in its hash chain: index + 1 */
	uint32_t head;
	uint32_t id;
	uint8_t class;
};

int gt_names_init(struct ptx_names *names, const char *text)
{
	memset(names, 0, sizeof(*names));
	names->text = text;
	names->heads = calloc(HEADS, sizeof(*names->heads));
	return names->heads ? 0 : -ENOMEM;
}

void gt_names_done(struct ptx_names *names)
{
	free(names->heads);
	free(names->scopes);
	free(names->names);
	memset(names, 0, sizeof(*names));
}

int gt_names_push(struct ptx_names *names)
{
	uint32_t room = names->scope_room ? 2 * names->scope_room : 16;
	uint32_t *scopes;

	if (names->scope_count == PTX_SCOPES_MAX)
		return -E2BIG;
	if (names->scope_count == names->scope_room) {
		scopes = realloc(names->scopes, room * sizeof(*scopes));
		if (!scopes)
			return -ENOMEM;
		names->scopes = scopes;
		names->scope_room = room;
	}
	names->scopes[names->scope_count++] = names->count;
	return 0;
}

void gt_names_pop(struct ptx_names *names)
{
	uint32_t base = names->scopes[--names->scope_count];
	const struct ptx_name *name;

	/* Newest first: each is the head of its chain at that moment. */
	while (names->count > base) {
		name = &names->names[--names->count];
		names->heads[name->head] = name->next;
	}
}

static uint32_t hash(const char *s, uint32_t length)
{
	uint32_t h = 2166136261u;

	while (length--)
		h = (h ^ (unsigned char)*s++) * 16777619u;
	return (h ^ h >> 15) % HEADS;
}

int gt_names_declare(struct ptx_names *names, uint32_t at, uint32_t length, uint32_t series,
		      enum ptx_class class, uint32_t id)
{
	struct ptx_name *grown, *name;
	uint32_t room;

	if (names->count == names->room) {
		room = names->room ? 2 * names->room : 256;
		grown = realloc(names->names, (size_t)room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		names->names = grown;
		names->room = room;
	}
	name = &names->names[names->count];
	*name = (struct ptx_name){
		.at = at, .length = length, .series = series, .class = class, .id = id,
		.head = hash(names->text + at, length),
	};
	name->next = names->heads[name->head];
	names->heads[name->head] = ++names->count;
	return 0;
}

/* Index + 1 of the newest declaration: plain, or a series that holds `number`. */
static uint32_t find(const struct ptx_names *names, const char *s, uint32_t length,
		     int series, uint32_t number)
{
	uint32_t i = names->heads[hash(s, length)];
	const struct ptx_name *name;

	for (; i; i = name->next) {
		name = &names->names[i - 1];
		if (name->length != length || memcmp(names->text + name->at, s, length))
			continue;
		if (series ? number < name->series : !name->series)
			break;
	}
	return i;
}

enum ptx_class gt_names_find(const struct ptx_names *names, uint32_t at, uint32_t length,
			      uint32_t *ret_id)
{
	const char *s = names->text + at;
	uint32_t best = find(names, s, length, 0, 0), number = 0, scale = 1, cut, i;

	/* Every split into stem and number: a stem may end in a digit itself. */
	for (cut = length; cut > 1 && length - cut < 9; scale *= 10) {
		cut--;
		if (s[cut] < '0' || s[cut] > '9')
			break;
		number += (uint32_t)(s[cut] - '0') * scale;
		if (s[cut] == '0' && cut + 1 < length)
			continue;
		i = find(names, s, cut, 1, number);
		if (i > best)
			best = i;
	}
	if (!best)
		return PTX_CLASS_NONE;
	if (ret_id)
		*ret_id = names->names[best - 1].id;
	return names->names[best - 1].class;
}
