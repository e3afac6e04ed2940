/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints and the explorations that they belong to. */
#ifndef GT_VERIFY_NODE_H
#define GT_VERIFY_NODE_H

#include "lib/verify/verifier.h"

/* One exploration: of the program, or of a callback from one state. */
struct gt_run {
	unsigned id;
	struct gt_node *newest;		/* all nodes not yet freed */
	struct gt_node *root;
	struct gt_path *pending;	/* paths to follow later */
	unsigned pending_count, pending_room;
	struct gt_state *exits;		/* callbacks: what holds in the callers at every exit; NULL: no exit yet */
};

/* A path at its beginning; takes the state.  -ENOMEM: the state is the caller's still. */
int gt_run_start(struct gt_verifier *v, struct gt_run *run, struct gt_state *state,
		 struct gt_path *ret_path);
/* Free what the run still holds, listed checkpoints too. */
void gt_run_end(struct gt_verifier *v, struct gt_run *run);

/* Remember a path for later, starting at the checkpoint of `path`; takes the state, also on failure. */
int gt_run_defer(struct gt_verifier *v, struct gt_run *run, const struct gt_path *path,
		 struct gt_state *state);

/* The path has ended, `more` instructions after its last step. */
void gt_path_end(struct gt_verifier *v, struct gt_run *run, struct gt_path *path, uint64_t more);

/*
 * At an instruction where paths meet: 1 when an earlier checkpoint covers this
 * path, which has ended; 0 to go on, perhaps from a new checkpoint.
 */
int gt_checkpoint(struct gt_verifier *v, struct gt_run *run, struct gt_path *path);

/* Sums and products that stop at the greatest number. */
static inline uint64_t gt_add_steps(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t gt_mul_steps(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

#endif
