/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine: decoded functions, and the state of warps and blocks that run
 * them.
 *
 * A warp's registers are arrays over its 32 lanes: a predicate is one 32-bit
 * mask, registers up to 32 bits an array of 32-bit words, wider ones arrays of
 * 64-bit words.  An operation works on all lanes of a mask at once.
 *
 * Lanes that took different ways form groups, each with its own pc and call
 * frame.  Code is laid out so that every block stands after all blocks that
 * lead to it by forward edges, and loops are contiguous; the group with the
 * lowest pc runs first and so meets the others where their ways join.
 */
#ifndef SIM_PTX_MACHINE_H
#define SIM_PTX_MACHINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "../ptx.h"
#include "arena.h"
#include "ast.h"

#define LANES 32
#define FULL 0xffffffffu
#define CONST_REF 0x80000000u	/* reference into the function's constants, not the frame */
#define BARRIERS 16
#define RANGE_CACHE 8
#define MAX_FRAMES 4096		/* nested calls of one lane */

struct op;
struct warp;
struct block;
struct launch;

/* What an operation returns. */
enum op_result {
	OP_NEXT,	/* go on with the next operation */
	OP_JUMP,	/* w->pc is set */
	OP_RESCHED,	/* w->pc is set; groups changed, choose again */
	OP_WAIT,	/* the current group waits; its state is set */
	OP_YIELD,	/* as OP_RESCHED, and let others run first */
	OP_FAULT,	/* w->fault is filled in */
};

typedef int op_fn(struct warp *w, const struct op *op, uint32_t mask);

enum {
	OPF_ADDR32 = 1,		/* address register has 32 bits */
	OPF_FTZ = 2,
	OPF_SAT = 4,
	OPF_NEG = 8,		/* meaning depends on the operation */
	OPF_VOLATILE = 16,	/* may be waiting for somebody else's store */
	OPF_ABS = 32,
	OPF_RELU = 64,
	OPF_WIDE = 128,
	OPF_RND_SHIFT = 8,	/* 3 bits: enum rounding */
};

enum rounding { RND_NONE, RND_RN, RND_RZ, RND_RM, RND_RP, RND_RNA };

static inline enum rounding op_rounding(unsigned flags)
{
	return (flags >> OPF_RND_SHIFT) & 7;
}

struct op {
	op_fn *fn;
	uint32_t guard;		/* predicate, 0: none */
	uint8_t guard_negated;
	uint8_t count;		/* vector elements */
	uint16_t flags;
	uint32_t dst, a, b, c, d;
	uint32_t line;
	uint64_t imm;
	const void *ext;
};

/* Where an argument or a parameter lives. */
struct place {
	uint8_t is_reg;
	uint8_t reg_bits;	/* 1, 32 or 64: kind of slot */
	uint32_t at;		/* slot, or offset in the frame's local memory */
	uint32_t size;
};

struct sim_func {
	const char *name;
	const struct op *code;
	uint32_t op_count;
	unsigned char *consts;
	uint32_t frame_bytes;
	uint32_t local_bytes;	/* per lane, parameters included */
	unsigned param_count, ret_count;
	const struct place *params, *rets;
	uint32_t depth_bytes;	/* local memory with all callees; UINT32_MAX: unbounded */
};

/* What a call operation knows besides its target. */
struct call_site {
	const struct sim_func *target;	/* NULL: by register op->a */
	unsigned arg_count, ret_count;
	const struct place *args, *rets;
	int (*builtin)(struct warp *w, const struct op *op, const struct call_site *call,
		       uint32_t mask);
};

struct sim_kernel {
	struct sim_kernel_info info;
	struct sim_module *module;
	const struct sim_func *func;
	uint32_t shared_align;
	uint32_t reqntid[3];	/* 0: any */
	uint32_t cluster[3];	/* 0: as the launch says */
};

struct heap_piece {
	struct heap_piece *next;
	void *addr;
};

struct sim_module {
	const struct sim_device *dev;
	struct arena keep;
	struct sim_func *funcs;
	unsigned func_count;
	struct sim_kernel *kernels;
	unsigned kernel_count;
	struct module_variable {
		const char *name;
		uint64_t addr, size;
		int is_const, is_visible;
		int owned;
	} *variables;
	unsigned variable_count;
	pthread_mutex_t heap_lock;	/* for heap */
	struct heap_piece *heap;	/* device malloc() */
	uint32_t ptx_version;
};

struct frame {
	struct frame *parent;
	const struct sim_func *func;
	uint32_t return_pc;
	uint32_t lanes;		/* still inside */
	uint32_t depth;
	uint32_t local_base;
	unsigned char regs[] __attribute__((aligned(64)));
};

enum group_state { GROUP_READY, GROUP_SYNC, GROUP_BARRIER, GROUP_CLUSTER };

struct group {
	uint32_t mask, pc;
	struct frame *frame;
	enum group_state state;
	uint32_t member;	/* GROUP_SYNC: lanes that must come */
	unsigned barrier;	/* GROUP_BARRIER: number */
	uint64_t stamp;		/* when it last ran */
	uint64_t wake;		/* it sleeps until then; ns of CLOCK_MONOTONIC */
};

struct barrier {
	uint32_t arrived;	/* threads, counted by whole warps */
	uint32_t expected;	/* 0: all of the block */
	uint32_t generation;
	uint32_t popc;		/* barrier.red, of this generation */
	int all, any;
	uint32_t last_popc;	/* of the finished one */
	int last_all, last_any;
};

struct fault {
	int kind;
	unsigned lane;
	uint32_t line;
	uint64_t addr;
	int has_addr;
	char text[200];
};

struct warp {
	unsigned char *base[2];	/* registers of the current frame; constants of its function */
	const struct op *code;
	uint32_t pc;
	uint32_t mask;		/* lanes of the current group */
	uint32_t limit;		/* look at the other groups from this pc on */
	uint32_t live;
	struct frame *frame;
	struct block *block;
	struct worker *worker;

	unsigned char *shared;	/* shortcuts into the block */
	uint64_t shared_size;
	unsigned char *local;
	uint64_t local_stride;

	struct group groups[LANES];
	unsigned group_count, current;
	uint64_t clock;		/* counts picks, for stamps */
	int rotate;		/* the group that ran last shall let others run */
	unsigned turns;		/* used up since the warp was one group */
	uint32_t slice;
	uint32_t spin;		/* backward branches since the last look at foreign memory */
	int spin_hint;		/* 1: changed foreign memory, 2: looked at it */
	unsigned index;

	uint32_t carry;		/* CC.CF, a bit per lane */
	uint32_t bar_arrived[BARRIERS];
	uint32_t bar_pred[BARRIERS];
	uint32_t cluster_arrived;	/* lanes, in the barrier phase that is open */
	uint64_t exchange[LANES];
	uint32_t exchange_pred;
	uint64_t stack_top[LANES];	/* local memory above belongs to alloca */
	uint32_t tid[3][LANES];
	struct frame *root;
	struct frame *spare;	/* freed frames, reused when large enough */
	struct fault fault;
};

enum block_status { BLOCK_DONE, BLOCK_SLICE, BLOCK_SPIN, BLOCK_FAULT, BLOCK_DEADLOCK };

struct block {
	struct launch *launch;
	struct worker *worker;
	struct block *next;
	uint32_t ctaid[3];
	uint64_t linear;
	unsigned warp_count;
	struct warp *warps;
	unsigned char *shared;
	uint64_t shared_size;
	unsigned char *local;
	size_t local_bytes;
	struct barrier barriers[BARRIERS];
	struct cluster *cluster;
	unsigned rank;			/* within the cluster */
};

/* Blocks that one worker runs side by side; they reach one another's shared memory. */
struct cluster {
	unsigned size, left;		/* blocks; those not done */
	uint32_t arrived, live;		/* threads */
	struct block *blocks[];
};

struct worker {
	struct launch *launch;
	uint64_t range_base, range_size;	/* the range used last */
	struct { uint64_t base, size; } ranges[RANGE_CACHE];
	unsigned range_next;
	struct block *idle;			/* blocks to reuse */
	struct block *resident;
	unsigned resident_count;
};

struct launch {
	const struct sim_kernel *kernel;
	const struct sim_device *dev;
	uint32_t grid[3], block[3], cluster[3];
	uint64_t block_total;
	uint32_t cluster_size;	/* blocks */
	uint32_t threads, warps;	/* per block */
	uint32_t dynamic_shared, dynamic_offset, shared_size;
	uint64_t local_stride;
	uint64_t grid_id;
	int cooperative;
	unsigned char *params;
	uint64_t workspace;		/* for cooperative groups' grid barrier */
	atomic_ullong next_cluster;
	atomic_int stop;
	unsigned max_resident;
	pthread_mutex_t error_lock;	/* for error */
	struct sim_error error;
};

static inline void *slot(const struct warp *w, uint32_t ref)
{
	return w->base[ref >> 31] + (ref & ~CONST_REF);
}

static inline uint32_t pred(const struct warp *w, uint32_t ref)
{
	return *(const uint32_t *)slot(w, ref);
}

static inline void set_pred(struct warp *w, uint32_t ref, uint32_t mask, uint32_t value)
{
	uint32_t *p = slot(w, ref);

	*p = (*p & ~mask) | (value & mask);
}

/* Run the body for each lane of a mask; the full mask gets a loop that vectorises. */
#define FOR_LANES(mask, i, ...) \
	do { \
		if ((mask) == FULL) { \
			for (unsigned i = 0; i < LANES; i++) { __VA_ARGS__ } \
		} else { \
			for (uint32_t todo_ = (mask); todo_; todo_ &= todo_ - 1) { \
				unsigned i = (unsigned)__builtin_ctz(todo_); \
				__VA_ARGS__ \
			} \
		} \
	} while (0)

/* warp.c */
int warp_run(struct warp *w);		/* enum block_status for this warp alone */
void warp_start(struct warp *w);
void warp_split(struct warp *w, uint32_t mask, uint32_t pc);
void warp_exit_lanes(struct warp *w, uint32_t mask);
int warp_can_run(const struct warp *w);
uint64_t warp_now(void);
void warp_free(struct warp *w);
struct frame *warp_frame_new(struct warp *w, const struct sim_func *func);
void warp_frame_free(struct warp *w, struct frame *frame);
int warp_fault(struct warp *w, const struct op *op, unsigned lane, int kind, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* sync.c: operations that bring lanes of a warp together */
void sync_recheck(struct warp *w);

/* barrier.c */
void barrier_init(struct block *block);
void barrier_warp_changed(struct warp *w);

/* cluster.c */
void cluster_exit_lanes(struct warp *w, uint32_t mask);
/* The block whose window holds a generic address, or NULL. */
struct block *cluster_block_at(const struct warp *w, uint64_t addr);

/* block.c */
struct block *block_new(struct worker *worker);
int block_start(struct block *block, const uint32_t ctaid[3]);
int block_run(struct block *block);
void block_free(struct block *block);
size_t block_footprint(const struct launch *launch);

/* memory.c */
unsigned char *memory_find(struct warp *w, const struct op *op, unsigned lane, uint64_t addr,
			   unsigned size, enum ptx_space space);

/* sregs of the machine: op-special.c */
uint64_t clock_cycles(void);

#endif
