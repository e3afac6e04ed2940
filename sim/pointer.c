/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of pointers. */
#include <string.h>

#include "sim/memory.h"

/* Write the attribute's value, of whatever type it has, to data; zero for memory nobody knows. */
static CUresult get(const struct sim_range *range, CUpointer_attribute attribute, uint64_t ptr,
		    void *data)
{
	bool host = range && (range->kind == SIM_MEMORY_HOST || range->kind == SIM_MEMORY_REGISTERED);
	bool managed = range && range->kind == SIM_MEMORY_MANAGED;

	switch ((int)attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = range ? range->ctx : NULL;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)data = !range ? 0 : host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)data = range ? ptr : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*(void **)data = host || managed ? (void *)(uintptr_t)ptr : NULL;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)data = range ? range->id : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned *)data = managed;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = range ? range->gpu->ordinal : CU_DEVICE_INVALID;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = range ? range->base : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = range ? range->size : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(unsigned *)data = range != NULL;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(unsigned *)data = range ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		*(unsigned *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(unsigned long long *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data = NULL;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	CUresult r = sim_ready();
	struct sim_range range;

	if (r != CUDA_SUCCESS)
		return r;
	if (!data || !sim_memory_find(ptr, &range))
		return CUDA_ERROR_INVALID_VALUE;
	return get(&range, attribute, ptr, data);
}

/* Unlike the single form this one answers for unknown memory too, with zeros. */
CUresult sim_cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data,
				    CUdeviceptr ptr)
{
	CUresult r = sim_ready();
	struct sim_range range;
	bool known;

	if (r != CUDA_SUCCESS)
		return r;
	if (!count || !attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	known = sim_memory_find(ptr, &range);
	for (unsigned i = 0; i < count && r == CUDA_SUCCESS; i++)
		r = data[i] ? get(known ? &range : NULL, attributes[i], ptr, data[i])
			    : CUDA_ERROR_INVALID_VALUE;
	return r;
}

/* SYNC_MEMOPS is the only one that can be set; synchronous calls always wait here. */
CUresult sim_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	CUresult r = sim_ready();
	struct sim_range range;

	if (r != CUDA_SUCCESS)
		return r;
	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !sim_memory_find(ptr, &range))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}
