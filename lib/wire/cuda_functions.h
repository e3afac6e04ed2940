/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the CUDA driver API whose types cuda_abi.h declares:
 * X(name, since, parameters).  Every one returns CUresult.  `since` is the CUDA
 * version, major * 1000 + minor * 10, from which cuGetProcAddress hands out this
 * form of the function.  _v2 and the like are later forms with the same base name;
 * _ptsz and _ptds are the forms whose stream NULL is the calling thread's own
 * default stream.
 *
 * For example, a struct of function pointers:
 *	#define X(name, since, params) CUresult (*name) params;
 */
#ifndef GT_WIRE_CUDA_FUNCTIONS_H
#define GT_WIRE_CUDA_FUNCTIONS_H

#include "lib/wire/cuda_abi.h"

#define GT_CUDA_FUNCTIONS(X) \
	/* Driver and devices */ \
	X(cuDeviceCanAccessPeer, 4000, (int *, CUdevice, CUdevice)) \
	X(cuDeviceComputeCapability, 2000, (int *, int *, CUdevice)) \
	X(cuDeviceGet, 2000, (CUdevice *, int)) \
	X(cuDeviceGetAttribute, 2000, (int *, CUdevice_attribute, CUdevice)) \
	X(cuDeviceGetByPCIBusId, 4010, (CUdevice *, const char *)) \
	X(cuDeviceGetCount, 2000, (int *)) \
	X(cuDeviceGetDefaultMemPool, 11020, (CUmemoryPool *, CUdevice)) \
	X(cuDeviceGetExecAffinitySupport, 11040, (int *, CUexecAffinityType, CUdevice)) \
	X(cuDeviceGetMemPool, 11020, (CUmemoryPool *, CUdevice)) \
	X(cuDeviceGetName, 2000, (char *, int, CUdevice)) \
	X(cuDeviceGetP2PAttribute, 8000, (int *, CUdevice_P2PAttribute, CUdevice, CUdevice)) \
	X(cuDeviceGetPCIBusId, 4010, (char *, int, CUdevice)) \
	X(cuDeviceGetProperties, 2000, (CUdevprop *, CUdevice)) \
	X(cuDeviceGetUuid, 9020, (CUuuid *, CUdevice)) \
	X(cuDeviceGetUuid_v2, 11040, (CUuuid *, CUdevice)) \
	X(cuDeviceSetMemPool, 11020, (CUdevice, CUmemoryPool)) \
	X(cuDeviceTotalMem, 2000, (unsigned int *, CUdevice)) \
	X(cuDeviceTotalMem_v2, 3020, (size_t *, CUdevice)) \
	X(cuDriverGetVersion, 2020, (int *)) \
	X(cuGetErrorName, 6000, (CUresult, const char **)) \
	X(cuGetErrorString, 6000, (CUresult, const char **)) \
	X(cuGetExportTable, 3000, (const void **, const CUuuid *)) \
	X(cuGetProcAddress, 11030, (const char *, void **, int, uint64_t)) \
	X(cuGetProcAddress_v2, 12000, (const char *, void **, int, uint64_t, \
	  CUdriverProcAddressQueryResult *)) \
	X(cuInit, 2000, (unsigned int)) \
	X(cuProfilerStart, 4000, (void)) \
	X(cuProfilerStop, 4000, (void)) \
	/* Contexts */ \
	X(cuCtxAttach, 2000, (CUcontext *, unsigned int)) \
	X(cuCtxCreate, 2000, (CUcontext *, unsigned int, CUdevice)) \
	X(cuCtxCreate_v2, 3020, (CUcontext *, unsigned int, CUdevice)) \
	X(cuCtxCreate_v3, 11040, (CUcontext *, CUexecAffinityParam *, int, unsigned int, CUdevice)) \
	X(cuCtxCreate_v4, 12050, (CUcontext *, CUctxCreateParams *, unsigned int, CUdevice)) \
	X(cuCtxDestroy, 2000, (CUcontext)) \
	X(cuCtxDestroy_v2, 4000, (CUcontext)) \
	X(cuCtxDetach, 2000, (CUcontext)) \
	X(cuCtxDisablePeerAccess, 4000, (CUcontext)) \
	X(cuCtxEnablePeerAccess, 4000, (CUcontext, unsigned int)) \
	X(cuCtxGetApiVersion, 3020, (CUcontext, unsigned int *)) \
	X(cuCtxGetCacheConfig, 3020, (CUfunc_cache *)) \
	X(cuCtxGetCurrent, 4000, (CUcontext *)) \
	X(cuCtxGetDevice, 2000, (CUdevice *)) \
	X(cuCtxGetDevice_v2, 13000, (CUdevice *, CUcontext)) \
	X(cuCtxGetExecAffinity, 11040, (CUexecAffinityParam *, CUexecAffinityType)) \
	X(cuCtxGetFlags, 7000, (unsigned int *)) \
	X(cuCtxGetId, 12000, (CUcontext, unsigned long long *)) \
	X(cuCtxGetLimit, 3010, (size_t *, CUlimit)) \
	X(cuCtxGetSharedMemConfig, 4020, (CUsharedconfig *)) \
	X(cuCtxGetStreamPriorityRange, 5050, (int *, int *)) \
	X(cuCtxPopCurrent, 2000, (CUcontext *)) \
	X(cuCtxPopCurrent_v2, 4000, (CUcontext *)) \
	X(cuCtxPushCurrent, 2000, (CUcontext)) \
	X(cuCtxPushCurrent_v2, 4000, (CUcontext)) \
	X(cuCtxRecordEvent, 12050, (CUcontext, CUevent)) \
	X(cuCtxResetPersistingL2Cache, 11000, (void)) \
	X(cuCtxSetCacheConfig, 3020, (CUfunc_cache)) \
	X(cuCtxSetCurrent, 4000, (CUcontext)) \
	X(cuCtxSetFlags, 12010, (unsigned int)) \
	X(cuCtxSetLimit, 3010, (CUlimit, size_t)) \
	X(cuCtxSetSharedMemConfig, 4020, (CUsharedconfig)) \
	X(cuCtxSynchronize, 2000, (void)) \
	X(cuCtxSynchronize_v2, 13000, (CUcontext)) \
	X(cuCtxWaitEvent, 12050, (CUcontext, CUevent)) \
	X(cuDevicePrimaryCtxGetState, 7000, (CUdevice, unsigned int *, int *)) \
	X(cuDevicePrimaryCtxRelease, 7000, (CUdevice)) \
	X(cuDevicePrimaryCtxRelease_v2, 11000, (CUdevice)) \
	X(cuDevicePrimaryCtxReset, 7000, (CUdevice)) \
	X(cuDevicePrimaryCtxReset_v2, 11000, (CUdevice)) \
	X(cuDevicePrimaryCtxRetain, 7000, (CUcontext *, CUdevice)) \
	X(cuDevicePrimaryCtxSetFlags, 7000, (CUdevice, unsigned int)) \
	X(cuDevicePrimaryCtxSetFlags_v2, 11000, (CUdevice, unsigned int)) \
	/* Modules, libraries, kernels, linker */ \
	X(cuFuncGetAttribute, 2020, (int *, CUfunction_attribute, CUfunction)) \
	X(cuFuncGetModule, 11000, (CUmodule *, CUfunction)) \
	X(cuFuncGetName, 12030, (const char **, CUfunction)) \
	X(cuFuncGetParamInfo, 12040, (CUfunction, size_t, size_t *, size_t *)) \
	X(cuFuncIsLoaded, 12040, (CUfunctionLoadingState *, CUfunction)) \
	X(cuFuncLoad, 12040, (CUfunction)) \
	X(cuFuncSetAttribute, 9000, (CUfunction, CUfunction_attribute, int)) \
	X(cuFuncSetCacheConfig, 3000, (CUfunction, CUfunc_cache)) \
	X(cuFuncSetSharedMemConfig, 4020, (CUfunction, CUsharedconfig)) \
	X(cuKernelGetAttribute, 12000, (int *, CUfunction_attribute, CUkernel, CUdevice)) \
	X(cuKernelGetFunction, 12000, (CUfunction *, CUkernel)) \
	X(cuKernelGetLibrary, 12050, (CUlibrary *, CUkernel)) \
	X(cuKernelGetName, 12030, (const char **, CUkernel)) \
	X(cuKernelGetParamInfo, 12040, (CUkernel, size_t, size_t *, size_t *)) \
	X(cuKernelSetAttribute, 12000, (CUfunction_attribute, int, CUkernel, CUdevice)) \
	X(cuKernelSetCacheConfig, 12000, (CUkernel, CUfunc_cache, CUdevice)) \
	X(cuLibraryEnumerateKernels, 12040, (CUkernel *, unsigned int, CUlibrary)) \
	X(cuLibraryGetGlobal, 12000, (CUdeviceptr *, size_t *, CUlibrary, const char *)) \
	X(cuLibraryGetKernel, 12000, (CUkernel *, CUlibrary, const char *)) \
	X(cuLibraryGetKernelCount, 12040, (unsigned int *, CUlibrary)) \
	X(cuLibraryGetManaged, 12000, (CUdeviceptr *, size_t *, CUlibrary, const char *)) \
	X(cuLibraryGetModule, 12000, (CUmodule *, CUlibrary)) \
	X(cuLibraryLoadData, 12000, (CUlibrary *, const void *, CUjit_option *, void **, \
	  unsigned int, CUlibraryOption *, void **, unsigned int)) \
	X(cuLibraryLoadFromFile, 12000, (CUlibrary *, const char *, CUjit_option *, void **, \
	  unsigned int, CUlibraryOption *, void **, unsigned int)) \
	X(cuLibraryUnload, 12000, (CUlibrary)) \
	X(cuLinkAddData, 5050, (CUlinkState, CUjitInputType, void *, size_t, const char *, \
	  unsigned int, CUjit_option *, void **)) \
	X(cuLinkAddData_v2, 6050, (CUlinkState, CUjitInputType, void *, size_t, const char *, \
	  unsigned int, CUjit_option *, void **)) \
	X(cuLinkAddFile, 5050, (CUlinkState, CUjitInputType, const char *, unsigned int, \
	  CUjit_option *, void **)) \
	X(cuLinkAddFile_v2, 6050, (CUlinkState, CUjitInputType, const char *, unsigned int, \
	  CUjit_option *, void **)) \
	X(cuLinkComplete, 5050, (CUlinkState, void **, size_t *)) \
	X(cuLinkCreate, 5050, (unsigned int, CUjit_option *, void **, CUlinkState *)) \
	X(cuLinkCreate_v2, 6050, (unsigned int, CUjit_option *, void **, CUlinkState *)) \
	X(cuLinkDestroy, 5050, (CUlinkState)) \
	X(cuModuleEnumerateFunctions, 12040, (CUfunction *, unsigned int, CUmodule)) \
	X(cuModuleGetFunction, 2000, (CUfunction *, CUmodule, const char *)) \
	X(cuModuleGetFunctionCount, 12040, (unsigned int *, CUmodule)) \
	X(cuModuleGetGlobal_v2, 3020, (CUdeviceptr *, size_t *, CUmodule, const char *)) \
	X(cuModuleGetLoadingMode, 11070, (CUmoduleLoadingMode *)) \
	X(cuModuleLoad, 2000, (CUmodule *, const char *)) \
	X(cuModuleLoadData, 2000, (CUmodule *, const void *)) \
	X(cuModuleLoadDataEx, 2010, (CUmodule *, const void *, unsigned int, CUjit_option *, \
	  void **)) \
	X(cuModuleLoadFatBinary, 2000, (CUmodule *, const void *)) \
	X(cuModuleUnload, 2000, (CUmodule)) \
	/* Launches */ \
	X(cuLaunchCooperativeKernel, 9000, (CUfunction, unsigned int, unsigned int, unsigned int, \
	  unsigned int, unsigned int, unsigned int, unsigned int, CUstream, void **)) \
	X(cuLaunchCooperativeKernel_ptsz, 9000, (CUfunction, unsigned int, unsigned int, \
	  unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, CUstream, void **)) \
	X(cuLaunchHostFunc, 10000, (CUstream, CUhostFn, void *)) \
	X(cuLaunchHostFunc_ptsz, 10000, (CUstream, CUhostFn, void *)) \
	X(cuLaunchKernel, 4000, (CUfunction, unsigned int, unsigned int, unsigned int, \
	  unsigned int, unsigned int, unsigned int, unsigned int, CUstream, void **, void **)) \
	X(cuLaunchKernelEx, 11060, (const CUlaunchConfig *, CUfunction, void **, void **)) \
	X(cuLaunchKernelEx_ptsz, 11060, (const CUlaunchConfig *, CUfunction, void **, void **)) \
	X(cuLaunchKernel_ptsz, 7000, (CUfunction, unsigned int, unsigned int, unsigned int, \
	  unsigned int, unsigned int, unsigned int, unsigned int, CUstream, void **, void **)) \
	/* Occupancy */ \
	X(cuOccupancyAvailableDynamicSMemPerBlock, 10020, (size_t *, CUfunction, int, int)) \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, (int *, CUfunction, int, size_t)) \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000, (int *, CUfunction, int, \
	  size_t, unsigned int)) \
	X(cuOccupancyMaxActiveClusters, 11070, (int *, CUfunction, const CUlaunchConfig *)) \
	X(cuOccupancyMaxPotentialBlockSize, 6050, (int *, int *, CUfunction, CUoccupancyB2DSize, \
	  size_t, int)) \
	X(cuOccupancyMaxPotentialBlockSizeWithFlags, 7000, (int *, int *, CUfunction, \
	  CUoccupancyB2DSize, size_t, int, unsigned int)) \
	X(cuOccupancyMaxPotentialClusterSize, 11070, (int *, CUfunction, const CUlaunchConfig *)) \
	/* Memory */ \
	X(cuMemAdvise, 8000, (CUdeviceptr, size_t, CUmem_advise, CUdevice)) \
	X(cuMemAdvise_v2, 12020, (CUdeviceptr, size_t, CUmem_advise, CUmemLocation)) \
	X(cuMemAllocAsync, 11020, (CUdeviceptr *, size_t, CUstream)) \
	X(cuMemAllocAsync_ptsz, 11020, (CUdeviceptr *, size_t, CUstream)) \
	X(cuMemAllocFromPoolAsync, 11020, (CUdeviceptr *, size_t, CUmemoryPool, CUstream)) \
	X(cuMemAllocFromPoolAsync_ptsz, 11020, (CUdeviceptr *, size_t, CUmemoryPool, CUstream)) \
	X(cuMemAllocHost, 2000, (void **, unsigned int)) \
	X(cuMemAllocHost_v2, 3020, (void **, size_t)) \
	X(cuMemAllocManaged, 6000, (CUdeviceptr *, size_t, unsigned int)) \
	X(cuMemAllocPitch_v2, 3020, (CUdeviceptr *, size_t *, size_t, size_t, unsigned int)) \
	X(cuMemAlloc_v2, 3020, (CUdeviceptr *, size_t)) \
	X(cuMemFreeAsync, 11020, (CUdeviceptr, CUstream)) \
	X(cuMemFreeAsync_ptsz, 11020, (CUdeviceptr, CUstream)) \
	X(cuMemFreeHost, 2000, (void *)) \
	X(cuMemFree_v2, 3020, (CUdeviceptr)) \
	X(cuMemGetAddressRange_v2, 3020, (CUdeviceptr *, size_t *, CUdeviceptr)) \
	X(cuMemGetDefaultMemPool, 13000, (CUmemoryPool *, CUmemLocation *, CUmemAllocationType)) \
	X(cuMemGetInfo, 2000, (unsigned int *, unsigned int *)) \
	X(cuMemGetInfo_v2, 3020, (size_t *, size_t *)) \
	X(cuMemGetMemPool, 13000, (CUmemoryPool *, CUmemLocation *, CUmemAllocationType)) \
	X(cuMemHostAlloc, 2020, (void **, size_t, unsigned int)) \
	X(cuMemHostGetDevicePointer_v2, 3020, (CUdeviceptr *, void *, unsigned int)) \
	X(cuMemHostGetFlags, 2030, (unsigned int *, void *)) \
	X(cuMemHostRegister, 4000, (void *, size_t, unsigned int)) \
	X(cuMemHostRegister_v2, 6050, (void *, size_t, unsigned int)) \
	X(cuMemHostUnregister, 4000, (void *)) \
	X(cuMemPoolCreate, 11020, (CUmemoryPool *, const CUmemPoolProps *)) \
	X(cuMemPoolDestroy, 11020, (CUmemoryPool)) \
	X(cuMemPoolGetAccess, 11020, (CUmemAccess_flags *, CUmemoryPool, CUmemLocation *)) \
	X(cuMemPoolGetAttribute, 11020, (CUmemoryPool, CUmemPool_attribute, void *)) \
	X(cuMemPoolSetAccess, 11020, (CUmemoryPool, const CUmemAccessDesc *, size_t)) \
	X(cuMemPoolSetAttribute, 11020, (CUmemoryPool, CUmemPool_attribute, void *)) \
	X(cuMemPoolTrimTo, 11020, (CUmemoryPool, size_t)) \
	X(cuMemPrefetchAsync, 8000, (CUdeviceptr, size_t, CUdevice, CUstream)) \
	X(cuMemPrefetchAsync_ptsz, 8000, (CUdeviceptr, size_t, CUdevice, CUstream)) \
	X(cuMemPrefetchAsync_v2, 12020, (CUdeviceptr, size_t, CUmemLocation, unsigned int, \
	  CUstream)) \
	X(cuMemPrefetchAsync_v2_ptsz, 12020, (CUdeviceptr, size_t, CUmemLocation, unsigned int, \
	  CUstream)) \
	X(cuMemRangeGetAttribute, 8000, (void *, size_t, CUmem_range_attribute, CUdeviceptr, \
	  size_t)) \
	X(cuMemRangeGetAttributes, 8000, (void **, size_t *, CUmem_range_attribute *, size_t, \
	  CUdeviceptr, size_t)) \
	X(cuMemSetMemPool, 13000, (CUmemLocation *, CUmemAllocationType, CUmemoryPool)) \
	X(cuPointerGetAttribute, 4000, (void *, CUpointer_attribute, CUdeviceptr)) \
	X(cuPointerGetAttributes, 7000, (unsigned int, CUpointer_attribute *, void **, CUdeviceptr)) \
	X(cuPointerSetAttribute, 6000, (const void *, CUpointer_attribute, CUdeviceptr)) \
	/* Copies and fills */ \
	X(cuMemcpy, 4000, (CUdeviceptr, CUdeviceptr, size_t)) \
	X(cuMemcpy2DAsync_v2, 3020, (const CUDA_MEMCPY2D *, CUstream)) \
	X(cuMemcpy2DAsync_v2_ptsz, 7000, (const CUDA_MEMCPY2D *, CUstream)) \
	X(cuMemcpy2DUnaligned_v2, 3020, (const CUDA_MEMCPY2D *)) \
	X(cuMemcpy2DUnaligned_v2_ptds, 7000, (const CUDA_MEMCPY2D *)) \
	X(cuMemcpy2D_v2, 3020, (const CUDA_MEMCPY2D *)) \
	X(cuMemcpy2D_v2_ptds, 7000, (const CUDA_MEMCPY2D *)) \
	X(cuMemcpy3DAsync_v2, 3020, (const CUDA_MEMCPY3D *, CUstream)) \
	X(cuMemcpy3DAsync_v2_ptsz, 7000, (const CUDA_MEMCPY3D *, CUstream)) \
	X(cuMemcpy3DPeer, 4000, (const CUDA_MEMCPY3D_PEER *)) \
	X(cuMemcpy3DPeerAsync, 4000, (const CUDA_MEMCPY3D_PEER *, CUstream)) \
	X(cuMemcpy3DPeerAsync_ptsz, 7000, (const CUDA_MEMCPY3D_PEER *, CUstream)) \
	X(cuMemcpy3DPeer_ptds, 7000, (const CUDA_MEMCPY3D_PEER *)) \
	X(cuMemcpy3D_v2, 3020, (const CUDA_MEMCPY3D *)) \
	X(cuMemcpy3D_v2_ptds, 7000, (const CUDA_MEMCPY3D *)) \
	X(cuMemcpyAsync, 4000, (CUdeviceptr, CUdeviceptr, size_t, CUstream)) \
	X(cuMemcpyAsync_ptsz, 7000, (CUdeviceptr, CUdeviceptr, size_t, CUstream)) \
	X(cuMemcpyDtoDAsync_v2, 3020, (CUdeviceptr, CUdeviceptr, size_t, CUstream)) \
	X(cuMemcpyDtoDAsync_v2_ptsz, 7000, (CUdeviceptr, CUdeviceptr, size_t, CUstream)) \
	X(cuMemcpyDtoD_v2, 3020, (CUdeviceptr, CUdeviceptr, size_t)) \
	X(cuMemcpyDtoD_v2_ptds, 7000, (CUdeviceptr, CUdeviceptr, size_t)) \
	X(cuMemcpyDtoHAsync_v2, 3020, (void *, CUdeviceptr, size_t, CUstream)) \
	X(cuMemcpyDtoHAsync_v2_ptsz, 7000, (void *, CUdeviceptr, size_t, CUstream)) \
	X(cuMemcpyDtoH_v2, 3020, (void *, CUdeviceptr, size_t)) \
	X(cuMemcpyDtoH_v2_ptds, 7000, (void *, CUdeviceptr, size_t)) \
	X(cuMemcpyHtoDAsync_v2, 3020, (CUdeviceptr, const void *, size_t, CUstream)) \
	X(cuMemcpyHtoDAsync_v2_ptsz, 7000, (CUdeviceptr, const void *, size_t, CUstream)) \
	X(cuMemcpyHtoD_v2, 3020, (CUdeviceptr, const void *, size_t)) \
	X(cuMemcpyHtoD_v2_ptds, 7000, (CUdeviceptr, const void *, size_t)) \
	X(cuMemcpyPeer, 4000, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t)) \
	X(cuMemcpyPeerAsync, 4000, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, \
	  CUstream)) \
	X(cuMemcpyPeerAsync_ptsz, 7000, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, \
	  CUstream)) \
	X(cuMemcpyPeer_ptds, 7000, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t)) \
	X(cuMemcpy_ptds, 7000, (CUdeviceptr, CUdeviceptr, size_t)) \
	X(cuMemsetD16Async, 3020, (CUdeviceptr, unsigned short, size_t, CUstream)) \
	X(cuMemsetD16Async_ptsz, 7000, (CUdeviceptr, unsigned short, size_t, CUstream)) \
	X(cuMemsetD16_v2, 3020, (CUdeviceptr, unsigned short, size_t)) \
	X(cuMemsetD16_v2_ptds, 7000, (CUdeviceptr, unsigned short, size_t)) \
	X(cuMemsetD2D16Async, 3020, (CUdeviceptr, size_t, unsigned short, size_t, size_t, CUstream)) \
	X(cuMemsetD2D16Async_ptsz, 7000, (CUdeviceptr, size_t, unsigned short, size_t, size_t, \
	  CUstream)) \
	X(cuMemsetD2D16_v2, 3020, (CUdeviceptr, size_t, unsigned short, size_t, size_t)) \
	X(cuMemsetD2D16_v2_ptds, 7000, (CUdeviceptr, size_t, unsigned short, size_t, size_t)) \
	X(cuMemsetD2D32Async, 3020, (CUdeviceptr, size_t, unsigned int, size_t, size_t, CUstream)) \
	X(cuMemsetD2D32Async_ptsz, 7000, (CUdeviceptr, size_t, unsigned int, size_t, size_t, \
	  CUstream)) \
	X(cuMemsetD2D32_v2, 3020, (CUdeviceptr, size_t, unsigned int, size_t, size_t)) \
	X(cuMemsetD2D32_v2_ptds, 7000, (CUdeviceptr, size_t, unsigned int, size_t, size_t)) \
	X(cuMemsetD2D8Async, 3020, (CUdeviceptr, size_t, unsigned char, size_t, size_t, CUstream)) \
	X(cuMemsetD2D8Async_ptsz, 7000, (CUdeviceptr, size_t, unsigned char, size_t, size_t, \
	  CUstream)) \
	X(cuMemsetD2D8_v2, 3020, (CUdeviceptr, size_t, unsigned char, size_t, size_t)) \
	X(cuMemsetD2D8_v2_ptds, 7000, (CUdeviceptr, size_t, unsigned char, size_t, size_t)) \
	X(cuMemsetD32Async, 3020, (CUdeviceptr, unsigned int, size_t, CUstream)) \
	X(cuMemsetD32Async_ptsz, 7000, (CUdeviceptr, unsigned int, size_t, CUstream)) \
	X(cuMemsetD32_v2, 3020, (CUdeviceptr, unsigned int, size_t)) \
	X(cuMemsetD32_v2_ptds, 7000, (CUdeviceptr, unsigned int, size_t)) \
	X(cuMemsetD8Async, 3020, (CUdeviceptr, unsigned char, size_t, CUstream)) \
	X(cuMemsetD8Async_ptsz, 7000, (CUdeviceptr, unsigned char, size_t, CUstream)) \
	X(cuMemsetD8_v2, 3020, (CUdeviceptr, unsigned char, size_t)) \
	X(cuMemsetD8_v2_ptds, 7000, (CUdeviceptr, unsigned char, size_t)) \
	/* Streams and events */ \
	X(cuEventCreate, 2000, (CUevent *, unsigned int)) \
	X(cuEventDestroy, 2000, (CUevent)) \
	X(cuEventDestroy_v2, 4000, (CUevent)) \
	X(cuEventElapsedTime, 2000, (float *, CUevent, CUevent)) \
	X(cuEventElapsedTime_v2, 12080, (float *, CUevent, CUevent)) \
	X(cuEventQuery, 2000, (CUevent)) \
	X(cuEventRecord, 2000, (CUevent, CUstream)) \
	X(cuEventRecordWithFlags, 11010, (CUevent, CUstream, unsigned int)) \
	X(cuEventRecordWithFlags_ptsz, 11010, (CUevent, CUstream, unsigned int)) \
	X(cuEventRecord_ptsz, 7000, (CUevent, CUstream)) \
	X(cuEventSynchronize, 2000, (CUevent)) \
	X(cuStreamAddCallback, 5000, (CUstream, CUstreamCallback, void *, unsigned int)) \
	X(cuStreamAddCallback_ptsz, 7000, (CUstream, CUstreamCallback, void *, unsigned int)) \
	X(cuStreamAttachMemAsync, 6000, (CUstream, CUdeviceptr, size_t, unsigned int)) \
	X(cuStreamAttachMemAsync_ptsz, 7000, (CUstream, CUdeviceptr, size_t, unsigned int)) \
	X(cuStreamBatchMemOp, 8000, (CUstream, unsigned int, CUstreamBatchMemOpParams *, \
	  unsigned int)) \
	X(cuStreamBatchMemOp_ptsz, 8000, (CUstream, unsigned int, CUstreamBatchMemOpParams *, \
	  unsigned int)) \
	X(cuStreamBatchMemOp_v2, 11070, (CUstream, unsigned int, CUstreamBatchMemOpParams *, \
	  unsigned int)) \
	X(cuStreamBatchMemOp_v2_ptsz, 11070, (CUstream, unsigned int, CUstreamBatchMemOpParams *, \
	  unsigned int)) \
	X(cuStreamBeginCapture, 10000, (CUstream)) \
	X(cuStreamBeginCaptureToGraph, 12030, (CUstream, CUgraph, const CUgraphNode *, \
	  const CUgraphEdgeData *, size_t, CUstreamCaptureMode)) \
	X(cuStreamBeginCaptureToGraph_ptsz, 12030, (CUstream, CUgraph, const CUgraphNode *, \
	  const CUgraphEdgeData *, size_t, CUstreamCaptureMode)) \
	X(cuStreamBeginCapture_ptsz, 10000, (CUstream)) \
	X(cuStreamBeginCapture_v2, 10010, (CUstream, CUstreamCaptureMode)) \
	X(cuStreamBeginCapture_v2_ptsz, 10010, (CUstream, CUstreamCaptureMode)) \
	X(cuStreamCopyAttributes, 11000, (CUstream, CUstream)) \
	X(cuStreamCopyAttributes_ptsz, 11000, (CUstream, CUstream)) \
	X(cuStreamCreate, 2000, (CUstream *, unsigned int)) \
	X(cuStreamCreateWithPriority, 5050, (CUstream *, unsigned int, int)) \
	X(cuStreamDestroy, 2000, (CUstream)) \
	X(cuStreamDestroy_v2, 4000, (CUstream)) \
	X(cuStreamEndCapture, 10000, (CUstream, CUgraph *)) \
	X(cuStreamEndCapture_ptsz, 10000, (CUstream, CUgraph *)) \
	X(cuStreamGetAttribute, 11000, (CUstream, CUstreamAttrID, CUstreamAttrValue *)) \
	X(cuStreamGetAttribute_ptsz, 11000, (CUstream, CUstreamAttrID, CUstreamAttrValue *)) \
	X(cuStreamGetCaptureInfo, 10010, (CUstream, CUstreamCaptureStatus *, uint64_t *)) \
	X(cuStreamGetCaptureInfo_ptsz, 10010, (CUstream, CUstreamCaptureStatus *, uint64_t *)) \
	X(cuStreamGetCaptureInfo_v2, 11030, (CUstream, CUstreamCaptureStatus *, uint64_t *, \
	  CUgraph *, const CUgraphNode **, size_t *)) \
	X(cuStreamGetCaptureInfo_v2_ptsz, 11030, (CUstream, CUstreamCaptureStatus *, uint64_t *, \
	  CUgraph *, const CUgraphNode **, size_t *)) \
	X(cuStreamGetCaptureInfo_v3, 12030, (CUstream, CUstreamCaptureStatus *, uint64_t *, \
	  CUgraph *, const CUgraphNode **, const CUgraphEdgeData **, size_t *)) \
	X(cuStreamGetCaptureInfo_v3_ptsz, 12030, (CUstream, CUstreamCaptureStatus *, uint64_t *, \
	  CUgraph *, const CUgraphNode **, const CUgraphEdgeData **, size_t *)) \
	X(cuStreamGetCtx, 9020, (CUstream, CUcontext *)) \
	X(cuStreamGetCtx_ptsz, 9020, (CUstream, CUcontext *)) \
	X(cuStreamGetCtx_v2, 12050, (CUstream, CUcontext *, CUgreenCtx *)) \
	X(cuStreamGetCtx_v2_ptsz, 12050, (CUstream, CUcontext *, CUgreenCtx *)) \
	X(cuStreamGetDevice, 12080, (CUstream, CUdevice *)) \
	X(cuStreamGetDevice_ptsz, 12080, (CUstream, CUdevice *)) \
	X(cuStreamGetFlags, 5050, (CUstream, unsigned int *)) \
	X(cuStreamGetFlags_ptsz, 7000, (CUstream, unsigned int *)) \
	X(cuStreamGetId, 12000, (CUstream, unsigned long long *)) \
	X(cuStreamGetId_ptsz, 12000, (CUstream, unsigned long long *)) \
	X(cuStreamGetPriority, 5050, (CUstream, int *)) \
	X(cuStreamGetPriority_ptsz, 7000, (CUstream, int *)) \
	X(cuStreamIsCapturing, 10000, (CUstream, CUstreamCaptureStatus *)) \
	X(cuStreamIsCapturing_ptsz, 10000, (CUstream, CUstreamCaptureStatus *)) \
	X(cuStreamQuery, 2000, (CUstream)) \
	X(cuStreamQuery_ptsz, 7000, (CUstream)) \
	X(cuStreamSetAttribute, 11000, (CUstream, CUstreamAttrID, const CUstreamAttrValue *)) \
	X(cuStreamSetAttribute_ptsz, 11000, (CUstream, CUstreamAttrID, const CUstreamAttrValue *)) \
	X(cuStreamSynchronize, 2000, (CUstream)) \
	X(cuStreamSynchronize_ptsz, 7000, (CUstream)) \
	X(cuStreamUpdateCaptureDependencies, 11030, (CUstream, CUgraphNode *, size_t, unsigned int)) \
	X(cuStreamUpdateCaptureDependencies_ptsz, 11030, (CUstream, CUgraphNode *, size_t, \
	  unsigned int)) \
	X(cuStreamUpdateCaptureDependencies_v2, 12030, (CUstream, CUgraphNode *, \
	  const CUgraphEdgeData *, size_t, unsigned int)) \
	X(cuStreamUpdateCaptureDependencies_v2_ptsz, 12030, (CUstream, CUgraphNode *, \
	  const CUgraphEdgeData *, size_t, unsigned int)) \
	X(cuStreamWaitEvent, 3020, (CUstream, CUevent, unsigned int)) \
	X(cuStreamWaitEvent_ptsz, 7000, (CUstream, CUevent, unsigned int)) \
	X(cuStreamWaitValue32, 8000, (CUstream, CUdeviceptr, uint32_t, unsigned int)) \
	X(cuStreamWaitValue32_ptsz, 8000, (CUstream, CUdeviceptr, uint32_t, unsigned int)) \
	X(cuStreamWaitValue32_v2, 11070, (CUstream, CUdeviceptr, uint32_t, unsigned int)) \
	X(cuStreamWaitValue32_v2_ptsz, 11070, (CUstream, CUdeviceptr, uint32_t, unsigned int)) \
	X(cuStreamWaitValue64, 9000, (CUstream, CUdeviceptr, uint64_t, unsigned int)) \
	X(cuStreamWaitValue64_ptsz, 9000, (CUstream, CUdeviceptr, uint64_t, unsigned int)) \
	X(cuStreamWaitValue64_v2, 11070, (CUstream, CUdeviceptr, uint64_t, unsigned int)) \
	X(cuStreamWaitValue64_v2_ptsz, 11070, (CUstream, CUdeviceptr, uint64_t, unsigned int)) \
	X(cuStreamWriteValue32, 8000, (CUstream, CUdeviceptr, uint32_t, unsigned int)) \
	X(cuStreamWriteValue32_ptsz, 8000, (CUstream, CUdeviceptr, uint32_t, unsigned int)) \
	X(cuStreamWriteValue32_v2, 11070, (CUstream, CUdeviceptr, uint32_t, unsigned int)) \
	X(cuStreamWriteValue32_v2_ptsz, 11070, (CUstream, CUdeviceptr, uint32_t, unsigned int)) \
	X(cuStreamWriteValue64, 9000, (CUstream, CUdeviceptr, uint64_t, unsigned int)) \
	X(cuStreamWriteValue64_ptsz, 9000, (CUstream, CUdeviceptr, uint64_t, unsigned int)) \
	X(cuStreamWriteValue64_v2, 11070, (CUstream, CUdeviceptr, uint64_t, unsigned int)) \
	X(cuStreamWriteValue64_v2_ptsz, 11070, (CUstream, CUdeviceptr, uint64_t, unsigned int)) \
	X(cuThreadExchangeStreamCaptureMode, 10010, (CUstreamCaptureMode *)) \
	/* Graphs */ \
	X(cuDeviceGraphMemTrim, 11040, (CUdevice)) \
	X(cuGraphAddBatchMemOpNode, 11070, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, \
	  const CUDA_BATCH_MEM_OP_NODE_PARAMS *)) \
	X(cuGraphAddChildGraphNode, 10000, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, \
	  CUgraph)) \
	X(cuGraphAddDependencies, 10000, (CUgraph, const CUgraphNode *, const CUgraphNode *, \
	  size_t)) \
	X(cuGraphAddDependencies_v2, 12030, (CUgraph, const CUgraphNode *, const CUgraphNode *, \
	  const CUgraphEdgeData *, size_t)) \
	X(cuGraphAddEmptyNode, 10000, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t)) \
	X(cuGraphAddEventRecordNode, 11010, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, \
	  CUevent)) \
	X(cuGraphAddEventWaitNode, 11010, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, \
	  CUevent)) \
	X(cuGraphAddHostNode, 10000, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, \
	  const CUDA_HOST_NODE_PARAMS *)) \
	X(cuGraphAddKernelNode, 10000, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, \
	  const CUDA_KERNEL_NODE_PARAMS_v1 *)) \
	X(cuGraphAddKernelNode_v2, 12000, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, \
	  const CUDA_KERNEL_NODE_PARAMS_v2 *)) \
	X(cuGraphAddMemAllocNode, 11040, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, \
	  CUDA_MEM_ALLOC_NODE_PARAMS *)) \
	X(cuGraphAddMemFreeNode, 11040, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, \
	  CUdeviceptr)) \
	X(cuGraphAddMemcpyNode, 10000, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, \
	  const CUDA_MEMCPY3D *, CUcontext)) \
	X(cuGraphAddMemsetNode, 10000, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, \
	  const CUDA_MEMSET_NODE_PARAMS_v1 *, CUcontext)) \
	X(cuGraphAddNode, 12020, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, \
	  CUgraphNodeParams *)) \
	X(cuGraphAddNode_v2, 12030, (CUgraphNode *, CUgraph, const CUgraphNode *, \
	  const CUgraphEdgeData *, size_t, CUgraphNodeParams *)) \
	X(cuGraphBatchMemOpNodeGetParams, 11070, (CUgraphNode, CUDA_BATCH_MEM_OP_NODE_PARAMS *)) \
	X(cuGraphBatchMemOpNodeSetParams, 11070, (CUgraphNode, \
	  const CUDA_BATCH_MEM_OP_NODE_PARAMS *)) \
	X(cuGraphChildGraphNodeGetGraph, 10000, (CUgraphNode, CUgraph *)) \
	X(cuGraphClone, 10000, (CUgraph *, CUgraph)) \
	X(cuGraphConditionalHandleCreate, 12030, (CUgraphConditionalHandle *, CUgraph, CUcontext, \
	  unsigned int, unsigned int)) \
	X(cuGraphCreate, 10000, (CUgraph *, unsigned int)) \
	X(cuGraphDebugDotPrint, 11030, (CUgraph, const char *, unsigned int)) \
	X(cuGraphDestroy, 10000, (CUgraph)) \
	X(cuGraphDestroyNode, 10000, (CUgraphNode)) \
	X(cuGraphEventRecordNodeGetEvent, 11010, (CUgraphNode, CUevent *)) \
	X(cuGraphEventRecordNodeSetEvent, 11010, (CUgraphNode, CUevent)) \
	X(cuGraphEventWaitNodeGetEvent, 11010, (CUgraphNode, CUevent *)) \
	X(cuGraphEventWaitNodeSetEvent, 11010, (CUgraphNode, CUevent)) \
	X(cuGraphExecBatchMemOpNodeSetParams, 11070, (CUgraphExec, CUgraphNode, \
	  const CUDA_BATCH_MEM_OP_NODE_PARAMS *)) \
	X(cuGraphExecChildGraphNodeSetParams, 11010, (CUgraphExec, CUgraphNode, CUgraph)) \
	X(cuGraphExecDestroy, 10000, (CUgraphExec)) \
	X(cuGraphExecEventRecordNodeSetEvent, 11010, (CUgraphExec, CUgraphNode, CUevent)) \
	X(cuGraphExecEventWaitNodeSetEvent, 11010, (CUgraphExec, CUgraphNode, CUevent)) \
	X(cuGraphExecGetFlags, 12000, (CUgraphExec, uint64_t *)) \
	X(cuGraphExecHostNodeSetParams, 10020, (CUgraphExec, CUgraphNode, \
	  const CUDA_HOST_NODE_PARAMS *)) \
	X(cuGraphExecKernelNodeSetParams, 10010, (CUgraphExec, CUgraphNode, \
	  const CUDA_KERNEL_NODE_PARAMS_v1 *)) \
	X(cuGraphExecKernelNodeSetParams_v2, 12000, (CUgraphExec, CUgraphNode, \
	  const CUDA_KERNEL_NODE_PARAMS_v2 *)) \
	X(cuGraphExecMemcpyNodeSetParams, 10020, (CUgraphExec, CUgraphNode, const CUDA_MEMCPY3D *, \
	  CUcontext)) \
	X(cuGraphExecMemsetNodeSetParams, 10020, (CUgraphExec, CUgraphNode, \
	  const CUDA_MEMSET_NODE_PARAMS_v1 *, CUcontext)) \
	X(cuGraphExecNodeSetParams, 12020, (CUgraphExec, CUgraphNode, CUgraphNodeParams *)) \
	X(cuGraphExecUpdate, 10020, (CUgraphExec, CUgraph, CUgraphNode *, \
	  CUgraphExecUpdateResult *)) \
	X(cuGraphExecUpdate_v2, 12000, (CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo *)) \
	X(cuGraphGetEdges, 10000, (CUgraph, CUgraphNode *, CUgraphNode *, size_t *)) \
	X(cuGraphGetEdges_v2, 12030, (CUgraph, CUgraphNode *, CUgraphNode *, CUgraphEdgeData *, \
	  size_t *)) \
	X(cuGraphGetNodes, 10000, (CUgraph, CUgraphNode *, size_t *)) \
	X(cuGraphGetRootNodes, 10000, (CUgraph, CUgraphNode *, size_t *)) \
	X(cuGraphHostNodeGetParams, 10000, (CUgraphNode, CUDA_HOST_NODE_PARAMS *)) \
	X(cuGraphHostNodeSetParams, 10000, (CUgraphNode, const CUDA_HOST_NODE_PARAMS *)) \
	X(cuGraphInstantiate, 10000, (CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t)) \
	X(cuGraphInstantiateWithFlags, 11040, (CUgraphExec *, CUgraph, unsigned long long)) \
	X(cuGraphInstantiateWithParams, 12000, (CUgraphExec *, CUgraph, \
	  CUDA_GRAPH_INSTANTIATE_PARAMS *)) \
	X(cuGraphInstantiateWithParams_ptsz, 12000, (CUgraphExec *, CUgraph, \
	  CUDA_GRAPH_INSTANTIATE_PARAMS *)) \
	X(cuGraphInstantiate_v2, 11000, (CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t)) \
	X(cuGraphKernelNodeCopyAttributes, 11000, (CUgraphNode, CUgraphNode)) \
	X(cuGraphKernelNodeGetAttribute, 11000, (CUgraphNode, CUkernelNodeAttrID, \
	  CUkernelNodeAttrValue *)) \
	X(cuGraphKernelNodeGetParams, 10000, (CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v1 *)) \
	X(cuGraphKernelNodeGetParams_v2, 12000, (CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2 *)) \
	X(cuGraphKernelNodeSetAttribute, 11000, (CUgraphNode, CUkernelNodeAttrID, \
	  const CUkernelNodeAttrValue *)) \
	X(cuGraphKernelNodeSetParams, 10000, (CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1 *)) \
	X(cuGraphKernelNodeSetParams_v2, 12000, (CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v2 *)) \
	X(cuGraphLaunch, 10000, (CUgraphExec, CUstream)) \
	X(cuGraphLaunch_ptsz, 10000, (CUgraphExec, CUstream)) \
	X(cuGraphMemAllocNodeGetParams, 11040, (CUgraphNode, CUDA_MEM_ALLOC_NODE_PARAMS *)) \
	X(cuGraphMemFreeNodeGetParams, 11040, (CUgraphNode, CUdeviceptr *)) \
	X(cuGraphMemcpyNodeGetParams, 10000, (CUgraphNode, CUDA_MEMCPY3D *)) \
	X(cuGraphMemcpyNodeSetParams, 10000, (CUgraphNode, const CUDA_MEMCPY3D *)) \
	X(cuGraphMemsetNodeGetParams, 10000, (CUgraphNode, CUDA_MEMSET_NODE_PARAMS_v1 *)) \
	X(cuGraphMemsetNodeSetParams, 10000, (CUgraphNode, const CUDA_MEMSET_NODE_PARAMS_v1 *)) \
	X(cuGraphNodeFindInClone, 10000, (CUgraphNode *, CUgraphNode, CUgraph)) \
	X(cuGraphNodeGetDependencies, 10000, (CUgraphNode, CUgraphNode *, size_t *)) \
	X(cuGraphNodeGetDependencies_v2, 12030, (CUgraphNode, CUgraphNode *, CUgraphEdgeData *, \
	  size_t *)) \
	X(cuGraphNodeGetDependentNodes, 10000, (CUgraphNode, CUgraphNode *, size_t *)) \
	X(cuGraphNodeGetDependentNodes_v2, 12030, (CUgraphNode, CUgraphNode *, CUgraphEdgeData *, \
	  size_t *)) \
	X(cuGraphNodeGetEnabled, 11060, (CUgraphExec, CUgraphNode, unsigned int *)) \
	X(cuGraphNodeGetType, 10000, (CUgraphNode, CUgraphNodeType *)) \
	X(cuGraphNodeSetEnabled, 11060, (CUgraphExec, CUgraphNode, unsigned int)) \
	X(cuGraphNodeSetParams, 12020, (CUgraphNode, CUgraphNodeParams *)) \
	X(cuGraphRemoveDependencies, 10000, (CUgraph, const CUgraphNode *, const CUgraphNode *, \
	  size_t)) \
	X(cuGraphRemoveDependencies_v2, 12030, (CUgraph, const CUgraphNode *, const CUgraphNode *, \
	  const CUgraphEdgeData *, size_t)) \
	X(cuGraphUpload, 11010, (CUgraphExec, CUstream)) \
	X(cuGraphUpload_ptsz, 11010, (CUgraphExec, CUstream))

#endif
