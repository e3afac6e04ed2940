/* SPDX-License-Identifier: Apache-2.0 */
/* A traced program as the controller sees it. */
#ifndef GT_TARGET_TARGET_H
#define GT_TARGET_TARGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gputrace/gputrace.h>

#include "lib/reader/stream_order.h"
#include "lib/target/gpu.h"
#include "lib/target/kernel.h"
#include "lib/target/layout.h"
#include "lib/wire/proto.h"

struct gt_api_trace;
struct gt_kernel_programs;

/* One CUDA context of a traced process; stays when it has ended, since events about it come later. */
struct gt_target_context {
	uint32_t number;	/* in the process */
	int device;		/* ordinal as the program sees it */
	const struct gputrace_gpu *gpu;	/* NULL: cannot be followed, and so below */
	struct gputrace_clock *clock;	/* the GPU's, or the process's for it */
	struct gt_event_clock events;	/* the reader's, and so below */
	struct gt_stream_order *order;	/* NULL until there is a copy */
};

/* The piece of shared memory that one context after another uses. */
struct gt_area {
	const struct gt_target_context *context;	/* NULL: none */
	/* Of each GPU ring: how far we have read, and what was lost according to the latest snapshot. */
	uint64_t tail[GT_RINGS_MAX];
	uint64_t lost[GT_RINGS_MAX];
	uint64_t broken;	/* bit i: ring i holds nonsense */
	uint64_t snapshot;	/* the latest that was looked at */
	unsigned *instances;	/* of the layout's maps, in order */
	unsigned instance_count;
	bool stuck;		/* said that it cannot be used again */
};

/* The reader's, of a ring that the agent writes to. */
struct gt_agent_ring {
	uint64_t tail, lost;	/* how far we have read; what was lost by then */
	uint64_t waiting_at;	/* position of a record that has been begun and not finished */
	uint64_t since;		/* CLOCK_MONOTONIC ns: it was found there */
};

/* A process that has loaded the agent. */
struct gt_process {
	struct gt_process *next;
	struct gputrace_target *target;
	int pid;
	char command[64];
	int socket;		/* -1: it has ended or let go */
	bool knocks;		/* came to the door: must tell the secret */
	bool replaced;		/* another program has taken its place */
	bool configured, ready, announced, ended_announced, end_delivered;
	uint8_t *base;		/* shared memory, which the process may scribble on; NULL: not yet, or not any more */
	int shm_fd;
	struct gt_agent_ring agent_ring, thread_rings[GT_THREAD_RINGS];
	uint64_t started, finished;	/* launches with a place in the timeline, and kernels of such */
	bool agent_broken;	/* one of its rings holds nonsense */
	uint64_t flush_serial;	/* latest that it has answered */
	uint64_t leaving;	/* enum gt_leaving_step, 0: none told yet */
	struct gt_target_context **contexts;	/* by number; numbers are dense */
	uint32_t context_count, context_room;
	struct gt_area areas[GT_CONTEXTS_MAX];
	/* By a GPU's index: its clock by what this process reports, where its timer cannot be read. */
	struct gputrace_clock *clocks[GT_GPUS_MAX];
	struct gputrace_kernel **kernels;	/* by id; ids are dense */
	uint32_t kernel_room;
	struct gt_launches *launches;	/* the reader's; as long as there is shared memory */
	struct gt_ranges *ranges;	/* the reader's; NULL until there is one */
	struct gt_copies *copies;	/* likewise */
};

/* A map that the operating system's kernel and the GPU share. */
struct gt_shared_map {
	struct gputrace_map *map;
	int fd;			/* of the kernel's array */
	void *memory;		/* its pages */
	uint64_t bytes;		/* whole pages */
};

/* How we came to a process. */
enum gt_target_kind { GT_TARGET_SPAWNED, GT_TARGET_ATTACHED, GT_TARGET_SELF, GT_TARGET_WATCHED };

struct gputrace_target {
	atomic_uint references;
	struct gputrace_ctx *ctx;
	enum gt_target_kind kind;
	pid_t pid;
	char *agent;		/* to be put into a running process */
	int go_fd;		/* write end: lets the child run; -1 once it does */
	int exec_fd;		/* read end: its exec's errno, or end of file */
	bool translated;	/* the command runs under valgrind */
	int pid_fd;		/* readable when the program has ended; -1: not available */
	bool resumed, exited;
	bool let_go;		/* is watched no longer */
	int status;		/* as of waitpid */
	char directory[64];	/* holds the socket */
	char socket_path[96];
	char secret[GT_SECRET_SIZE + 1];	/* who tells it may enter */
	int listen_fd, epoll_fd;
	uint32_t route_flags;	/* by gt_config_route() */
	bool software_device;
	bool copies;		/* kernels that a running process has loaded are to get programs, too */
	uint64_t agent_ring_bytes, gpu_ring_bytes;
	uint64_t thread_ring_bytes;	/* of each thread's ring, 0: nothing writes to them */
	char *libcuda;		/* what it will load, as far as we can tell; may be NULL */
	struct gt_process *processes;	/* newest last */
	struct gputrace_gpu *gpus;
	uint64_t kept_bytes;	/* copies of maps of contexts that have ended */
	struct gt_kernels kernels;
	struct gputrace_link *links;
	uint32_t link_bits;	/* GPU links in use */
	struct gt_layout layout;
	bool laid_out;
	struct gt_shared_map shared[GT_SHARED_MAX];	/* ascending by place */
	unsigned shared_count;
	struct gt_shared_map kernels_own[GT_SHARED_MAX];	/* arrays that no GPU program uses, for our eyes alone */
	unsigned kernels_own_count;
	uint64_t flush_serial;
	struct gputrace_reader *reader;
};

/* With one reference and nothing in it; -ENOMEM, with gt_error() text. */
int gt_target_new(struct gputrace_ctx *ctx, enum gt_target_kind kind, struct gputrace_target **ret_target);

/* Ask every live agent for a snapshot of its device arenas and wait; -1: for ever. */
int gt_target_flush(struct gputrace_target *target, int timeout_ms);

/* Switch link bits off (or on) in all processes. */
void gt_target_switch(struct gputrace_target *target, uint32_t bit, bool on);

/* A link that the agents record something for has been detached: let them know what is still wanted. */
void gt_target_update_recording(struct gputrace_target *target);

bool gt_target_has_live_agents(const struct gputrace_target *target);

/* Will there be no more than what has been written by now? */
bool gt_target_is_over(struct gputrace_target *target);

/* watch.c: have all processes that are watched ended, or is nothing watched any longer? */
bool gt_watch_is_over(struct gputrace_target *target);
/* Nothing is watched from now on. */
void gt_watch_let_go(struct gputrace_target *target);

/* live.c: the process runs already.  Find out what it runs on; begin. */
int gt_live_find_libcuda(struct gputrace_target *target);
int gt_live_begin(struct gputrace_target *target);

/* process.c */
int gt_process_accept(struct gputrace_target *target);
/*
 * A connected socket, ours from now on also when it fails.  knocks: of somebody who has to
 * know the secret.  With gt_error() text.
 */
int gt_process_add(struct gputrace_target *target, int fd, bool knocks);
/* Take in one message; false when the agent is gone. */
bool gt_process_serve(struct gt_process *process);
/* Nothing more is heard of it; the agent in it notices. */
void gt_process_let_go(struct gt_process *process);
/* It is gone: if it was never given shared memory, there is nothing more to know of it. */
void gt_process_forget(struct gt_process *process);
/*
 * All that it wrote has been delivered.  Once it has ended, its shared memory goes, which of
 * many processes would be much; maps keep what they hold.
 */
void gt_process_retire(struct gt_process *process);
void gt_process_free(struct gt_process *process);
int gt_process_send(struct gt_process *process, enum gt_message_type type, uint64_t value);
/* The context with this number; NULL: it is not known. */
struct gt_target_context *gt_process_context(const struct gt_process *process, uint32_t number);
struct gt_host_arena *gt_process_area(const struct gt_process *process, unsigned index);

/* kernels.c */
int gt_target_add_kernel(struct gt_process *process, const struct gt_rec_function *record,
			 const char *name, const char *reason);
struct gputrace_kernel *gt_process_kernel(const struct gt_process *process, uint32_t id);

#endif
