/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the controller, the agent and the code on the GPU share: the hidden
 * kernel parameter, the layout of shared memory, rings and records.
 *
 * Three parties write here and none trusts the others: whoever reads a value
 * that another wrote copies it once and checks it before use.  The layout below
 * is private to one build of libgputrace and its agent; GT_WIRE_VERSION tells
 * two builds apart.
 */
#ifndef GT_WIRE_WIRE_H
#define GT_WIRE_WIRE_H

#include <stdint.h>

#include "lib/wire/stack.h"

#define GT_WIRE_VERSION 14u
#define GT_WIRE_MAGIC 0x6563617274757067ull	/* "gputrace" */

/*
 * Every instrumented kernel takes one more parameter than its author wrote,
 * 24 bytes, the last in its list.  The launch hook fills it in.
 */
struct gt_launch_param {
	uint64_t launch;	/* bits 0..47 launch id (0: none; its low GT_SLOT_BITS: slot), 48..63 links switched on */
	uint64_t dev;		/* address of this context's device arena */
	uint64_t host;		/* address of this context's host arena, as the GPU sees it */
};

#define GT_LAUNCH_ID_BITS 48
#define GT_SLOT_BITS 12		/* of the id: its launch slot, see below */
#define GT_LAUNCH_SLOTS (1u << GT_SLOT_BITS)
#define GT_LAUNCH_ID_MASK ((1ull << GT_LAUNCH_ID_BITS) - 1)
/* The id alone, as programs and users see it: a graph's node runs with the slots of several executables. */
#define GT_LAUNCH_OF(launch) ((launch) & GT_LAUNCH_ID_MASK & ~(uint64_t)(GT_LAUNCH_SLOTS - 1))
#define GT_LINKS_MAX 16		/* bits of the switch */

/*
 * The calling convention of a probe function in PTX:
 *
 *   .func NAME (.param .b64 launch, .param .b64 dev, .param .b64 host,
 *               .param .b32 kernel, .param .b64 params,
 *               .param .b64 addr, .param .b32 size, .param .b32 space)
 *
 * launch, dev, host: struct gt_launch_param as it came; kernel: the agent's
 * kernel id; params: generic address of the kernel's parameter block and, in bits
 * 48..63, its bytes; 0 when there are none or the program does not ask for it; addr, size, space: memory points only, else
 * 0.  Parameter names are the producer's choice, order and types are not.
 */

/* ---- rings ---- */

/*
 * A ring is a data area of a power of two bytes in the host arena (host memory)
 * plus a control block.  Positions count bytes for ever and are multiples of 8;
 * byte position p lives at data[p & (size - 1)].  A record may wrap, so it is
 * written and read as 8-byte words.
 *
 * Producer: takes its length from `credits` (gives it back and counts `lost`
 * when the result is negative), then its position from `head`; writes every
 * word but the first; then the first word with release order at system scope.
 * Consumer: waits for the first word at `tail` to carry the sequence number of
 * that position (acquire; pairs with the producer's release), copies records
 * out, and publishes the new tail (release; pairs with the producer's acquire
 * read when it runs out of credits).  Of what it has read it clears those words
 * that would be taken for a first word once around.  A producer that finds credits
 * short reads the tail and, with an atomic max on tail_seen, turns the difference
 * into credits; then tries once more.
 * Hence delivered + lost = produced.
 *
 * The agent's threads have no credits: they take length and position together from
 * `head`, no further than the ring's size from the tail.  One may be led away before
 * its record is finished, as a kernel may fail: the consumer passes over such a record
 * when nobody can be at it any more, to the next that is finished.
 */
struct gt_ring_ctl {		/* in the device arena (GPU rings) or shared memory (agent ring) */
	uint64_t head;		/* bytes reserved */
	uint64_t pad0[15];	/* two addresses in 128 bytes share what one takes of atomics */
	int64_t credits;	/* bytes that may still be reserved; starts at the ring's size; not of the agent's */
	uint64_t tail_seen;	/* position up to which room is known to be there */
	uint64_t lost;		/* records dropped for want of room */
	uint64_t pad1[13];
};

/*
 * The record in a ring: 16 bytes, then the payload, padded to 8 bytes.  Threads of a
 * warp that have payloads of one size at the same time write them one behind another
 * in one record: what host memory takes of a GPU is so many pieces of 32 bytes, of
 * which a header is one.
 */
struct gt_record {
	uint32_t seq;		/* (uint32_t)(position >> 3) + 1: never the zero of fresh memory at first use */
	uint32_t len;		/* whole record, this header included, multiple of 8 */
	uint8_t type;		/* enum gt_record_type */
	uint8_t more;		/* payloads behind the first, of its size, each padded to 8 bytes */
	uint16_t source;	/* ring map: index of the map in its session; else 0 */
	uint32_t size;		/* bytes of one payload */
};

#define GT_RECORD_MAX_PAYLOAD 65536u	/* of all payloads in a record, padded */

/* Bytes of a record's payloads. */
static inline uint64_t gt_record_payload(uint32_t size, uint32_t more)
{
	return (((uint64_t)size + 7) & ~7ull) * (more + 1ull);
}

enum gt_record_type {
	GT_REC_NONE,
	GT_REC_DATA,		/* a BPF program's own bytes */
	GT_REC_PRINTK,		/* struct gt_rec_printk, from the GPU, in ring 0 */
	GT_REC_KERNEL,		/* struct gt_rec_kernel, from the GPU */
	GT_REC_LAUNCH,		/* struct gt_rec_launch, from the agent, and so on below */
	GT_REC_FUNCTION,	/* struct gt_rec_function */
	GT_REC_CONTEXT,		/* struct gt_rec_context */
	GT_REC_CLOCK,		/* struct gt_rec_clock */
	GT_REC_NOTE,		/* struct gt_rec_note */
	GT_REC_CALL,		/* struct gt_rec_call */
	GT_REC_RANGE,		/* struct gt_rec_range */
	GT_REC_COPY,		/* struct gt_rec_copy */
	GT_REC_COPY_TIME,	/* struct gt_rec_copy_time */
	GT_REC_EVENT_CLOCK,	/* struct gt_rec_event_clock */
};

/*
 * A BPF program printed: the format follows, fmt_size bytes, with or without a
 * NUL.  It is text the program made up: check every conversion against args.
 */
#define GT_PRINTK_ARGS 12u
struct gt_rec_printk {
	uint64_t time;		/* %globaltimer */
	uint64_t launch;	/* launch id */
	uint64_t args[GT_PRINTK_ARGS];
	uint32_t fmt_size;	/* at most GT_PRINTK_MAX */
	uint32_t reserved;
};
#define GT_PRINTK_MAX 512u

/* A kernel ran: first block's entry to last thread's exit, GPU time in ns. */
struct gt_rec_kernel {
	uint64_t launch;	/* launch id */
	uint32_t kernel;	/* kernel id */
	uint32_t reserved;
	uint64_t start, end;	/* %globaltimer */
};

/* The program launched a kernel (or a captured one became a graph node). */
struct gt_rec_launch {
	uint64_t launch;
	uint64_t enter, leave;	/* CLOCK_MONOTONIC ns around the driver's launch function */
	uint64_t stream;	/* id of the stream, 0 the legacy default stream */
	uint64_t range;		/* innermost open range of the thread, 0: none */
	uint64_t external;	/* the program's own number for it, 0: none */
	uint32_t kernel;	/* kernel id */
	uint32_t tid;
	uint32_t context;	/* its number, UINT32_MAX: none that probes could work in */
	uint32_t flags;		/* GT_LAUNCH_* */
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;	/* dynamic shared memory */
	int32_t result;		/* the driver's CUresult */
};
#define GT_LAUNCH_CAPTURED 1u	/* recorded into a graph, not run */
#define GT_LAUNCH_PROBED 2u	/* the kernel carries probes */
#define GT_LAUNCH_COOPERATIVE 4u

/* A kernel became known; the name (mangled, NUL-terminated) and then the reason follow. */
struct gt_rec_function {
	uint64_t places;	/* by the programs' numbers: it has one place for the program at least */
	uint32_t kernel;	/* kernel id, from 1 */
	uint32_t module;	/* id of the image it came in, from 1 */
	uint32_t route;		/* enum gt_route */
	uint32_t reason;	/* enum gt_reason, 0 when probed */
	uint32_t arch;		/* compute capability times ten of the code used */
	uint32_t registers, static_shared, local_bytes;
	uint32_t links;		/* bit mask of the links whose programs it carries */
	uint32_t name_size, reason_size;	/* with their NULs */
	uint32_t reserved;
};

enum gt_route { GT_ROUTE_NONE, GT_ROUTE_PTX, GT_ROUTE_GRAFT };

enum gt_reason {
	GT_REASON_NONE,
	GT_REASON_NOT_ASKED,	/* no program's pattern matches */
	GT_REASON_NO_PTX,	/* machine code only */
	GT_REASON_PARSE,	/* the PTX could not be understood */
	GT_REASON_COMPILE,	/* the driver refused the instrumented PTX */
	GT_REASON_PARAMS,	/* parameter block too large for the hidden parameter */
	GT_REASON_LIMITS,	/* registers, shared memory or launch bounds */
	GT_REASON_IMAGE,	/* unknown or damaged image */
	GT_REASON_UNSUPPORTED,	/* e.g. relocatable code with unresolved symbols */
	GT_REASON_BEFORE,	/* loaded before there was a controller, or for another one */
};

struct gt_rec_context {
	uint32_t context;	/* its number in the process, from 0; never used again */
	uint32_t area;		/* index of its area, UINT32_MAX: none, its kernels run without probes */
	int32_t device;		/* ordinal as the program sees it */
	uint8_t uuid[16];
	uint32_t arch, sm_count;
	char name[96];
	uint32_t pci_domain, pci_bus, pci_device;
};

/* The GPU's time was `gpu` at some moment between the two host times. */
struct gt_rec_clock {
	uint32_t context, reserved;	/* its number */
	uint64_t before, after;	/* CLOCK_MONOTONIC ns */
	uint64_t gpu;		/* %globaltimer */
};

/* The program had memory copied or set, by one call of the driver. */
struct gt_rec_copy {
	uint64_t launch;	/* its id, one of launches' */
	uint64_t enter, leave;	/* CLOCK_MONOTONIC ns around the driver's function */
	uint64_t bytes;
	uint64_t stream, range, external;	/* as in struct gt_rec_launch */
	uint32_t tid;
	uint32_t context;	/* its number, UINT32_MAX: none that is followed */
	uint32_t kind;		/* enum gt_copy_kind */
	uint16_t untimed;	/* enum gt_untimed; 0: a struct gt_rec_copy_time follows when it is done */
	uint16_t waits;		/* 1: the function returns when it is done, and that is its end */
};

enum gt_copy_kind {
	GT_COPY_UNKNOWN,
	GT_COPY_HOST_TO_DEVICE,
	GT_COPY_DEVICE_TO_HOST,
	GT_COPY_DEVICE_TO_DEVICE,
	GT_COPY_HOST_TO_HOST,
	GT_COPY_PEER,
	GT_COPY_MEMSET,
};

/* Why nothing is known of when a copy ran. */
enum gt_untimed {
	GT_TIMED,
	GT_UNTIMED_CONTEXT,	/* its context is not followed */
	GT_UNTIMED_CAPTURE,	/* a stream that it waits for was being captured */
	GT_UNTIMED_FULL,	/* as many as can be followed were on their way */
	GT_UNTIMED_EVENT,	/* the driver would not record an event in its stream */
};

/* A copy ran.  Times are ns of its context's events, see below. */
struct gt_rec_copy_time {
	uint64_t launch;
	uint64_t start, end;	/* end 0: it `waits` */
	uint64_t error;		/* the true times lie within this many ns */
};

/*
 * The driver's events know only how far they are apart, as fractions of a second that are the
 * less exact the longer it is.  So from time to time an event of ours says where a context's
 * others are: it had the time `at`, which goes on counting from the one before, at some moment
 * between the two host times.
 */
struct gt_rec_event_clock {
	uint32_t context, reserved;	/* its number */
	uint64_t before, after;	/* CLOCK_MONOTONIC ns */
	uint64_t at;		/* ns of the context's events */
	uint64_t error;		/* of what it counted since the one before */
};

/* Something the user should know; a sentence follows, NUL-terminated. */
struct gt_rec_note {
	uint32_t level;		/* as syslog: 3 error, 4 warning, 6 info */
	uint32_t text_size;
};

/*
 * The program called a driver function.  Words follow: if it is `within` anything, the
 * range and the program's own number, as in struct gt_rec_launch; arg_count arguments;
 * stack_count return addresses; and then struct gt_stack_registers and what was copied
 * of the stack, stack_bytes together (0: neither).
 */
struct gt_rec_call {		/* most have one argument and are within nothing: a cache line in the ring */
	uint64_t enter, leave;	/* CLOCK_MONOTONIC ns */
	uint64_t result;	/* the whole register */
	uint32_t function;	/* index in lib/uprobe/api_table.h */
	uint32_t tid;
	uint8_t arg_count;	/* at most GT_CALL_ARGS */
	uint8_t within;		/* 1 or 0 */
	uint16_t stack_count;	/* at most GT_CALL_FRAMES */
	uint32_t stack_bytes;	/* a multiple of 8 */
};
#define GT_CALL_WITHIN_WORDS 2u
#define GT_CALL_ARGS 12u
#define GT_CALL_FRAMES 127u

/* A range of the program's annotations begins or ends; two texts follow, each with a NUL: the name, its domain's name. */
struct gt_rec_range {
	uint64_t time;		/* CLOCK_MONOTONIC ns */
	uint64_t id;		/* of the range, also when it ends */
	uint32_t tid;
	uint32_t kind;		/* enum gt_range_kind */
	uint32_t name_size, domain_size;
};

enum gt_range_kind {
	GT_RANGE_PUSH,		/* ends on the same thread, after all that it has pushed since in this domain */
	GT_RANGE_START,		/* may end anywhere */
	GT_RANGE_END,
	GT_RANGE_MARK,		/* a moment only; id 0 */
	GT_RANGE_THREAD,	/* no range: the name of thread `tid` */
};

/* ---- threads' rings ---- */

/*
 * Each thread of the program that has much to say writes into a ring of its own:
 * one producer, so it needs no reservation, only room, and records lie in the ring
 * as in every other.  These control blocks come first, then the rings' data.
 */
#define GT_THREAD_RINGS 64u

struct gt_thread_ring {
	uint64_t tail;		/* controller: consumer position */
	uint64_t pad0[7];
	uint64_t head;		/* agent: bytes written */
	uint64_t lost;		/* agent: records dropped for want of room */
	uint32_t owner;		/* agent: the thread that has it, 0: none */
	uint32_t pad1[11];
};

/* ---- arenas ---- */

#define GT_RINGS_MAX 64		/* GPU rings of a session; 0 is the timeline's */

/*
 * Host arena: one for each CUDA context, in the shared memory below.  The GPU's
 * `host` parameter points at it.  Maps in host memory and the data of rings
 * follow at offsets that the controller chooses.  In the traced process, memory of
 * the operating system's BPF maps may be mapped over some of it (see proto.h).
 */
struct gt_host_arena {
	uint64_t ring_tail[GT_RINGS_MAX];	/* written by the reader; where a new context's rings begin */
	/* The rest is written by the agent. */
	uint32_t state;		/* enum gt_context_state; the controller sets it from GONE to UNUSED */
	int32_t device;
	uint64_t snapshot;	/* counts snapshots of the device arena, see below */
	uint64_t stamp;		/* written by the GPU for the agent's clock records */
	uint64_t pad[5];
	uint64_t slot_done[GT_LAUNCH_SLOTS];	/* by the GPU: the launch that used the slot last and has ended */
};

/*
 * An area serves one context after another.  The agent takes an unused one, and says
 * that the context has gone after its announcement (struct gt_rec_context) is in the
 * ring; the controller takes in what is left, sets the area up for the next and says
 * that it is unused.
 */
enum gt_context_state { GT_CONTEXT_UNUSED, GT_CONTEXT_LIVE, GT_CONTEXT_GONE };

/*
 * Device arena: one for each CUDA context, in device memory.  The GPU's `dev`
 * parameter points at it.  Maps in device memory follow the control blocks at
 * offsets that the controller chooses; the launch slots come last.
 */
struct gt_dev_arena {
	struct gt_ring_ctl ring[GT_RINGS_MAX];
};

/*
 * A launch slot follows one launch while it runs.  The agent gives each launch a
 * slot of its own, the low bits of the launch id, and takes the slot for another
 * when the GPU has written that id into gt_host_arena.slot_done.  An executable
 * graph keeps its own.  Slot 0 is none: such a launch is counted as lost.
 *
 * All threads of a launch are counted as they leave, which must cost them next to
 * nothing: measured on an H200, one address takes an atomic each 0.8 ns, and so do
 * addresses within 128 bytes together.  So blocks are spread over classes by their
 * number, and a class has a row of its own, of one counter for each slot.
 */
#define GT_SLOT_CLASSES 64u

struct gt_launch_slots {	/* zeros but for launches that run */
	uint64_t start[GT_LAUNCH_SLOTS];	/* complement of %globaltimer at the earliest entry */
	uint64_t classes_done[GT_LAUNCH_SLOTS];
	/*
	 * That have left, in blocks whose number is this class's modulo GT_SLOT_CLASSES; less all that there are from
	 * when the first thread of the first of these blocks leaves on, so that the last one leaves 0 behind.
	 */
	uint64_t threads[GT_SLOT_CLASSES][GT_LAUNCH_SLOTS];
};

/* ---- the shared memory of one traced process ---- */

#define GT_CONTEXTS_MAX 32	/* of a process at a time */

/*
 * Layout: this header (one page); the agent's ring; the threads' rings, if
 * anything writes to them; the template of the device
 * arena; then GT_CONTEXTS_MAX context areas of area_size bytes, each a host
 * arena followed by room for a snapshot of the device arena.  The memory is
 * sealed against resizing.  All offsets are from its start and page-aligned
 * unless said otherwise.
 */
struct gt_shm {
	uint64_t magic;
	uint32_t version;
	uint32_t contexts;		/* areas, at most GT_CONTEXTS_MAX */
	uint64_t total;			/* bytes */
	uint64_t agent_ring;		/* offset of the agent ring's data */
	uint64_t agent_ring_size;	/* bytes, a power of two */
	uint64_t dev_template;		/* offset: initial bytes of the device arena */
	uint64_t dev_size;		/* bytes of the device arena without the slots */
	uint64_t slots;			/* offset of the slots in the device arena (= dev_size rounded) */
	uint64_t areas;			/* offset of the first context area */
	uint64_t area_size;
	uint64_t host_size;		/* bytes of the host arena: what is pinned for the GPU */
	uint64_t snapshot;		/* offset of the snapshot in an area */
	uint64_t thread_rings;		/* offset of the control blocks of the threads' rings */
	uint64_t thread_ring_size;	/* bytes of each one's data, a power of two; 0: there are none */
	uint64_t pad[2];
	/* Written while running, each by one side. */
	uint64_t switches;		/* controller: bit i = link i is on */
	uint64_t agent_tail;		/* controller: consumer position of the agent ring */
	uint64_t recording;		/* controller: GT_CONFIG_CALLS, _NVTX, _MEMCPY: what is wanted */
	uint64_t pad2[5];
	struct gt_ring_ctl agent_ctl;	/* agent */
};

#endif
