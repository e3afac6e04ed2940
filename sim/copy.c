/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies.  All of them are three-dimensional ones.  Synchronous copies go through
 * the default stream and wait; asynchronous ones from or to ordinary host memory
 * are done with that memory before they return, as on a real device.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"
#include "sim/stream.h"

#define STAGE_MAX	(64 * 1024)	/* larger pieces of ordinary memory are waited for */

/* One side of a copy in one shape. */
struct side {
	CUmemorytype type;
	uint64_t base;
	size_t x, y, z, pitch, height;
};

static struct side source(const CUDA_MEMCPY3D *c)
{
	return (struct side) {
		c->srcMemoryType,
		c->srcMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)c->srcHost : c->srcDevice,
		c->srcXInBytes, c->srcY, c->srcZ, c->srcPitch, c->srcHeight,
	};
}

static struct side target(const CUDA_MEMCPY3D *c)
{
	return (struct side) {
		c->dstMemoryType,
		c->dstMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)c->dstHost : c->dstDevice,
		c->dstXInBytes, c->dstY, c->dstZ, c->dstPitch, c->dstHeight,
	};
}

/* Address of the first byte, and bytes from there to the last one touched; false: too much. */
static bool extent(const struct side *s, const CUDA_MEMCPY3D *c, uint64_t *ret_addr,
		   uint64_t *ret_size)
{
	unsigned __int128 row = s->pitch, plane = row * s->height;
	unsigned __int128 first = s->base + plane * s->z + row * s->y + s->x;
	unsigned __int128 size = c->WidthInBytes;

	if (c->Height > 1)
		size += row * (c->Height - 1);
	if (c->Depth > 1)
		size += plane * (c->Depth - 1);
	if (first + size > UINT64_MAX)
		return false;
	*ret_addr = (uint64_t)first;
	*ret_size = (uint64_t)size;
	return true;
}

static CUresult check_side(const struct side *s, const CUDA_MEMCPY3D *c)
{
	uint64_t addr, size;

	if (s->type == CU_MEMORYTYPE_ARRAY)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (s->type < CU_MEMORYTYPE_HOST || s->type > CU_MEMORYTYPE_UNIFIED || !s->base)
		return CUDA_ERROR_INVALID_VALUE;
	if ((c->Height > 1 || c->Depth > 1) && s->pitch < c->WidthInBytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (c->Depth > 1 && s->height < c->Height)
		return CUDA_ERROR_INVALID_VALUE;
	if (!extent(s, c, &addr, &size))
		return CUDA_ERROR_INVALID_VALUE;
	if (s->type == CU_MEMORYTYPE_DEVICE && !sim_memory_holds(addr, size))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult sim_copy_check(const CUDA_MEMCPY3D *copy)
{
	struct side from = source(copy), to = target(copy);
	CUresult r;

	if (!copy->WidthInBytes || !copy->Height || !copy->Depth)
		return CUDA_SUCCESS;
	if (copy->srcLOD || copy->dstLOD)
		return CUDA_ERROR_NOT_SUPPORTED;
	r = check_side(&from, copy);
	return r ? r : check_side(&to, copy);
}

void sim_copy_run(const CUDA_MEMCPY3D *copy)
{
	struct side from = source(copy), to = target(copy);
	uint64_t src, dst, size;

	if (!copy->WidthInBytes || !copy->Height || !copy->Depth ||
	    !extent(&from, copy, &src, &size) || !extent(&to, copy, &dst, &size))
		return;
	for (size_t z = 0; z < copy->Depth; z++)
		for (size_t y = 0; y < copy->Height; y++)
			memmove((void *)(dst + (z * to.height + y) * to.pitch),
				(const void *)(src + (z * from.height + y) * from.pitch),
				copy->WidthInBytes);
}

/* Ordinary memory of the program, which it may change as soon as the call returns. */
static bool pageable(const struct side *s, const CUDA_MEMCPY3D *c)
{
	uint64_t addr, size;

	if (s->type == CU_MEMORYTYPE_DEVICE || !extent(s, c, &addr, &size))
		return false;
	return !sim_memory_holds(addr, size);
}

/* Copy the source bytes aside, if they are few and in one piece. */
static bool stage(struct sim_work *work)
{
	CUDA_MEMCPY3D *c = &work->copy.what;
	struct side from = source(c);
	uint64_t addr, size;

	if (c->Height > 1 || c->Depth > 1 || !extent(&from, c, &addr, &size) || size > STAGE_MAX)
		return false;
	work->copy.staged = malloc(size);
	if (!work->copy.staged)
		return false;
	memcpy(work->copy.staged, (const void *)addr, size);
	c->srcMemoryType = CU_MEMORYTYPE_HOST;
	c->srcHost = work->copy.staged;
	c->srcXInBytes = c->srcY = c->srcZ = 0;
	return true;
}

static CUresult copy(const CUDA_MEMCPY3D *what, CUstream handle, bool async)
{
	struct sim_work work = { .type = SIM_WORK_COPY };
	struct side from, to;
	struct CUstream_st *stream;
	CUresult r;
	bool wait = !async;

	if (!what)
		return CUDA_ERROR_INVALID_VALUE;
	r = sim_stream(handle, &stream);
	r = r ? r : sim_copy_check(what);
	if (r != CUDA_SUCCESS)
		return r;
	if (!what->WidthInBytes || !what->Height || !what->Depth)
		return CUDA_SUCCESS;
	work.copy.what = *what;
	from = source(what);
	to = target(what);
	if (async && !stream->capture) {
		if (pageable(&to, what))
			wait = true;
		else if (pageable(&from, what))
			wait = !stage(&work);
	}
	return wait ? sim_submit_wait(stream, &work) : sim_submit(stream, &work, NULL);
}

static CUDA_MEMCPY3D line(CUmemorytype to_type, uint64_t to, CUmemorytype from_type, uint64_t from,
			  size_t size)
{
	return (CUDA_MEMCPY3D) {
		.srcMemoryType = from_type, .srcHost = (const void *)(uintptr_t)from,
		.srcDevice = from, .dstMemoryType = to_type, .dstHost = (void *)(uintptr_t)to,
		.dstDevice = to, .WidthInBytes = size, .Height = 1, .Depth = 1,
	};
}

static CUDA_MEMCPY3D plane(const CUDA_MEMCPY2D *c)
{
	return (CUDA_MEMCPY3D) {
		.srcXInBytes = c->srcXInBytes, .srcY = c->srcY, .srcMemoryType = c->srcMemoryType,
		.srcHost = c->srcHost, .srcDevice = c->srcDevice, .srcArray = c->srcArray,
		.srcPitch = c->srcPitch ? c->srcPitch : c->WidthInBytes,
		.dstXInBytes = c->dstXInBytes, .dstY = c->dstY, .dstMemoryType = c->dstMemoryType,
		.dstHost = c->dstHost, .dstDevice = c->dstDevice, .dstArray = c->dstArray,
		.dstPitch = c->dstPitch ? c->dstPitch : c->WidthInBytes,
		.WidthInBytes = c->WidthInBytes, .Height = c->Height, .Depth = 1,
	};
}

static CUDA_MEMCPY3D volume(const CUDA_MEMCPY3D_PEER *c)
{
	return (CUDA_MEMCPY3D) {
		.srcXInBytes = c->srcXInBytes, .srcY = c->srcY, .srcZ = c->srcZ, .srcLOD = c->srcLOD,
		.srcMemoryType = c->srcMemoryType, .srcHost = c->srcHost, .srcDevice = c->srcDevice,
		.srcArray = c->srcArray, .srcPitch = c->srcPitch, .srcHeight = c->srcHeight,
		.dstXInBytes = c->dstXInBytes, .dstY = c->dstY, .dstZ = c->dstZ, .dstLOD = c->dstLOD,
		.dstMemoryType = c->dstMemoryType, .dstHost = c->dstHost, .dstDevice = c->dstDevice,
		.dstArray = c->dstArray, .dstPitch = c->dstPitch, .dstHeight = c->dstHeight,
		.WidthInBytes = c->WidthInBytes, .Height = c->Height, .Depth = c->Depth,
	};
}

#define HOST	CU_MEMORYTYPE_HOST
#define DEVICE	CU_MEMORYTYPE_DEVICE
#define UNIFIED	CU_MEMORYTYPE_UNIFIED

/*
 * Each synchronous call in its two forms, on the legacy and on the thread's own
 * default stream.
 */
#define SYNC(name, per_thread, params, ...)				\
	CUresult sim_##name params					\
	{								\
		CUDA_MEMCPY3D c = __VA_ARGS__;				\
									\
		return copy(&c, CU_STREAM_LEGACY, false);		\
	}								\
	CUresult sim_##per_thread params				\
	{								\
		CUDA_MEMCPY3D c = __VA_ARGS__;				\
									\
		return copy(&c, CU_STREAM_PER_THREAD, false);		\
	}

SYNC(cuMemcpy, cuMemcpy_ptds, (CUdeviceptr dst, CUdeviceptr src, size_t size),
     line(UNIFIED, dst, UNIFIED, src, size))
SYNC(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, (CUdeviceptr dst, const void *src, size_t size),
     line(DEVICE, dst, HOST, (uintptr_t)src, size))
SYNC(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds, (void *dst, CUdeviceptr src, size_t size),
     line(HOST, (uintptr_t)dst, DEVICE, src, size))
SYNC(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds, (CUdeviceptr dst, CUdeviceptr src, size_t size),
     line(DEVICE, dst, DEVICE, src, size))
SYNC(cuMemcpyPeer, cuMemcpyPeer_ptds,
     (CUdeviceptr dst, CUcontext to __attribute__((unused)), CUdeviceptr src,
      CUcontext from __attribute__((unused)), size_t size),
     line(DEVICE, dst, DEVICE, src, size))
SYNC(cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, (const CUDA_MEMCPY2D *what),
     what ? plane(what) : (CUDA_MEMCPY3D) { .WidthInBytes = 1, .Height = 1, .Depth = 1 })
SYNC(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds, (const CUDA_MEMCPY2D *what),
     what ? plane(what) : (CUDA_MEMCPY3D) { .WidthInBytes = 1, .Height = 1, .Depth = 1 })
SYNC(cuMemcpy3DPeer, cuMemcpy3DPeer_ptds, (const CUDA_MEMCPY3D_PEER *what),
     what ? volume(what) : (CUDA_MEMCPY3D) { .WidthInBytes = 1, .Height = 1, .Depth = 1 })

CUresult sim_cuMemcpy3D_v2(const CUDA_MEMCPY3D *what)
{
	return copy(what, CU_STREAM_LEGACY, false);
}

CUresult sim_cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *what)
{
	return copy(what, CU_STREAM_PER_THREAD, false);
}

CUresult sim_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
	CUDA_MEMCPY3D c = line(UNIFIED, dst, UNIFIED, src, size);

	return copy(&c, stream, true);
}

CUresult sim_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
	CUDA_MEMCPY3D c = line(DEVICE, dst, HOST, (uintptr_t)src, size);

	return copy(&c, stream, true);
}

CUresult sim_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
	CUDA_MEMCPY3D c = line(HOST, (uintptr_t)dst, DEVICE, src, size);

	return copy(&c, stream, true);
}

CUresult sim_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
	CUDA_MEMCPY3D c = line(DEVICE, dst, DEVICE, src, size);

	return copy(&c, stream, true);
}

CUresult sim_cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from,
			       size_t size, CUstream stream)
{
	(void)to;
	(void)from;
	return sim_cuMemcpyDtoDAsync_v2(dst, src, size, stream);
}

CUresult sim_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *what, CUstream stream)
{
	CUDA_MEMCPY3D c;

	if (!what)
		return CUDA_ERROR_INVALID_VALUE;
	c = plane(what);
	return copy(&c, stream, true);
}

CUresult sim_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *what, CUstream stream)
{
	return copy(what, stream, true);
}

CUresult sim_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *what, CUstream stream)
{
	CUDA_MEMCPY3D c;

	if (!what)
		return CUDA_ERROR_INVALID_VALUE;
	c = volume(what);
	return copy(&c, stream, true);
}
