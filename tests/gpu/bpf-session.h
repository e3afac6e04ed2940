/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a controller and an agent make of an object together: arenas on the device
 * and in host memory, the maps in them, and modules with its programs.
 */
#ifndef TESTS_GPU_BPF_SESSION_H
#define TESTS_GPU_BPF_SESSION_H

#include <gputrace/gputrace.h>
#include <stdint.h>

#include "lib/object/object.h"
#include "lib/reader/ring.h"
#include "lib/wire/wire.h"

struct session {
	struct gputrace_object *object;
	uint64_t dev, dev_bytes;	/* the GPU's addresses */
	uint8_t *host;
	uint64_t host_gpu, host_bytes;
	unsigned rings;
	unsigned linked;		/* programs, for their numbers */
};

/* The programs and maps of tests/gpu/programs/bpf-probes.bpf.c, all places fixed. */
void session_open(struct session *session);
void session_close(struct session *session);

/* A program's PTX and the function in it; both malloc'd. */
char *session_link(struct session *session, const char *program, char **ret_function);

/*
 * A module in which kernel NAME calls program NAME in each thread; its parameters
 * are what session_launch() gives.  names: until NULL.
 */
void *session_module(struct session *session, const char *const *names);

/* address and size are what the program finds in its context. */
void session_launch(const struct session *session, void *function, unsigned threads, uint64_t address, uint32_t size);
struct gt_launch_param session_param(const struct session *session);

struct gputrace_map *session_map(const struct session *session, const char *name);
/* A copy of a map's memory, to free(). */
void *session_read(const struct session *session, const struct gputrace_map *map);
void session_write(const struct session *session, const struct gputrace_map *map, const void *bytes, size_t size);
/* As a map was at the start. */
void session_clear(const struct session *session, const struct gputrace_map *map);

/* The consumer's side of the ring map, and its control block. */
struct gt_ring session_ring(const struct session *session, const struct gputrace_map *map);
struct gt_ring_ctl session_ctl(const struct session *session, const struct gputrace_map *map);
void session_set_ctl(const struct session *session, const struct gputrace_map *map, const struct gt_ring_ctl *ctl);

#endif
