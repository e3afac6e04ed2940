/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/target.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/attach/attach.h"
#include "lib/attach/link.h"
#include "lib/attach/shared.h"
#include "lib/ctx.h"
#include "lib/target/area.h"
#include "lib/target/config.h"
#include "lib/target/context.h"
#include "lib/target/spawn.h"
#include "lib/util/error.h"

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int gt_target_new(struct gputrace_ctx *ctx, enum gt_target_kind kind, struct gputrace_target **ret_target)
{
	struct gputrace_target *target;
	uint32_t route_flags = 0;
	int r = kind == GT_TARGET_WATCHED ? 0 : gt_config_route(&route_flags);

	if (r)
		return r;
	target = calloc(1, sizeof(*target));
	if (!target)
		return gt_error(-ENOMEM, "out of memory");
	target->route_flags = route_flags;
	target->references = 1;
	target->ctx = gputrace_ctx_ref(ctx);
	target->kind = kind;
	target->go_fd = target->exec_fd = target->pid_fd = target->listen_fd = target->epoll_fd = -1;
	*ret_target = target;
	return 0;
}

struct gputrace_target *gputrace_target_ref(struct gputrace_target *target)
{
	if (target)
		atomic_fetch_add(&target->references, 1);
	return target;
}

static void destroy(struct gputrace_target *target)
{
	gt_target_keep_maps(target);
	gt_shared_close(target);
	while (target->links) {
		struct gputrace_link *link = target->links;

		target->links = link->next;
		gt_link_orphan(link);
	}
	gt_spawn_abandon(target);
	gt_kernels_free(&target->kernels);
	while (target->processes) {
		struct gt_process *process = target->processes;

		target->processes = process->next;
		gt_process_free(process);
	}
	gt_gpus_free(target);
	gt_spawn_close(target);
	gt_layout_free(&target->layout);
	free(target->libcuda);
	free(target->agent);
	gputrace_ctx_unref(target->ctx);
	free(target);
}

struct gputrace_target *gputrace_target_unref(struct gputrace_target *target)
{
	if (target && atomic_fetch_sub(&target->references, 1) == 1)
		destroy(target);
	return NULL;
}

int gputrace_target_spawn(struct gputrace_ctx *ctx, char *const argv[],
			  const struct gputrace_spawn_opts *opts, struct gputrace_target **ret_target)
{
	struct gputrace_spawn_opts known;
	struct gputrace_target *target;
	int r = gt_opts_read(opts, sizeof(uint64_t), &known, sizeof(known));

	if (r)
		return r;
	r = gt_spawn_check(argv, &known);
	if (r)
		return r;
	r = gt_target_new(ctx, GT_TARGET_SPAWNED, &target);
	if (r)
		return r;
	target->software_device = known.device == GPUTRACE_DEVICE_SIM;
	target->agent_ring_bytes = known.agent_ring_bytes;
	target->gpu_ring_bytes = known.gpu_ring_bytes;
	gt_layout_init(&target->layout, target->gpu_ring_bytes);
	r = gt_spawn(target, argv, &known);
	if (r) {
		gputrace_target_unref(target);
		return r;
	}
	*ret_target = target;
	return 0;
}

int gputrace_target_resume(struct gputrace_target *target)
{
	int r;

	if (target->kind == GT_TARGET_WATCHED)
		return 0;
	if (target->resumed)
		return gt_error(-EALREADY, "the program runs already");
	if (!target->laid_out) {
		gt_layout_finish(&target->layout, target->agent_ring_bytes, target->thread_ring_bytes);
		target->laid_out = true;
		r = gt_attach_finish(target);
		if (r)
			return r;
	}
	return target->kind == GT_TARGET_SPAWNED ? gt_spawn_go(target) : gt_live_begin(target);
}

int gputrace_target_get_pid(const struct gputrace_target *target)
{
	return target->pid;
}

int gputrace_target_get_fd(const struct gputrace_target *target)
{
	return target->epoll_fd;
}

/* Not our child: no status, and it can only be seen that it has ended. */
static bool has_gone(const struct gputrace_target *target)
{
	struct pollfd wait = { .fd = target->pid_fd, .events = POLLIN };

	return target->pid_fd >= 0 && poll(&wait, 1, 0) == 1;
}

int gputrace_target_has_exited(struct gputrace_target *target, int *ret_status)
{
	if (target->kind != GT_TARGET_SPAWNED) {
		target->exited = target->exited || has_gone(target);
	} else if (!target->exited && target->pid > 0) {
		int status = 0;
		pid_t pid = waitpid(target->pid, &status, WNOHANG);

		/* ECHILD: the caller ignores SIGCHLD or has waited for it, and what became of it is not known. */
		if (pid == target->pid || (pid < 0 && errno == ECHILD)) {
			target->exited = true;
			target->status = status;
		}
	}
	if (!target->exited)
		return 0;
	if (ret_status)
		*ret_status = target->status;
	return 1;
}

int gputrace_target_dispatch(struct gputrace_target *target)
{
	struct epoll_event events[16];
	int n = epoll_wait(target->epoll_fd, events, 16, 0);
	bool knocked = false;

	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == target)
			gputrace_target_has_exited(target, NULL);
		else if (events[i].data.ptr && !gt_process_serve(events[i].data.ptr))
			gt_process_forget(events[i].data.ptr);
		knocked |= !events[i].data.ptr;
	}
	/* At last, since another one may have to go for it, with an event of its own. */
	if (knocked)
		gt_process_accept(target);
	/* A descriptor of an ended process stays readable: stop watching it. */
	if (target->exited && target->pid_fd >= 0) {
		epoll_ctl(target->epoll_fd, EPOLL_CTL_DEL, target->pid_fd, NULL);
		close(target->pid_fd);
		target->pid_fd = -1;
	}
	return 0;
}

unsigned gputrace_target_count_agents(const struct gputrace_target *target)
{
	unsigned count = 0;

	for (const struct gt_process *process = target->processes; process; process = process->next)
		count += process->configured;
	return count;
}

bool gt_target_has_live_agents(const struct gputrace_target *target)
{
	for (const struct gt_process *process = target->processes; process; process = process->next) {
		if (process->socket >= 0)
			return true;
	}
	return false;
}

bool gt_target_is_over(struct gputrace_target *target)
{
	bool exited = gputrace_target_has_exited(target, NULL);

	if (target->kind == GT_TARGET_WATCHED)
		return gt_watch_is_over(target);
	/* Into a process that ran already an agent comes once, and the process may go on without it. */
	return (exited || (target->kind != GT_TARGET_SPAWNED && target->resumed)) &&
	       !gt_target_has_live_agents(target);
}

/* Has each let go?  What holds up the first that has not is told. */
static int tell_who_has_not_left(const struct gputrace_target *target, int timeout_ms)
{
	for (const struct gt_process *process = target->processes; process; process = process->next) {
		if (process->leaving == GT_LEAVING_STUCK)
			return gt_error(-ETIMEDOUT, "process %d: a thread did not come back from a call of the driver in %d s: it goes on with the agent in it, which records nothing more",
					process->pid, GT_LEAVING_S);
		if (process->socket < 0)
			continue;
		if (process->leaving == GT_LEAVING_CALLS)
			return gt_error(-ETIMEDOUT, "process %d: a thread is still in a call of the driver after %d ms: it goes on, and is let go of if that comes back within %d s",
					process->pid, timeout_ms, GT_LEAVING_S);
		if (process->leaving == GT_LEAVING_KERNELS)
			return gt_error(-ETIMEDOUT, "process %d: kernels are still running after %d ms: it goes on and lets go when they end",
					process->pid, timeout_ms);
		return gt_error(-ETIMEDOUT, "process %d: its agent did not answer in %d ms: it goes on and lets go when the agent comes to it",
				process->pid, timeout_ms);
	}
	return 0;
}

int gputrace_target_detach(struct gputrace_target *target, int timeout_ms)
{
	uint64_t deadline = now_ms() + (timeout_ms < 0 ? UINT32_MAX : (uint64_t)timeout_ms);
	int r;

	if (target->kind == GT_TARGET_WATCHED)
		gt_watch_let_go(target);
	for (struct gt_process *process = target->processes; process; process = process->next) {
		if (process->socket >= 0 && gt_process_send(process, GT_MSG_DETACH, 0))
			gt_process_let_go(process);
	}
	while (gt_target_has_live_agents(target)) {
		struct pollfd wait = { .fd = target->epoll_fd, .events = POLLIN };

		if (now_ms() >= deadline)
			break;
		poll(&wait, 1, 10);
		gputrace_target_dispatch(target);
	}
	r = tell_who_has_not_left(target, timeout_ms);
	for (struct gt_process *process = target->processes; process; process = process->next)
		gt_process_let_go(process);
	return r;
}

void gt_target_switch(struct gputrace_target *target, uint32_t bit, bool on)
{
	for (struct gt_process *process = target->processes; process; process = process->next) {
		struct gt_shm *shm = (void *)process->base;

		if (!shm)
			continue;
		if (on)
			__atomic_fetch_or(&shm->switches, 1ull << bit, __ATOMIC_RELAXED);
		else
			__atomic_fetch_and(&shm->switches, ~(1ull << bit), __ATOMIC_RELAXED);
	}
}

void gt_target_update_recording(struct gputrace_target *target)
{
	for (struct gt_process *process = target->processes; process; process = process->next) {
		struct gt_shm *shm = (void *)process->base;

		if (shm)
			__atomic_store_n(&shm->recording, gt_config_recording(target), __ATOMIC_RELAXED);
	}
}

static bool all_flushed(const struct gputrace_target *target, uint64_t serial)
{
	for (const struct gt_process *process = target->processes; process; process = process->next) {
		if (process->socket >= 0 && process->configured && process->flush_serial < serial)
			return false;
	}
	return true;
}

int gt_target_flush(struct gputrace_target *target, int timeout_ms)
{
	uint64_t deadline = now_ms() + (timeout_ms < 0 ? UINT32_MAX : (uint64_t)timeout_ms);
	uint64_t serial = ++target->flush_serial;

	for (struct gt_process *process = target->processes; process; process = process->next) {
		/* A process without a context has no thread that would answer, and nothing to copy. */
		if (process->socket >= 0 && process->context_count)
			gt_process_send(process, GT_MSG_FLUSH, serial);
		else
			process->flush_serial = serial;
	}
	while (!all_flushed(target, serial)) {
		struct pollfd wait = { .fd = target->epoll_fd, .events = POLLIN };

		if (now_ms() >= deadline)
			return gt_error(-ETIMEDOUT, "the traced program did not hand over its maps in %d ms",
					timeout_ms);
		poll(&wait, 1, 10);
		gputrace_target_dispatch(target);
	}
	return 0;
}
