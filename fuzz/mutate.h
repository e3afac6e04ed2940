/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
	uint8_t *data;
	size_t size;
};

struct corpus {
	unsigned count;
	char **names;
	struct bytes *seeds;
};

/* Mutation `number` of a seed, the same each time, 0 the seed itself; data is malloc'd, no memory is the end. */
struct bytes mutate(const struct corpus *corpus, unsigned seed, unsigned number);

#endif
