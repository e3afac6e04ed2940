/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that are traced while they run: a file says how far they are, and when they are to end. */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

struct rounds {
	uint64_t done;		/* the program's */
	uint64_t enough;	/* not 0: end now */
};

/* The file has these 16 bytes. */
static inline volatile struct rounds *rounds_open(const char *path)
{
	int fd = open(path, O_RDWR);
	void *memory = mmap(NULL, sizeof(struct rounds), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd < 0 || memory == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	return (volatile struct rounds *)memory;
}

#endif
