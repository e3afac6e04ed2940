/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between controller and agent, over a SOCK_SEQPACKET unix socket: one
 * message, one packet, file descriptors beside it.
 */
#ifndef GT_WIRE_PROTO_H
#define GT_WIRE_PROTO_H

#include <stdint.h>

#include "lib/wire/wire.h"

/* Environment of a traced program. */
#define GT_ENV_SOCKET "GPUTRACE_SOCKET"		/* GT_SECRET_SIZE digits, a colon, path of the controller's socket */
#define GT_ENV_CHAIN "GPUTRACE_CHAIN"		/* CUDA_INJECTION64_PATH as it was before */
#define GT_ENV_INJECTION "CUDA_INJECTION64_PATH"
#define GT_ENV_NVTX_CHAIN "GPUTRACE_NVTX_CHAIN"	/* NVTX_INJECTION64_PATH as it was before */
#define GT_ENV_NVTX "NVTX_INJECTION64_PATH"

enum gt_message_type {
	GT_MSG_HELLO = 1,	/* agent: struct gt_msg_hello */
	GT_MSG_CONFIG,		/* controller: descriptors of shared memory, config, shared maps */
	GT_MSG_READY,		/* agent: hooks are in; `value` counts them */
	GT_MSG_FLUSH,		/* controller: copy the device arenas out; `value` is a serial */
	GT_MSG_FLUSHED,		/* agent: done; `value` is the serial */
	GT_MSG_STAMP,		/* controller: send clock records for the context with number `value` */
	GT_MSG_BYE,		/* agent: the process ends or is let go, the arenas have been copied out */
	GT_MSG_DETACH,		/* controller: let go of the process, then say BYE */
	GT_MSG_LEAVING,		/* agent: how far it has come with that, `value` is an enum gt_leaving_step */
};

enum gt_leaving_step {
	GT_LEAVING_CALLS = 1,	/* waits for threads to come out of the driver's functions that it has hooked */
	GT_LEAVING_STUCK,	/* has waited GT_LEAVING_S for that in vain, and stays */
	GT_LEAVING_KERNELS,	/* waits for kernels to end */
	GT_LEAVING_STEPS
};
#define GT_LEAVING_S 10

struct gt_msg {
	uint64_t magic;		/* GT_WIRE_MAGIC */
	uint32_t version;	/* GT_WIRE_VERSION */
	uint32_t type;		/* enum gt_message_type */
	uint64_t value;
};

/*
 * Who knows the session's secret, because he was given the environment, may enter
 * it, whatever user he has become.
 */
#define GT_SECRET_SIZE 32u	/* hexadecimal digits */

struct gt_msg_hello {
	struct gt_msg msg;
	char command[64];	/* NUL-terminated */
	char secret[GT_SECRET_SIZE];
};

/*
 * The config descriptor: this header; probe_count records; shared_count shared
 * maps; spread_count spread maps; text_size bytes of PTX text with a NUL; string_size
 * bytes of NUL-terminated strings that the records point into.  Sealed, so it cannot
 * change while it is read.
 */
struct gt_config {
	uint64_t magic;
	uint32_t version;
	uint32_t flags;		/* GT_CONFIG_* */
	uint32_t probe_count;
	uint32_t string_size;
	uint64_t text_size;	/* with its NUL */
	uint32_t timeline;	/* link of the timeline, UINT32_MAX: none */
	uint32_t shared_count;
	uint32_t stack_frames;	/* most return addresses to record with a call, at most GT_CALL_FRAMES */
	uint32_t stack_bytes;	/* instead: registers and as much of the stack, at most GT_STACK_COPY_MAX; 0: not so */
	uint32_t spread_count;
	uint32_t pad;
};
#define GT_CONFIG_LIST 1u	/* report every kernel of every image, also when nothing is attached */
#define GT_CONFIG_STAMP 2u	/* send clock records from the start */
#define GT_CONFIG_NO_GRAFT 4u	/* programs go into PTX alone */
#define GT_CONFIG_ONLY_GRAFT 8u	/* programs go onto machine code alone, on any architecture */
#define GT_CONFIG_CALLS 16u	/* record driver calls by hooks */
#define GT_CONFIG_QUERIES 32u	/* also of functions that only ask */
#define GT_CONFIG_NVTX 64u	/* record ranges and marks */
#define GT_CONFIG_COPIES 128u	/* programs for kernels loaded before the agent came, too: in copies */
#define GT_CONFIG_LIVE 256u	/* the process ran before: GT_CONFIG_COPIES could be asked for */
#define GT_CONFIG_MEMCPY 512u	/* record copies and memsets, with the times when they ran */
#define GT_CONFIG_TICKS 1024u	/* CLOCK_MONOTONIC is made from the processor's counter */

struct gt_config_probe {
	uint32_t point, granularity, link, flags;
	uint32_t function, kernel, opcode;	/* offsets into the strings; opcode UINT32_MAX: none */
	uint32_t number;
};

/*
 * A map that programs in the operating system's kernel use too: an array of the
 * kernel's, whose descriptor comes with the config's, in the order of this table.
 * Its pages take the place of the host arena's in every context area.  Ascending
 * by offset and apart from each other; both numbers are multiples of the page size.
 */
struct gt_config_shared {
	uint64_t offset, bytes;	/* in the host arena */
};

#define GT_SHARED_MAX 32

/*
 * A map of which multiprocessors have copies of their own.  What a snapshot of the
 * device arena shows of them is added up into the host arena, word by word; or put
 * there side by side, element k of copy c at (k * count + c) * stride.
 */
struct gt_config_spread {
	uint64_t copies;	/* offset in the device arena */
	uint64_t sum;		/* offset in the host arena */
	uint64_t copy_bytes;	/* from one copy to the next */
	uint32_t count;		/* copies */
	uint32_t word;		/* 4 or 8 bytes */
	uint64_t bytes;		/* of a copy that are taken */
	uint64_t stride;	/* of an element, where copies stay apart; 0: they are added up */
};

#endif
