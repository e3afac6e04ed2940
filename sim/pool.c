/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory pools.  Each device has its default one; it holds nothing back, so its
 * attributes are kept and reported but change nothing.
 */
#include <stdlib.h>

#include "sim/memory.h"
#include "sim/stream.h"

struct CUmemPoolHandle_st {
	struct sim_gpu *gpu;
	uint64_t release_threshold;
	int reuse[3];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult default_pool(CUmemoryPool *ret_pool, CUdevice dev)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, ret_pool, &gpu);

	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&lock);
	if (!gpu->pool) {
		CUmemoryPool pool = calloc(1, sizeof(*pool));

		if (pool && sim_handle_add(pool, SIM_POOL)) {
			*pool = (struct CUmemPoolHandle_st) { .gpu = gpu, .reuse = { 1, 1, 1 } };
			gpu->pool = pool;
		} else {
			free(pool);
		}
	}
	pthread_mutex_unlock(&lock);
	if (!gpu->pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_pool = gpu->pool;
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetDefaultMemPool(CUmemoryPool *ret_pool, CUdevice dev)
{
	return default_pool(ret_pool, dev);
}

CUresult sim_cuDeviceGetMemPool(CUmemoryPool *ret_pool, CUdevice dev)
{
	return default_pool(ret_pool, dev);
}

CUresult sim_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	CUmemoryPool own;
	CUresult r = default_pool(&own, dev);

	return r ? r : pool == own ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check(CUmemoryPool pool, const void *value)
{
	CUresult r = sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	return value && sim_handle_is(pool, SIM_POOL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult r = check(pool, value);
	size_t left, total;

	if (r != CUDA_SUCCESS)
		return r;
	switch ((int)attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)value = pool->reuse[attribute - 1];
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(uint64_t *)value = pool->release_threshold;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		sim_memory_info(pool->gpu, &left, &total);
		*(uint64_t *)value = total - left;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	CUresult r = check(pool, value);

	if (r != CUDA_SUCCESS)
		return r;
	switch ((int)attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		pool->reuse[attribute - 1] = *(int *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		pool->release_threshold = *(uint64_t *)value;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	(void)keep;
	return check(pool, pool);
}

CUresult sim_cuMemAllocFromPoolAsync(CUdeviceptr *ret_ptr, size_t size, CUmemoryPool pool,
				     CUstream stream)
{
	CUresult r = check(pool, ret_ptr);

	return r ? r : sim_cuMemAllocAsync(ret_ptr, size, stream);
}
