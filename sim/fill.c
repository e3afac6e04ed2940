/* SPDX-License-Identifier: Apache-2.0 */
/* Fills: memset in one and two dimensions, of 1, 2 and 4 bytes. */
#include <string.h>

#include "sim/memory.h"
#include "sim/stream.h"

static bool extent(const CUDA_MEMSET_NODE_PARAMS_v1 *f, uint64_t *ret_size)
{
	unsigned __int128 size = (unsigned __int128)f->width * f->elementSize;

	if (f->height > 1)
		size += (unsigned __int128)f->pitch * (f->height - 1);
	if (size > UINT64_MAX)
		return false;
	*ret_size = (uint64_t)size;
	return true;
}

CUresult sim_fill_check(const CUDA_MEMSET_NODE_PARAMS_v1 *fill)
{
	unsigned e = fill->elementSize;
	uint64_t size;

	if ((e != 1 && e != 2 && e != 4) || fill->dst % e)
		return CUDA_ERROR_INVALID_VALUE;
	if (!fill->width || !fill->height)
		return CUDA_SUCCESS;
	if (fill->height > 1 && (fill->pitch % e || fill->pitch / e < fill->width))
		return CUDA_ERROR_INVALID_VALUE;
	if (!extent(fill, &size) || !sim_memory_holds(fill->dst, size))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static void fill_row(uint64_t dst, unsigned value, unsigned element, size_t width)
{
	uint16_t *shorts = (uint16_t *)dst;
	uint32_t *words = (uint32_t *)dst;

	if (element == 1)
		memset((void *)dst, (int)value, width);
	for (size_t i = 0; element == 2 && i < width; i++)
		shorts[i] = (uint16_t)value;
	for (size_t i = 0; element == 4 && i < width; i++)
		words[i] = value;
}

void sim_fill_run(const CUDA_MEMSET_NODE_PARAMS_v1 *fill)
{
	if (!fill->width)
		return;
	for (size_t y = 0; y < fill->height; y++)
		fill_row(fill->dst + y * fill->pitch, fill->value, fill->elementSize, fill->width);
}

static CUresult fill(CUdeviceptr dst, size_t pitch, unsigned value, unsigned element, size_t width,
		     size_t height, CUstream handle, bool async)
{
	struct sim_work work = {
		.type = SIM_WORK_FILL,
		.fill = { .dst = dst, .pitch = pitch, .value = value, .elementSize = element,
			  .width = width, .height = height },
	};
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	r = r ? r : sim_fill_check(&work.fill);
	if (r != CUDA_SUCCESS || !width || !height)
		return r;
	return async ? sim_submit(stream, &work, NULL) : sim_submit_wait(stream, &work);
}

#define FILL(bits, type)									\
	CUresult sim_cuMemsetD##bits##_v2(CUdeviceptr dst, type value, size_t count)		\
	{											\
		return fill(dst, 0, value, bits / 8, count, 1, CU_STREAM_LEGACY, false);	\
	}											\
	CUresult sim_cuMemsetD##bits##_v2_ptds(CUdeviceptr dst, type value, size_t count)	\
	{											\
		return fill(dst, 0, value, bits / 8, count, 1, CU_STREAM_PER_THREAD, false);	\
	}											\
	CUresult sim_cuMemsetD##bits##Async(CUdeviceptr dst, type value, size_t count,		\
					    CUstream stream)					\
	{											\
		return fill(dst, 0, value, bits / 8, count, 1, stream, true);			\
	}											\
	CUresult sim_cuMemsetD2D##bits##_v2(CUdeviceptr dst, size_t pitch, type value,		\
					    size_t width, size_t height)			\
	{											\
		return fill(dst, pitch, value, bits / 8, width, height, CU_STREAM_LEGACY, false);	\
	}											\
	CUresult sim_cuMemsetD2D##bits##_v2_ptds(CUdeviceptr dst, size_t pitch, type value,	\
						 size_t width, size_t height)			\
	{											\
		return fill(dst, pitch, value, bits / 8, width, height, CU_STREAM_PER_THREAD,	\
			    false);								\
	}											\
	CUresult sim_cuMemsetD2D##bits##Async(CUdeviceptr dst, size_t pitch, type value,	\
					      size_t width, size_t height, CUstream stream)	\
	{											\
		return fill(dst, pitch, value, bits / 8, width, height, stream, true);		\
	}

FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned int)
