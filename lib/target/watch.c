/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that are only watched, by the operating system's kernel: no agent gets into them. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/attach/link.h"
#include "lib/ctx.h"
#include "lib/target/spawn.h"
#include "lib/target/target.h"
#include "lib/uprobe/api_trace.h"
#include "lib/uprobe/find_library.h"
#include "lib/uprobe/kernel_programs.h"
#include "lib/util/error.h"

static int look_at(struct gputrace_target *target)
{
	target->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (target->epoll_fd < 0)
		return gt_error(-errno, "no epoll descriptor: %s", strerror(errno));
	if (target->pid > 0) {
		gt_spawn_watch(target);
		if (target->pid_fd < 0)
			return gt_error(errno == ESRCH || errno == EINVAL ? -ESRCH : -errno, "process %d: %s",
					(int)target->pid, strerror(errno));
	}
	/* Calls of other libraries can be watched without one. */
	if (gt_find_library(GT_LIBCUDA, target->pid, &target->libcuda))
		target->libcuda = NULL;
	return 0;
}

int gputrace_target_watch(struct gputrace_ctx *ctx, int pid, struct gputrace_target **ret_target)
{
	struct gputrace_target *target;
	int r;

	if (pid <= 0 && pid != GPUTRACE_EVERY_PROCESS)
		return gt_error(-EINVAL, "%d is not the number of a process", pid);
	r = gt_target_new(ctx, GT_TARGET_WATCHED, &target);
	if (r)
		return r;
	target->pid = pid;
	r = look_at(target);
	if (r) {
		gputrace_target_unref(target);
		return r;
	}
	*ret_target = target;
	return 0;
}

bool gt_watch_is_over(struct gputrace_target *target)
{
	bool exited = gputrace_target_has_exited(target, NULL), attached = false, running = false;

	for (const struct gputrace_link *link = target->links; link; link = link->next) {
		attached |= !link->detached;
		running |= !link->detached && link->api && gt_api_trace_has_processes(link->api);
		running |= link->programs && gt_kernel_programs_have_processes(link->programs);
	}
	return target->let_go || (target->links && !attached) || (exited && !running);
}

void gt_watch_let_go(struct gputrace_target *target)
{
	for (struct gputrace_link *link = target->links; link; link = link->next)
		gputrace_link_detach(link);
	target->let_go = true;
}
