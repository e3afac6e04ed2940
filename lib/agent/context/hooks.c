/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions that end contexts. */
#include <stdatomic.h>

#include "lib/agent/agent.h"
#include "lib/agent/context/context.h"
#include "lib/agent/hook/hooks.h"
#include "lib/agent/launch/exec.h"
#include "lib/agent/module/module.h"

/* The primary context of a device that is in use; NULL when it is not. */
static CUcontext primary_context(CUdevice device)
{
	CUcontext context = NULL;
	unsigned int flags;
	int in_use = 0;

	if (gt_cu.cuDevicePrimaryCtxGetState(device, &flags, &in_use) || !in_use)
		return NULL;
	if (gt_cu.cuDevicePrimaryCtxRetain(&context, device))
		return NULL;
	gt_cu.cuDevicePrimaryCtxRelease_v2(device);
	return context;
}

static bool is_primary(CUcontext handle)
{
	CUcontext popped;
	CUdevice device;
	bool found;

	if (gt_cu.cuCtxPushCurrent_v2(handle))
		return false;
	found = !gt_cu.cuCtxGetDevice(&device);
	gt_cu.cuCtxPopCurrent_v2(&popped);
	return found && primary_context(device) == handle;
}

/* NULL: it is not known, or the driver will refuse, as it does for a primary one, and all goes on. */
static struct gt_context *leave(CUcontext handle)
{
	if (is_primary(handle))
		return NULL;
	gt_context_finish(handle);
	gt_execs_context_gone(handle);
	gt_modules_context_gone(handle);
	return gt_context_leave(handle);
}

static CUresult hook_cuCtxDestroy_v2(CUcontext handle)
{
	struct gt_context *context = NULL;

	/* If it goes on after all, its kernels may still use the memory that we have there. */
	GT_AROUND(context = leave(handle), gt_cu.cuCtxDestroy_v2(handle), gt_context_end(context));
}

static void forget_context(CUcontext context)
{
	gt_execs_context_gone(context);
	gt_modules_context_gone(context);
	gt_context_forget(context);
}

/*
 * How often the program has retained each primary context, for the driver does not tell.
 * Somebody may do so where we do not see it: then a context lives on after its last
 * release, and of that device we believe nothing any more.
 */
#define DEVICES_MAX 64
static struct {
	atomic_int count;
	atomic_bool wrong;
} retained[DEVICES_MAX];

void gt_retains_unseen(void)
{
	for (unsigned i = 0; i < DEVICES_MAX; i++)
		atomic_store(&retained[i].wrong, true);
}

static bool is_counted(CUdevice device)
{
	return device >= 0 && device < DEVICES_MAX;
}

static CUresult hook_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	GT_AROUND((void)0, gt_cu.cuDevicePrimaryCtxRetain(context, device),
		  if (is_counted(device)) atomic_fetch_add(&retained[device].count, 1));
}

static bool is_last(CUdevice device)
{
	return is_counted(device) && !atomic_load(&retained[device].wrong) && atomic_load(&retained[device].count) == 1;
}

/* certain: it ends now.  Else others may go on, so then the program must not wait for its kernels. */
static CUcontext prepare_end(CUdevice device, bool certain)
{
	CUcontext context = primary_context(device);

	if (!context)
		return NULL;
	if (certain)
		gt_context_finish(context);
	gt_context_flush(context);
	return context;
}

static bool is_in_use(CUdevice device)
{
	unsigned int flags;
	int in_use = 1;

	return gt_cu.cuDevicePrimaryCtxGetState(device, &flags, &in_use) || in_use;
}

static void complete_release(CUcontext context, CUdevice device)
{
	bool in_use = is_in_use(device);

	if (is_counted(device)) {
		if ((atomic_fetch_sub(&retained[device].count, 1) > 1) != in_use)
			atomic_store(&retained[device].wrong, true);
		if (!in_use)
			atomic_store(&retained[device].count, 0);
	}
	if (context && !in_use)
		forget_context(context);
}

static void complete_reset(CUcontext context)
{
	if (context)
		forget_context(context);
}

static CUresult hook_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	CUcontext context = NULL;

	GT_AROUND(context = prepare_end(device, is_last(device)), gt_cu.cuDevicePrimaryCtxRelease_v2(device),
		  complete_release(context, device));
}

/* It ends whoever else uses it. */
static CUresult hook_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	CUcontext context = NULL;

	GT_AROUND(context = prepare_end(device, true), gt_cu.cuDevicePrimaryCtxReset_v2(device), complete_reset(context));
}

const struct gt_hook gt_context_hooks[] = {
	GT_HOOK(cuCtxDestroy_v2, false),
	GT_HOOK(cuDevicePrimaryCtxRetain, false),
	GT_HOOK(cuDevicePrimaryCtxRelease_v2, false),
	GT_HOOK(cuDevicePrimaryCtxReset_v2, false),
	{ 0 },
};
