/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent: a library inside a stranger's CUDA program.  It prints nothing,
 * keeps errno, and whatever goes wrong the program runs as if it were not there.
 */
#ifndef GT_AGENT_AGENT_H
#define GT_AGENT_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/cuda_functions.h"
#include "lib/wire/probe.h"
#include "lib/wire/proto.h"

/* The driver's functions that the agent calls or hooks; NULL where this driver has none. */
struct gt_driver {
#define X(name, since, params) CUresult (*name) params;
	GT_CUDA_FUNCTIONS(X)
#undef X
};

/*
 * Functions that are hooked call the driver through here: after hooking, these
 * are the trampolines that run the driver's own code.
 */
extern struct gt_driver gt_cu;

/* Everything the controller told us; constant while the agent is active. */
struct gt_session {
	struct gt_shm *shm;		/* shared, hostile; sizes below are the checked ones */
	uint8_t *base;
	uint64_t total;
	unsigned contexts;
	uint64_t agent_ring, agent_ring_size;
	uint64_t dev_template, dev_size, slots;
	uint64_t areas, area_size, host_size, snapshot;
	struct gt_thread_ring *thread_rings;
	uint8_t *thread_data;
	uint64_t thread_ring_size;	/* 0: there are none */
	const struct gt_config *config;	/* mapped; what follows points into it */
	uint64_t config_size;
	uint64_t config_hash;		/* of what goes into kernels */
	const char *text;		/* PTX of all probes */
	struct gt_probe probes[GT_PROBES_MAX];
	unsigned probe_count;
	struct gt_config_shared shared[GT_SHARED_MAX];
	unsigned shared_count;
	const struct gt_config_spread *spread;	/* in config, checked */
	unsigned spread_count;
	int shared_refused;		/* errno when their pages cannot be mapped: nothing is probed */
	uint32_t flags;			/* GT_CONFIG_* */
	uint32_t stack_frames;		/* most return addresses to record with a call */
	uint32_t stack_bytes;		/* instead: most bytes of its stack to copy; 0: not so */
	uint64_t timeline;		/* bit of the timeline's link among the switches, 0: none */
	int socket;
	uint64_t socket_device, socket_inode;
	int pid;			/* the process that it was made in */
};
extern struct gt_session gt_session;

/* Is this (GT_CONFIG_CALLS, GT_CONFIG_NVTX) still wanted?  While active, in a hook. */
static inline bool gt_session_records(uint64_t what)
{
	return __atomic_load_n(&gt_session.shm->recording, __ATOMIC_RELAXED) & what;
}

/* From a controller's coming to its going; never in a forked child. */
extern atomic_bool gt_active;
/* Set in a forked child of a process that has the agent. */
extern atomic_bool gt_forked;

/*
 * Enter the session that the environment names, once in a process.  hooks_follow:
 * the driver's functions are about to be hooked.  False: there is none.
 */
bool gt_join(bool hooks_follow);

/* Connect to the controller that the environment names; -1: there is none. */
int gt_session_connect(void);
/*
 * The same socket by another descriptor than those of the standard streams, of which a program may have closed
 * some: what it writes there is none of our business.  -1: all are taken.
 */
int gt_session_keep_off_streams(int fd);
/* Learn the session over this socket, which becomes ours if that works.  False: there is none, stay inert. */
bool gt_session_open(int fd);
/* Give back everything; nobody may use it any more.  keep: but for the memory that the GPU writes. */
void gt_session_close(bool keep);
/* In a forked child: the controller is the parent's, also one that it is just getting to know. */
void gt_session_hang_up(void);
/* Is gt_session.socket still our socket? */
bool gt_session_is_open(void);
bool gt_session_send(enum gt_message_type type, uint64_t value);

/*
 * Records to the controller, while active, and from the thread that closes the session, when
 * nobody else can any more.
 */
extern _Thread_local bool gt_closing __attribute__((tls_model("initial-exec")));
bool gt_emit(enum gt_record_type type, const void *payload, size_t size);	/* false: it is lost */
/* In two pieces: `size` is a multiple of 8. */
bool gt_emit_pieces(enum gt_record_type type, const void *payload, size_t size, const void *more, size_t more_size);
/* Bytes of a record into a ring of mask + 1 bytes; zeros behind them, up to a multiple of 8. */
void gt_put(uint8_t *data, uint64_t mask, uint64_t position, const void *bytes, size_t size);
void gt_note(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

uint64_t gt_now(void);	/* CLOCK_MONOTONIC ns */

/* How deep in hooks this thread is: calls that the driver makes to itself are not the program's. */
extern _Thread_local int gt_depth __attribute__((tls_model("initial-exec")));

#endif
