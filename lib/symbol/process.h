/* SPDX-License-Identifier: Apache-2.0 */
/* A process, or what is remembered of one: its code, and the names found in it. */
#ifndef GT_SYMBOL_PROCESS_H
#define GT_SYMBOL_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/symbol/frame.h"
#include "lib/symbol/module.h"
#include "lib/symbol/perf_map.h"
#include "lib/symbol/trampoline.h"
#include "lib/symbol/way.h"
#include "lib/util/mappings.h"

/* What tells one program in a process from the next, and from that of another process with the same number. */
struct gt_identity {
	uint64_t start_ticks;		/* since boot */
	uint64_t code, stack;		/* addresses; 1 and 0 where we may not see them */
};

/* A place that was met in a stack. */
struct gt_place {
	uint64_t address;		/* 0: free */
	struct gt_module *module;	/* NULL: nothing was there when we looked */
	uint64_t offset;		/* in the file, or from the start of the memory */
	struct gputrace_frame *frame;	/* NULL: not asked for yet */
	struct gt_way *way;		/* to the caller; NULL: not asked for yet */
};

#define GT_TEXT_MAX (64u << 20)	/* bytes of names of a process's places, which are whatever its files say */
#define GT_WAYS_MAX (1u << 16)	/* of a process, a kilobyte each; what is beyond is forgotten at once */
#define GT_PLACES_MAX (1u << 20)	/* of a process; what is beyond is forgotten at once */

struct gt_symbol_process {
	struct gt_symbol_process *next;	/* older */
	int pid;
	uint64_t since;			/* CLOCK_MONOTONIC ns: when this program began in it */
	uint64_t checked;		/* when its identity was last looked at */
	struct gt_identity identity;
	bool gone;
	const char *reason;		/* why its mappings are not known; static text */
	bool our_root;			/* its paths are ours */
	int inner_pid;			/* its number in its own pid namespace */
	uid_t owner;
	struct gt_mappings mappings;
	uint64_t look_after;		/* CLOCK_MONOTONIC ns: not again before, lest looking takes all the time */
	struct gt_perf_map perf;
	bool perf_is_final;		/* it was read when the process had ended */
	struct gt_trampoline trampoline;
	struct gt_place *places;	/* open addressing */
	unsigned place_count, place_room, way_count;
	size_t text_bytes;		/* of all their frames */
	struct gt_place spare;		/* the latest beyond GT_PLACES_MAX */
	struct gt_way *spare_way;	/* the latest beyond GT_WAYS_MAX */
};

/* -ESRCH (also of one that has ended but was not waited for) and the like. */
int gt_identity_read(int pid, struct gt_identity *identity);
bool gt_identity_same(const struct gt_identity *a, const struct gt_identity *b);
/* When the process began, CLOCK_MONOTONIC ns. */
uint64_t gt_identity_start(const struct gt_identity *identity);

/* Of one that runs, or has ended before it could be looked at; NULL: no memory. */
struct gt_symbol_process *gt_symbol_process_new(int pid, const struct gt_identity *identity, bool gone);
void gt_symbol_process_free(struct gt_symbol_process *process);

uint64_t gt_symbol_now(void);		/* CLOCK_MONOTONIC ns */

/*
 * The place, which is remembered with what it needs to be resolved later; modules:
 * the list of all.  Valid until the next call.  NULL: no memory.
 */
struct gt_place *gt_symbol_process_place(struct gt_symbol_process *process, uint64_t address,
					 struct gt_module **modules);
/* Fill in the place's frame; -ENOMEM. */
int gt_symbol_process_resolve(struct gt_symbol_process *process, struct gt_place *place);
/* The way from the place, which has a module, to its caller; valid until the next call.  NULL: no memory. */
const struct gt_way *gt_symbol_process_way(struct gt_symbol_process *process, struct gt_place *place);

#endif
