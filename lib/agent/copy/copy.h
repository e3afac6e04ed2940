/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When copies and memsets of the program run on the GPU: an event of ours before and one
 * behind it in the same stream, which say how long before another event of ours they
 * were passed; and that one is tied to the host's clock, see clock.c.  Nothing is
 * launched for it, and no thread of the program waits for a copy.
 */
#ifndef GT_AGENT_COPY_COPY_H
#define GT_AGENT_COPY_COPY_H

#include <stdbool.h>

#include "lib/agent/copy/function.h"
#include "lib/wire/cuda_abi.h"
#include "lib/wire/wire.h"

struct gt_context;

/* One on its way. */
struct gt_copy {
	struct gt_copy *next;		/* in the list that it is in */
	struct gt_context *context;	/* whose events these are; NULL: none */
	uint32_t number;		/* that one's: the struct may be another's by now */
	CUevent start, end;
	struct gt_rec_copy record;
	CUstream stream;
	bool has_end;			/* `end` was recorded */
};

struct gt_copy_list {
	struct gt_copy *first, **tail;	/* tail NULL: empty */
};

/* What a context has of all this.  Zeros at its beginning. */
struct gt_context_copies {
	struct gt_copy_list unused;	/* that have events */
	struct gt_copy_list running;	/* in the order of their calls */
	/* Below: of the agent's own thread, under the contexts' lock. */
	struct gt_copy_list ended;	/* before the reference was recorded */
	CUevent reference[2];		/* the newest is [which] */
	unsigned which;
	bool has_reference, pending;	/* pending: the other one is on its way */
	uint64_t before;		/* the host's time when that was recorded */
	uint64_t at;			/* the newest one's time */
};

/*
 * Around a call of the program's, which the function and its arguments tell of; what these
 * point to is read only if it succeeded.  NULL: it is not recorded.  In between the thread
 * is in a hook.  leave: when it returned.
 */
struct gt_copy *gt_copy_begin(const struct gt_copy_function *function, const uint64_t *args);
void gt_copy_end(struct gt_copy *copy, const struct gt_copy_function *function, const uint64_t *args, uint64_t leave,
		 CUresult result);

/* pool.c: a place for one; NULL: all are taken.  Its events are made if they can be. */
struct gt_copy *gt_copy_take(struct gt_context *context);
/* Its events may be used again. */
void gt_copy_give_back(struct gt_copy *copy);
/* It is on its way. */
void gt_copy_runs(struct gt_copy *copy);

void gt_copy_add(struct gt_copy_list *list, struct gt_copy *copy);
struct gt_copy *gt_copy_remove_first(struct gt_copy_list *list);
/* All of a context's that were running, which are the caller's now; and back those that still are. */
struct gt_copy_list gt_copies_take_running(struct gt_context *context);
void gt_copies_put_running(struct gt_context *context, struct gt_copy_list *list);

/* Are there any whose end is still to be told? */
bool gt_copies_any(struct gt_context *context);

/*
 * clock.c, for the contexts: under their lock, with the context current.  Tell the
 * controller of those that have ended since the last time.
 */
void gt_copies_collect(struct gt_context *context);
/* The same when there is no next time. */
void gt_copies_collect_last(struct gt_context *context);
/* Nothing uses the context any more.  destroy: it goes on without us. */
void gt_copies_forget(struct gt_context *context, bool destroy);

#endif
