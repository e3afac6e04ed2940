/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel launches: arguments checked and copied at the call, run later. */
#include <stdlib.h>
#include <string.h>

#include "sim/module.h"
#include "sim/stream.h"

/* Copy the parameters into one block, and make the list of pointers to each in it. */
static CUresult copy_params(const struct sim_kernel_info *info, void **params, void **extra,
			    struct sim_kernel_work *work)
{
	const void *buffer = NULL;
	size_t size = 0;

	work->params = calloc(1, info->param_bytes + 8);
	work->pointers = calloc(info->param_count + 1, sizeof(*work->pointers));
	if (!work->params || !work->pointers)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < info->param_count; i++)
		work->pointers[i] = (char *)work->params + info->params[i].offset;
	if (!info->param_count)
		return CUDA_SUCCESS;
	if (params) {
		for (unsigned i = 0; i < info->param_count; i++) {
			if (!params[i])
				return CUDA_ERROR_INVALID_VALUE;
			memcpy(work->pointers[i], params[i], info->params[i].size);
		}
		return CUDA_SUCCESS;
	}
	for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
			size = *(const size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	/* Padding at the end may be left out or added, but no parameter. */
	if (!buffer || size < info->params[info->param_count - 1].offset +
			      info->params[info->param_count - 1].size)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(work->params, buffer, size < info->param_bytes ? size : info->param_bytes);
	return CUDA_SUCCESS;
}

static CUresult take_attributes(const CUlaunchConfig *config, struct sim_kernel_work *work)
{
	if (config->numAttrs && !config->attrs)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttributeValue *value = &config->attrs[i].value;

		switch ((int)config->attrs[i].id) {
		case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
			work->cooperative = value->cooperative != 0;
			break;
		case CU_LAUNCH_ATTRIBUTE_PRIORITY:
			work->priority = value->priority;
			break;
		case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
			work->cluster[0] = value->clusterDim.x;
			work->cluster[1] = value->clusterDim.y;
			work->cluster[2] = value->clusterDim.z;
			break;
		/* Hints, and overlap that a kernel cannot tell from its absence. */
		case CU_LAUNCH_ATTRIBUTE_IGNORE:
		case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
		case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
		case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
			break;
		default:	/* programmatic and completion events, nodes updated by kernels */
			return CUDA_ERROR_NOT_SUPPORTED;
		}
	}
	return CUDA_SUCCESS;
}

static CUresult check(const struct sim_kernel_work *work)
{
	const struct CUfunc_st *f = work->function;
	const uint32_t *g = work->grid, *b = work->block, *c = work->cluster;
	uint64_t threads = (uint64_t)b[0] * b[1] * b[2];

	if (!g[0] || !g[1] || !g[2] || g[0] > 0x7fffffff || g[1] > 65535 || g[2] > 65535 ||
	    !b[0] || !b[1] || !b[2] || b[0] > 1024 || b[1] > 1024 || b[2] > 64 || threads > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	if (threads > f->info->max_threads)
		return CUDA_ERROR_INVALID_VALUE;
	if (work->shared > (unsigned)f->max_dynamic)
		return CUDA_ERROR_INVALID_VALUE;
	if (c[0] > 1 || c[1] > 1 || c[2] > 1) {
		if (!c[0] || !c[1] || !c[2] || (uint64_t)c[0] * c[1] * c[2] > 16 ||
		    ((uint64_t)c[0] * c[1] * c[2] > 8 && !f->non_portable_cluster) ||
		    g[0] % c[0] || g[1] % c[1] || g[2] % c[2])
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	}
	if (work->cooperative &&
	    (uint64_t)g[0] * g[1] * g[2] > (uint64_t)sim_occupancy(f, (unsigned)threads, work->shared) *
						   f->module->gpu->machine.sm_count)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return CUDA_SUCCESS;
}

CUresult sim_kernel_work_make(struct CUctx_st *ctx, const CUlaunchConfig *config, CUfunction handle,
			      void **params, void **extra, struct sim_kernel_work *ret)
{
	struct sim_kernel_work work = {
		.grid = { config->gridDimX, config->gridDimY, config->gridDimZ },
		.block = { config->blockDimX, config->blockDimY, config->blockDimZ },
		.shared = config->sharedMemBytes,
	};
	CUresult r = sim_function(handle, ctx, &work.function);

	if (r != CUDA_SUCCESS)
		return r;
	if (sim_handle_is(handle, SIM_KERNEL))
		work.kern = (CUkernel)handle;
	if (work.function->module->ctx != ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (params && extra)
		return CUDA_ERROR_INVALID_VALUE;
	r = take_attributes(config, &work);
	r = r ? r : check(&work);
	r = r ? r : copy_params(work.function->info, params, extra, &work);
	if (r != CUDA_SUCCESS) {
		free(work.params);
		free(work.pointers);
		return r;
	}
	*ret = work;
	return CUDA_SUCCESS;
}

CUresult sim_kernel_work_copy(struct sim_kernel_work *to, const struct sim_kernel_work *from)
{
	*to = *from;
	to->params = NULL;
	to->pointers = NULL;
	if (!sim_handle_is(from->function, SIM_FUNCTION))
		return CUDA_ERROR_INVALID_HANDLE;
	return copy_params(from->function->info, from->pointers, NULL, to);
}

static CUresult result_of(const struct sim_error *err)
{
	switch (err->kind) {
	case SIM_ERROR_ADDRESS:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case SIM_ERROR_ALIGN:
		return CUDA_ERROR_MISALIGNED_ADDRESS;
	case SIM_ERROR_LAUNCH:
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	case SIM_ERROR_MEMORY:
		return CUDA_ERROR_OUT_OF_MEMORY;
	default:
		return CUDA_ERROR_LAUNCH_FAILED;
	}
}

CUresult sim_kernel_work_run(struct CUctx_st *ctx, const struct sim_kernel_work *work)
{
	struct sim_launch launch = {
		.dynamic_shared = work->shared, .grid_id = work->grid_id,
		.cooperative = work->cooperative, .params = work->params,
	};
	struct sim_error err = { .kind = SIM_OK };
	CUresult r;

	/* A module may be unloaded between the instantiation of a graph and its launch. */
	if (!sim_handle_is(work->function, SIM_FUNCTION))
		return CUDA_ERROR_INVALID_HANDLE;
	memcpy(launch.grid, work->grid, sizeof(launch.grid));
	memcpy(launch.block, work->block, sizeof(launch.block));
	memcpy(launch.cluster, work->cluster, sizeof(launch.cluster));
	if (sim_kernel_run(work->function->kernel, &launch, &err) == 0)
		return CUDA_SUCCESS;
	r = result_of(&err);
	sim_context_fail(ctx, r, err.text);
	return r;
}

static CUresult launch(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	struct sim_work work = { .type = SIM_WORK_KERNEL };
	struct CUstream_st *stream;
	CUresult r = sim_stream(config->hStream, &stream);

	r = r ? r : sim_kernel_work_make(stream->ctx, config, f, params, extra, &work.kernel);
	return r ? r : sim_submit(stream, &work, NULL);
}

CUresult sim_cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			    unsigned by, unsigned bz, unsigned shared, CUstream stream,
			    void **params, void **extra)
{
	CUlaunchConfig config = {
		.gridDimX = gx, .gridDimY = gy, .gridDimZ = gz, .blockDimX = bx, .blockDimY = by,
		.blockDimZ = bz, .sharedMemBytes = shared, .hStream = stream,
	};

	return launch(&config, f, params, extra);
}

CUresult sim_cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
				       unsigned bx, unsigned by, unsigned bz, unsigned shared,
				       CUstream stream, void **params)
{
	CUlaunchAttribute cooperative = {
		.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1,
	};
	CUlaunchConfig config = {
		.gridDimX = gx, .gridDimY = gy, .gridDimZ = gz, .blockDimX = bx, .blockDimY = by,
		.blockDimZ = bz, .sharedMemBytes = shared, .hStream = stream,
		.attrs = &cooperative, .numAttrs = 1,
	};

	return launch(&config, f, params, NULL);
}

CUresult sim_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	return launch(config, f, params, extra);
}

CUresult sim_cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **params,
				   void **extra)
{
	CUlaunchConfig own;

	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	own = *config;
	if (!own.hStream)
		own.hStream = CU_STREAM_PER_THREAD;
	return launch(&own, f, params, extra);
}
