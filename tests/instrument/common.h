/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_INSTRUMENT_COMMON_H
#define TEST_INSTRUMENT_COMMON_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/instrument/instrument.h"
#include "tests/suite.h"

#define HEADER ".version 8.0\n.target sm_75\n.address_size 64\n"

#define KERNEL(body) \
	HEADER ".shared .align 4 .b32 sh[8];\n.global .align 4 .b32 gl[8];\n" \
	".visible .entry k(.param .u64 x)\n{.reg .pred %p, %q; .reg .b32 %r<5>; .reg .b64 %rd<5>;" body "}\n"

/* A probe function by the convention, whose name tells it apart in the output; its variable keeps it from being written out. */
#define PROBE(name) \
	".func " name "(.param .b64 l, .param .b64 d, .param .b64 h, .param .b32 k,\n" \
	"\t.param .b64 p, .param .b64 a, .param .b32 s, .param .b32 c)\n{\n\t.local .b32 x;\n\tret;\n}\n"

/* For a loop test: once for each element. */
#define LOOP(test, array) \
	tcase_add_loop_test(tcase, test, 0, (int)(sizeof(array) / sizeof((array)[0])))

struct gt_ptx *parse(const char *text);
const struct gt_ptx_kernel *only_kernel(const struct gt_ptx *ptx);

/* In each thread, of all kernels. */
struct gt_probe probe_at(uint32_t point);

/* Every kernel gets every probe, or rather a copy of it, with this at the end of its name; the result, malloc'd. */
extern bool in_copies;
#define COPY "__copy"
char *instrument_with(const char *text, const char *probe_text, const struct gt_probe *probes, unsigned count);
char *instrument(const char *text, const struct gt_probe *probes, unsigned count);

/* By plans, with the expected result; NULL unless that is 0. */
char *weave_with(const char *text, const struct gt_probe *probes, unsigned probe_count,
		 const struct gt_ptx_plan *plans, int expected, struct gt_ptx_error *error);

unsigned count_of(const char *text, const char *what);

/*
 * The program's text from the `index`th place of probes on: what a site is
 * followed by.  NULL: there is none.
 */
const char *after_site(const char *text, unsigned index);
/* As many places as there are texts, the last of which is NULL, and one call of the probe at each. */
void check_sites(const char *out, const char *const *follow);

#endif
