/* SPDX-License-Identifier: Apache-2.0 */
/* The way in: the driver calls InitializeInjection() from cuInit. */
#include "lib/agent/agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/agent/hook/hooks.h"
#include "lib/agent/service.h"

struct gt_driver gt_cu;

static bool find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	if (!library)
		return false;
#define X(name, since, params) gt_cu.name = (__typeof__(gt_cu.name))dlsym(library, #name);
	GT_CUDA_FUNCTIONS(X)
#undef X
	/* Without these nothing of ours works; every driver since CUDA 11 has them. */
	return gt_cu.cuCtxGetCurrent && gt_cu.cuCtxGetDevice && gt_cu.cuDeviceGetAttribute &&
	       gt_cu.cuLinkCreate_v2 && gt_cu.cuLinkAddData_v2 && gt_cu.cuLinkComplete &&
	       gt_cu.cuMemAlloc_v2 && gt_cu.cuMemHostRegister_v2 && gt_cu.cuStreamCreate &&
	       gt_cu.cuMemcpyDtoHAsync_v2 && gt_cu.cuMemcpyHtoDAsync_v2 && gt_cu.cuMemsetD8Async &&
	       gt_cu.cuThreadExchangeStreamCaptureMode && gt_cu.cuLaunchKernel &&
	       gt_cu.cuDevicePrimaryCtxGetState && gt_cu.cuDevicePrimaryCtxRelease_v2 &&
	       gt_cu.cuStreamIsCapturing && gt_cu.cuMemHostGetDevicePointer_v2;
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

static void at_exit(void)
{
	/* Not in a child that was made past in_child(): the thread is not there. */
	if (!atomic_load(&gt_active) || getpid() != gt_session.pid)
		return;
	gt_depth++;
	gt_service_stop();
	atomic_store(&gt_active, false);
	gt_depth--;
}

/* CUDA does not work in a forked child, so there is nothing to see in it. */
static void in_child(void)
{
	atomic_store(&gt_forked, true);
	atomic_store(&gt_active, false);
	if (gt_session_is_open())
		close(gt_session.socket);
}

static void start(void)
{
	int hooks;

	if (!find_driver() || !gt_session_open())
		return;
	atomic_store(&gt_active, true);
	hooks = gt_hooks_install();
	if (hooks < 0) {
		/* Nothing may be probed, since a launch could miss the hidden parameter. */
		gt_session.probe_count = 0;
		gt_session.flags = 0;
		hooks = 0;
	}
	if (gt_session.shared_refused)
		gt_note(3, "the operating system's maps that GPU programs use cannot be mapped here (errno %d): this process runs without probes",
			gt_session.shared_refused);
	gt_hooks_bypass_others();
	gt_session_send(GT_MSG_READY, (uint64_t)hooks);
	atexit(at_exit);
	pthread_atfork(NULL, NULL, in_child);
}

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	static atomic_flag once = ATOMIC_FLAG_INIT;
	int saved = errno;

	if (!atomic_flag_test_and_set(&once)) {
		gt_depth++;
		chain();
		start();
		gt_depth--;
	}
	errno = saved;
	return 1;
}
