/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of tests/gpu/bpf. */
#ifndef TESTS_GPU_BPF_H
#define TESTS_GPU_BPF_H

#include <stdbool.h>

struct options {
	unsigned programs;	/* random ones */
	unsigned long seed;	/* of the first */
	unsigned threads;	/* of the contention tests */
	bool every;		/* every size of records, not a list */
	const char *suite;	/* list of cases of another suite, see tests/conformance/print-suite.cc */
	const char *hand;	/* source of the kernels for speed, or X for X.ptx and X.cubin */
};

/* Each prints its line, or more than one; true if all passed. */
bool test_vectors(void);
bool test_suite(const struct options *options);
bool test_random(const struct options *options);
bool test_hash(const struct options *options);
bool test_ring(const struct options *options);
bool test_speed(void);
/* Can the kernels for it be had?  Else prints why not. */
bool prepare_speed(const struct options *options);

#endif
