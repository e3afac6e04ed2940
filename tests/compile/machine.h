/* SPDX-License-Identifier: Apache-2.0 */
/* A session in one process: arenas in plain memory, probes called by a kernel of their own. */
#ifndef TESTS_COMPILE_MACHINE_H
#define TESTS_COMPILE_MACHINE_H

#include <stdio.h>

#include "tests/compile/common.h"

#define MACHINE_DEV_BYTES (32u << 20)
#define MACHINE_HOST_BYTES (2u << 20)

struct machine {
	struct gputrace_object *object;
	uint8_t *dev, *host;		/* arenas */
	uint64_t dev_used, host_used;
	uint64_t slots;			/* of the timeline, in dev */
	unsigned rings;
	bool flat;
	char *text;			/* module so far */
	size_t text_size;
	FILE *out;
};

/*
 * Places every map of the probes' object; ring 0 is there for printed text and the
 * timeline.  flat: programs are without calls, as they are grafted.
 */
struct machine *machine_new(bool flat);
void machine_free(struct machine *machine);

/* The program's text and the name of its function; both malloc'd. */
char *machine_link(struct machine *machine, const char *program, char **ret_function);

/* Adds kernel NAME, which calls a program once in each thread. */
void machine_add(struct machine *machine, const char *program);

/* What a special register is taken for: "%ctaid.x" and a number.  A list ends with no name. */
struct machine_place {
	const char *name, *value;
};

/*
 * Adds kernel "timed", which calls the timeline's probes as the agent would: at entry
 * for the first thread of each block, at exit for each group of threads that leaves
 * together.  Threads whose lane is below `early` leave before the others.
 * place: where the probes think that they are; NULL: where they are.
 */
void machine_add_timed(struct machine *machine, unsigned early, const struct machine_place *place);

/* Runs a kernel; launch is the launch parameter's first word. */
void machine_run(struct machine *machine, const char *kernel, uint64_t launch, unsigned blocks, unsigned threads);

/* The ring number `index`, 0 for the timeline's, 1 for the probes' own. */
struct test_ring machine_ring(struct machine *machine, unsigned index);
struct gt_ring_ctl *machine_ctl(struct machine *machine, unsigned index);

#endif
