/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel around a compiled program over plain memory. */
#ifndef TESTS_CONFORMANCE_WRAP_H
#define TESTS_CONFORMANCE_WRAP_H

#include <stdint.h>
#include <stdio.h>

/* The kernel's parameters. */
struct wrap_params {
	uint64_t memory;	/* the program's r1 */
	uint32_t size;		/* its r2 */
	uint32_t pad;
	uint64_t result;	/* where its r0 goes */
};

/* The header of a module. */
void wrap_header(FILE *out);
/* A kernel run<number> that calls a function with the convention of probes. */
void wrap_kernel(FILE *out, unsigned number, const char *function);

#endif
