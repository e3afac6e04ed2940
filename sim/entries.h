/* SPDX-License-Identifier: Apache-2.0 */
/* What entries.c exports besides the functions written in C. */
#ifndef SIM_ENTRIES_H
#define SIM_ENTRIES_H

/*
 * Functions whose _ptsz form differs only in what stream NULL means, with the
 * place of the stream on entry: X(name, place).
 */
#define SIM_PER_THREAD(X) \
	X(cuEventRecordWithFlags, "%rsi") X(cuEventRecord, "%rsi") X(cuGraphLaunch, "%rsi") \
	X(cuGraphUpload, "%rsi") X(cuLaunchCooperativeKernel, "24(%rsp)") \
	X(cuLaunchHostFunc, "%rdi") X(cuLaunchKernel, "24(%rsp)") X(cuMemAllocAsync, "%rdx") \
	X(cuMemAllocFromPoolAsync, "%rcx") X(cuMemFreeAsync, "%rsi") X(cuMemPrefetchAsync, "%rcx") \
	X(cuMemPrefetchAsync_v2, "%r8") X(cuMemcpy2DAsync_v2, "%rsi") X(cuMemcpy3DAsync_v2, "%rsi") \
	X(cuMemcpy3DPeerAsync, "%rsi") X(cuMemcpyAsync, "%rcx") X(cuMemcpyDtoDAsync_v2, "%rcx") \
	X(cuMemcpyDtoHAsync_v2, "%rcx") X(cuMemcpyHtoDAsync_v2, "%rcx") X(cuMemcpyPeerAsync, "%r9") \
	X(cuMemsetD16Async, "%rcx") X(cuMemsetD2D16Async, "%r9") X(cuMemsetD2D32Async, "%r9") \
	X(cuMemsetD2D8Async, "%r9") X(cuMemsetD32Async, "%rcx") X(cuMemsetD8Async, "%rcx") \
	X(cuStreamAddCallback, "%rdi") X(cuStreamAttachMemAsync, "%rdi") \
	X(cuStreamBatchMemOp, "%rdi") X(cuStreamBatchMemOp_v2, "%rdi") \
	X(cuStreamBeginCaptureToGraph, "%rdi") X(cuStreamBeginCapture, "%rdi") \
	X(cuStreamBeginCapture_v2, "%rdi") X(cuStreamEndCapture, "%rdi") \
	X(cuStreamGetAttribute, "%rdi") X(cuStreamGetCaptureInfo, "%rdi") \
	X(cuStreamGetCaptureInfo_v2, "%rdi") X(cuStreamGetCaptureInfo_v3, "%rdi") \
	X(cuStreamGetCtx, "%rdi") X(cuStreamGetCtx_v2, "%rdi") X(cuStreamGetDevice, "%rdi") \
	X(cuStreamGetFlags, "%rdi") X(cuStreamGetId, "%rdi") X(cuStreamGetPriority, "%rdi") \
	X(cuStreamIsCapturing, "%rdi") X(cuStreamQuery, "%rdi") X(cuStreamSetAttribute, "%rdi") \
	X(cuStreamSynchronize, "%rdi") X(cuStreamUpdateCaptureDependencies, "%rdi") \
	X(cuStreamUpdateCaptureDependencies_v2, "%rdi") X(cuStreamWaitEvent, "%rdi") \
	X(cuStreamWaitValue32, "%rdi") X(cuStreamWaitValue32_v2, "%rdi") \
	X(cuStreamWaitValue64, "%rdi") X(cuStreamWaitValue64_v2, "%rdi") \
	X(cuStreamWriteValue32, "%rdi") X(cuStreamWriteValue32_v2, "%rdi") \
	X(cuStreamWriteValue64, "%rdi") X(cuStreamWriteValue64_v2, "%rdi")

/* Functions of cuda_functions.h that this device does not have: X(name). */
#define SIM_LACKING(X) \
	X(cuCtxAttach) X(cuCtxDetach) X(cuCtxGetExecAffinity) X(cuDeviceGraphMemTrim) \
	X(cuDeviceTotalMem) X(cuGraphAddBatchMemOpNode) X(cuGraphAddMemAllocNode) \
	X(cuGraphAddMemFreeNode) X(cuGraphBatchMemOpNodeGetParams) \
	X(cuGraphBatchMemOpNodeSetParams) X(cuGraphConditionalHandleCreate) X(cuGraphDebugDotPrint) \
	X(cuGraphExecBatchMemOpNodeSetParams) X(cuGraphMemAllocNodeGetParams) \
	X(cuGraphMemFreeNodeGetParams) X(cuLibraryGetManaged) X(cuMemGetDefaultMemPool) \
	X(cuMemGetInfo) X(cuMemGetMemPool) X(cuMemPoolCreate) X(cuMemPoolDestroy) \
	X(cuMemPoolGetAccess) X(cuMemPoolSetAccess) X(cuMemRangeGetAttribute) \
	X(cuMemRangeGetAttributes) X(cuMemSetMemPool)

/* Functions that it does not have and whose types nobody here needs: X(name, since). */
#define SIM_FOREIGN(X) \
	X(cuArray3DCreate, 2000) X(cuArray3DCreate_v2, 3020) X(cuArray3DGetDescriptor, 2000) \
	X(cuArray3DGetDescriptor_v2, 3020) X(cuArrayCreate, 2000) X(cuArrayCreate_v2, 3020) \
	X(cuArrayDestroy, 2000) X(cuArrayGetDescriptor, 2000) X(cuArrayGetDescriptor_v2, 3020) \
	X(cuArrayGetMemoryRequirements, 11060) X(cuArrayGetPlane, 11020) \
	X(cuArrayGetSparseProperties, 11010) X(cuCheckpointProcessCheckpoint, 12080) \
	X(cuCheckpointProcessGetRestoreThreadId, 12080) X(cuCheckpointProcessGetState, 12080) \
	X(cuCheckpointProcessLock, 12080) X(cuCheckpointProcessRestore, 12080) \
	X(cuCheckpointProcessUnlock, 12080) X(cuCoredumpGetAttribute, 12010) \
	X(cuCoredumpGetAttributeGlobal, 12010) X(cuCoredumpSetAttribute, 12010) \
	X(cuCoredumpSetAttributeGlobal, 12010) X(cuCtxFromGreenCtx, 12040) \
	X(cuCtxGetDevResource, 12040) X(cuDestroyExternalMemory, 10000) \
	X(cuDestroyExternalSemaphore, 10000) X(cuDevResourceGenerateDesc, 12040) \
	X(cuDevSmResourceSplitByCount, 12040) X(cuDeviceGetDevResource, 12040) \
	X(cuDeviceGetGraphMemAttribute, 11040) X(cuDeviceGetHostAtomicCapabilities, 13000) \
	X(cuDeviceGetLuid, 10000) X(cuDeviceGetNvSciSyncAttributes, 10020) \
	X(cuDeviceGetP2PAtomicCapabilities, 13000) X(cuDeviceGetTexture1DLinearMaxWidth, 11010) \
	X(cuDeviceRegisterAsyncNotification, 12040) X(cuDeviceSetGraphMemAttribute, 11040) \
	X(cuDeviceUnregisterAsyncNotification, 12040) X(cuExternalMemoryGetMappedBuffer, 10000) \
	X(cuExternalMemoryGetMappedMipmappedArray, 10000) X(cuFlushGPUDirectRDMAWrites, 11030) \
	X(cuFuncSetBlockShape, 2000) X(cuFuncSetSharedSize, 2000) \
	X(cuGraphAddExternalSemaphoresSignalNode, 11020) \
	X(cuGraphAddExternalSemaphoresWaitNode, 11020) \
	X(cuGraphExecExternalSemaphoresSignalNodeSetParams, 11020) \
	X(cuGraphExecExternalSemaphoresWaitNodeSetParams, 11020) \
	X(cuGraphExternalSemaphoresSignalNodeGetParams, 11020) \
	X(cuGraphExternalSemaphoresSignalNodeSetParams, 11020) \
	X(cuGraphExternalSemaphoresWaitNodeGetParams, 11020) \
	X(cuGraphExternalSemaphoresWaitNodeSetParams, 11020) X(cuGraphReleaseUserObject, 11030) \
	X(cuGraphRetainUserObject, 11030) X(cuGraphicsMapResources, 3000) \
	X(cuGraphicsMapResources_ptsz, 7000) X(cuGraphicsResourceGetMappedMipmappedArray, 5000) \
	X(cuGraphicsResourceGetMappedPointer, 3000) X(cuGraphicsResourceGetMappedPointer_v2, 3020) \
	X(cuGraphicsResourceSetMapFlags, 3000) X(cuGraphicsResourceSetMapFlags_v2, 6050) \
	X(cuGraphicsSubResourceGetMappedArray, 3000) X(cuGraphicsUnmapResources, 3000) \
	X(cuGraphicsUnmapResources_ptsz, 7000) X(cuGraphicsUnregisterResource, 3000) \
	X(cuGreenCtxCreate, 12040) X(cuGreenCtxDestroy, 12040) X(cuGreenCtxGetDevResource, 12040) \
	X(cuGreenCtxGetId, 12090) X(cuGreenCtxRecordEvent, 12040) X(cuGreenCtxStreamCreate, 12050) \
	X(cuGreenCtxWaitEvent, 12040) X(cuImportExternalMemory, 10000) \
	X(cuImportExternalSemaphore, 10000) X(cuIpcCloseMemHandle, 4010) \
	X(cuIpcGetEventHandle, 4010) X(cuIpcGetMemHandle, 4010) X(cuIpcOpenEventHandle, 4010) \
	X(cuIpcOpenMemHandle, 4010) X(cuIpcOpenMemHandle_v2, 11000) X(cuLaunch, 2000) \
	X(cuLaunchCooperativeKernelMultiDevice, 9000) X(cuLaunchGrid, 2000) \
	X(cuLaunchGridAsync, 2000) X(cuLibraryGetUnifiedFunction, 12000) X(cuLogsCurrent, 12090) \
	X(cuLogsDumpToFile, 12090) X(cuLogsDumpToMemory, 12090) X(cuLogsRegisterCallback, 12090) \
	X(cuLogsUnregisterCallback, 12090) X(cuMemAddressFree, 10020) X(cuMemAddressReserve, 10020) \
	X(cuMemAlloc, 2000) X(cuMemAllocPitch, 2000) X(cuMemBatchDecompressAsync, 12060) \
	X(cuMemBatchDecompressAsync_ptsz, 12060) X(cuMemCreate, 10020) \
	X(cuMemDiscardAndPrefetchBatchAsync, 13000) \
	X(cuMemDiscardAndPrefetchBatchAsync_ptsz, 13000) X(cuMemDiscardBatchAsync, 13000) \
	X(cuMemDiscardBatchAsync_ptsz, 13000) X(cuMemExportToShareableHandle, 10020) \
	X(cuMemFree, 2000) X(cuMemGetAccess, 10020) X(cuMemGetAddressRange, 2000) \
	X(cuMemGetAllocationGranularity, 10020) X(cuMemGetAllocationPropertiesFromHandle, 10020) \
	X(cuMemGetHandleForAddressRange, 11070) X(cuMemHostGetDevicePointer, 2020) \
	X(cuMemImportFromShareableHandle, 10020) X(cuMemMap, 10020) X(cuMemMapArrayAsync, 11010) \
	X(cuMemMapArrayAsync_ptsz, 11010) X(cuMemPoolExportPointer, 11020) \
	X(cuMemPoolExportToShareableHandle, 11020) X(cuMemPoolImportFromShareableHandle, 11020) \
	X(cuMemPoolImportPointer, 11020) X(cuMemPrefetchBatchAsync, 13000) \
	X(cuMemPrefetchBatchAsync_ptsz, 13000) X(cuMemRelease, 10020) \
	X(cuMemRetainAllocationHandle, 11000) X(cuMemSetAccess, 10020) X(cuMemUnmap, 10020) \
	X(cuMemcpy2D, 2000) X(cuMemcpy2DAsync, 2000) X(cuMemcpy2DUnaligned, 2000) \
	X(cuMemcpy3D, 2000) X(cuMemcpy3DAsync, 2000) X(cuMemcpy3DBatchAsync, 12080) \
	X(cuMemcpy3DBatchAsync_ptsz, 12080) X(cuMemcpy3DBatchAsync_v2, 13000) \
	X(cuMemcpy3DBatchAsync_v2_ptsz, 13000) X(cuMemcpyAtoA, 2000) X(cuMemcpyAtoA_v2, 3020) \
	X(cuMemcpyAtoA_v2_ptds, 7000) X(cuMemcpyAtoD, 2000) X(cuMemcpyAtoD_v2, 3020) \
	X(cuMemcpyAtoD_v2_ptds, 7000) X(cuMemcpyAtoH, 2000) X(cuMemcpyAtoHAsync, 2000) \
	X(cuMemcpyAtoHAsync_v2, 3020) X(cuMemcpyAtoHAsync_v2_ptsz, 7000) X(cuMemcpyAtoH_v2, 3020) \
	X(cuMemcpyAtoH_v2_ptds, 7000) X(cuMemcpyBatchAsync, 12080) \
	X(cuMemcpyBatchAsync_ptsz, 12080) X(cuMemcpyBatchAsync_v2, 13000) \
	X(cuMemcpyBatchAsync_v2_ptsz, 13000) X(cuMemcpyDtoA, 2000) X(cuMemcpyDtoA_v2, 3020) \
	X(cuMemcpyDtoA_v2_ptds, 7000) X(cuMemcpyDtoD, 2000) X(cuMemcpyDtoDAsync, 3000) \
	X(cuMemcpyDtoH, 2000) X(cuMemcpyDtoHAsync, 2000) X(cuMemcpyHtoA, 2000) \
	X(cuMemcpyHtoAAsync, 2000) X(cuMemcpyHtoAAsync_v2, 3020) X(cuMemcpyHtoAAsync_v2_ptsz, 7000) \
	X(cuMemcpyHtoA_v2, 3020) X(cuMemcpyHtoA_v2_ptds, 7000) X(cuMemcpyHtoD, 2000) \
	X(cuMemcpyHtoDAsync, 2000) X(cuMemsetD16, 2000) X(cuMemsetD2D16, 2000) \
	X(cuMemsetD2D32, 2000) X(cuMemsetD2D8, 2000) X(cuMemsetD32, 2000) X(cuMemsetD8, 2000) \
	X(cuMipmappedArrayCreate, 5000) X(cuMipmappedArrayDestroy, 5000) \
	X(cuMipmappedArrayGetLevel, 5000) X(cuMipmappedArrayGetMemoryRequirements, 11060) \
	X(cuMipmappedArrayGetSparseProperties, 11010) X(cuModuleGetGlobal, 2000) \
	X(cuModuleGetSurfRef, 3000) X(cuModuleGetTexRef, 2000) X(cuMulticastAddDevice, 12010) \
	X(cuMulticastBindAddr, 12010) X(cuMulticastBindMem, 12010) X(cuMulticastCreate, 12010) \
	X(cuMulticastGetGranularity, 12010) X(cuMulticastUnbind, 12010) X(cuParamSetSize, 2000) \
	X(cuParamSetTexRef, 2000) X(cuParamSetf, 2000) X(cuParamSeti, 2000) X(cuParamSetv, 2000) \
	X(cuProfilerInitialize, 4000) X(cuSignalExternalSemaphoresAsync, 10000) \
	X(cuSignalExternalSemaphoresAsync_ptsz, 10000) X(cuStreamGetGreenCtx, 12040) \
	X(cuSurfObjectCreate, 5000) X(cuSurfObjectDestroy, 5000) \
	X(cuSurfObjectGetResourceDesc, 5000) X(cuSurfRefGetArray, 3000) X(cuSurfRefSetArray, 3000) \
	X(cuTensorMapEncodeIm2col, 12000) X(cuTensorMapEncodeIm2colWide, 12080) \
	X(cuTensorMapEncodeTiled, 12000) X(cuTensorMapReplaceAddress, 12000) \
	X(cuTexObjectCreate, 5000) X(cuTexObjectDestroy, 5000) X(cuTexObjectGetResourceDesc, 5000) \
	X(cuTexObjectGetResourceViewDesc, 5000) X(cuTexObjectGetTextureDesc, 5000) \
	X(cuTexRefCreate, 2000) X(cuTexRefDestroy, 2000) X(cuTexRefGetAddress, 2000) \
	X(cuTexRefGetAddressMode, 2000) X(cuTexRefGetAddress_v2, 3020) X(cuTexRefGetArray, 2000) \
	X(cuTexRefGetBorderColor, 8000) X(cuTexRefGetFilterMode, 2000) X(cuTexRefGetFlags, 2000) \
	X(cuTexRefGetFormat, 2000) X(cuTexRefGetMaxAnisotropy, 5000) \
	X(cuTexRefGetMipmapFilterMode, 5000) X(cuTexRefGetMipmapLevelBias, 5000) \
	X(cuTexRefGetMipmapLevelClamp, 5000) X(cuTexRefGetMipmappedArray, 5000) \
	X(cuTexRefSetAddress, 2000) X(cuTexRefSetAddress2D, 2020) X(cuTexRefSetAddress2D_v2, 3020) \
	X(cuTexRefSetAddress2D_v3, 4010) X(cuTexRefSetAddressMode, 2000) \
	X(cuTexRefSetAddress_v2, 3020) X(cuTexRefSetArray, 2000) X(cuTexRefSetBorderColor, 8000) \
	X(cuTexRefSetFilterMode, 2000) X(cuTexRefSetFlags, 2000) X(cuTexRefSetFormat, 2000) \
	X(cuTexRefSetMaxAnisotropy, 5000) X(cuTexRefSetMipmapFilterMode, 5000) \
	X(cuTexRefSetMipmapLevelBias, 5000) X(cuTexRefSetMipmapLevelClamp, 5000) \
	X(cuTexRefSetMipmappedArray, 5000) X(cuUserObjectCreate, 11030) \
	X(cuUserObjectRelease, 11030) X(cuUserObjectRetain, 11030) \
	X(cuWaitExternalSemaphoresAsync, 10000) X(cuWaitExternalSemaphoresAsync_ptsz, 10000)

#endif
