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

static CUresult hook_cuCtxDestroy_v2(CUcontext handle)
{
	struct gt_context *context = NULL;
	CUresult result;

	/* For a primary one the driver refuses, and all goes on. */
	if (gt_enter() && !is_primary(handle)) {
		gt_context_finish(handle);
		gt_execs_context_gone(handle);
		gt_modules_context_gone(handle);
		context = gt_context_leave(handle);
	}
	result = gt_cu.cuCtxDestroy_v2(handle);
	/* If it goes on after all, its kernels may still use the memory that we have there. */
	if (context && !result)
		gt_context_end(context);
	gt_leave();
	return result;
}

static void forget_context(CUcontext context)
{
	gt_execs_context_gone(context);
	gt_modules_context_gone(context);
	gt_context_forget(context);
}

/* reset: it ends whoever else uses it. */
static CUresult end_primary(CUresult (*driver)(CUdevice), CUdevice device, bool reset)
{
	CUcontext context = NULL;
	unsigned int flags;
	int in_use = 1;
	CUresult result;

	if (gt_enter()) {
		context = primary_context(device);
		/* Others may go on using one that is released, so then the program must not wait for it. */
		if (context && reset)
			gt_context_finish(context);
		if (context)
			gt_context_flush(context);
	}
	result = driver(device);
	if (context && !result &&
	    (reset || (!gt_cu.cuDevicePrimaryCtxGetState(device, &flags, &in_use) && !in_use)))
		forget_context(context);
	gt_leave();
	return result;
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
