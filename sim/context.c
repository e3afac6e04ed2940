/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts.  A destroyed context stays allocated, empty and marked dead, because
 * other threads may still hold it on their stacks and ask about it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"
#include "sim/module.h"
#include "sim/stream.h"

#define STACK	64

static atomic_bool ready;
static atomic_bool forked;
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUctx_st *contexts;

/* Contexts that are current to this thread, the last one on top. */
static __thread struct CUctx_st *stack[STACK];
static __thread unsigned depth;

CUresult sim_ready(void)
{
	return atomic_load_explicit(&ready, memory_order_acquire) ? CUDA_SUCCESS
								  : CUDA_ERROR_NOT_INITIALIZED;
}

/* As with the real driver, a child of fork cannot use what its parent set up. */
static void in_child(void)
{
	if (atomic_load(&ready))
		atomic_store(&forked, true);
	atomic_store(&ready, false);
}

CUresult sim_cuInit(unsigned flags)
{
	static __thread bool initialising;
	CUresult r = CUDA_SUCCESS;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (atomic_load(&forked))
		return CUDA_ERROR_NOT_INITIALIZED;
	/* An injected library may call this from within; it must not wait for itself. */
	if (initialising)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&init_lock);
	if (!atomic_load(&ready)) {
		sim_clock_init();
		r = sim_devices_init();
		if (r == CUDA_SUCCESS) {
			pthread_atfork(NULL, NULL, in_child);
			atomic_store_explicit(&ready, true, memory_order_release);
			initialising = true;
			sim_inject();
			initialising = false;
		}
	}
	pthread_mutex_unlock(&init_lock);
	return r;
}

CUresult sim_cuDriverGetVersion(int *ret_version)
{
	if (!ret_version)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_version = SIM_DRIVER_VERSION;
	return CUDA_SUCCESS;
}

static bool exists(const struct CUctx_st *ctx)
{
	const struct CUctx_st *c;

	pthread_mutex_lock(&contexts_lock);
	for (c = contexts; c && c != ctx; c = c->next)
		;
	pthread_mutex_unlock(&contexts_lock);
	return c != NULL;
}

/* A handle from the caller: does it name a context that lives, in error or not? */
static CUresult check_alive(const struct CUctx_st *ctx)
{
	CUresult r = sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!ctx || !exists(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	return atomic_load(&ctx->alive) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult sim_context_check(struct CUctx_st *ctx)
{
	CUresult r = sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!atomic_load(&ctx->alive))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	return (CUresult)atomic_load(&ctx->error);
}

CUresult sim_current(struct CUctx_st **ret_ctx)
{
	struct CUctx_st *ctx = depth ? stack[depth - 1] : NULL;
	CUresult r = sim_context_check(ctx);

	if (r == CUDA_SUCCESS)
		*ret_ctx = ctx;
	return r;
}

struct CUctx_st *sim_context_of(CUdevice dev)
{
	struct CUctx_st *ctx = depth ? stack[depth - 1] : NULL;
	struct sim_gpu *gpu = sim_gpu(dev);

	if (ctx && ctx->gpu == gpu && atomic_load(&ctx->alive))
		return ctx;
	ctx = gpu ? gpu->primary : NULL;
	return ctx && atomic_load(&ctx->alive) ? ctx : NULL;
}

struct CUctx_st *sim_context_next(struct CUctx_st *ctx)
{
	struct CUctx_st *next;

	pthread_mutex_lock(&contexts_lock);
	next = ctx ? ctx->next : contexts;
	pthread_mutex_unlock(&contexts_lock);
	return next;
}

void sim_context_fail(struct CUctx_st *ctx, CUresult error, const char *text)
{
	int none = CUDA_SUCCESS;

	if (atomic_compare_exchange_strong(&ctx->error, &none, (int)error) && text)
		fprintf(stderr, "gputrace software device %d: %s\n", ctx->gpu->ordinal, text);
}

static CUresult context_new(struct sim_gpu *gpu, unsigned flags, bool primary,
			    struct CUctx_st **ret_ctx)
{
	static uint64_t last_id;
	struct CUctx_st *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return CUDA_ERROR_OUT_OF_MEMORY;
	ctx->gpu = gpu;
	ctx->flags = flags;
	ctx->primary = primary;
	ctx->api_version = 3020;
	pthread_mutex_lock(&contexts_lock);
	ctx->id = ++last_id;
	ctx->next = contexts;
	contexts = ctx;
	pthread_mutex_unlock(&contexts_lock);
	*ret_ctx = ctx;
	return CUDA_SUCCESS;
}

/* Fill a new or emptied context with what a live one has. */
static CUresult context_start(struct CUctx_st *ctx)
{
	static const size_t limits[SIM_LIMITS] = {
		[CU_LIMIT_STACK_SIZE] = 1024, [CU_LIMIT_PRINTF_FIFO_SIZE] = 7340032,
		[CU_LIMIT_MALLOC_HEAP_SIZE] = 8388608, [CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
		[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
		[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
	};

	memcpy(ctx->limits, limits, sizeof(limits));
	ctx->legacy = sim_stream_new(ctx, CU_STREAM_DEFAULT, 0);
	if (!ctx->legacy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_store(&ctx->error, CUDA_SUCCESS);
	atomic_store(&ctx->grid_id, 0);
	atomic_store(&ctx->alive, true);
	return CUDA_SUCCESS;
}

static void context_stop(struct CUctx_st *ctx)
{
	atomic_store(&ctx->alive, false);
	sim_context_drain(ctx);
	sim_context_free_streams(ctx);
	sim_context_free_events(ctx);
	sim_context_free_modules(ctx);
	sim_memory_free_all(ctx);
	for (unsigned i = 0; i < SIM_MAX_DEVICES; i++) {
		if (ctx->peer[i])
			ctx->gpu->peers[i]--;
		ctx->peer[i] = false;
	}
}

static CUresult push(struct CUctx_st *ctx)
{
	if (depth == STACK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = ctx;
	return CUDA_SUCCESS;
}

/* Primary contexts */

CUresult sim_cuDevicePrimaryCtxRetain(CUcontext *ret_ctx, CUdevice dev)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, ret_ctx, &gpu);

	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&lock);
	if (!gpu->primary)
		r = context_new(gpu, 0, true, &gpu->primary);
	if (r == CUDA_SUCCESS && !atomic_load(&gpu->primary->alive))
		r = context_start(gpu->primary);
	if (r == CUDA_SUCCESS) {
		gpu->primary->retained++;
		*ret_ctx = gpu->primary;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

CUresult sim_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, true, &gpu);

	if (r != CUDA_SUCCESS)
		return r;
	if (!gpu->primary || !gpu->primary->retained)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (--gpu->primary->retained == 0 && atomic_load(&gpu->primary->alive))
		context_stop(gpu->primary);
	return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return sim_cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult sim_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *ret_flags, int *ret_active)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, true, &gpu);

	if (r != CUDA_SUCCESS)
		return r;
	if (ret_flags)
		*ret_flags = gpu->primary ? gpu->primary->flags : 0;
	if (ret_active)
		*ret_active = gpu->primary && atomic_load(&gpu->primary->alive);
	return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned flags)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, !(flags & ~(unsigned)CU_CTX_FLAGS_MASK), &gpu);

	if (r != CUDA_SUCCESS)
		return r;
	if (!gpu->primary)
		r = context_new(gpu, flags, true, &gpu->primary);
	if (r == CUDA_SUCCESS)
		gpu->primary->flags = flags;
	return r;
}

CUresult sim_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned flags)
{
	return sim_cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

/* Empties the context; those who retained it find it started anew, without the error. */
CUresult sim_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, true, &gpu);

	if (r != CUDA_SUCCESS)
		return r;
	if (!gpu->primary || !atomic_load(&gpu->primary->alive))
		return CUDA_SUCCESS;
	context_stop(gpu->primary);
	return gpu->primary->retained ? context_start(gpu->primary) : CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxReset(CUdevice dev)
{
	return sim_cuDevicePrimaryCtxReset_v2(dev);
}

/* Other contexts */

static CUresult create(CUcontext *ret_ctx, unsigned flags, CUdevice dev, unsigned api_version)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, ret_ctx && !(flags & ~(unsigned)CU_CTX_FLAGS_MASK), &gpu);
	struct CUctx_st *ctx;

	if (r != CUDA_SUCCESS)
		return r;
	r = context_new(gpu, flags, false, &ctx);
	r = r ? r : context_start(ctx);
	r = r ? r : push(ctx);
	if (r != CUDA_SUCCESS)
		return r;
	ctx->api_version = api_version;
	*ret_ctx = ctx;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxCreate(CUcontext *ret_ctx, unsigned flags, CUdevice dev)
{
	return create(ret_ctx, flags, dev, 3010);
}

CUresult sim_cuCtxCreate_v2(CUcontext *ret_ctx, unsigned flags, CUdevice dev)
{
	return create(ret_ctx, flags, dev, 3020);
}

CUresult sim_cuCtxCreate_v3(CUcontext *ret_ctx, CUexecAffinityParam *params, int count,
			    unsigned flags, CUdevice dev)
{
	if (params || count)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	return create(ret_ctx, flags, dev, 3020);
}

CUresult sim_cuCtxCreate_v4(CUcontext *ret_ctx, CUctxCreateParams *params, unsigned flags,
			    CUdevice dev)
{
	if (params && params->numExecAffinityParams)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	if (params && params->cigParams)
		return CUDA_ERROR_NOT_SUPPORTED;
	return create(ret_ctx, flags, dev, 3020);
}

CUresult sim_cuCtxDestroy_v2(CUcontext ctx)
{
	CUresult r = check_alive(ctx);

	if (r != CUDA_SUCCESS)
		return r;
	if (ctx->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	context_stop(ctx);
	if (depth && stack[depth - 1] == ctx)
		depth--;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxDestroy(CUcontext ctx)
{
	return sim_cuCtxDestroy_v2(ctx);
}

CUresult sim_cuCtxPushCurrent_v2(CUcontext ctx)
{
	CUresult r = check_alive(ctx);

	return r ? r : push(ctx);
}

CUresult sim_cuCtxPushCurrent(CUcontext ctx)
{
	return sim_cuCtxPushCurrent_v2(ctx);
}

CUresult sim_cuCtxPopCurrent_v2(CUcontext *ret_ctx)
{
	CUresult r = sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (ret_ctx)
		*ret_ctx = stack[depth];
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxPopCurrent(CUcontext *ret_ctx)
{
	return sim_cuCtxPopCurrent_v2(ret_ctx);
}

CUresult sim_cuCtxSetCurrent(CUcontext ctx)
{
	CUresult r = ctx ? check_alive(ctx) : sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!ctx) {
		depth -= depth > 0;
		return CUDA_SUCCESS;
	}
	if (!depth)
		return push(ctx);
	stack[depth - 1] = ctx;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetCurrent(CUcontext *ret_ctx)
{
	CUresult r = sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_ctx)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_ctx = depth ? stack[depth - 1] : NULL;
	return CUDA_SUCCESS;
}
