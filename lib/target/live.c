/* SPDX-License-Identifier: Apache-2.0 */
/* Targets that run already: another process, or this one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/ctx.h"
#include "lib/target/inject.h"
#include "lib/target/mapped.h"
#include "lib/target/spawn.h"
#include "lib/target/target.h"
#include "lib/uprobe/find_library.h"
#include "lib/util/error.h"

static bool is_software_device(const struct gt_mapped *library)
{
	struct stat stat_, mapped;
	char *path;
	bool same;

	if (asprintf(&path, "%s/libcuda.so.1", gt_spawn_sim_directory()) < 0)
		return false;
	same = !stat(path, &stat_) && !stat(library->path, &mapped) && stat_.st_dev == mapped.st_dev &&
	       stat_.st_ino == mapped.st_ino;
	free(path);
	return same;
}

int gt_live_find_libcuda(struct gputrace_target *target)
{
	struct gt_mapped library;
	int r = gt_mapped_find(target->pid, "libcuda.so.1", &library);

	if (r)
		return r;
	free(target->libcuda);
	target->libcuda = strdup(library.path);
	target->software_device = is_software_device(&library);
	return target->libcuda ? 0 : -ENOMEM;
}

static int fill(struct gputrace_target *target, const struct gputrace_live_opts *opts)
{
	const char *agent = opts->agent ? opts->agent : gt_spawn_default_agent();
	int r = gt_spawn_check_agent(agent);

	if (r)
		return r;
	target->agent = realpath(agent, NULL);
	if (!target->agent)
		return gt_error(-errno, "%s: %s", agent, strerror(errno));
	target->agent_ring_bytes = opts->agent_ring_bytes;
	target->gpu_ring_bytes = opts->gpu_ring_bytes;
	target->copies = opts->flags & GPUTRACE_LIVE_COPIES;
	target->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (target->epoll_fd < 0)
		return gt_error(-errno, "no epoll descriptor: %s", strerror(errno));
	gt_layout_init(&target->layout, target->gpu_ring_bytes);
	return 0;
}

static int read_opts(const struct gputrace_live_opts *opts, struct gputrace_live_opts *known)
{
	int r = gt_opts_read(opts, sizeof(uint64_t), known, sizeof(*known));

	if (!r && (known->flags & ~GPUTRACE_LIVE_COPIES || known->reserved))
		r = gt_error(-EINVAL, "unknown flags in struct gputrace_live_opts");
	if (!r)
		r = gt_spawn_check_ring("agent_ring_bytes", &known->agent_ring_bytes);
	if (!r)
		r = gt_spawn_check_ring("gpu_ring_bytes", &known->gpu_ring_bytes);
	return r;
}

static int new_target(struct gputrace_ctx *ctx, enum gt_target_kind kind, pid_t pid,
		      const struct gputrace_live_opts *opts, struct gputrace_target **ret_target)
{
	struct gputrace_live_opts known;
	struct gputrace_target *target;
	int r = read_opts(opts, &known);

	if (!r)
		r = gt_target_new(ctx, kind, &target);
	if (r)
		return r;
	target->pid = pid;
	r = fill(target, &known);
	if (r) {
		gputrace_target_unref(target);
		return r;
	}
	*ret_target = target;
	return 0;
}

static int look_at(struct gputrace_target *target)
{
	int r;

	gt_spawn_watch(target);
	if (target->pid_fd < 0)
		return gt_error(errno == ESRCH || errno == EINVAL ? -ESRCH : -errno, "process %d: %s", (int)target->pid,
				errno == EINVAL ? "a thread's number, not a process's" : strerror(errno));
	r = gt_live_find_libcuda(target);
	if (r == -ENOENT)
		return gt_error(-ENODEV, "process %d has not loaded a CUDA driver (libcuda.so.1), or not yet", (int)target->pid);
	if (r == -EACCES || r == -EPERM)
		return gt_error(-EPERM, "process %d may not be looked at: it is another user's (run as root) or protected (a container's boundary, prctl)", (int)target->pid);
	return r ? gt_error(r, "process %d cannot be looked at: %s", (int)target->pid, strerror(-r)) : 0;
}

int gputrace_target_attach(struct gputrace_ctx *ctx, int pid, const struct gputrace_live_opts *opts,
			   struct gputrace_target **ret_target)
{
	struct gputrace_target *target;
	int r;

	if (pid <= 0)
		return gt_error(-EINVAL, "%d is not the number of a process", pid);
	if (pid == getpid())
		return gt_error(-EINVAL, "%d is this process: use gputrace_target_self()", pid);
	r = new_target(ctx, GT_TARGET_ATTACHED, pid, opts, &target);
	if (r)
		return r;
	r = look_at(target);
	if (r) {
		gputrace_target_unref(target);
		return r;
	}
	*ret_target = target;
	return 0;
}

int gputrace_target_self(struct gputrace_ctx *ctx, const struct gputrace_live_opts *opts,
			 struct gputrace_target **ret_target)
{
	int r = new_target(ctx, GT_TARGET_SELF, getpid(), opts, ret_target);

	/* Not loaded yet: the one that will be, for uprobes. */
	if (!r && gt_live_find_libcuda(*ret_target) &&
	    gt_find_library_in(GT_LIBCUDA, getenv("LD_LIBRARY_PATH"), &(*ret_target)->libcuda))
		(*ret_target)->libcuda = NULL;
	return r;
}

int gt_live_begin(struct gputrace_target *target)
{
	int r = target->kind == GT_TARGET_SELF ? gt_inject_here(target) : gt_inject(target);

	target->resumed = !r;
	return r;
}
