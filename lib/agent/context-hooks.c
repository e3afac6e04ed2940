/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions that end contexts. */
#include "lib/agent/agent.h"
#include "lib/agent/context.h"
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

/* reset: it ends whoever else uses it.  Else others may go on, so then the program must not wait for its kernels. */
static CUcontext prepare_end(CUdevice device, bool reset)
{
	CUcontext context = primary_context(device);

	if (!context)
		return NULL;
	if (reset)
		gt_context_finish(context);
	gt_context_flush(context);
	return context;
}

static void complete_end(CUcontext context, CUdevice device, bool reset)
{
	unsigned int flags;
	int in_use = 1;

	if (context && (reset || (!gt_cu.cuDevicePrimaryCtxGetState(device, &flags, &in_use) && !in_use)))
		forget_context(context);
}

static CUresult end_primary(CUresult (*driver)(CUdevice), CUdevice device, bool reset)
{
	CUcontext context = NULL;

	GT_AROUND(context = prepare_end(device, reset), driver(device), complete_end(context, device, reset));
}

static CUresult hook_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	return end_primary(gt_cu.cuDevicePrimaryCtxRelease_v2, device, false);
}

static CUresult hook_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	return end_primary(gt_cu.cuDevicePrimaryCtxReset_v2, device, true);
}

const struct gt_hook gt_context_hooks[] = {
	GT_HOOK(cuCtxDestroy_v2, false),
	GT_HOOK(cuDevicePrimaryCtxRelease_v2, false),
	GT_HOOK(cuDevicePrimaryCtxReset_v2, false),
	{ 0 },
};
