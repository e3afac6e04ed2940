/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of programs and what the verifier must say. */
#ifndef GT_TESTS_VERIFY_TABLE_H
#define GT_TESTS_VERIFY_TABLE_H

#include <gputrace/object.h>

#include "tests/verify/programs.h"

#define PROG(...) (const struct bpf_insn[]){ __VA_ARGS__ }, \
		  sizeof((const struct bpf_insn[]){ __VA_ARGS__ }) / sizeof(struct bpf_insn)

struct refused {
	const char *name;
	const struct bpf_insn *insns;
	unsigned count;
	int insn;		/* that the sentence must name; -1: any */
	const char *says;	/* part of the sentence */
	int point;		/* 0: entry */
	int granularity;
};

struct accepted {
	const char *name;
	const struct bpf_insn *insns;
	unsigned count;
	uint64_t max_steps;	/* 0: not looked at */
	int point;		/* 0: entry */
	int granularity;
};

extern const struct refused refused[];
extern const unsigned refused_count;
extern const struct accepted accepted[];
extern const unsigned accepted_count;

#endif
