/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/fold.h"

#include <errno.h>
#include <gputrace/gputrace.h>
#include <inttypes.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/export/fold_launches.h"
#include "lib/export/nested.h"
#include "lib/export/stack_tree.h"
#include "lib/reader/event.h"
#include "lib/util/error.h"

#define NAME_MAX_BYTES 1024

/* What has said its name. */
struct process {
	int pid;
	struct gt_stack_node *root;
};

struct gt_fold {
	struct gt_output *output;
	struct gt_stack_tree *tree;
	struct gt_nested *nested;
	struct gt_fold_launches *called;	/* by calls that have ended */
	struct gt_fold_launches *early;		/* with a kernel that ended before; they push out none of the others */
	void *processes;	/* a tree of tsearch(3) */
};

int gt_fold_new(struct gt_output *output, struct gt_fold **ret_fold)
{
	struct gt_fold *fold = calloc(1, sizeof(*fold));

	if (fold) {
		fold->output = output;
		fold->tree = gt_stack_tree_new();
		fold->nested = gt_nested_new();
		fold->called = gt_fold_launches_new();
		fold->early = gt_fold_launches_new();
	}
	if (!fold || !fold->tree || !fold->nested || !fold->called || !fold->early) {
		gt_fold_free(fold);
		return gt_error(-ENOMEM, "out of memory");
	}
	*ret_fold = fold;
	return 0;
}

void gt_fold_free(struct gt_fold *fold)
{
	if (!fold)
		return;
	tdestroy(fold->processes, free);
	gt_fold_launches_free(fold->called);
	gt_fold_launches_free(fold->early);
	gt_stack_tree_free(fold->tree);
	gt_nested_free(fold->nested);
	free(fold);
}

/* ---- frames ---- */

static struct gt_stack_node *add_frame(struct gt_fold *fold, struct gt_stack_node *parent,
				       const struct gputrace_frame *frame)
{
	const char *name = gputrace_frame_get_name(frame), *module = gputrace_frame_get_module(frame), *base;
	char text[NAME_MAX_BYTES];

	if (name)
		return gt_stack_tree_below(fold->tree, parent, name);
	base = module ? strrchr(module, '/') : NULL;
	if (module)
		snprintf(text, sizeof(text), "%s+%#" PRIx64, base ? base + 1 : module,
			 gputrace_frame_get_offset(frame));
	else
		snprintf(text, sizeof(text), "%#" PRIx64, gputrace_frame_get_address(frame));
	return gt_stack_tree_below(fold->tree, parent, text);
}

/* The outermost of those inlined into each other comes first. */
static struct gt_stack_node *add_frames(struct gt_fold *fold, struct gt_stack_node *parent,
					const struct gputrace_frame *frame)
{
	if (gputrace_frame_get_caller(frame))
		parent = add_frames(fold, parent, gputrace_frame_get_caller(frame));
	return parent ? add_frame(fold, parent, frame) : NULL;
}

static struct gt_stack_node *add_address(struct gt_fold *fold, struct gt_stack_node *parent,
					 const struct gputrace_event *event, uint64_t address,
					 struct gputrace_symbolizer *symbolizer)
{
	const struct gputrace_frame *frame;
	char text[32];

	if (symbolizer && address > 1 && event->pid > 0)
		return gputrace_symbolizer_resolve(symbolizer, event->pid, event->time, address - 1, &frame) ?
		       NULL : add_frames(fold, parent, frame);
	snprintf(text, sizeof(text), "%#" PRIx64, address);
	return gt_stack_tree_below(fold->tree, parent, text);
}

/* ---- processes ---- */

static int compare_pids(const void *left, const void *right)
{
	const struct process *a = left, *b = right;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

/* A later one may have the same number. */
static int add_process(struct gt_fold *fold, const struct gputrace_event *event)
{
	struct process *process = calloc(1, sizeof(*process)), **found;

	if (!process)
		return gt_error(-ENOMEM, "out of memory");
	process->pid = event->pid;
	found = tsearch(process, &fold->processes, compare_pids);
	if (!found || *found != process)
		free(process);
	if (found)
		(*found)->root = gt_stack_tree_below(fold->tree, NULL, event->name);
	return found && (*found)->root ? 0 : gt_error(-ENOMEM, "out of memory");
}

static struct gt_stack_node *root_of(struct gt_fold *fold, int pid, const char *command)
{
	const struct process key = { .pid = pid };
	struct process **found = tfind(&key, &fold->processes, compare_pids);
	char text[32];

	if (*command)
		return gt_stack_tree_below(fold->tree, NULL, command);
	if (found)
		return (*found)->root;
	snprintf(text, sizeof(text), "process %d", pid);
	return gt_stack_tree_below(fold->tree, NULL, text);
}

/* ---- calls and kernels ---- */

static int add_kernel_below(struct gt_fold *fold, struct gt_stack_node *call, const char *name, uint64_t ns)
{
	char text[NAME_MAX_BYTES];
	struct gt_stack_node *node;

	snprintf(text, sizeof(text), "%s [GPU]", name);
	node = call ? gt_stack_tree_below(fold->tree, call, text) : NULL;
	if (!node)
		return gt_error(-ENOMEM, "out of memory");
	gt_stack_node_add(node, ns);
	return 0;
}

/* A kernel that ended early, if there is one; call: its launch's, NULL: has not come. */
static int release(struct gt_fold *fold, struct gt_fold_launch *launch, struct gt_stack_node *call)
{
	int r = 0;

	if (launch->kernel)
		r = add_kernel_below(fold, call ? call : root_of(fold, launch->pid, ""), launch->kernel,
				     launch->kernel_ns);
	free(launch->kernel);
	launch->kernel = NULL;
	return r;
}

/* Its launch's call may end yet. */
static int keep_kernel(struct gt_fold *fold, const struct gputrace_event *event, const char *name, uint64_t ns)
{
	struct gt_fold_launch *launch = gt_fold_launches_find(fold->early, event->pid, event->launch_id);
	int r = release(fold, launch ? launch : gt_fold_launches_oldest(fold->early), NULL);

	if (r)
		return r;
	if (!launch)
		launch = gt_fold_launches_add(fold->early, event->pid, event->launch_id);
	if (!launch)
		return gt_error(-ENOMEM, "out of memory");
	launch->kernel = strdup(name);
	launch->kernel_ns = ns;
	return launch->kernel ? 0 : gt_error(-ENOMEM, "out of memory");
}

/* A kernel, or a copy. */
static int add_work(struct gt_fold *fold, const struct gputrace_event *event)
{
	uint64_t ns = event->gpu_end > event->gpu_start ? event->gpu_end - event->gpu_start : 0;
	struct gt_fold_launch *launch = gt_fold_launches_find(fold->called, event->pid, event->launch_id);
	const char *name = event->name ? event->name : "?";

	if (launch)
		return add_kernel_below(fold, launch->call, name, ns);
	if (event->launch_id)
		return keep_kernel(fold, event, name, ns);
	return add_kernel_below(fold, root_of(fold, event->pid, ""), name, ns);
}

/* The call that launched a kernel, which may have ended by now. */
static int remember_launch(struct gt_fold *fold, const struct gputrace_event *event, struct gt_stack_node *node)
{
	struct gt_fold_launch *launch = gt_fold_launches_find(fold->called, event->pid, event->launch_id);
	struct gt_fold_launch *early = gt_fold_launches_find(fold->early, event->pid, event->launch_id);

	if (!launch)
		launch = gt_fold_launches_add(fold->called, event->pid, event->launch_id);
	if (!launch)
		return gt_error(-ENOMEM, "out of memory");
	launch->call = node;
	return early ? release(fold, early, node) : 0;
}

/*
 * How many frames lead from the call to others.  The first is in code for certain;
 * one that is not means that a function without a frame pointer had its register
 * for something else, and that all behind it is chance.
 */
static unsigned trusted_frames(const struct gputrace_event *event, struct gputrace_symbolizer *symbolizer)
{
	const struct gputrace_frame *frame;

	for (unsigned i = 0; symbolizer && event->pid > 0 && i < event->stack_count; i++) {
		if (event->stack[i] > 1 && !gputrace_symbolizer_resolve(symbolizer, event->pid, event->time,
									event->stack[i] - 1, &frame) &&
		    gputrace_frame_get_module(frame))
			continue;
		/* When nothing is known of the process, addresses are all there is. */
		return i ? i : event->stack_count;
	}
	return event->stack_count;
}

static int add_call(struct gt_fold *fold, const struct gputrace_event *event,
		    struct gputrace_symbolizer *symbolizer)
{
	struct gt_stack_node *node = root_of(fold, event->pid, event->command);
	unsigned count = trusted_frames(event, symbolizer);

	if (node && (count < event->stack_count || event->stack_end == GPUTRACE_STACK_LOST))
		node = gt_stack_tree_below(fold->tree, node, "[unknown]");
	else if (node && (event->stack_end == GPUTRACE_STACK_FULL || event->stack_end == GPUTRACE_STACK_CUT))
		node = gt_stack_tree_below(fold->tree, node, "[cut off]");
	for (unsigned i = count; node && i--;)
		node = add_address(fold, node, event, event->stack[i], symbolizer);
	node = node ? gt_stack_tree_below(fold->tree, node, event->name ? event->name : "?") : NULL;
	if (!node)
		return gt_error(-ENOMEM, "out of memory");
	gt_stack_node_add(node, gt_nested_own_time(fold->nested, event->pid, event->tid, event->time, event->end));
	return event->launch_id ? remember_launch(fold, event, node) : 0;
}

int gt_fold_add(struct gt_fold *fold, const struct gputrace_event *event,
		struct gputrace_symbolizer *symbolizer)
{
	switch (event->type) {
	case GPUTRACE_EVENT_API:
	case GPUTRACE_EVENT_CALL:
		return add_call(fold, event, symbolizer);
	case GPUTRACE_EVENT_KERNEL:
		return add_work(fold, event);
	case GPUTRACE_EVENT_COPY:
		return event->time_error == UINT64_MAX ? 0 : add_work(fold, event);
	case GPUTRACE_EVENT_PROCESS:
		return event->name && *event->name ? add_process(fold, event) : 0;
	default:
		return 0;
	}
}

int gt_fold_finish(struct gt_fold *fold)
{
	int r = 0;

	for (unsigned i = 0; !r && i < GT_FOLD_LAUNCHES_KEPT; i++)
		r = release(fold, gt_fold_launches_at(fold->early, i), NULL);
	return r ? r : gt_stack_tree_write(fold->tree, fold->output);
}
