/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/mutate.h"

#include <stdlib.h>
#include <string.h>

#define GROWTH 64		/* bytes that one change adds at most */
#define CHANGES 5

static uint64_t next(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15u;
	uint64_t z = *state;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static size_t below(uint64_t *state, size_t limit)
{
	return limit ? next(state) % limit : 0;
}

static void remove_part(struct bytes *b, size_t at, size_t length)
{
	memmove(b->data + at, b->data + at + length, b->size - at - length);
	b->size -= length;
}

static void insert_part(struct bytes *b, size_t at, const uint8_t *part, size_t length)
{
	memmove(b->data + at + length, b->data + at, b->size - at);
	memcpy(b->data + at, part, length);
	b->size += length;
}

/* Sizes, counts and offsets at their limits, 1 to 8 bytes wide. */
static void set_number(struct bytes *b, uint64_t *random)
{
	static const uint64_t numbers[] = {
		0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
		0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffffff8,
	};
	size_t width = (size_t)1 << below(random, 4), at;
	uint64_t number = numbers[below(random, sizeof(numbers) / sizeof(*numbers))];

	if (b->size < width)
		return;
	/* Headers are more telling than what follows. */
	at = below(random, 2) ? below(random, b->size - width + 1) :
				below(random, (b->size < 256 ? b->size : 256) - width + 1);
	memcpy(b->data + at, &number, width);
}

/* In a text: other digits, or very many. */
static void set_digits(struct bytes *b, uint64_t *random)
{
	static const char many[] = "99999999999999999999";
	size_t start = below(random, b->size), i;

	for (i = start; i < b->size && i < start + 4096; i++) {
		if (b->data[i] < '0' || b->data[i] > '9')
			continue;
		if (below(random, 2))
			b->data[i] = (uint8_t)('0' + below(random, 10));
		else
			insert_part(b, i, (const uint8_t *)many, 1 + below(random, sizeof(many) - 1));
		return;
	}
}

/* A piece of this or another seed, put somewhere or over something. */
static void splice(struct bytes *b, uint64_t *random, const struct bytes *from)
{
	size_t length = 1 + below(random, GROWTH), at = below(random, b->size + 1), source;

	if (from->size < length)
		return;
	source = below(random, from->size - length + 1);
	if (below(random, 2))
		insert_part(b, at, from->data + source, length);
	else if (at + length <= b->size)
		memcpy(b->data + at, from->data + source, length);
}

static void change(struct bytes *b, uint64_t *random, const struct corpus *corpus)
{
	size_t at = below(random, b->size);

	if (!b->size)
		return;
	switch (below(random, 7)) {
	case 0:
		b->data[at] ^= (uint8_t)(1u << below(random, 8));
		break;
	case 1:
		b->data[at] = (uint8_t)next(random);
		break;
	case 2:
		remove_part(b, at, 1 + below(random, b->size - at < GROWTH ? b->size - at : GROWTH));
		break;
	case 3:
		set_number(b, random);
		break;
	case 4:
		set_digits(b, random);
		break;
	case 5:
		splice(b, random, &corpus->seeds[below(random, corpus->count)]);
		break;
	default:	/* cut short, seldom */
		if (!below(random, 4))
			b->size = at;
		break;
	}
}

struct bytes mutate(const struct corpus *corpus, unsigned seed, unsigned number)
{
	const struct bytes *from = &corpus->seeds[seed];
	struct bytes b = { malloc(from->size + CHANGES * GROWTH), from->size };
	uint64_t random = number;
	unsigned changes;

	if (!b.data)
		abort();
	memcpy(b.data, from->data, from->size);
	if (number) {
		changes = 1 + (unsigned)below(&random, CHANGES);
		while (changes--)
			change(&b, &random, corpus);
	}
	return b;
}
