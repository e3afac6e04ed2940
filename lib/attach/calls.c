/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that the operating system's kernel sees: the driver API's, and those of any library. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/attach/link.h"
#include "lib/ctx.h"
#include "lib/target/target.h"
#include "lib/uprobe/api_trace.h"
#include "lib/uprobe/find_library.h"
#include "lib/util/error.h"

#define DEFAULT_RING (4u << 20)

static int open_trace(struct gputrace_target *target, const struct gt_api_trace_opts *opts,
		      struct gputrace_link **ret_link)
{
	struct gputrace_link *link;
	int r = gt_link_new(target, false, &link);

	if (r)
		return r;
	r = gt_api_trace_open(opts, &link->api);
	if (r)
		return gt_link_give_up(link, r);
	link->by_pattern = opts->pattern != NULL;
	if (gt_api_trace_note(link->api))
		gt_log(target->ctx, GPUTRACE_LOG_WARNING, "calls of %s: %s", opts->library,
		       gt_api_trace_note(link->api));
	*ret_link = link;
	return 0;
}

int gputrace_attach_api(struct gputrace_target *target, const struct gputrace_api_opts *opts,
			struct gputrace_link **ret_link)
{
	struct gputrace_api_opts known;
	struct gt_api_trace_opts trace = { .pid = target->pid };
	int r = gt_opts_read(opts, sizeof(uint64_t), &known, sizeof(known));

	if (r)
		return r;
	if (known.flags)
		return gt_error(-EINVAL, "unknown flags in struct gputrace_api_opts");
	trace.library = known.library ? known.library : target->libcuda;
	trace.ring_bytes = known.ring_bytes ? known.ring_bytes : DEFAULT_RING;
	trace.stack_frames = known.stack_frames;
	if (!trace.library)
		return gt_error(-ENOENT, "no libcuda.so.1 was found for the program to load: is an NVIDIA driver installed?");
	return open_trace(target, &trace, ret_link);
}

int gputrace_attach_functions(struct gputrace_target *target, const char *library, const char *pattern,
			      const struct gputrace_functions_opts *opts, struct gputrace_link **ret_link)
{
	struct gputrace_functions_opts known;
	struct gt_api_trace_opts trace = { .pid = target->pid, .pattern = pattern };
	char *path;
	int r = gt_opts_read(opts, sizeof(uint64_t), &known, sizeof(known));

	if (r)
		return r;
	if (known.flags)
		return gt_error(-EINVAL, "unknown flags in struct gputrace_functions_opts");
	if (!library || !*library || !pattern || !*pattern)
		return gt_error(-EINVAL, "name a library and a pattern of its functions");
	r = gt_find_library(library, target->resumed ? target->pid : 0, &path);
	if (r)
		return r;
	trace.library = path;
	trace.ring_bytes = known.ring_bytes ? known.ring_bytes : DEFAULT_RING;
	trace.stack_frames = known.stack_frames;
	r = open_trace(target, &trace, ret_link);
	free(path);
	return r;
}
