/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's side of the socket: processes that have loaded the agent. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/ctx.h"
#include "lib/reader/copies.h"
#include "lib/reader/launches.h"
#include "lib/reader/ranges.h"
#include "lib/reader/reader.h"
#include "lib/target/area.h"
#include "lib/target/config.h"
#include "lib/target/context.h"
#include "lib/target/target.h"
#include "lib/util/error.h"
#include "lib/util/file_limit.h"

/*
 * Only processes of our own user (or root's) may ask for our shared memory; where we
 * are root, any, since a program may give up root's privileges.  All must tell the
 * secret.  The pid is the one that we know the process by, whatever its own namespace
 * says.
 */
static bool may_connect(int fd, int *ret_pid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.uid != geteuid() && peer.uid != 0 && geteuid() != 0))
		return false;
	*ret_pid = peer.pid;
	return true;
}

#define KNOCKING_MAX 256u

/* Those who mean it tell the secret at once: of too many who have not, the first must go. */
static void make_room(struct gputrace_target *target)
{
	struct gt_process *first = NULL;
	unsigned knocking = 0;

	for (struct gt_process *process = target->processes; process; process = process->next) {
		if (!process->knocks || process->configured)
			continue;
		first = first ? first : process;
		knocking++;
	}
	if (knocking >= KNOCKING_MAX)
		gt_process_forget(first);
}

int gt_process_accept(struct gputrace_target *target)
{
	int fd = accept4(target->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return errno == EAGAIN ? 0 : -errno;
	make_room(target);
	return gt_process_add(target, fd, true);
}

int gt_process_add(struct gputrace_target *target, int fd, bool knocks)
{
	struct gt_process *process, **link;
	struct epoll_event event = { .events = EPOLLIN };

	process = calloc(1, sizeof(*process));
	event.data.ptr = process;
	if (!process || !may_connect(fd, &process->pid) ||
	    epoll_ctl(target->epoll_fd, EPOLL_CTL_ADD, fd, &event)) {
		free(process);
		close(fd);
		return gt_error(-EACCES, "the process is another user's, or memory is short");
	}
	process->target = target;
	process->knocks = knocks;
	process->socket = fd;
	process->shm_fd = -1;
	for (link = &target->processes; *link; link = &(*link)->next)
		;
	*link = process;
	return 0;
}

static int send_config(struct gt_process *process, int config_fd)
{
	struct gt_msg message = { GT_WIRE_MAGIC, GT_WIRE_VERSION, GT_MSG_CONFIG, 0 };
	const struct gputrace_target *target = process->target;
	int fds[2 + GT_SHARED_MAX] = { process->shm_fd, config_fd };
	size_t fds_size = (2 + target->shared_count) * sizeof(int);
	union {
		char bytes[CMSG_SPACE(sizeof(fds))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = { &message, sizeof(message) };
	struct msghdr header = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = CMSG_SPACE(fds_size),
	};
	struct cmsghdr *part = CMSG_FIRSTHDR(&header);

	for (unsigned i = 0; i < target->shared_count; i++)
		fds[2 + i] = target->shared[i].fd;
	part->cmsg_level = SOL_SOCKET;
	part->cmsg_type = SCM_RIGHTS;
	part->cmsg_len = CMSG_LEN(fds_size);
	memcpy(CMSG_DATA(part), fds, fds_size);
	return sendmsg(process->socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(message) ? 0 : -errno;
}

/* The process said hello: give it shared memory and its orders. */
static int configure(struct gt_process *process)
{
	struct gputrace_target *target = process->target;
	uint64_t total = target->layout.shm.total;
	int config_fd, r;

	process->shm_fd = gt_shm_make(target);
	if (process->shm_fd < 0)
		return process->shm_fd;
	process->base = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, process->shm_fd, 0);
	if (process->base == MAP_FAILED) {
		process->base = NULL;
		return -errno;
	}
	process->launches = gt_launches_new();
	if (!process->launches)
		return -ENOMEM;
	config_fd = gt_config_make(target);
	if (config_fd < 0)
		return config_fd;
	r = send_config(process, config_fd);
	close(config_fd);
	/* A target may be many processes, and the mapping is all that we need. */
	close(process->shm_fd);
	process->shm_fd = -1;
	process->configured = !r;
	return r;
}

void gt_process_let_go(struct gt_process *process)
{
	if (process->socket < 0)
		return;
	epoll_ctl(process->target->epoll_fd, EPOLL_CTL_DEL, process->socket, NULL);
	close(process->socket);
	process->socket = -1;
}

/* Takes as long whatever was told, so that it cannot be found out piece by piece. */
static bool knows_secret(const struct gputrace_target *target, const char *told)
{
	unsigned different = 0;

	for (unsigned i = 0; i < GT_SECRET_SIZE; i++)
		different |= (unsigned char)(told[i] ^ target->secret[i]);
	return !different;
}

/* What says hello is what runs in a process now: by exec, or by a lie told more than once. */
static void replace_others(const struct gt_process *process)
{
	for (struct gt_process *other = process->target->processes; other; other = other->next) {
		/* 0: of a namespace that we cannot see into. */
		if (other == process || !other->configured || !other->pid || other->pid != process->pid)
			continue;
		gt_process_let_go(other);
		other->replaced = true;
	}
}

static bool serve_hello(struct gt_process *process, const struct gt_msg_hello *hello)
{
	sigset_t signals;
	int r;

	if (process->configured || (process->knocks && !knows_secret(process->target, hello->secret)))
		return false;
	if (process->target->kind == GT_TARGET_SELF)
		gt_live_find_libcuda(process->target);	/* the agent may have been what loaded it */
	replace_others(process);
	memcpy(process->command, hello->command, sizeof(process->command));
	process->command[sizeof(process->command) - 1] = 0;
	/* While it waits: once it has its orders, it may have ended before it can be looked at. */
	if (process->target->reader)
		gt_reader_meet(process->target->reader, process);
	gt_file_limit_hold(&signals);
	r = configure(process);
	gt_file_limit_release(&signals);
	if (r)
		gt_log(process->target->ctx, GPUTRACE_LOG_ERROR,
		       "process %d (%s) could not be given its shared memory: %s%s", process->pid,
		       process->command, strerror(-r), r == -EFBIG ? " (the limit of ulimit -f goes for it as well)" : "");
	return !r;
}

bool gt_process_serve(struct gt_process *process)
{
	union {
		struct gt_msg msg;
		struct gt_msg_hello hello;
	} in;
	ssize_t n = recv(process->socket, &in, sizeof(in), MSG_DONTWAIT);
	bool ok = false;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n >= (ssize_t)sizeof(in.msg) && in.msg.magic == GT_WIRE_MAGIC) {
		if (in.msg.version != GT_WIRE_VERSION) {
			gt_log(process->target->ctx, GPUTRACE_LOG_ERROR,
			       "an agent of another version of this library asks to be served: use the agent that came with it");
		} else if (in.msg.type == GT_MSG_HELLO) {
			ok = n == (ssize_t)sizeof(in.hello) && serve_hello(process, &in.hello);
		} else if (in.msg.type == GT_MSG_FLUSHED) {
			process->flush_serial = in.msg.value;
			ok = process->configured;
		} else if (in.msg.type == GT_MSG_LEAVING) {
			process->leaving = in.msg.value;
			/* No more comes of one that stays. */
			ok = process->configured && process->leaving != GT_LEAVING_STUCK;
		} else {
			ok = process->configured && in.msg.type == GT_MSG_READY;
			process->ready |= ok;
		}
	}
	if (!ok)
		gt_process_let_go(process);
	return ok;
}

int gt_process_send(struct gt_process *process, enum gt_message_type type, uint64_t value)
{
	struct gt_msg message = { GT_WIRE_MAGIC, GT_WIRE_VERSION, type, value };

	if (process->socket < 0)
		return -ESRCH;
	return send(process->socket, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT) ==
	       (ssize_t)sizeof(message) ? 0 : -errno;
}

struct gt_target_context *gt_process_context(const struct gt_process *process, uint32_t number)
{
	return number < process->context_count ? process->contexts[number] : NULL;
}

struct gt_host_arena *gt_process_area(const struct gt_process *process, unsigned index)
{
	const struct gt_shm *shm = &process->target->layout.shm;

	return (void *)(process->base + shm->areas + index * shm->area_size);
}

void gt_process_forget(struct gt_process *process)
{
	struct gt_process **link = &process->target->processes;

	if (process->configured)
		return;
	while (*link != process)
		link = &(*link)->next;
	*link = process->next;
	gt_process_free(process);
}

/* One whose last moments lie in another process's hands counts as running until it has been waited for. */
static bool has_ended(const struct gt_process *process)
{
	return process->replaced || (kill(process->pid, 0) && errno == ESRCH);
}

void gt_process_retire(struct gt_process *process)
{
	if (!has_ended(process) || gt_areas_keep(process))
		return;
	munmap(process->base, process->target->layout.shm.total);
	process->base = NULL;
	gt_launches_free(process->launches);
	process->launches = NULL;
	gt_copies_free(process->copies);
	process->copies = NULL;
}

void gt_process_free(struct gt_process *process)
{
	gt_process_let_go(process);
	for (unsigned i = 0; i < GT_GPUS_MAX; i++)
		gputrace_clock_unref(process->clocks[i]);
	if (process->base)
		munmap(process->base, process->target->layout.shm.total);
	if (process->shm_fd >= 0)
		close(process->shm_fd);
	gt_launches_free(process->launches);
	gt_copies_free(process->copies);
	for (uint32_t i = 0; i < process->context_count; i++)
		gt_target_context_free(process->contexts[i]);
	free(process->contexts);
	gt_ranges_free(process->ranges);
	free(process->kernels);
	free(process);
}
