/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a map as text. */
#ifndef PRINT_MAP_H
#define PRINT_MAP_H

#include <gputrace/gputrace.h>

/* On stdout: keys and values as integers where their size is one's, else as bytes.  `all`: zeros as well. */
void print_map(struct gputrace_map *map, int all);

/* A record or value: 64-bit integers if the size is a multiple of theirs, else bytes. */
void print_bytes(const void *data, size_t size);

#endif
