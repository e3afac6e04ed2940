/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in: the driver calls InitializeInjection() from cuInit; a running process is made to call gputrace_agent_attach(). */
#include "lib/agent/agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/agent/call/call.h"
#include "lib/agent/context/context.h"
#include "lib/agent/hook/hooks.h"
#include "lib/agent/lock.h"
#include "lib/agent/module/late.h"
#include "lib/agent/module/module.h"
#include "lib/agent/service.h"
#include "lib/agent/thread.h"

struct gt_driver gt_cu;

/* load: also if the program has not done so yet. */
static bool find_driver(bool load)
{
	static bool found;
	void *library;

	if (found)
		return true;	/* its functions may be hooked, and then are ours */
	library = dlopen("libcuda.so.1", load ? RTLD_NOW : RTLD_NOW | RTLD_NOLOAD);
	if (!library)
		return false;
#define X(name, since, params) gt_cu.name = (__typeof__(gt_cu.name))dlsym(library, #name);
	GT_CUDA_FUNCTIONS(X)
#undef X
	/* Without these nothing of ours works; every driver since CUDA 11 has them. */
	found = gt_cu.cuCtxGetCurrent && gt_cu.cuCtxGetDevice && gt_cu.cuDeviceGetAttribute &&
	       gt_cu.cuLinkCreate_v2 && gt_cu.cuLinkAddData_v2 && gt_cu.cuLinkComplete &&
	       gt_cu.cuMemAlloc_v2 && gt_cu.cuMemHostRegister_v2 && gt_cu.cuStreamCreate &&
	       gt_cu.cuMemcpyDtoHAsync_v2 && gt_cu.cuMemcpyHtoDAsync_v2 && gt_cu.cuMemsetD8Async &&
	       gt_cu.cuThreadExchangeStreamCaptureMode && gt_cu.cuLaunchKernel &&
	       gt_cu.cuDevicePrimaryCtxGetState && gt_cu.cuDevicePrimaryCtxRelease_v2 &&
	       gt_cu.cuStreamIsCapturing && gt_cu.cuMemHostGetDevicePointer_v2;
	return found;
}

/* Whoever asked to be loaded here before us still is. */
static void chain(void)
{
	const char *path = secure_getenv(GT_ENV_CHAIN);
	void *library;
	int (*initialize)(void);

	if (!path || !*path)
		return;
	library = dlopen(path, RTLD_NOW);
	if (!library)
		return;
	initialize = (int (*)(void))dlsym(library, "InitializeInjection");
	if (initialize)
		initialize();
}

static int first_pid;
static atomic_bool joined, hooked;
static atomic_flag initialized = ATOMIC_FLAG_INIT;
static GT_LOCK(joining);
static GT_LOCK(attaching);

static void at_exit(void)
{
	/* Not in a child that was made past in_child(): the thread is not there. */
	if (atomic_load(&gt_forked) || getpid() != first_pid)
		return;
	gt_is_inside();
	gt_depth++;
	gt_service_stop(gt_depth > 1);
	atomic_store(&gt_active, false);
	gt_depth--;
}

/*
 * CUDA does not work in a forked child, so there is nothing to see in it.  But if
 * it has not been used yet, it may be in the child, which then enters for itself.
 * Ranges may be named in either, and a controller may ask either to be served.
 */
static void in_child(void)
{
	atomic_store(&gt_active, false);
	gt_locks_in_child();
	gt_session_hang_up();
	if (atomic_load(&hooked)) {
		atomic_store(&gt_forked, true);
		return;
	}
	gt_session_close(false);
	gt_service_in_child();
	gt_enter_in_child();
	gt_thread_in_child();
	atomic_store(&joined, false);
	atomic_flag_clear(&initialized);
}

/* From the start, since another thread may be here when the program forks, and is not in the child. */
__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

static void watch_the_end(void)
{
	static bool watched;

	first_pid = getpid();
	if (!watched)
		atexit(at_exit);
	watched = true;
}

/* There is a session. */
static void begin(void)
{
	gt_enter_prepare();
	gt_threads_begin();
	atomic_store(&gt_active, true);
	watch_the_end();
}

/* busy: the program is running.  A negative number: nothing may be probed, since a launch could miss the hidden parameter. */
static int hook(bool busy)
{
	int hooks;

	atomic_store(&hooked, true);
	if (busy)
		gt_retains_unseen();
	hooks = gt_hooks_install(busy);
	gt_calls_begin(busy);
	if (hooks < 0) {
		gt_session.probe_count = 0;
		gt_session.flags = 0;
	}
	if (gt_session.shared_refused)
		gt_note(3, "the operating system's maps that GPU programs use cannot be mapped here (errno %d): this process runs without probes",
			gt_session.shared_refused);
	gt_modules_announce();
	gt_session_send(GT_MSG_READY, (uint64_t)(hooks < 0 ? 0 : hooks));
	return hooks;
}

static void connect_and_begin(bool hooks_follow)
{
	int fd = gt_session_connect();

	if (fd < 0)
		return;
	if (!gt_session_open(fd)) {
		close(fd);
		return;
	}
	begin();
	if (!hooks_follow)
		gt_session_send(GT_MSG_READY, 0);
}

bool gt_join(bool hooks_follow)
{
	int saved = errno;

	if (!atomic_load(&joined)) {
		gt_lock(&joining);
		if (!atomic_load(&joined))
			connect_and_begin(hooks_follow);
		atomic_store(&joined, true);
		gt_unlock(&joining);
		errno = saved;
	}
	return atomic_load(&gt_active);
}

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	int saved = errno;

	if (!atomic_flag_test_and_set(&initialized)) {
		gt_depth++;
		chain();
		if (!atomic_load(&hooked) && find_driver(false)) {
			gt_service_hold();
			if (gt_join(true))
				hook(false);
			gt_service_release(false);
		}
		gt_depth--;
	}
	errno = saved;
	return 1;
}

/* A thread of the program may be about to find a controller by itself. */
static int open_session(int fd)
{
	int r = 0;

	gt_lock(&joining);
	if (gt_session.socket >= 0)
		r = -EBUSY;
	else if (!gt_session_open(fd))
		r = -EPROTO;
	else
		atomic_store(&joined, true);
	gt_unlock(&joining);
	return r;
}

static int attach(int fd)
{
	int r;

	if (atomic_load(&gt_forked))
		return -ECHILD;
	if (!gt_service_make_room())
		return -EBUSY;
	if (!find_driver(true))
		return -ENOENT;
	r = open_session(fd);
	if (r)
		return r;
	gt_service_hold();
	/* What the next lines begin is of no use to a child that is made from now on. */
	atomic_store(&hooked, true);
	gt_late_prepare();
	begin();
	hook(true);
	gt_service_release(true);
	return 0;
}

__attribute__((visibility("default"))) int gputrace_agent_attach(int fd);

/*
 * The way into a running process: called in a thread of its own with a socket to
 * the controller, which is ours from now on.  0 or -errno: -EBUSY: there is another
 * controller; -ECHILD: a child forked from a traced process; -ENOENT: no driver here;
 * -EPROTO: the controller's orders make no sense.
 */
int gputrace_agent_attach(int fd)
{
	int saved = errno, r;

	fd = gt_session_keep_off_streams(fd);
	gt_lock(&attaching);
	gt_depth++;
	r = attach(fd);
	gt_depth--;
	gt_unlock(&attaching);
	if (r)
		close(fd);
	errno = saved;
	return r;
}
