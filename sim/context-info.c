/* SPDX-License-Identifier: Apache-2.0 */
/* What can be asked of a context, and waiting for it. */
#include "sim/stream.h"

CUresult sim_cuCtxGetDevice(CUdevice *ret_device)
{
	CUcontext ctx;
	CUresult r = sim_cuCtxGetCurrent(&ctx);

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_device = ctx->gpu->ordinal;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetDevice_v2(CUdevice *ret_device, CUcontext ctx)
{
	CUresult r = ctx ? sim_context_check(ctx) : CUDA_SUCCESS;

	if (!ctx)
		return sim_cuCtxGetDevice(ret_device);
	if (r == CUDA_SUCCESS && !ret_device)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_device = ctx->gpu->ordinal;
	return r;
}

/* Common start of a call that asks the current context. */
static CUresult current_for(const void *out, struct CUctx_st **ret_ctx)
{
	CUresult r = sim_current(ret_ctx);

	return r == CUDA_SUCCESS && !out ? CUDA_ERROR_INVALID_VALUE : r;
}

CUresult sim_cuCtxGetFlags(unsigned *ret_flags)
{
	struct CUctx_st *ctx;
	CUresult r = current_for(ret_flags, &ctx);

	if (r == CUDA_SUCCESS)
		*ret_flags = ctx->flags;
	return r;
}

CUresult sim_cuCtxSetFlags(unsigned flags)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);

	if (r == CUDA_SUCCESS && (flags & ~(unsigned)CU_CTX_FLAGS_MASK))
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		ctx->flags = flags;
	return r;
}

CUresult sim_cuCtxGetId(CUcontext ctx, unsigned long long *ret_id)
{
	CUresult r = ctx ? sim_context_check(ctx) : sim_current(&ctx);

	if (r == CUDA_SUCCESS && !ret_id)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_id = ctx->id;
	return r;
}

CUresult sim_cuCtxGetApiVersion(CUcontext ctx, unsigned *ret_version)
{
	CUresult r = ctx ? sim_context_check(ctx) : sim_current(&ctx);

	if (r == CUDA_SUCCESS && !ret_version)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_version = ctx->api_version;
	return r;
}

CUresult sim_cuCtxSynchronize_v2(CUcontext ctx)
{
	CUresult r = ctx ? sim_context_check(ctx) : sim_current(&ctx);

	r = r ? r : sim_capture_allows();
	if (r != CUDA_SUCCESS)
		return r;
	sim_context_drain(ctx);
	return (CUresult)atomic_load(&ctx->error);
}

CUresult sim_cuCtxSynchronize(void)
{
	return sim_cuCtxSynchronize_v2(NULL);
}

CUresult sim_cuCtxGetLimit(size_t *ret_value, CUlimit limit)
{
	struct CUctx_st *ctx;
	CUresult r = current_for(ret_value, &ctx);

	if (r == CUDA_SUCCESS && (unsigned)limit >= SIM_LIMITS)
		r = CUDA_ERROR_UNSUPPORTED_LIMIT;
	if (r == CUDA_SUCCESS)
		*ret_value = ctx->limits[limit];
	return r;
}

CUresult sim_cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);

	if (r == CUDA_SUCCESS && (unsigned)limit >= SIM_LIMITS)
		r = CUDA_ERROR_UNSUPPORTED_LIMIT;
	if (r == CUDA_SUCCESS)
		ctx->limits[limit] = value;
	return r;
}

CUresult sim_cuCtxGetCacheConfig(CUfunc_cache *ret_config)
{
	struct CUctx_st *ctx;
	CUresult r = current_for(ret_config, &ctx);

	if (r == CUDA_SUCCESS)
		*ret_config = ctx->cache_config;
	return r;
}

CUresult sim_cuCtxSetCacheConfig(CUfunc_cache config)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);

	if (r == CUDA_SUCCESS && (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		ctx->cache_config = config;
	return r;
}

CUresult sim_cuCtxGetSharedMemConfig(CUsharedconfig *ret_config)
{
	struct CUctx_st *ctx;
	CUresult r = current_for(ret_config, &ctx);

	if (r == CUDA_SUCCESS)
		*ret_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	return r;
}

CUresult sim_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);

	if (r == CUDA_SUCCESS && (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
		r = CUDA_ERROR_INVALID_VALUE;
	return r;
}

CUresult sim_cuCtxResetPersistingL2Cache(void)
{
	struct CUctx_st *ctx;

	return sim_current(&ctx);
}

CUresult sim_cuCtxGetStreamPriorityRange(int *ret_least, int *ret_greatest)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);

	if (r != CUDA_SUCCESS)
		return r;
	if (ret_least)
		*ret_least = 0;
	if (ret_greatest)
		*ret_greatest = -5;
	return CUDA_SUCCESS;
}

/* Peers: memory of another device is reachable by kernels once access is enabled. */

CUresult sim_cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);

	r = r ? r : sim_context_check(peer);
	if (r != CUDA_SUCCESS)
		return r;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (peer->gpu == ctx->gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	if (ctx->peer[peer->gpu->ordinal])
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	ctx->peer[peer->gpu->ordinal] = true;
	ctx->gpu->peers[peer->gpu->ordinal]++;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxDisablePeerAccess(CUcontext peer)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);

	r = r ? r : sim_context_check(peer);
	if (r != CUDA_SUCCESS)
		return r;
	if (!ctx->peer[peer->gpu->ordinal])
		return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	ctx->peer[peer->gpu->ordinal] = false;
	ctx->gpu->peers[peer->gpu->ordinal]--;
	return CUDA_SUCCESS;
}
