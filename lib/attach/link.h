/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_ATTACH_LINK_H
#define GT_ATTACH_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <gputrace/gputrace.h>

#include "lib/util/notes.h"
#include "lib/wire/probe.h"

struct gt_api_trace;
struct gt_kernel_programs;

/* number GT_PROBES_MAX: it has none any more, since no process will get it. */
struct gt_attached {
	struct gt_probe probe;		/* function, kernel, opcode are malloc'd */
	const struct gputrace_program *program;	/* of the link's object; NULL: the timeline's */
};

struct gputrace_link {
	atomic_uint references;
	struct gputrace_target *target;	/* NULL once the target is gone */
	struct gputrace_link *next;	/* in the target's list, in attach order */
	bool detached;
	/* GPU side */
	bool on_gpu;
	bool timeline;
	uint32_t bit;			/* in the launch word */
	struct gputrace_object *object;	/* whose programs these are; NULL for the timeline */
	char *text;			/* PTX of the probe functions */
	struct gt_attached *attached;
	unsigned attached_count;
	/* CPU side */
	struct gt_api_trace *api;
	bool by_pattern;		/* it watches other functions than the driver API's */
	bool unwinds;			/* stacks come as copies */
	uint32_t recording;		/* what the agent records for it: GT_CONFIG_CALLS and the like */
	uint32_t stack_frames, stack_bytes;	/* of such calls */
	struct gt_notes notes;		/* what the stream has to say of it */
	struct gt_kernel_programs *programs;
};

/* A new link in the target's list; on_gpu: with a bit of its own, -ENOSPC when all are taken. */
int gt_link_new(struct gputrace_target *target, bool on_gpu, struct gputrace_link **ret_link);
/* -EOPNOTSUPP, with gt_error() text: the target's processes have no agent, nor will they get one. */
int gt_link_check_agent(const struct gputrace_target *target);
/* program: NULL, the timeline.  -ENOMEM; -ENOSPC: GT_PROBES_MAX programs are on the target.  With gt_error() text. */
int gt_link_add_probe(struct gputrace_link *link, const struct gt_probe *probe, const struct gputrace_program *program);
int gt_link_add_text(struct gputrace_link *link, const char *text);

/* A link that came to nothing stays in the target's list, empty and detached; returns r. */
int gt_link_give_up(struct gputrace_link *link, int r);

/* The target goes away: detach and forget it. */
void gt_link_orphan(struct gputrace_link *link);

#endif
