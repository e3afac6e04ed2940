/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier's parts, seen by each other only. */
#ifndef GT_VERIFY_VERIFIER_H
#define GT_VERIFY_VERIFIER_H

#include "lib/verify/log.h"
#include "lib/verify/state.h"
#include "lib/verify/verify.h"

struct gt_node;
struct gt_range_log;
struct gt_run;

/* What decoding found out about an instruction. */
#define GT_INSN_SECOND 1u	/* second half of ld_imm64 */
#define GT_INSN_JOIN 2u		/* paths may meet here: worth a checkpoint */
#define GT_INSN_FUNCTION 4u	/* first of a function */
#define GT_INSN_BACK 8u		/* a jump leads back to here */

/* Stack bytes that an instruction may touch, in its own frame; for the SIMT analysis. */
struct gt_touch {
	int16_t low, high;	/* offsets from the frame's top: low <= x < high; equal: none */
	uint8_t elsewhere;	/* also other frames' stack */
};

/*
 * A checkpoint: the state at an instruction, and what the paths from there on
 * turned out to need.  Once they have all ended, another path that arrives with
 * a state covered by this one need not be followed.
 */
struct gt_node {
	struct gt_state *state;
	struct gt_node *parent;	/* NULL at the root, and when complete */
	struct gt_node *next;	/* at the same instruction */
	unsigned run;		/* which exploration it belongs to */
	unsigned branches;	/* paths from here that have not ended */
	uint64_t distance;	/* instructions from the parent */
	uint64_t longest;	/* instructions from here to an end, at most */
	uint8_t listed;		/* found at its instruction */
	uint32_t rounds;	/* of a loop not proved to end, so far on this path */
	uint32_t hits, misses;	/* paths that it covered, and did not */
	struct gt_node *older, *newer;	/* all of its exploration */
	struct gt_origin precise;	/* values that have to be covered as numbers, as origin bits */
	uint16_t read_regs[GT_FRAMES];
	uint64_t read_slots[GT_FRAMES];
};

/* One thread of exploration. */
struct gt_path {
	struct gt_state *state;
	struct gt_node *parent;	/* last checkpoint */
	uint64_t steps;		/* instructions since it */
	unsigned jumps;
};

struct gt_verifier {
	const struct gt_prog *prog;
	struct gt_verify_opts opts;
	struct gt_log log;
	struct gt_fact *facts;
	uint8_t *flags;		/* GT_INSN_* */
	uint32_t *function;	/* first instruction of the function it belongs to */
	struct gt_touch *reads, *writes;
	uint64_t wants;
	uint8_t *map_uses;
	uint64_t explored;	/* instructions so far */
	size_t node_bytes;
	struct gt_node **nodes;	/* checkpoints at each instruction, newest first */
	uint32_t last_id;
	unsigned last_run;
	uint8_t unproved;	/* refused because the end of a loop was not found */
	uint8_t widening;	/* loops are closed by widening, see loop.c */
	struct gt_range_log *ranges;	/* tests only, else NULL: see ranges.h */
};

/* decode.c: shape of every instruction, jump targets, functions. */
int gt_verify_decode(struct gt_verifier *v);

/* explore.c: every path. */
int gt_verify_explore(struct gt_verifier *v, uint64_t *ret_max_steps);

/*
 * loop.c: at a place that is jumped back to, when loops may be ended by a
 * countdown: 1 when the path has closed a loop and ended, 0 to go on, with
 * the times it has been here.
 */
int gt_close_loop(struct gt_verifier *v, struct gt_run *run, struct gt_path *path, unsigned *ret_rounds);

/* simt.c: warp-wide helpers only where the warp is together; needs the facts. */
int gt_verify_simt(struct gt_verifier *v);

/*
 * Refuse the program: `reason` and `repair` make the sentence.  Returns -EACCES.
 */
int gt_refuse(struct gt_verifier *v, unsigned insn, const char *repair, const char *reason, ...)
	__attribute__((format(printf, 4, 5)));
/* The registers before an instruction, for log level 2. */
void gt_log_state(struct gt_verifier *v, const struct gt_state *state);
/* A warning, when the log level asks for it; what could be better, too. */
void gt_warn(struct gt_verifier *v, unsigned insn, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void gt_hint(struct gt_verifier *v, unsigned insn, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A ring record was given back, or never was one.  jump.c */
void gt_drop_ref(struct gt_state *state, uint32_t ref);

/* ---- liveness and precision: track.c ---- */

/* The value of a register or slot is used on this path: checkpoints must agree on it. */
void gt_read_reg(struct gt_path *path, unsigned frame, unsigned reg);
void gt_read_slot(struct gt_path *path, unsigned frame, unsigned slot);
/* It matters which number this is. */
void gt_need_precise(struct gt_path *path, const struct gt_origin *origin);
void gt_need_all_precise(struct gt_path *path);
/* What the values with these bits were computed from. */
struct gt_origin gt_origin_sources(const struct gt_state *state, struct gt_origin of);
struct gt_origin gt_origin_union(struct gt_origin a, struct gt_origin b);
struct gt_origin gt_origin_reg(unsigned frame, unsigned reg);
struct gt_origin gt_origin_slot(unsigned frame, unsigned slot);
/* A path goes on from a checkpoint: everything is its own source, nothing was overwritten yet. */
void gt_origin_reset(struct gt_state *state);

/* A register of the innermost frame, for reading: refused if never written. */
int gt_use_reg(struct gt_verifier *v, struct gt_path *path, unsigned reg, struct gt_reg **ret_reg);
/* Replace a register of the innermost frame. */
void gt_set_reg(struct gt_path *path, unsigned reg, const struct gt_reg *value);
uint32_t gt_new_id(struct gt_verifier *v);
/* "a pointer to the stack" */
const char *gt_reg_kind(const struct gt_reg *reg);
/* Are both pointers, never NULL, into one stack frame, lookup or record? */
bool gt_reg_same_object(const struct gt_reg *a, const struct gt_reg *b);

/* ---- instructions; each for the one at path->state->insn ---- */

int gt_check_alu(struct gt_verifier *v, struct gt_path *path);			/* alu.c */
int gt_check_load(struct gt_verifier *v, struct gt_path *path);			/* memory.c */
int gt_check_store(struct gt_verifier *v, struct gt_path *path);
int gt_check_atomic(struct gt_verifier *v, struct gt_path *path);
int gt_check_call(struct gt_verifier *v, struct gt_path *path);			/* call.c */
/*
 * jump.c: outcome as gt_scalar_compare(); for -1 *ret_other is the state when
 * the jump is taken, and the path's own when it is not.
 */
int gt_check_jump(struct gt_verifier *v, struct gt_path *path, int *ret_outcome,
		  struct gt_state **ret_other);

enum gt_access {
	GT_READ,
	GT_FILL,		/* all bytes are written */
	GT_MAY_FILL,		/* some may be */
	GT_ATOMIC,
};

/* memory.c: a helper works on `bytes`, at least 1, at a register. */
int gt_check_memory(struct gt_verifier *v, struct gt_path *path, unsigned regno, uint64_t bytes,
		    enum gt_access access);

/* ---- stack.c ---- */

/* One register's worth; the caller has checked alignment. */
int gt_stack_load(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *pointer,
		  int32_t offset, unsigned bytes, struct gt_reg *ret_value);
int gt_stack_store(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *pointer,
		   int32_t offset, unsigned bytes, const struct gt_reg *value);
/* A helper or an atomic reads or writes plain bytes. */
int gt_stack_bytes(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *pointer,
		   int32_t offset, uint64_t bytes, enum gt_access access);

/*
 * format.c: a helper that prints, whose arguments have been checked.  array: they are r4 bytes of memory, else
 * three registers.
 */
int gt_check_format(struct gt_verifier *v, struct gt_path *path, bool array);

/* ---- call.c, for explore.c ---- */

/* An exit instruction: 1 when the path ends here, 0 when it goes on in the caller. */
int gt_return(struct gt_verifier *v, struct gt_path *path);

/*
 * explore.c: bpf_loop calls `callback` up to `count` times from here, with
 * `context` as its second argument.  The path's state becomes what holds after
 * any number of calls.
 */
int gt_explore_callback(struct gt_verifier *v, struct gt_path *path, unsigned callback,
			uint64_t count, const struct gt_reg *context);

/* ---- compare.c: states against each other ---- */

/* Is all that the path's state may do covered by what was proved from the node's? */
bool gt_state_covered(const struct gt_node *node, const struct gt_state *state);
/* Exactly the same knowledge. */
bool gt_state_same(const struct gt_state *a, const struct gt_state *b);
/* `into` becomes a state that covers both, which have the same frames; 1 if that changed it, else 0. */
int gt_state_join(struct gt_state *into, const struct gt_state *other, bool widen);

#endif
