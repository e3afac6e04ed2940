/* SPDX-License-Identifier: Apache-2.0 */
/* What all traced programs share, C and CUDA C++. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a over 32-bit words. */
static inline uint64_t checksum(const uint32_t *words, size_t count)
{
	uint64_t sum = 14695981039346656037ull;

	for (size_t i = 0; i < count; i++)
		sum = (sum ^ words[i]) * 1099511628211ull;
	return sum;
}

/* The program checks its own results. */
static inline void require(int right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "wrong result: %s\n", what);
	exit(1);
}

/* The number after an option, or what to take without it. */
static inline unsigned long option(int argc, char **argv, const char *name, unsigned long otherwise)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], name))
			return strtoul(argv[i + 1], NULL, 0);
	return otherwise;
}

#endif
