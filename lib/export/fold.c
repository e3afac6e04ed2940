/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/fold.h"

#include <errno.h>
#include <gputrace/gputrace.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/export/nested.h"
#include "lib/export/stack_tree.h"
#include "lib/reader/event.h"
#include "lib/util/error.h"

#define LAUNCHES 65536u	/* a kernel comes soon after its launch or before it, or from a graph */
#define NAME_MAX_BYTES 1024

/* A launch whose call, or whose kernel, has been seen. */
struct launch {
	int pid;
	uint64_t id;
	struct gt_stack_node *call;
	char *kernel;		/* that ended before its launch's call did */
	uint64_t kernel_ns;
};

struct gt_fold {
	struct gt_output *output;
	struct gt_stack_tree *tree;
	struct gt_nested *nested;
	struct launch launches[LAUNCHES];
};

int gt_fold_new(struct gt_output *output, struct gt_fold **ret_fold)
{
	struct gt_fold *fold = calloc(1, sizeof(*fold));

	if (fold) {
		fold->output = output;
		fold->tree = gt_stack_tree_new();
		fold->nested = gt_nested_new();
	}
	if (!fold || !fold->tree || !fold->nested) {
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
	for (unsigned i = 0; i < LAUNCHES; i++)
		free(fold->launches[i].kernel);
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

static struct gt_stack_node *root_of(struct gt_fold *fold, const struct gputrace_event *event)
{
	char text[32];

	if (event->command[0])
		return gt_stack_tree_below(fold->tree, NULL, event->command);
	snprintf(text, sizeof(text), "process %d", event->pid);
	return gt_stack_tree_below(fold->tree, NULL, text);
}

/* ---- calls and kernels ---- */

static struct launch *launch_of(struct gt_fold *fold, const struct gputrace_event *event)
{
	return &fold->launches[(event->launch_id + (unsigned)event->pid * 40503u) % LAUNCHES];
}

static bool is_of(const struct launch *launch, const struct gputrace_event *event)
{
	return launch->id == event->launch_id && launch->pid == event->pid;
}

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

/* A kernel whose launch's call never came: none are recorded. */
static int release(struct gt_fold *fold, struct launch *launch)
{
	const struct gputrace_event of = { .pid = launch->pid };
	int r = 0;

	if (launch->kernel)
		r = add_kernel_below(fold, root_of(fold, &of), launch->kernel, launch->kernel_ns);
	free(launch->kernel);
	launch->kernel = NULL;
	return r;
}

static int add_kernel(struct gt_fold *fold, const struct gputrace_event *event)
{
	struct launch *launch = launch_of(fold, event);
	uint64_t ns = event->gpu_end > event->gpu_start ? event->gpu_end - event->gpu_start : 0;
	const char *name = event->name ? event->name : "?";
	int r;

	if (event->launch_id && is_of(launch, event) && launch->call)
		return add_kernel_below(fold, launch->call, name, ns);
	r = release(fold, launch);
	if (r)
		return r;
	*launch = (struct launch){ .pid = event->pid, .id = event->launch_id, .kernel = strdup(name),
				   .kernel_ns = ns };
	return launch->kernel ? 0 : gt_error(-ENOMEM, "out of memory");
}

/* The call that launched a kernel, which may have ended by now. */
static int remember_launch(struct gt_fold *fold, const struct gputrace_event *event, struct gt_stack_node *node)
{
	struct launch *launch = launch_of(fold, event);
	int r = 0;

	if (!is_of(launch, event)) {
		r = release(fold, launch);
		*launch = (struct launch){ .pid = event->pid, .id = event->launch_id };
	}
	launch->call = node;
	if (!r && launch->kernel)
		r = add_kernel_below(fold, node, launch->kernel, launch->kernel_ns);
	free(launch->kernel);
	launch->kernel = NULL;
	return r;
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
	struct gt_stack_node *node = root_of(fold, event);
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
		return add_kernel(fold, event);
	default:
		return 0;
	}
}

int gt_fold_finish(struct gt_fold *fold)
{
	int r = 0;

	for (unsigned i = 0; !r && i < LAUNCHES; i++)
		r = release(fold, &fold->launches[i]);
	return r ? r : gt_stack_tree_write(fold->tree, fold->output);
}
