/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's calls that allocate, free and describe memory. */
#include <string.h>

#include "sim/memory.h"
#include "sim/stream.h"

#define KIND(k)		(1u << SIM_MEMORY_##k)
#define PITCH		512

static CUresult alloc(CUdeviceptr *ret_ptr, size_t size, enum sim_memory_kind kind, unsigned flags)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);
	uint64_t addr;

	r = r ? r : sim_capture_allows();
	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_ptr)
		return CUDA_ERROR_INVALID_VALUE;
	r = sim_memory_new(ctx->gpu, ctx, kind, size, flags, &addr);
	if (r == CUDA_SUCCESS)
		*ret_ptr = addr;
	return r;
}

/* Kernels that run may still use the memory, so freeing waits for them, as it does on a real device. */
static CUresult release(uint64_t addr, unsigned kinds, CUresult not_found)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);
	struct sim_range range;

	r = r ? r : sim_capture_allows();
	if (r != CUDA_SUCCESS)
		return r;
	if (!sim_memory_find(addr, &range) || range.base != addr || !(kinds & 1u << range.kind))
		return not_found;
	sim_context_drain(range.ctx ? range.ctx : ctx);
	return sim_memory_free(addr, kinds) ? (CUresult)atomic_load(&ctx->error) : not_found;
}

CUresult sim_cuMemAlloc_v2(CUdeviceptr *ret_ptr, size_t size)
{
	return alloc(ret_ptr, size, SIM_MEMORY_DEVICE, 0);
}

CUresult sim_cuMemAllocPitch_v2(CUdeviceptr *ret_ptr, size_t *ret_pitch, size_t width,
				size_t height, unsigned element)
{
	size_t pitch = (width + PITCH - 1) / PITCH * PITCH;
	size_t size;
	CUresult r;

	if (!ret_pitch || (element != 4 && element != 8 && element != 16) || pitch < width ||
	    __builtin_mul_overflow(pitch, height, &size))
		return CUDA_ERROR_INVALID_VALUE;
	r = alloc(ret_ptr, size, SIM_MEMORY_DEVICE, 0);
	if (r == CUDA_SUCCESS)
		*ret_pitch = pitch;
	return r;
}

CUresult sim_cuMemAllocManaged(CUdeviceptr *ret_ptr, size_t size, unsigned flags)
{
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	return alloc(ret_ptr, size, SIM_MEMORY_MANAGED, flags);
}

CUresult sim_cuMemFree_v2(CUdeviceptr ptr)
{
	if (!ptr)
		return sim_ready();
	return release(ptr, KIND(DEVICE) | KIND(MANAGED), CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuMemHostAlloc(void **ret_memory, size_t size, unsigned flags)
{
	CUdeviceptr ptr;
	CUresult r;

	if (!ret_memory || (flags & ~(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
				      CU_MEMHOSTALLOC_WRITECOMBINED)))
		return CUDA_ERROR_INVALID_VALUE;
	r = alloc(&ptr, size, SIM_MEMORY_HOST, flags);
	if (r == CUDA_SUCCESS)
		*ret_memory = (void *)(uintptr_t)ptr;
	return r;
}

CUresult sim_cuMemAllocHost_v2(void **ret_memory, size_t size)
{
	return sim_cuMemHostAlloc(ret_memory, size, CU_MEMHOSTALLOC_DEVICEMAP);
}

CUresult sim_cuMemAllocHost(void **ret_memory, unsigned size)
{
	return sim_cuMemAllocHost_v2(ret_memory, size);
}

CUresult sim_cuMemFreeHost(void *memory)
{
	if (!memory)
		return sim_ready();
	return release((uintptr_t)memory, KIND(HOST), CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuMemHostRegister_v2(void *memory, size_t size, unsigned flags)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);

	if (r != CUDA_SUCCESS)
		return r;
	if (flags & ~(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
		      CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
		return CUDA_ERROR_NOT_SUPPORTED;
	return sim_memory_register(ctx, memory, size, flags);
}

CUresult sim_cuMemHostRegister(void *memory, size_t size, unsigned flags)
{
	return sim_cuMemHostRegister_v2(memory, size, flags);
}

CUresult sim_cuMemHostUnregister(void *memory)
{
	return release((uintptr_t)memory, KIND(REGISTERED), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

CUresult sim_cuMemHostGetDevicePointer_v2(CUdeviceptr *ret_ptr, void *memory, unsigned flags)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);
	struct sim_range range;

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_ptr || flags || !sim_memory_find((uintptr_t)memory, &range) ||
	    (range.kind != SIM_MEMORY_HOST && range.kind != SIM_MEMORY_REGISTERED))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_ptr = (uintptr_t)memory;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemHostGetFlags(unsigned *ret_flags, void *memory)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);
	struct sim_range range;

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_flags || !sim_memory_find((uintptr_t)memory, &range) ||
	    range.kind != SIM_MEMORY_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_flags = range.flags;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);

	if (r == CUDA_SUCCESS && (!ret_free || !ret_total))
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		sim_memory_info(ctx->gpu, ret_free, ret_total);
	return r;
}

CUresult sim_cuMemGetAddressRange_v2(CUdeviceptr *ret_base, size_t *ret_size, CUdeviceptr ptr)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);
	struct sim_range range;

	if (r != CUDA_SUCCESS)
		return r;
	if (!sim_memory_find(ptr, &range))
		return CUDA_ERROR_NOT_FOUND;
	if (ret_base)
		*ret_base = range.base;
	if (ret_size)
		*ret_size = range.size;
	return CUDA_SUCCESS;
}

/* Stream-ordered allocation: memory is there at once; it goes when the stream gets to the free. */

CUresult sim_cuMemAllocAsync(CUdeviceptr *ret_ptr, size_t size, CUstream handle)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);
	uint64_t addr;

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_ptr)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->capture)
		return CUDA_ERROR_NOT_SUPPORTED;
	r = sim_memory_new(stream->ctx->gpu, stream->ctx, SIM_MEMORY_DEVICE, size, 0, &addr);
	if (r == CUDA_SUCCESS)
		*ret_ptr = addr;
	return r;
}

CUresult sim_cuMemFreeAsync(CUdeviceptr ptr, CUstream handle)
{
	struct sim_work work = { .type = SIM_WORK_FREE, .freed = ptr };
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);
	struct sim_range range;

	if (r != CUDA_SUCCESS)
		return r;
	if (stream->capture)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!sim_memory_find(ptr, &range) || range.base != ptr || range.kind != SIM_MEMORY_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_submit(stream, &work, NULL);
}

/* Hints about managed memory, which is in one place only. */

static CUresult hint(CUdeviceptr ptr, size_t size)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);
	struct sim_range range;

	if (r != CUDA_SUCCESS)
		return r;
	if (!sim_memory_find(ptr, &range) || range.kind != SIM_MEMORY_MANAGED ||
	    size > range.size - (ptr - range.base))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemAdvise(CUdeviceptr ptr, size_t size, CUmem_advise advice, CUdevice dev)
{
	(void)dev;
	if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
		return CUDA_ERROR_INVALID_VALUE;
	return hint(ptr, size);
}

CUresult sim_cuMemAdvise_v2(CUdeviceptr ptr, size_t size, CUmem_advise advice,
			    CUmemLocation location)
{
	return sim_cuMemAdvise(ptr, size, advice, location.id);
}

CUresult sim_cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t size, CUmemLocation location,
				   unsigned flags, CUstream handle)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	(void)location;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	return r ? r : hint(ptr, size);
}

CUresult sim_cuMemPrefetchAsync(CUdeviceptr ptr, size_t size, CUdevice dev, CUstream handle)
{
	CUmemLocation location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev };

	return sim_cuMemPrefetchAsync_v2(ptr, size, location, 0, handle);
}
