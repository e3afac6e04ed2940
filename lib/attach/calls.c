/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the driver API, seen by the operating system's kernel or by the agent, and those of any library. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/attach/link.h"
#include "lib/ctx.h"
#include "lib/symbol/unwind.h"
#include "lib/target/target.h"
#include "lib/uprobe/api_trace.h"
#include "lib/uprobe/find_library.h"
#include "lib/util/error.h"

#define DEFAULT_RING (4u << 20)
#define LEAST_RING 4096u
/* With copies of stacks. */
#define DEFAULT_COPY_RING (32u << 20)
#define LEAST_COPY_RING (1u << 20)
#define API_FLAGS (GPUTRACE_API_UPROBES | GPUTRACE_API_AGENT | GPUTRACE_API_QUERIES)

static int open_trace(struct gputrace_link *link, struct gt_api_trace_opts *opts)
{
	if (link->target->translated)
		return gt_error(-EBUSY, "a uprobe's breakpoint would end a program under valgrind");
	opts->notes = &link->notes;
	link->by_pattern = opts->pattern != NULL;
	link->unwinds = opts->stack_bytes != 0;
	return gt_api_trace_open(opts, &link->api);
}

/* The file that programs started from here load, and all others that the processes have or will have. */
static int open_following(struct gputrace_link *link, struct gt_api_trace_opts *opts, const char *soname)
{
	char *path = NULL;
	int r;

	if (!gt_find_library_in(soname, getenv("LD_LIBRARY_PATH"), &path))
		opts->library = path;
	opts->soname = soname;
	r = open_trace(link, opts);
	free(path);
	return r;
}

/* ---- the driver API ---- */

/* What a call's stack is to be, and the ring that it goes through; fills in defaults. */
static int check_stack(uint32_t *frames, uint32_t bytes, uint64_t *ring)
{
	uint64_t least = bytes ? LEAST_COPY_RING : LEAST_RING;
	uint32_t most = bytes ? GT_UNWIND_FRAMES : GT_CALL_FRAMES;

#if !defined(__x86_64__)
	if (bytes)
		return gt_error(-EOPNOTSUPP, "stack_bytes: callers are found by call frame information on x86-64 only");
#endif
	if (bytes % 8 || bytes > GT_STACK_COPY_MAX)
		return gt_error(-EINVAL, "%u bytes of the stack: give a multiple of 8, at most %u", bytes,
				GT_STACK_COPY_MAX);
	if (*frames > most)
		return gt_error(-EINVAL, "%u frames of the stack: at most %u can be taken", *frames, most);
	if (bytes && !*frames)
		*frames = most;
	if (!*ring)
		*ring = bytes ? DEFAULT_COPY_RING : DEFAULT_RING;
	if (*ring < least || *ring > 1ull << 30 || *ring & (*ring - 1))
		return gt_error(-EINVAL, "ring_bytes is %llu: give a power of two from %llu to 2^30",
				(unsigned long long)*ring, (unsigned long long)least);
	return 0;
}

static int check_api_opts(struct gputrace_api_opts *opts)
{
	if (opts->flags & ~API_FLAGS)
		return gt_error(-EINVAL, "unknown flags in struct gputrace_api_opts");
	if (opts->flags & GPUTRACE_API_UPROBES && opts->flags & GPUTRACE_API_AGENT)
		return gt_error(-EINVAL, "GPUTRACE_API_UPROBES and GPUTRACE_API_AGENT exclude each other: without both the library chooses");
	if (opts->reserved)
		return gt_error(-EINVAL, "the reserved field of struct gputrace_api_opts is not 0");
	return check_stack(&opts->stack_frames, opts->stack_bytes, &opts->ring_bytes);
}

static int attach_by_uprobes(struct gputrace_link *link, const struct gputrace_api_opts *opts)
{
	const struct gputrace_target *target = link->target;
	struct gt_api_trace_opts trace = {
		.library = opts->library,
		.ring_bytes = opts->ring_bytes,
		.stack_frames = opts->stack_frames,
		.stack_bytes = opts->stack_bytes,
		.pid = target->pid,
		.flags = opts->flags & GPUTRACE_API_QUERIES ? GT_API_TRACE_QUERIES : 0,
	};

	if (!trace.library && target->kind == GT_TARGET_WATCHED)
		return open_following(link, &trace, GT_LIBCUDA);
	if (!trace.library)
		trace.library = target->libcuda;
	if (!trace.library)
		return gt_error(-ENOENT, "no libcuda.so.1 was found for the program to load: is an NVIDIA driver installed?");
	return open_trace(link, &trace);
}

/* A quarter of the whole for each thread. */
static void want_thread_rings(struct gputrace_target *target, uint64_t bytes)
{
	uint64_t each = bytes / 4 > LEAST_RING ? bytes / 4 : LEAST_RING;

	if (target->thread_ring_bytes < each)
		target->thread_ring_bytes = each;
}

static int attach_by_agent(struct gputrace_link *link, const struct gputrace_api_opts *opts)
{
	struct gputrace_target *target = link->target;

	int r = gt_link_check_agent(target);

	if (r)
		return r;
	if (target->resumed)
		return gt_error(-EBUSY, "the target runs already: let the agent record driver calls before gputrace_target_resume()");
	link->recording = GT_CONFIG_CALLS | (opts->flags & GPUTRACE_API_QUERIES ? GT_CONFIG_QUERIES : 0);
	link->stack_frames = opts->stack_frames;
	link->stack_bytes = opts->stack_bytes;
	link->unwinds = opts->stack_bytes != 0;
	want_thread_rings(target, opts->ring_bytes);
	return 0;
}

/* Uprobes if they can be had, else the agent, which then tells why. */
static int attach_somehow(struct gputrace_link *link, const struct gputrace_api_opts *opts)
{
	int r = attach_by_uprobes(link, opts);

	if ((r != -EPERM && r != -EOPNOTSUPP && r != -ENOENT && r != -EBUSY) || opts->library || link->target->resumed ||
	    link->target->kind == GT_TARGET_WATCHED)
		return r;
	gt_notes_add(&link->notes, "driver calls are recorded by the agent's hooks instead of uprobes: %s", gputrace_last_error());
	return attach_by_agent(link, opts);
}

int gputrace_attach_api(struct gputrace_target *target, const struct gputrace_api_opts *opts,
			struct gputrace_link **ret_link)
{
	struct gputrace_api_opts known;
	struct gputrace_link *link;
	int r = gt_opts_read(opts, sizeof(uint64_t), &known, sizeof(known));

	if (!r)
		r = check_api_opts(&known);
	if (!r)
		r = gt_link_new(target, false, &link);
	if (r)
		return r;
	if (known.flags & GPUTRACE_API_AGENT)
		r = attach_by_agent(link, &known);
	else if (known.flags & GPUTRACE_API_UPROBES)
		r = attach_by_uprobes(link, &known);
	else
		r = attach_somehow(link, &known);
	if (r)
		return gt_link_give_up(link, r);
	*ret_link = link;
	return 0;
}

/* ---- what the agent records besides ---- */

/* what: GT_CONFIG_*; late: why it cannot begin in a target that runs. */
static int record_by_agent(struct gputrace_target *target, uint32_t what, const char *late,
			   struct gputrace_link **ret_link)
{
	struct gputrace_link *link;
	int r = gt_link_check_agent(target);

	if (r)
		return r;
	if (target->resumed)
		return gt_error(-EBUSY, "the target runs already: %s", late);
	r = gt_link_new(target, false, &link);
	if (r)
		return r;
	link->recording = what;
	*ret_link = link;
	return 0;
}

int gputrace_attach_nvtx(struct gputrace_target *target, struct gputrace_link **ret_link)
{
	int r = record_by_agent(target, GT_CONFIG_NVTX,
				"a program looks for the reader of its annotations once, at its first range", ret_link);

	if (!r)
		want_thread_rings(target, DEFAULT_RING);
	return r;
}

int gputrace_attach_copies(struct gputrace_target *target, struct gputrace_link **ret_link)
{
	return record_by_agent(target, GT_CONFIG_MEMCPY, "have copies recorded before gputrace_target_resume()", ret_link);
}

/* ---- any library ---- */

static int open_found(struct gputrace_link *link, struct gt_api_trace_opts *opts, const char *library)
{
	const struct gputrace_target *target = link->target;
	char *path;
	int r;

	if (target->kind == GT_TARGET_SPAWNED && target->libcuda && !strcmp(library, GT_LIBCUDA)) {
		opts->library = target->libcuda;
		return open_trace(link, opts);
	}
	r = gt_find_library(library, target->kind == GT_TARGET_SPAWNED && !target->resumed ? 0 : target->pid, &path);

	if (r)
		return r;
	opts->library = path;
	r = open_trace(link, opts);
	free(path);
	return r;
}

int gputrace_attach_functions(struct gputrace_target *target, const char *library, const char *pattern,
			      const struct gputrace_functions_opts *opts, struct gputrace_link **ret_link)
{
	struct gputrace_functions_opts known;
	struct gt_api_trace_opts trace = { .pid = target->pid, .pattern = pattern };
	struct gputrace_link *link;
	int r = gt_opts_read(opts, sizeof(uint64_t), &known, sizeof(known));

	if (r)
		return r;
	if (known.flags || known.reserved)
		return gt_error(-EINVAL, "unknown flags, or a reserved field that is not 0, in struct gputrace_functions_opts");
	r = check_stack(&known.stack_frames, known.stack_bytes, &known.ring_bytes);
	if (r)
		return r;
	if (!library || !*library || !pattern || !*pattern)
		return gt_error(-EINVAL, "name a library and a pattern of its functions");
	trace.ring_bytes = known.ring_bytes;
	trace.stack_frames = known.stack_frames;
	trace.stack_bytes = known.stack_bytes;
	r = gt_link_new(target, false, &link);
	if (r)
		return r;
	if (target->kind == GT_TARGET_WATCHED && !strchr(library, '/'))
		r = open_following(link, &trace, library);
	else
		r = open_found(link, &trace, library);
	if (r)
		return gt_link_give_up(link, r);
	*ret_link = link;
	return 0;
}
