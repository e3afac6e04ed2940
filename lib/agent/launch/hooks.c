/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's launch functions. */
#include <errno.h>

#include "lib/agent/agent.h"
#include "lib/agent/hook/hooks.h"
#include "lib/agent/launch/launch.h"

/*
 * Every launch hook is the same: PLAIN is the driver's function as the program called
 * it, for calls that are not the program's own or that the driver refuses; BEGIN notes
 * the launch in `l`; CALL is the driver's function with what `l` says.
 */
#define LAUNCH(complete, PLAIN, BEGIN, stream, per_thread, CALL) \
	int saved = errno; \
	struct gt_launch l; \
	CUresult result; \
	\
	if (!gt_enter() || !(complete)) { \
		result = PLAIN; \
		gt_leave(); \
		return result; \
	} \
	BEGIN; \
	gt_launch_stream(&l, stream, per_thread); \
	gt_launch_extend(&l, GT_LAUNCH_ROOM(l.kernel)); \
	errno = saved; \
	do \
		result = CALL; \
	while (gt_launch_again(&l, result)); \
	saved = errno; \
	gt_launch_end(&l, result); \
	gt_leave(); \
	errno = saved; \
	return result

typedef CUresult launch_fn(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
			   unsigned int, unsigned int, unsigned int, CUstream, void **, void **);

static CUresult launch(launch_fn *driver, bool per_thread, CUfunction f,
		       unsigned int gx, unsigned int gy, unsigned int gz,
		       unsigned int bx, unsigned int by, unsigned int bz,
		       unsigned int shared, CUstream stream, void **params, void **extra)
{
	LAUNCH(true, driver(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra),
	       gt_launch_begin(&l, f, (unsigned int[]){ gx, gy, gz }, (unsigned int[]){ bx, by, bz }, shared, params,
			       extra),
	       stream, per_thread,
	       driver((CUfunction)l.function, gx, gy, gz, bx, by, bz, shared, stream, l.params, l.extra));
}

static CUresult hook_cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
				    unsigned int bx, unsigned int by, unsigned int bz,
				    unsigned int shared, CUstream stream, void **params, void **extra)
{
	return launch(gt_cu.cuLaunchKernel, false, f, gx, gy, gz, bx, by, bz, shared, stream,
		      params, extra);
}

static CUresult hook_cuLaunchKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy,
					 unsigned int gz, unsigned int bx, unsigned int by,
					 unsigned int bz, unsigned int shared, CUstream stream,
					 void **params, void **extra)
{
	return launch(gt_cu.cuLaunchKernel_ptsz, true, f, gx, gy, gz, bx, by, bz, shared, stream,
		      params, extra);
}

static void begin_ex(struct gt_launch *l, const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	gt_launch_begin(l, f,
			(unsigned int[]){ config->gridDimX, config->gridDimY, config->gridDimZ },
			(unsigned int[]){ config->blockDimX, config->blockDimY, config->blockDimZ },
			config->sharedMemBytes, params, extra);
	l->config = config;
}

static CUresult launch_ex(CUresult (*driver)(const CUlaunchConfig *, CUfunction, void **, void **),
			  bool per_thread, const CUlaunchConfig *config, CUfunction f,
			  void **params, void **extra)
{
	LAUNCH(config, driver(config, f, params, extra), begin_ex(&l, config, f, params, extra),
	       config->hStream, per_thread, driver(config, (CUfunction)l.function, l.params, l.extra));
}

static CUresult hook_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params,
				      void **extra)
{
	return launch_ex(gt_cu.cuLaunchKernelEx, false, config, f, params, extra);
}

static CUresult hook_cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **params,
					   void **extra)
{
	return launch_ex(gt_cu.cuLaunchKernelEx_ptsz, true, config, f, params, extra);
}

typedef CUresult cooperative_fn(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
				unsigned int, unsigned int, unsigned int, CUstream, void **);

static void begin_cooperative(struct gt_launch *l, CUfunction f, const unsigned int grid[3],
			      const unsigned int block[3], unsigned int shared, void **params)
{
	gt_launch_begin(l, f, grid, block, shared, params, NULL);
	l->record.flags |= GT_LAUNCH_COOPERATIVE;
}

static CUresult launch_cooperative(cooperative_fn *driver, bool per_thread, CUfunction f,
				   unsigned int gx, unsigned int gy, unsigned int gz,
				   unsigned int bx, unsigned int by, unsigned int bz,
				   unsigned int shared, CUstream stream, void **params)
{
	LAUNCH(true, driver(f, gx, gy, gz, bx, by, bz, shared, stream, params),
	       begin_cooperative(&l, f, (unsigned int[]){ gx, gy, gz }, (unsigned int[]){ bx, by, bz }, shared,
				 params),
	       stream, per_thread, driver((CUfunction)l.function, gx, gy, gz, bx, by, bz, shared, stream, l.params));
}

static CUresult hook_cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy,
					       unsigned int gz, unsigned int bx, unsigned int by,
					       unsigned int bz, unsigned int shared, CUstream stream,
					       void **params)
{
	return launch_cooperative(gt_cu.cuLaunchCooperativeKernel, false, f, gx, gy, gz, bx, by, bz,
				  shared, stream, params);
}

static CUresult hook_cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy,
						    unsigned int gz, unsigned int bx, unsigned int by,
						    unsigned int bz, unsigned int shared,
						    CUstream stream, void **params)
{
	return launch_cooperative(gt_cu.cuLaunchCooperativeKernel_ptsz, true, f, gx, gy, gz, bx, by,
				  bz, shared, stream, params);
}

const struct gt_hook gt_launch_hooks[] = {
	GT_HOOK(cuLaunchKernel, true),
	GT_HOOK(cuLaunchKernel_ptsz, true),
	GT_HOOK(cuLaunchKernelEx, true),
	GT_HOOK(cuLaunchKernelEx_ptsz, true),
	GT_HOOK(cuLaunchCooperativeKernel, true),
	GT_HOOK(cuLaunchCooperativeKernel_ptsz, true),
	{ 0 },
};
