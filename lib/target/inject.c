/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/target/courier.h"
#include "lib/target/mapped.h"
#include "lib/target/target.h"
#include "lib/util/error.h"
#include "lib/util/proc_stat.h"

#define CALL_MS 5000
#define START_MS 30000	/* the driver may be loaded, and every hook is put in */
#define ENTRY "gputrace_agent_attach"

/* What gputrace_agent_attach() has to say. */
static int explain(const struct gputrace_target *target, int error)
{
	static const struct {
		int error;
		const char *text;
	} texts[] = {
		{ EBUSY, "process %d is traced with this library already: end that first" },
		{ ECHILD, "process %d was forked from a process that was traced: CUDA that was in use before does not work in it" },
		{ ENOENT, "process %d cannot load a CUDA driver (libcuda.so.1): install NVIDIA's, or start it on the software device (man gputrace)" },
		{ EPROTO, "the agent in process %d does not understand us: is it of another version of this library?" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].error == -error)
			return gt_error(error, texts[i].text, (int)target->pid);
	}
	return gt_error(error, "the agent in process %d could not begin: %s", (int)target->pid, strerror(-error));
}

/* ---- calls of the C library in the process ---- */

static int call(struct gt_courier *courier, const char *function, const uint64_t args[6], int64_t *ret_result)
{
	uint64_t address = gt_mapped_function(courier->pid, gt_courier_libraries, function);

	if (!address)
		return gt_error(-ENOEXEC, "process %d has no function %s: is its C library an old one?", (int)courier->pid, function);
	return gt_courier_call(courier, address, args, CALL_MS, ret_result);
}

/* Of one that returned -1. */
static int call_error(struct gt_courier *courier, const char *function)
{
	const uint64_t none[6] = { 0 };
	int64_t place;
	int error = 0;
	int r = call(courier, "__errno_location", none, &place);

	if (!r)
		r = gt_courier_get(courier, (uint64_t)place, &error, sizeof(error));
	if (r)
		return r;
	r = gt_courier_error(error);
	return gt_error(r, "process %d: %s: %s", (int)courier->pid, function, strerror(-r));
}

/* Returns an int, -1 with errno when it fails. */
static int call_int(struct gt_courier *courier, const char *function, uint64_t a, uint64_t b, uint64_t c,
		    uint64_t d, int *ret_result)
{
	const uint64_t args[6] = { a, b, c, d };
	int64_t result;
	int r = call(courier, function, args, &result);

	if (r)
		return r;
	if ((int)result == -1)
		return call_error(courier, function);
	*ret_result = (int)result;
	return 0;
}

/*
 * A descriptor of the process's that it needs no more, after what ended with r.  One in
 * which a call has not returned is not asked for another.
 */
static int close_there(struct gt_courier *courier, int fd, int r)
{
	int ignored, error = r == -ETIMEDOUT ? 0 : call_int(courier, "close", (uint64_t)fd, 0, 0, 0, &ignored);

	return r ? r : error;
}

/* ---- its descriptors ---- */

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL	/* Linux 6.9 */
#endif

/* A main thread that has ended has no descriptors any more, but another one has. */
static int fetch(const struct gputrace_target *target, int fd)
{
	int thread = gt_proc_thread(target->pid), by, ours, error;

	if (thread == target->pid)
		return (int)syscall(SYS_pidfd_getfd, target->pid_fd, fd, 0);
	by = (int)syscall(SYS_pidfd_open, thread, PIDFD_THREAD);
	ours = by < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, by, fd, 0);
	error = errno;
	if (by >= 0)
		close(by);
	errno = error;
	return ours;
}

/* ---- the agent's file ---- */

/* Does this path lead to the same file in the process's own view? */
static bool is_visible(pid_t pid, const char *path)
{
	struct stat ours, theirs;
	char *view;
	bool same;

	if (asprintf(&view, "/proc/%d/root%s", gt_proc_thread(pid), path) < 0)
		return false;
	same = !stat(path, &ours) && !stat(view, &theirs) && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
	free(view);
	return same;
}

/* Nothing else is written to: whatever the process calls its new file may be one that it must not change. */
static int fill_memory(int memory, const char *path)
{
	int agent = open(path, O_RDONLY | O_CLOEXEC), r;
	struct stat stat;
	off_t done = 0;

	r = agent < 0 || fstat(agent, &stat) || fcntl(memory, F_GET_SEALS) < 0 ? -errno : 0;
	while (!r && done < stat.st_size) {
		if (sendfile(memory, agent, &done, (size_t)(stat.st_size - done)) <= 0)
			r = -EIO;
	}
	if (agent >= 0)
		close(agent);
	return r;
}

/* Put the agent into a file without a name in the process; its descriptor there. */
static int copy_agent(const struct gputrace_target *target, struct gt_courier *courier, int *ret_fd)
{
	static const char name[] = "libgputrace-agent.so";
	uint64_t room = gt_courier_room(courier);
	int r = gt_courier_put(courier, room, name, sizeof(name)), memory;

	if (!r)
		r = call_int(courier, "memfd_create", room, MFD_CLOEXEC, 0, 0, ret_fd);
	if (r)
		return r;
	/* The descriptor itself, with no more rights than the process has by it. */
	memory = fetch(target, *ret_fd);
	r = memory < 0 ? -errno : fill_memory(memory, target->agent);
	if (memory >= 0)
		close(memory);
	if (!r)
		return 0;
	gt_error(r, "the agent cannot be copied into process %d: %s", (int)courier->pid, strerror(-r));
	return close_there(courier, *ret_fd, r);
}

static int loader_error(struct gt_courier *courier)
{
	const uint64_t none[6] = { 0 };
	char text[400] = "";
	int64_t place;

	if (!call(courier, "dlerror", none, &place) && place) {
		/* It may lie close to the end of what is mapped. */
		for (size_t i = 0; i + 1 < sizeof(text); i++) {
			if (gt_courier_get(courier, (uint64_t)place + i, text + i, 1) || !text[i])
				break;
		}
	}
	for (char *c = text; *c; c++) {
		if ((unsigned char)*c < ' ')
			*c = ' ';
	}
	return gt_error(-ENOEXEC, "process %d cannot load the agent: %s", (int)courier->pid, text);
}

/* dlopen() it and find its entry. */
static int load(struct gt_courier *courier, const char *path, uint64_t *ret_entry)
{
	uint64_t room = gt_courier_room(courier);
	const uint64_t open_args[6] = { room, RTLD_NOW };
	uint64_t find_args[6] = { 0, room };
	int64_t result;
	int r;

	if (strlen(path) >= 2000)
		return gt_error(-ENAMETOOLONG, "%s: too long a path for the agent", path);
	r = gt_courier_put(courier, room, path, strlen(path) + 1);
	if (!r)
		r = call(courier, "dlopen", open_args, &result);
	if (r)
		return r;
	if (!result)
		return loader_error(courier);
	find_args[0] = (uint64_t)result;
	r = gt_courier_put(courier, room, ENTRY, sizeof(ENTRY));
	if (!r)
		r = call(courier, "dlsym", find_args, &result);
	if (r)
		return r;
	*ret_entry = (uint64_t)result;
	return result ? 0 : loader_error(courier);
}

/* It may be there already, under a name that leads nowhere any more. */
static uint64_t find_loaded(pid_t pid)
{
	static const char *const names[] = { "memfd:libgputrace-agent.so", NULL };

	return gt_mapped_function(pid, names, ENTRY);
}

static int load_agent(struct gputrace_target *target, struct gt_courier *courier, uint64_t *ret_entry)
{
	char path[64];
	int fd, r;

	if (is_visible(target->pid, target->agent))
		return load(courier, target->agent, ret_entry);
	*ret_entry = find_loaded(target->pid);
	if (*ret_entry)
		return 0;
	r = copy_agent(target, courier, &fd);
	if (r)
		return r;
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	return close_there(courier, fd, load(courier, path, ret_entry));
}

/* ---- the socket ---- */

/* A pair is made there, and one end fetched: no name, and nobody else can come. */
static int connect_agent(struct gputrace_target *target, struct gt_courier *courier, int *ret_theirs)
{
	uint64_t room = gt_courier_room(courier);
	int ours, ignored, pair[2];
	int r = call_int(courier, "socketpair", AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, room, &ignored);

	if (!r)
		r = gt_courier_get(courier, room, pair, sizeof(pair));
	if (r)
		return r;
	ours = fetch(target, pair[0]);
	r = ours < 0 ? gt_error(-errno, "a descriptor of process %d cannot be fetched: %s", (int)target->pid, strerror(errno)) :
	    gt_process_add(target, ours, false);
	*ret_theirs = pair[1];
	r = close_there(courier, pair[0], r);
	return r ? close_there(courier, pair[1], r) : 0;
}

static void serve_briefly(struct gputrace_target *target)
{
	struct pollfd wait = { .fd = target->epoll_fd, .events = POLLIN };

	poll(&wait, 1, 1);
	gputrace_target_dispatch(target);
}

static int start_agent(struct gputrace_target *target, struct gt_courier *courier, uint64_t entry, int fd)
{
	const uint64_t args[6] = { (uint64_t)fd };
	int64_t result;
	int r = gt_courier_start(courier, entry, args);

	for (int i = 0; !r && i < START_MS; i++) {
		serve_briefly(target);
		r = gt_courier_wait(courier, &result);
		if (!r)
			return (int)result ? explain(target, gt_courier_error(-(int64_t)(int)result)) : 0;
		if (r == -EAGAIN)
			r = 0;
	}
	return r ? r : gt_error(-ETIMEDOUT, "the agent in process %d did not begin in %d s", (int)target->pid, START_MS / 1000);
}

int gt_inject(struct gputrace_target *target)
{
	struct gt_courier courier;
	uint64_t entry;
	int theirs, r = gt_courier_send(target->pid, target->copies, &courier);

	if (r)
		return r;
	r = load_agent(target, &courier, &entry);
	if (!r)
		r = connect_agent(target, &courier, &theirs);
	if (!r)
		r = start_agent(target, &courier, entry, theirs);
	gt_courier_dismiss(&courier);
	return r;
}

/* ---- this process ---- */

struct beginning {
	int (*entry)(int fd);
	int fd, result;
	atomic_bool done;
};

static void *begin(void *data)
{
	struct beginning *beginning = data;

	beginning->result = beginning->entry(beginning->fd);
	atomic_store(&beginning->done, true);
	return NULL;
}

/* The agent waits for its orders, which come from us: so in a thread of its own. */
static int begin_here(struct gputrace_target *target, struct beginning *beginning)
{
	pthread_t thread;
	int r = pthread_create(&thread, NULL, begin, beginning);

	if (r) {
		close(beginning->fd);
		return gt_error(-r, "no thread: %s", strerror(r));
	}
	while (!atomic_load(&beginning->done))
		serve_briefly(target);
	pthread_join(thread, NULL);
	return beginning->result ? explain(target, beginning->result) : 0;
}

int gt_inject_here(struct gputrace_target *target)
{
	struct beginning beginning = { .done = false };
	void *agent = dlopen(target->agent, RTLD_NOW);
	int pair[2], r;

	/* It stays, since the driver may be led through it; a second dlopen() finds it. */
	beginning.entry = agent ? (int (*)(int))dlsym(agent, ENTRY) : NULL;
	if (!beginning.entry)
		return gt_error(-ENOEXEC, "%s", dlerror());
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return gt_error(-errno, "no socket for the agent: %s", strerror(errno));
	r = gt_process_add(target, pair[0], false);
	if (r) {
		close(pair[1]);
		return r;
	}
	beginning.fd = pair[1];
	return begin_here(target, &beginning);
}
