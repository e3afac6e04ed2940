/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_COMPILE_COMMON_H
#define TESTS_COMPILE_COMMON_H

#include <check.h>
#include <gputrace/gputrace.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/object/gpu-abi.h"
#include "lib/wire/wire.h"
#include "tests/suite.h"

/* The object of probes.bpf.c. */
struct gputrace_object *open_probes(void);

/* A program of it, verified and compiled, without the cache. */
struct gputrace_image *compile_probe(struct gputrace_object *object, const char *name, bool gpu);

/* Run a host image with a context; its r0. */
uint64_t run(const struct gputrace_image *image, const struct gputrace_gpu_ctx *context);

/* An element of a map as of an instance; 8 bytes. */
uint64_t element(struct gputrace_object *object, const char *map, int instance, uint32_t key);

/* The variable `result` of probes.bpf.c as of an instance. */
struct result;
void read_result(struct gputrace_object *object, int instance, struct result *result);

/*
 * Take a ring's next payload, like a reader would: 1 with it and the header of its record, 0
 * when there is none.  Fails the test when the record is not well-formed.
 */
struct test_ring {
	const uint8_t *data;
	uint64_t size;
	uint64_t *tail;
	uint32_t taken;		/* of the payloads in the record at the tail */
};
int take_record(struct test_ring *ring, struct gt_record *record, void *payload);

#endif
