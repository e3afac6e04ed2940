/* SPDX-License-Identifier: Apache-2.0 */
/* What can be asked of a stream, its attributes, and callbacks in it. */
#include <string.h>

#include "sim/stream.h"

CUresult sim_cuStreamGetPriority(CUstream handle, int *ret_priority)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	if (r == CUDA_SUCCESS && !ret_priority)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_priority = stream->priority;
	return r;
}

CUresult sim_cuStreamGetFlags(CUstream handle, unsigned *ret_flags)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	if (r == CUDA_SUCCESS && !ret_flags)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_flags = stream->flags;
	return r;
}

CUresult sim_cuStreamGetId(CUstream handle, unsigned long long *ret_id)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	if (r == CUDA_SUCCESS && !ret_id)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_id = stream->id;
	return r;
}

CUresult sim_cuStreamGetCtx(CUstream handle, CUcontext *ret_ctx)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	if (r == CUDA_SUCCESS && !ret_ctx)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_ctx = stream->ctx;
	return r;
}

CUresult sim_cuStreamGetCtx_v2(CUstream handle, CUcontext *ret_ctx, CUgreenCtx *ret_green)
{
	CUresult r = sim_cuStreamGetCtx(handle, ret_ctx);

	if (r == CUDA_SUCCESS && ret_green)
		*ret_green = NULL;
	return r;
}

CUresult sim_cuStreamGetDevice(CUstream handle, CUdevice *ret_device)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	if (r == CUDA_SUCCESS && !ret_device)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_device = stream->ctx->gpu->ordinal;
	return r;
}

CUresult sim_cuStreamGetAttribute(CUstream handle, CUstreamAttrID attribute,
				  CUstreamAttrValue *ret_value)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_value)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attribute) {
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		ret_value->accessPolicyWindow = stream->policy_window.accessPolicyWindow;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		ret_value->syncPolicy = stream->sync_policy;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		ret_value->priority = stream->priority;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* The attributes are hints to a real device's caches and scheduler; here they are kept. */
CUresult sim_cuStreamSetAttribute(CUstream handle, CUstreamAttrID attribute,
				  const CUstreamAttrValue *value)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	if (r != CUDA_SUCCESS)
		return r;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attribute) {
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		stream->policy_window.accessPolicyWindow = value->accessPolicyWindow;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		stream->sync_policy = value->syncPolicy;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		stream->priority = value->priority;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuStreamCopyAttributes(CUstream to_handle, CUstream from_handle)
{
	struct CUstream_st *to, *from;
	CUresult r = sim_stream(to_handle, &to);

	r = r ? r : sim_stream(from_handle, &from);
	if (r != CUDA_SUCCESS)
		return r;
	to->policy_window = from->policy_window;
	to->sync_policy = from->sync_policy;
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamCopyAttributes_ptsz(CUstream to, CUstream from)
{
	return sim_cuStreamCopyAttributes(to ? to : CU_STREAM_PER_THREAD,
					  from ? from : CU_STREAM_PER_THREAD);
}

CUresult sim_cuStreamAddCallback(CUstream handle, CUstreamCallback function, void *data,
				 unsigned flags)
{
	struct sim_work work = { .type = SIM_WORK_CALLBACK };
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	if (r != CUDA_SUCCESS)
		return r;
	if (!function || flags)
		return CUDA_ERROR_INVALID_VALUE;
	work.callback.function = function;
	work.callback.stream = handle;
	work.callback.data = data;
	return sim_submit(stream, &work, NULL);
}

CUresult sim_cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data)
{
	struct sim_work work = { .type = SIM_WORK_HOST };
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	if (r != CUDA_SUCCESS)
		return r;
	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	work.host.fn = function;
	work.host.userData = data;
	return sim_submit(stream, &work, NULL);
}

/* Managed memory is always reachable from everywhere here. */
CUresult sim_cuStreamAttachMemAsync(CUstream handle, CUdeviceptr ptr, size_t length, unsigned flags)
{
	struct CUstream_st *stream;

	(void)length;
	if (!ptr || !(flags & (CU_MEM_ATTACH_GLOBAL | CU_MEM_ATTACH_HOST | CU_MEM_ATTACH_SINGLE)))
		return CUDA_ERROR_INVALID_VALUE;
	return sim_stream(handle, &stream);
}
