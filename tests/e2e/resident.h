/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_E2E_RESIDENT_H
#define TESTS_E2E_RESIDENT_H

#include <stdio.h>
#include <unistd.h>

/*
 * Bytes of the process's own memory; rings shared with others fill as they are used.
 * Under AddressSanitizer, which keeps what was freed to catch its use, always 0.
 */
static inline long resident(void)
{
#ifdef __SANITIZE_ADDRESS__
	return 0;
#else
	FILE *file = fopen("/proc/self/statm", "re");
	long pages = 0, shared = 0;

	if (!file || fscanf(file, "%*d %ld %ld", &pages, &shared) != 2)
		_exit(5);
	fclose(file);
	return (pages - shared) * sysconf(_SC_PAGESIZE);
#endif
}

#endif
