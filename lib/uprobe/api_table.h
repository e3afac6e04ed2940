/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver API's functions that can be watched: X(name, group, arguments...).
 *
 * An argument is a string, a letter for its type followed by its name:
 *	p  pointer or handle		a  device address
 *	z  size_t			l  other 64-bit integer
 *	u  32-bit unsigned		i  32-bit signed, enumerations too
 *	h  16-bit unsigned		b  8-bit unsigned
 *	x  structure of 8 bytes passed by value
 * Structures that the calling convention passes in memory (IPC handles) are left
 * out: they take no argument register, so the others keep their places.
 *
 * Order is importance: where a kernel cannot attach all, the last go without.
 * Not here: graphics interoperability, texture and surface references, tensor
 * map encoding, and the parameter setters of CUDA 2.
 */
#ifndef GT_UPROBE_API_TABLE_H
#define GT_UPROBE_API_TABLE_H

#define GT_API_TABLE(X) \
	/* Launches of one kernel */ \
	X(cuLaunch, LAUNCH, "p f") \
	X(cuLaunchCooperativeKernel, LAUNCH, "p f", "u gridDimX", "u gridDimY", "u gridDimZ", \
	  "u blockDimX", "u blockDimY", "u blockDimZ", "u sharedMemBytes", "p hStream", \
	  "p kernelParams") \
	X(cuLaunchCooperativeKernelMultiDevice, LAUNCH, "p launchParamsList", "u numDevices", \
	  "u flags") \
	X(cuLaunchCooperativeKernel_ptsz, LAUNCH, "p f", "u gridDimX", "u gridDimY", "u gridDimZ", \
	  "u blockDimX", "u blockDimY", "u blockDimZ", "u sharedMemBytes", "p hStream", \
	  "p kernelParams") \
	X(cuLaunchGrid, LAUNCH, "p f", "i grid_width", "i grid_height") \
	X(cuLaunchGridAsync, LAUNCH, "p f", "i grid_width", "i grid_height", "p hStream") \
	X(cuLaunchKernel, LAUNCH, "p f", "u gridDimX", "u gridDimY", "u gridDimZ", "u blockDimX", \
	  "u blockDimY", "u blockDimZ", "u sharedMemBytes", "p hStream", "p kernelParams", \
	  "p extra") \
	X(cuLaunchKernelEx, LAUNCH, "p config", "p f", "p kernelParams", "p extra") \
	X(cuLaunchKernelEx_ptsz, LAUNCH, "p config", "p f", "p kernelParams", "p extra") \
	X(cuLaunchKernel_ptsz, LAUNCH, "p f", "u gridDimX", "u gridDimY", "u gridDimZ", \
	  "u blockDimX", "u blockDimY", "u blockDimZ", "u sharedMemBytes", "p hStream", \
	  "p kernelParams", "p extra") \
	/* Launches of a graph */ \
	X(cuGraphLaunch, GRAPH_LAUNCH, "p hGraphExec", "p hStream") \
	X(cuGraphLaunch_ptsz, GRAPH_LAUNCH, "p hGraphExec", "p hStream") \
	/* Modules, libraries, kernels, linker */ \
	X(cuFuncLoad, MODULE, "p function") \
	X(cuFuncSetAttribute, MODULE, "p hfunc", "i attrib", "i value") \
	X(cuFuncSetBlockShape, MODULE, "p hfunc", "i x", "i y", "i z") \
	X(cuFuncSetCacheConfig, MODULE, "p hfunc", "i config") \
	X(cuFuncSetSharedMemConfig, MODULE, "p hfunc", "i config") \
	X(cuFuncSetSharedSize, MODULE, "p hfunc", "u bytes") \
	X(cuKernelGetFunction, MODULE, "p pFunc", "p kernel") \
	X(cuKernelSetAttribute, MODULE, "i attrib", "i val", "p kernel", "i dev") \
	X(cuKernelSetCacheConfig, MODULE, "p kernel", "i config", "i dev") \
	X(cuLibraryGetGlobal, MODULE, "p dptr", "p bytes", "p library", "p name") \
	X(cuLibraryGetKernel, MODULE, "p pKernel", "p library", "p name") \
	X(cuLibraryGetManaged, MODULE, "p dptr", "p bytes", "p library", "p name") \
	X(cuLibraryGetModule, MODULE, "p pMod", "p library") \
	X(cuLibraryGetUnifiedFunction, MODULE, "p fptr", "p library", "p symbol") \
	X(cuLibraryLoadData, MODULE, "p library", "p code", "p jitOptions", "p jitOptionsValues", \
	  "u numJitOptions", "p libraryOptions", "p libraryOptionValues", "u numLibraryOptions") \
	X(cuLibraryLoadFromFile, MODULE, "p library", "p fileName", "p jitOptions", \
	  "p jitOptionsValues", "u numJitOptions", "p libraryOptions", "p libraryOptionValues", \
	  "u numLibraryOptions") \
	X(cuLibraryUnload, MODULE, "p library") \
	X(cuLinkAddData, MODULE, "p state", "i type", "p data", "z size", "p name", "u numOptions", \
	  "p options", "p optionValues") \
	X(cuLinkAddData_v2, MODULE, "p state", "i type", "p data", "z size", "p name", \
	  "u numOptions", "p options", "p optionValues") \
	X(cuLinkAddFile, MODULE, "p state", "i type", "p path", "u numOptions", "p options", \
	  "p optionValues") \
	X(cuLinkAddFile_v2, MODULE, "p state", "i type", "p path", "u numOptions", "p options", \
	  "p optionValues") \
	X(cuLinkComplete, MODULE, "p state", "p cubinOut", "p sizeOut") \
	X(cuLinkCreate, MODULE, "u numOptions", "p options", "p optionValues", "p stateOut") \
	X(cuLinkCreate_v2, MODULE, "u numOptions", "p options", "p optionValues", "p stateOut") \
	X(cuLinkDestroy, MODULE, "p state") \
	X(cuModuleGetFunction, MODULE, "p hfunc", "p hmod", "p name") \
	X(cuModuleGetGlobal, MODULE, "p dptr", "p bytes", "p hmod", "p name") \
	X(cuModuleGetGlobal_v2, MODULE, "p dptr", "p bytes", "p hmod", "p name") \
	X(cuModuleLoad, MODULE, "p module", "p fname") \
	X(cuModuleLoadData, MODULE, "p module", "p image") \
	X(cuModuleLoadDataEx, MODULE, "p module", "p image", "u numOptions", "p options", \
	  "p optionValues") \
	X(cuModuleLoadFatBinary, MODULE, "p module", "p fatCubin") \
	X(cuModuleUnload, MODULE, "p hmod") \
	/* Memory: allocation, registration, pools */ \
	X(cuArray3DCreate, MEMORY, "p pHandle", "p pAllocateArray") \
	X(cuArray3DCreate_v2, MEMORY, "p pHandle", "p pAllocateArray") \
	X(cuArrayCreate, MEMORY, "p pHandle", "p pAllocateArray") \
	X(cuArrayCreate_v2, MEMORY, "p pHandle", "p pAllocateArray") \
	X(cuArrayDestroy, MEMORY, "p hArray") \
	X(cuDestroyExternalMemory, MEMORY, "p extMem") \
	X(cuDeviceSetMemPool, MEMORY, "i dev", "p pool") \
	X(cuImportExternalMemory, MEMORY, "p extMem_out", "p memHandleDesc") \
	X(cuIpcCloseMemHandle, MEMORY, "a dptr") \
	X(cuIpcOpenMemHandle, MEMORY, "p pdptr", "u Flags") \
	X(cuIpcOpenMemHandle_v2, MEMORY, "p pdptr", "u Flags") \
	X(cuMemAddressFree, MEMORY, "a ptr", "z size") \
	X(cuMemAddressReserve, MEMORY, "p ptr", "z size", "z alignment", "a addr", "l flags") \
	X(cuMemAdvise, MEMORY, "a devPtr", "z count", "i advice", "i device") \
	X(cuMemAdvise_v2, MEMORY, "a devPtr", "z count", "i advice", "x location") \
	X(cuMemAlloc, MEMORY, "p dptr", "u bytesize") \
	X(cuMemAllocAsync, MEMORY, "p dptr", "z bytesize", "p hStream") \
	X(cuMemAllocAsync_ptsz, MEMORY, "p dptr", "z bytesize", "p hStream") \
	X(cuMemAllocFromPoolAsync, MEMORY, "p dptr", "z bytesize", "p pool", "p hStream") \
	X(cuMemAllocFromPoolAsync_ptsz, MEMORY, "p dptr", "z bytesize", "p pool", "p hStream") \
	X(cuMemAllocHost, MEMORY, "p pp", "u bytesize") \
	X(cuMemAllocHost_v2, MEMORY, "p pp", "z bytesize") \
	X(cuMemAllocManaged, MEMORY, "p dptr", "z bytesize", "u flags") \
	X(cuMemAllocPitch, MEMORY, "p dptr", "p pPitch", "u WidthInBytes", "u Height", \
	  "u ElementSizeBytes") \
	X(cuMemAllocPitch_v2, MEMORY, "p dptr", "p pPitch", "z WidthInBytes", "z Height", \
	  "u ElementSizeBytes") \
	X(cuMemAlloc_v2, MEMORY, "p dptr", "z bytesize") \
	X(cuMemBatchDecompressAsync, MEMORY, "p paramsArray", "z count", "u flags", "p errorIndex", \
	  "p stream") \
	X(cuMemBatchDecompressAsync_ptsz, MEMORY, "p paramsArray", "z count", "u flags", \
	  "p errorIndex", "p stream") \
	X(cuMemCreate, MEMORY, "p handle", "z size", "p prop", "l flags") \
	X(cuMemExportToShareableHandle, MEMORY, "p shareableHandle", "l handle", "i handleType", \
	  "l flags") \
	X(cuMemFree, MEMORY, "u dptr") \
	X(cuMemFreeAsync, MEMORY, "a dptr", "p hStream") \
	X(cuMemFreeAsync_ptsz, MEMORY, "a dptr", "p hStream") \
	X(cuMemFreeHost, MEMORY, "p p") \
	X(cuMemFree_v2, MEMORY, "a dptr") \
	X(cuMemHostAlloc, MEMORY, "p pp", "z bytesize", "u Flags") \
	X(cuMemHostRegister, MEMORY, "p p", "z bytesize", "u Flags") \
	X(cuMemHostRegister_v2, MEMORY, "p p", "z bytesize", "u Flags") \
	X(cuMemHostUnregister, MEMORY, "p p") \
	X(cuMemImportFromShareableHandle, MEMORY, "p handle", "p osHandle", "i shHandleType") \
	X(cuMemMap, MEMORY, "a ptr", "z size", "z offset", "l handle", "l flags") \
	X(cuMemMapArrayAsync, MEMORY, "p mapInfoList", "u count", "p hStream") \
	X(cuMemMapArrayAsync_ptsz, MEMORY, "p mapInfoList", "u count", "p hStream") \
	X(cuMemPoolCreate, MEMORY, "p pool", "p poolProps") \
	X(cuMemPoolDestroy, MEMORY, "p pool") \
	X(cuMemPoolExportPointer, MEMORY, "p shareData_out", "a ptr") \
	X(cuMemPoolExportToShareableHandle, MEMORY, "p handle_out", "p pool", "i handleType", \
	  "l flags") \
	X(cuMemPoolImportFromShareableHandle, MEMORY, "p pool_out", "p handle", "i handleType", \
	  "l flags") \
	X(cuMemPoolImportPointer, MEMORY, "p ptr_out", "p pool", "p shareData") \
	X(cuMemPoolSetAccess, MEMORY, "p pool", "p map", "z count") \
	X(cuMemPoolSetAttribute, MEMORY, "p pool", "i attr", "p value") \
	X(cuMemPoolTrimTo, MEMORY, "p pool", "z minBytesToKeep") \
	X(cuMemRelease, MEMORY, "l handle") \
	X(cuMemRetainAllocationHandle, MEMORY, "p handle", "p addr") \
	X(cuMemSetAccess, MEMORY, "a ptr", "z size", "p desc", "z count") \
	X(cuMemSetMemPool, MEMORY, "p location", "i type", "p pool") \
	X(cuMemUnmap, MEMORY, "a ptr", "z size") \
	X(cuMipmappedArrayCreate, MEMORY, "p pHandle", "p pMipmappedArrayDesc", \
	  "u numMipmapLevels") \
	X(cuMipmappedArrayDestroy, MEMORY, "p hMipmappedArray") \
	X(cuMulticastAddDevice, MEMORY, "l mcHandle", "i dev") \
	X(cuMulticastBindAddr, MEMORY, "l mcHandle", "z mcOffset", "a memptr", "z size", "l flags") \
	X(cuMulticastBindMem, MEMORY, "l mcHandle", "z mcOffset", "l memHandle", "z memOffset", \
	  "z size", "l flags") \
	X(cuMulticastCreate, MEMORY, "p mcHandle", "p prop") \
	X(cuMulticastUnbind, MEMORY, "l mcHandle", "i dev", "z mcOffset", "z size") \
	X(cuPointerSetAttribute, MEMORY, "p value", "i attribute", "a ptr") \
	/* Copies and prefetches */ \
	X(cuMemDiscardAndPrefetchBatchAsync, COPY, "p dptrs", "p sizes", "z count", \
	  "p prefetchLocs", "p prefetchLocIdxs", "z numPrefetchLocs", "l flags", "p hStream") \
	X(cuMemDiscardAndPrefetchBatchAsync_ptsz, COPY, "p dptrs", "p sizes", "z count", \
	  "p prefetchLocs", "p prefetchLocIdxs", "z numPrefetchLocs", "l flags", "p hStream") \
	X(cuMemDiscardBatchAsync, COPY, "p dptrs", "p sizes", "z count", "l flags", "p hStream") \
	X(cuMemDiscardBatchAsync_ptsz, COPY, "p dptrs", "p sizes", "z count", "l flags", \
	  "p hStream") \
	X(cuMemPrefetchAsync, COPY, "a devPtr", "z count", "i dstDevice", "p hStream") \
	X(cuMemPrefetchAsync_ptsz, COPY, "a devPtr", "z count", "i dstDevice", "p hStream") \
	X(cuMemPrefetchAsync_v2, COPY, "a devPtr", "z count", "x location", "u flags", "p hStream") \
	X(cuMemPrefetchAsync_v2_ptsz, COPY, "a devPtr", "z count", "x location", "u flags", \
	  "p hStream") \
	X(cuMemPrefetchBatchAsync, COPY, "p dptrs", "p sizes", "z count", "p prefetchLocs", \
	  "p prefetchLocIdxs", "z numPrefetchLocs", "l flags", "p hStream") \
	X(cuMemPrefetchBatchAsync_ptsz, COPY, "p dptrs", "p sizes", "z count", "p prefetchLocs", \
	  "p prefetchLocIdxs", "z numPrefetchLocs", "l flags", "p hStream") \
	X(cuMemcpy, COPY, "a dst", "a src", "z ByteCount") \
	X(cuMemcpy2D, COPY, "p pCopy") \
	X(cuMemcpy2DAsync, COPY, "p pCopy", "p hStream") \
	X(cuMemcpy2DAsync_v2, COPY, "p pCopy", "p hStream") \
	X(cuMemcpy2DAsync_v2_ptsz, COPY, "p pCopy", "p hStream") \
	X(cuMemcpy2DUnaligned, COPY, "p pCopy") \
	X(cuMemcpy2DUnaligned_v2, COPY, "p pCopy") \
	X(cuMemcpy2DUnaligned_v2_ptds, COPY, "p pCopy") \
	X(cuMemcpy2D_v2, COPY, "p pCopy") \
	X(cuMemcpy2D_v2_ptds, COPY, "p pCopy") \
	X(cuMemcpy3D, COPY, "p pCopy") \
	X(cuMemcpy3DAsync, COPY, "p pCopy", "p hStream") \
	X(cuMemcpy3DAsync_v2, COPY, "p pCopy", "p hStream") \
	X(cuMemcpy3DAsync_v2_ptsz, COPY, "p pCopy", "p hStream") \
	X(cuMemcpy3DBatchAsync, COPY, "z numOps", "p opList", "p failIdx", "l flags", "p hStream") \
	X(cuMemcpy3DBatchAsync_ptsz, COPY, "z numOps", "p opList", "p failIdx", "l flags", \
	  "p hStream") \
	X(cuMemcpy3DBatchAsync_v2, COPY, "z numOps", "p opList", "l flags", "p hStream") \
	X(cuMemcpy3DBatchAsync_v2_ptsz, COPY, "z numOps", "p opList", "l flags", "p hStream") \
	X(cuMemcpy3DPeer, COPY, "p pCopy") \
	X(cuMemcpy3DPeerAsync, COPY, "p pCopy", "p hStream") \
	X(cuMemcpy3DPeerAsync_ptsz, COPY, "p pCopy", "p hStream") \
	X(cuMemcpy3DPeer_ptds, COPY, "p pCopy") \
	X(cuMemcpy3D_v2, COPY, "p pCopy") \
	X(cuMemcpy3D_v2_ptds, COPY, "p pCopy") \
	X(cuMemcpyAsync, COPY, "a dst", "a src", "z ByteCount", "p hStream") \
	X(cuMemcpyAsync_ptsz, COPY, "a dst", "a src", "z ByteCount", "p hStream") \
	X(cuMemcpyAtoA, COPY, "p dstArray", "u dstOffset", "p srcArray", "u srcOffset", \
	  "u ByteCount") \
	X(cuMemcpyAtoA_v2, COPY, "p dstArray", "z dstOffset", "p srcArray", "z srcOffset", \
	  "z ByteCount") \
	X(cuMemcpyAtoA_v2_ptds, COPY, "p dstArray", "z dstOffset", "p srcArray", "z srcOffset", \
	  "z ByteCount") \
	X(cuMemcpyAtoD, COPY, "u dstDevice", "p srcArray", "u srcOffset", "u ByteCount") \
	X(cuMemcpyAtoD_v2, COPY, "a dstDevice", "p srcArray", "z srcOffset", "z ByteCount") \
	X(cuMemcpyAtoD_v2_ptds, COPY, "a dstDevice", "p srcArray", "z srcOffset", "z ByteCount") \
	X(cuMemcpyAtoH, COPY, "p dstHost", "p srcArray", "u srcOffset", "u ByteCount") \
	X(cuMemcpyAtoHAsync, COPY, "p dstHost", "p srcArray", "u srcOffset", "u ByteCount", \
	  "p hStream") \
	X(cuMemcpyAtoHAsync_v2, COPY, "p dstHost", "p srcArray", "z srcOffset", "z ByteCount", \
	  "p hStream") \
	X(cuMemcpyAtoHAsync_v2_ptsz, COPY, "p dstHost", "p srcArray", "z srcOffset", "z ByteCount", \
	  "p hStream") \
	X(cuMemcpyAtoH_v2, COPY, "p dstHost", "p srcArray", "z srcOffset", "z ByteCount") \
	X(cuMemcpyAtoH_v2_ptds, COPY, "p dstHost", "p srcArray", "z srcOffset", "z ByteCount") \
	X(cuMemcpyBatchAsync, COPY, "p dsts", "p srcs", "p sizes", "z count", "p attrs", \
	  "p attrsIdxs", "z numAttrs", "p failIdx", "p hStream") \
	X(cuMemcpyBatchAsync_ptsz, COPY, "p dsts", "p srcs", "p sizes", "z count", "p attrs", \
	  "p attrsIdxs", "z numAttrs", "p failIdx", "p hStream") \
	X(cuMemcpyBatchAsync_v2, COPY, "p dsts", "p srcs", "p sizes", "z count", "p attrs", \
	  "p attrsIdxs", "z numAttrs", "p hStream") \
	X(cuMemcpyBatchAsync_v2_ptsz, COPY, "p dsts", "p srcs", "p sizes", "z count", "p attrs", \
	  "p attrsIdxs", "z numAttrs", "p hStream") \
	X(cuMemcpyDtoA, COPY, "p dstArray", "u dstOffset", "u srcDevice", "u ByteCount") \
	X(cuMemcpyDtoA_v2, COPY, "p dstArray", "z dstOffset", "a srcDevice", "z ByteCount") \
	X(cuMemcpyDtoA_v2_ptds, COPY, "p dstArray", "z dstOffset", "a srcDevice", "z ByteCount") \
	X(cuMemcpyDtoD, COPY, "u dstDevice", "u srcDevice", "u ByteCount") \
	X(cuMemcpyDtoDAsync, COPY, "u dstDevice", "u srcDevice", "u ByteCount", "p hStream") \
	X(cuMemcpyDtoDAsync_v2, COPY, "a dstDevice", "a srcDevice", "z ByteCount", "p hStream") \
	X(cuMemcpyDtoDAsync_v2_ptsz, COPY, "a dstDevice", "a srcDevice", "z ByteCount", \
	  "p hStream") \
	X(cuMemcpyDtoD_v2, COPY, "a dstDevice", "a srcDevice", "z ByteCount") \
	X(cuMemcpyDtoD_v2_ptds, COPY, "a dstDevice", "a srcDevice", "z ByteCount") \
	X(cuMemcpyDtoH, COPY, "p dstHost", "u srcDevice", "u ByteCount") \
	X(cuMemcpyDtoHAsync, COPY, "p dstHost", "u srcDevice", "u ByteCount", "p hStream") \
	X(cuMemcpyDtoHAsync_v2, COPY, "p dstHost", "a srcDevice", "z ByteCount", "p hStream") \
	X(cuMemcpyDtoHAsync_v2_ptsz, COPY, "p dstHost", "a srcDevice", "z ByteCount", "p hStream") \
	X(cuMemcpyDtoH_v2, COPY, "p dstHost", "a srcDevice", "z ByteCount") \
	X(cuMemcpyDtoH_v2_ptds, COPY, "p dstHost", "a srcDevice", "z ByteCount") \
	X(cuMemcpyHtoA, COPY, "p dstArray", "u dstOffset", "p srcHost", "u ByteCount") \
	X(cuMemcpyHtoAAsync, COPY, "p dstArray", "u dstOffset", "p srcHost", "u ByteCount", \
	  "p hStream") \
	X(cuMemcpyHtoAAsync_v2, COPY, "p dstArray", "z dstOffset", "p srcHost", "z ByteCount", \
	  "p hStream") \
	X(cuMemcpyHtoAAsync_v2_ptsz, COPY, "p dstArray", "z dstOffset", "p srcHost", "z ByteCount", \
	  "p hStream") \
	X(cuMemcpyHtoA_v2, COPY, "p dstArray", "z dstOffset", "p srcHost", "z ByteCount") \
	X(cuMemcpyHtoA_v2_ptds, COPY, "p dstArray", "z dstOffset", "p srcHost", "z ByteCount") \
	X(cuMemcpyHtoD, COPY, "u dstDevice", "p srcHost", "u ByteCount") \
	X(cuMemcpyHtoDAsync, COPY, "u dstDevice", "p srcHost", "u ByteCount", "p hStream") \
	X(cuMemcpyHtoDAsync_v2, COPY, "a dstDevice", "p srcHost", "z ByteCount", "p hStream") \
	X(cuMemcpyHtoDAsync_v2_ptsz, COPY, "a dstDevice", "p srcHost", "z ByteCount", "p hStream") \
	X(cuMemcpyHtoD_v2, COPY, "a dstDevice", "p srcHost", "z ByteCount") \
	X(cuMemcpyHtoD_v2_ptds, COPY, "a dstDevice", "p srcHost", "z ByteCount") \
	X(cuMemcpyPeer, COPY, "a dstDevice", "p dstContext", "a srcDevice", "p srcContext", \
	  "z ByteCount") \
	X(cuMemcpyPeerAsync, COPY, "a dstDevice", "p dstContext", "a srcDevice", "p srcContext", \
	  "z ByteCount", "p hStream") \
	X(cuMemcpyPeerAsync_ptsz, COPY, "a dstDevice", "p dstContext", "a srcDevice", \
	  "p srcContext", "z ByteCount", "p hStream") \
	X(cuMemcpyPeer_ptds, COPY, "a dstDevice", "p dstContext", "a srcDevice", "p srcContext", \
	  "z ByteCount") \
	X(cuMemcpy_ptds, COPY, "a dst", "a src", "z ByteCount") \
	/* Fills */ \
	X(cuMemsetD16, MEMSET, "u dstDevice", "h us", "u N") \
	X(cuMemsetD16Async, MEMSET, "a dstDevice", "h us", "z N", "p hStream") \
	X(cuMemsetD16Async_ptsz, MEMSET, "a dstDevice", "h us", "z N", "p hStream") \
	X(cuMemsetD16_v2, MEMSET, "a dstDevice", "h us", "z N") \
	X(cuMemsetD16_v2_ptds, MEMSET, "a dstDevice", "h us", "z N") \
	X(cuMemsetD2D16, MEMSET, "u dstDevice", "u dstPitch", "h us", "u Width", "u Height") \
	X(cuMemsetD2D16Async, MEMSET, "a dstDevice", "z dstPitch", "h us", "z Width", "z Height", \
	  "p hStream") \
	X(cuMemsetD2D16Async_ptsz, MEMSET, "a dstDevice", "z dstPitch", "h us", "z Width", \
	  "z Height", "p hStream") \
	X(cuMemsetD2D16_v2, MEMSET, "a dstDevice", "z dstPitch", "h us", "z Width", "z Height") \
	X(cuMemsetD2D16_v2_ptds, MEMSET, "a dstDevice", "z dstPitch", "h us", "z Width", \
	  "z Height") \
	X(cuMemsetD2D32, MEMSET, "u dstDevice", "u dstPitch", "u ui", "u Width", "u Height") \
	X(cuMemsetD2D32Async, MEMSET, "a dstDevice", "z dstPitch", "u ui", "z Width", "z Height", \
	  "p hStream") \
	X(cuMemsetD2D32Async_ptsz, MEMSET, "a dstDevice", "z dstPitch", "u ui", "z Width", \
	  "z Height", "p hStream") \
	X(cuMemsetD2D32_v2, MEMSET, "a dstDevice", "z dstPitch", "u ui", "z Width", "z Height") \
	X(cuMemsetD2D32_v2_ptds, MEMSET, "a dstDevice", "z dstPitch", "u ui", "z Width", \
	  "z Height") \
	X(cuMemsetD2D8, MEMSET, "u dstDevice", "u dstPitch", "b uc", "u Width", "u Height") \
	X(cuMemsetD2D8Async, MEMSET, "a dstDevice", "z dstPitch", "b uc", "z Width", "z Height", \
	  "p hStream") \
	X(cuMemsetD2D8Async_ptsz, MEMSET, "a dstDevice", "z dstPitch", "b uc", "z Width", \
	  "z Height", "p hStream") \
	X(cuMemsetD2D8_v2, MEMSET, "a dstDevice", "z dstPitch", "b uc", "z Width", "z Height") \
	X(cuMemsetD2D8_v2_ptds, MEMSET, "a dstDevice", "z dstPitch", "b uc", "z Width", "z Height") \
	X(cuMemsetD32, MEMSET, "u dstDevice", "u ui", "u N") \
	X(cuMemsetD32Async, MEMSET, "a dstDevice", "u ui", "z N", "p hStream") \
	X(cuMemsetD32Async_ptsz, MEMSET, "a dstDevice", "u ui", "z N", "p hStream") \
	X(cuMemsetD32_v2, MEMSET, "a dstDevice", "u ui", "z N") \
	X(cuMemsetD32_v2_ptds, MEMSET, "a dstDevice", "u ui", "z N") \
	X(cuMemsetD8, MEMSET, "u dstDevice", "b uc", "u N") \
	X(cuMemsetD8Async, MEMSET, "a dstDevice", "b uc", "z N", "p hStream") \
	X(cuMemsetD8Async_ptsz, MEMSET, "a dstDevice", "b uc", "z N", "p hStream") \
	X(cuMemsetD8_v2, MEMSET, "a dstDevice", "b uc", "z N") \
	X(cuMemsetD8_v2_ptds, MEMSET, "a dstDevice", "b uc", "z N") \
	/* Waiting and polling */ \
	X(cuCtxSynchronize, SYNC) \
	X(cuCtxSynchronize_v2, SYNC, "p ctx") \
	X(cuEventQuery, SYNC, "p hEvent") \
	X(cuEventSynchronize, SYNC, "p hEvent") \
	X(cuStreamQuery, SYNC, "p hStream") \
	X(cuStreamQuery_ptsz, SYNC, "p hStream") \
	X(cuStreamSynchronize, SYNC, "p hStream") \
	X(cuStreamSynchronize_ptsz, SYNC, "p hStream") \
	/* Streams */ \
	X(cuDestroyExternalSemaphore, STREAM, "p extSem") \
	X(cuFlushGPUDirectRDMAWrites, STREAM, "i target", "i scope") \
	X(cuImportExternalSemaphore, STREAM, "p extSem_out", "p semHandleDesc") \
	X(cuLaunchHostFunc, STREAM, "p hStream", "p fn", "p userData") \
	X(cuLaunchHostFunc_ptsz, STREAM, "p hStream", "p fn", "p userData") \
	X(cuSignalExternalSemaphoresAsync, STREAM, "p extSemArray", "p paramsArray", \
	  "u numExtSems", "p stream") \
	X(cuSignalExternalSemaphoresAsync_ptsz, STREAM, "p extSemArray", "p paramsArray", \
	  "u numExtSems", "p stream") \
	X(cuStreamAddCallback, STREAM, "p hStream", "p callback", "p userData", "u flags") \
	X(cuStreamAddCallback_ptsz, STREAM, "p hStream", "p callback", "p userData", "u flags") \
	X(cuStreamAttachMemAsync, STREAM, "p hStream", "a dptr", "z length", "u flags") \
	X(cuStreamAttachMemAsync_ptsz, STREAM, "p hStream", "a dptr", "z length", "u flags") \
	X(cuStreamBatchMemOp, STREAM, "p stream", "u count", "p paramArray", "u flags") \
	X(cuStreamBatchMemOp_ptsz, STREAM, "p stream", "u count", "p paramArray", "u flags") \
	X(cuStreamBatchMemOp_v2, STREAM, "p stream", "u count", "p paramArray", "u flags") \
	X(cuStreamBatchMemOp_v2_ptsz, STREAM, "p stream", "u count", "p paramArray", "u flags") \
	X(cuStreamBeginCapture, STREAM, "p hStream") \
	X(cuStreamBeginCaptureToGraph, STREAM, "p hStream", "p hGraph", "p dependencies", \
	  "p dependencyData", "z numDependencies", "i mode") \
	X(cuStreamBeginCaptureToGraph_ptsz, STREAM, "p hStream", "p hGraph", "p dependencies", \
	  "p dependencyData", "z numDependencies", "i mode") \
	X(cuStreamBeginCapture_ptsz, STREAM, "p hStream") \
	X(cuStreamBeginCapture_v2, STREAM, "p hStream", "i mode") \
	X(cuStreamBeginCapture_v2_ptsz, STREAM, "p hStream", "i mode") \
	X(cuStreamCopyAttributes, STREAM, "p dst", "p src") \
	X(cuStreamCopyAttributes_ptsz, STREAM, "p dst", "p src") \
	X(cuStreamCreate, STREAM, "p phStream", "u Flags") \
	X(cuStreamCreateWithPriority, STREAM, "p phStream", "u flags", "i priority") \
	X(cuStreamDestroy, STREAM, "p hStream") \
	X(cuStreamDestroy_v2, STREAM, "p hStream") \
	X(cuStreamEndCapture, STREAM, "p hStream", "p phGraph") \
	X(cuStreamEndCapture_ptsz, STREAM, "p hStream", "p phGraph") \
	X(cuStreamSetAttribute, STREAM, "p hStream", "i attr", "p value") \
	X(cuStreamSetAttribute_ptsz, STREAM, "p hStream", "i attr", "p value") \
	X(cuStreamUpdateCaptureDependencies, STREAM, "p hStream", "p dependencies", \
	  "z numDependencies", "u flags") \
	X(cuStreamUpdateCaptureDependencies_ptsz, STREAM, "p hStream", "p dependencies", \
	  "z numDependencies", "u flags") \
	X(cuStreamUpdateCaptureDependencies_v2, STREAM, "p hStream", "p dependencies", \
	  "p dependencyData", "z numDependencies", "u flags") \
	X(cuStreamUpdateCaptureDependencies_v2_ptsz, STREAM, "p hStream", "p dependencies", \
	  "p dependencyData", "z numDependencies", "u flags") \
	X(cuStreamWaitEvent, STREAM, "p hStream", "p hEvent", "u Flags") \
	X(cuStreamWaitEvent_ptsz, STREAM, "p hStream", "p hEvent", "u Flags") \
	X(cuStreamWaitValue32, STREAM, "p stream", "a addr", "u value", "u flags") \
	X(cuStreamWaitValue32_ptsz, STREAM, "p stream", "a addr", "u value", "u flags") \
	X(cuStreamWaitValue32_v2, STREAM, "p stream", "a addr", "u value", "u flags") \
	X(cuStreamWaitValue32_v2_ptsz, STREAM, "p stream", "a addr", "u value", "u flags") \
	X(cuStreamWaitValue64, STREAM, "p stream", "a addr", "l value", "u flags") \
	X(cuStreamWaitValue64_ptsz, STREAM, "p stream", "a addr", "l value", "u flags") \
	X(cuStreamWaitValue64_v2, STREAM, "p stream", "a addr", "l value", "u flags") \
	X(cuStreamWaitValue64_v2_ptsz, STREAM, "p stream", "a addr", "l value", "u flags") \
	X(cuStreamWriteValue32, STREAM, "p stream", "a addr", "u value", "u flags") \
	X(cuStreamWriteValue32_ptsz, STREAM, "p stream", "a addr", "u value", "u flags") \
	X(cuStreamWriteValue32_v2, STREAM, "p stream", "a addr", "u value", "u flags") \
	X(cuStreamWriteValue32_v2_ptsz, STREAM, "p stream", "a addr", "u value", "u flags") \
	X(cuStreamWriteValue64, STREAM, "p stream", "a addr", "l value", "u flags") \
	X(cuStreamWriteValue64_ptsz, STREAM, "p stream", "a addr", "l value", "u flags") \
	X(cuStreamWriteValue64_v2, STREAM, "p stream", "a addr", "l value", "u flags") \
	X(cuStreamWriteValue64_v2_ptsz, STREAM, "p stream", "a addr", "l value", "u flags") \
	X(cuThreadExchangeStreamCaptureMode, STREAM, "p mode") \
	X(cuWaitExternalSemaphoresAsync, STREAM, "p extSemArray", "p paramsArray", "u numExtSems", \
	  "p stream") \
	X(cuWaitExternalSemaphoresAsync_ptsz, STREAM, "p extSemArray", "p paramsArray", \
	  "u numExtSems", "p stream") \
	/* Events */ \
	X(cuCtxRecordEvent, EVENT, "p hCtx", "p hEvent") \
	X(cuCtxWaitEvent, EVENT, "p hCtx", "p hEvent") \
	X(cuEventCreate, EVENT, "p phEvent", "u Flags") \
	X(cuEventDestroy, EVENT, "p hEvent") \
	X(cuEventDestroy_v2, EVENT, "p hEvent") \
	X(cuEventRecord, EVENT, "p hEvent", "p hStream") \
	X(cuEventRecordWithFlags, EVENT, "p hEvent", "p hStream", "u flags") \
	X(cuEventRecordWithFlags_ptsz, EVENT, "p hEvent", "p hStream", "u flags") \
	X(cuEventRecord_ptsz, EVENT, "p hEvent", "p hStream") \
	X(cuGreenCtxRecordEvent, EVENT, "p hCtx", "p hEvent") \
	X(cuGreenCtxWaitEvent, EVENT, "p hCtx", "p hEvent") \
	X(cuIpcOpenEventHandle, EVENT, "p phEvent") \
	/* Contexts and devices */ \
	X(cuCtxAttach, CONTEXT, "p pctx", "u flags") \
	X(cuCtxCreate, CONTEXT, "p pctx", "u flags", "i dev") \
	X(cuCtxCreate_v2, CONTEXT, "p pctx", "u flags", "i dev") \
	X(cuCtxCreate_v3, CONTEXT, "p pctx", "p paramsArray", "i numParams", "u flags", "i dev") \
	X(cuCtxCreate_v4, CONTEXT, "p pctx", "p ctxCreateParams", "u flags", "i dev") \
	X(cuCtxDestroy, CONTEXT, "p ctx") \
	X(cuCtxDestroy_v2, CONTEXT, "p ctx") \
	X(cuCtxDetach, CONTEXT, "p ctx") \
	X(cuCtxDisablePeerAccess, CONTEXT, "p peerContext") \
	X(cuCtxEnablePeerAccess, CONTEXT, "p peerContext", "u Flags") \
	X(cuCtxFromGreenCtx, CONTEXT, "p pContext", "p hCtx") \
	X(cuCtxPopCurrent, CONTEXT, "p pctx") \
	X(cuCtxPopCurrent_v2, CONTEXT, "p pctx") \
	X(cuCtxPushCurrent, CONTEXT, "p ctx") \
	X(cuCtxPushCurrent_v2, CONTEXT, "p ctx") \
	X(cuCtxResetPersistingL2Cache, CONTEXT) \
	X(cuCtxSetCacheConfig, CONTEXT, "i config") \
	X(cuCtxSetCurrent, CONTEXT, "p ctx") \
	X(cuCtxSetFlags, CONTEXT, "u flags") \
	X(cuCtxSetLimit, CONTEXT, "i limit", "z value") \
	X(cuCtxSetSharedMemConfig, CONTEXT, "i config") \
	X(cuDevResourceGenerateDesc, CONTEXT, "p phDesc", "p resources", "u nbResources") \
	X(cuDevSmResourceSplitByCount, CONTEXT, "p result", "p nbGroups", "p input", "p remaining", \
	  "u useFlags", "u minCount") \
	X(cuDevicePrimaryCtxRelease, CONTEXT, "i dev") \
	X(cuDevicePrimaryCtxRelease_v2, CONTEXT, "i dev") \
	X(cuDevicePrimaryCtxReset, CONTEXT, "i dev") \
	X(cuDevicePrimaryCtxReset_v2, CONTEXT, "i dev") \
	X(cuDevicePrimaryCtxRetain, CONTEXT, "p pctx", "i dev") \
	X(cuDevicePrimaryCtxSetFlags, CONTEXT, "i dev", "u flags") \
	X(cuDevicePrimaryCtxSetFlags_v2, CONTEXT, "i dev", "u flags") \
	X(cuDeviceRegisterAsyncNotification, CONTEXT, "i device", "p callbackFunc", "p userData", \
	  "p callback") \
	X(cuDeviceUnregisterAsyncNotification, CONTEXT, "i device", "p callback") \
	X(cuGreenCtxCreate, CONTEXT, "p phCtx", "p desc", "i dev", "u flags") \
	X(cuGreenCtxDestroy, CONTEXT, "p hCtx") \
	X(cuGreenCtxStreamCreate, CONTEXT, "p phStream", "p greenCtx", "u flags", "i priority") \
	X(cuInit, CONTEXT, "u Flags") \
	/* Graphs */ \
	X(cuDeviceGraphMemTrim, GRAPH, "i device") \
	X(cuDeviceSetGraphMemAttribute, GRAPH, "i device", "i attr", "p value") \
	X(cuGraphAddBatchMemOpNode, GRAPH, "p phGraphNode", "p hGraph", "p dependencies", \
	  "z numDependencies", "p nodeParams") \
	X(cuGraphAddChildGraphNode, GRAPH, "p phGraphNode", "p hGraph", "p dependencies", \
	  "z numDependencies", "p childGraph") \
	X(cuGraphAddDependencies, GRAPH, "p hGraph", "p from", "p to", "z numDependencies") \
	X(cuGraphAddDependencies_v2, GRAPH, "p hGraph", "p from", "p to", "p edgeData", \
	  "z numDependencies") \
	X(cuGraphAddEmptyNode, GRAPH, "p phGraphNode", "p hGraph", "p dependencies", \
	  "z numDependencies") \
	X(cuGraphAddEventRecordNode, GRAPH, "p phGraphNode", "p hGraph", "p dependencies", \
	  "z numDependencies", "p event") \
	X(cuGraphAddEventWaitNode, GRAPH, "p phGraphNode", "p hGraph", "p dependencies", \
	  "z numDependencies", "p event") \
	X(cuGraphAddExternalSemaphoresSignalNode, GRAPH, "p phGraphNode", "p hGraph", \
	  "p dependencies", "z numDependencies", "p nodeParams") \
	X(cuGraphAddExternalSemaphoresWaitNode, GRAPH, "p phGraphNode", "p hGraph", \
	  "p dependencies", "z numDependencies", "p nodeParams") \
	X(cuGraphAddHostNode, GRAPH, "p phGraphNode", "p hGraph", "p dependencies", \
	  "z numDependencies", "p nodeParams") \
	X(cuGraphAddKernelNode, GRAPH, "p phGraphNode", "p hGraph", "p dependencies", \
	  "z numDependencies", "p nodeParams") \
	X(cuGraphAddKernelNode_v2, GRAPH, "p phGraphNode", "p hGraph", "p dependencies", \
	  "z numDependencies", "p nodeParams") \
	X(cuGraphAddMemAllocNode, GRAPH, "p phGraphNode", "p hGraph", "p dependencies", \
	  "z numDependencies", "p nodeParams") \
	X(cuGraphAddMemFreeNode, GRAPH, "p phGraphNode", "p hGraph", "p dependencies", \
	  "z numDependencies", "a dptr") \
	X(cuGraphAddMemcpyNode, GRAPH, "p phGraphNode", "p hGraph", "p dependencies", \
	  "z numDependencies", "p copyParams", "p ctx") \
	X(cuGraphAddMemsetNode, GRAPH, "p phGraphNode", "p hGraph", "p dependencies", \
	  "z numDependencies", "p memsetParams", "p ctx") \
	X(cuGraphAddNode, GRAPH, "p phGraphNode", "p hGraph", "p dependencies", \
	  "z numDependencies", "p nodeParams") \
	X(cuGraphAddNode_v2, GRAPH, "p phGraphNode", "p hGraph", "p dependencies", \
	  "p dependencyData", "z numDependencies", "p nodeParams") \
	X(cuGraphBatchMemOpNodeSetParams, GRAPH, "p hNode", "p nodeParams") \
	X(cuGraphClone, GRAPH, "p phGraphClone", "p originalGraph") \
	X(cuGraphConditionalHandleCreate, GRAPH, "p pHandle_out", "p hGraph", "p ctx", \
	  "u defaultLaunchValue", "u flags") \
	X(cuGraphCreate, GRAPH, "p phGraph", "u flags") \
	X(cuGraphDestroy, GRAPH, "p hGraph") \
	X(cuGraphDestroyNode, GRAPH, "p hNode") \
	X(cuGraphEventRecordNodeSetEvent, GRAPH, "p hNode", "p event") \
	X(cuGraphEventWaitNodeSetEvent, GRAPH, "p hNode", "p event") \
	X(cuGraphExecBatchMemOpNodeSetParams, GRAPH, "p hGraphExec", "p hNode", "p nodeParams") \
	X(cuGraphExecChildGraphNodeSetParams, GRAPH, "p hGraphExec", "p hNode", "p childGraph") \
	X(cuGraphExecDestroy, GRAPH, "p hGraphExec") \
	X(cuGraphExecEventRecordNodeSetEvent, GRAPH, "p hGraphExec", "p hNode", "p event") \
	X(cuGraphExecEventWaitNodeSetEvent, GRAPH, "p hGraphExec", "p hNode", "p event") \
	X(cuGraphExecExternalSemaphoresSignalNodeSetParams, GRAPH, "p hGraphExec", "p hNode", \
	  "p nodeParams") \
	X(cuGraphExecExternalSemaphoresWaitNodeSetParams, GRAPH, "p hGraphExec", "p hNode", \
	  "p nodeParams") \
	X(cuGraphExecHostNodeSetParams, GRAPH, "p hGraphExec", "p hNode", "p nodeParams") \
	X(cuGraphExecKernelNodeSetParams, GRAPH, "p hGraphExec", "p hNode", "p nodeParams") \
	X(cuGraphExecKernelNodeSetParams_v2, GRAPH, "p hGraphExec", "p hNode", "p nodeParams") \
	X(cuGraphExecMemcpyNodeSetParams, GRAPH, "p hGraphExec", "p hNode", "p copyParams", \
	  "p ctx") \
	X(cuGraphExecMemsetNodeSetParams, GRAPH, "p hGraphExec", "p hNode", "p memsetParams", \
	  "p ctx") \
	X(cuGraphExecNodeSetParams, GRAPH, "p hGraphExec", "p hNode", "p nodeParams") \
	X(cuGraphExecUpdate, GRAPH, "p hGraphExec", "p hGraph", "p hErrorNode_out", \
	  "p updateResult_out") \
	X(cuGraphExecUpdate_v2, GRAPH, "p hGraphExec", "p hGraph", "p resultInfo") \
	X(cuGraphExternalSemaphoresSignalNodeSetParams, GRAPH, "p hNode", "p nodeParams") \
	X(cuGraphExternalSemaphoresWaitNodeSetParams, GRAPH, "p hNode", "p nodeParams") \
	X(cuGraphHostNodeSetParams, GRAPH, "p hNode", "p nodeParams") \
	X(cuGraphInstantiate, GRAPH, "p phGraphExec", "p hGraph", "p phErrorNode", "p logBuffer", \
	  "z bufferSize") \
	X(cuGraphInstantiateWithFlags, GRAPH, "p phGraphExec", "p hGraph", "l flags") \
	X(cuGraphInstantiateWithParams, GRAPH, "p phGraphExec", "p hGraph", "p instantiateParams") \
	X(cuGraphInstantiateWithParams_ptsz, GRAPH, "p phGraphExec", "p hGraph", \
	  "p instantiateParams") \
	X(cuGraphInstantiate_v2, GRAPH, "p phGraphExec", "p hGraph", "p phErrorNode", \
	  "p logBuffer", "z bufferSize") \
	X(cuGraphKernelNodeCopyAttributes, GRAPH, "p dst", "p src") \
	X(cuGraphKernelNodeSetAttribute, GRAPH, "p hNode", "i attr", "p value") \
	X(cuGraphKernelNodeSetParams, GRAPH, "p hNode", "p nodeParams") \
	X(cuGraphKernelNodeSetParams_v2, GRAPH, "p hNode", "p nodeParams") \
	X(cuGraphMemcpyNodeSetParams, GRAPH, "p hNode", "p nodeParams") \
	X(cuGraphMemsetNodeSetParams, GRAPH, "p hNode", "p nodeParams") \
	X(cuGraphNodeSetEnabled, GRAPH, "p hGraphExec", "p hNode", "u isEnabled") \
	X(cuGraphNodeSetParams, GRAPH, "p hNode", "p nodeParams") \
	X(cuGraphReleaseUserObject, GRAPH, "p graph", "p object", "u count") \
	X(cuGraphRemoveDependencies, GRAPH, "p hGraph", "p from", "p to", "z numDependencies") \
	X(cuGraphRemoveDependencies_v2, GRAPH, "p hGraph", "p from", "p to", "p edgeData", \
	  "z numDependencies") \
	X(cuGraphRetainUserObject, GRAPH, "p graph", "p object", "u count", "u flags") \
	X(cuGraphUpload, GRAPH, "p hGraphExec", "p hStream") \
	X(cuGraphUpload_ptsz, GRAPH, "p hGraphExec", "p hStream") \
	X(cuUserObjectCreate, GRAPH, "p object_out", "p ptr", "p destroy", "u initialRefcount", \
	  "u flags") \
	X(cuUserObjectRelease, GRAPH, "p object", "u count") \
	X(cuUserObjectRetain, GRAPH, "p object", "u count") \
	/* Questions */ \
	X(cuArray3DGetDescriptor, QUERY, "p pArrayDescriptor", "p hArray") \
	X(cuArray3DGetDescriptor_v2, QUERY, "p pArrayDescriptor", "p hArray") \
	X(cuArrayGetDescriptor, QUERY, "p pArrayDescriptor", "p hArray") \
	X(cuArrayGetDescriptor_v2, QUERY, "p pArrayDescriptor", "p hArray") \
	X(cuArrayGetMemoryRequirements, QUERY, "p memoryRequirements", "p array", "i device") \
	X(cuArrayGetPlane, QUERY, "p pPlaneArray", "p hArray", "u planeIdx") \
	X(cuArrayGetSparseProperties, QUERY, "p sparseProperties", "p array") \
	X(cuCtxGetApiVersion, QUERY, "p ctx", "p version") \
	X(cuCtxGetCacheConfig, QUERY, "p pconfig") \
	X(cuCtxGetCurrent, QUERY, "p pctx") \
	X(cuCtxGetDevResource, QUERY, "p hCtx", "p resource", "i type") \
	X(cuCtxGetDevice, QUERY, "p device") \
	X(cuCtxGetDevice_v2, QUERY, "p device", "p ctx") \
	X(cuCtxGetExecAffinity, QUERY, "p pExecAffinity", "i type") \
	X(cuCtxGetFlags, QUERY, "p flags") \
	X(cuCtxGetId, QUERY, "p ctx", "p ctxId") \
	X(cuCtxGetLimit, QUERY, "p pvalue", "i limit") \
	X(cuCtxGetSharedMemConfig, QUERY, "p pConfig") \
	X(cuCtxGetStreamPriorityRange, QUERY, "p leastPriority", "p greatestPriority") \
	X(cuDeviceCanAccessPeer, QUERY, "p canAccessPeer", "i dev", "i peerDev") \
	X(cuDeviceComputeCapability, QUERY, "p major", "p minor", "i dev") \
	X(cuDeviceGet, QUERY, "p device", "i ordinal") \
	X(cuDeviceGetAttribute, QUERY, "p pi", "i attrib", "i dev") \
	X(cuDeviceGetByPCIBusId, QUERY, "p dev", "p pciBusId") \
	X(cuDeviceGetCount, QUERY, "p count") \
	X(cuDeviceGetDefaultMemPool, QUERY, "p pool_out", "i dev") \
	X(cuDeviceGetDevResource, QUERY, "i device", "p resource", "i type") \
	X(cuDeviceGetExecAffinitySupport, QUERY, "p pi", "i type", "i dev") \
	X(cuDeviceGetGraphMemAttribute, QUERY, "i device", "i attr", "p value") \
	X(cuDeviceGetHostAtomicCapabilities, QUERY, "p capabilities", "p operations", "u count", \
	  "i dev") \
	X(cuDeviceGetLuid, QUERY, "p luid", "p deviceNodeMask", "i dev") \
	X(cuDeviceGetMemPool, QUERY, "p pool", "i dev") \
	X(cuDeviceGetName, QUERY, "p name", "i len", "i dev") \
	X(cuDeviceGetNvSciSyncAttributes, QUERY, "p nvSciSyncAttrList", "i dev", "i flags") \
	X(cuDeviceGetP2PAtomicCapabilities, QUERY, "p capabilities", "p operations", "u count", \
	  "i srcDevice", "i dstDevice") \
	X(cuDeviceGetP2PAttribute, QUERY, "p value", "i attrib", "i srcDevice", "i dstDevice") \
	X(cuDeviceGetPCIBusId, QUERY, "p pciBusId", "i len", "i dev") \
	X(cuDeviceGetProperties, QUERY, "p prop", "i dev") \
	X(cuDeviceGetTexture1DLinearMaxWidth, QUERY, "p maxWidthInElements", "i format", \
	  "u numChannels", "i dev") \
	X(cuDeviceGetUuid, QUERY, "p uuid", "i dev") \
	X(cuDeviceGetUuid_v2, QUERY, "p uuid", "i dev") \
	X(cuDevicePrimaryCtxGetState, QUERY, "i dev", "p flags", "p active") \
	X(cuDeviceTotalMem, QUERY, "p bytes", "i dev") \
	X(cuDeviceTotalMem_v2, QUERY, "p bytes", "i dev") \
	X(cuDriverGetVersion, QUERY, "p driverVersion") \
	X(cuEventElapsedTime, QUERY, "p pMilliseconds", "p hStart", "p hEnd") \
	X(cuEventElapsedTime_v2, QUERY, "p pMilliseconds", "p hStart", "p hEnd") \
	X(cuExternalMemoryGetMappedBuffer, QUERY, "p devPtr", "p extMem", "p bufferDesc") \
	X(cuExternalMemoryGetMappedMipmappedArray, QUERY, "p mipmap", "p extMem", "p mipmapDesc") \
	X(cuFuncGetAttribute, QUERY, "p pi", "i attrib", "p hfunc") \
	X(cuFuncGetModule, QUERY, "p hmod", "p hfunc") \
	X(cuFuncGetName, QUERY, "p name", "p hfunc") \
	X(cuFuncGetParamInfo, QUERY, "p func", "z paramIndex", "p paramOffset", "p paramSize") \
	X(cuFuncIsLoaded, QUERY, "p state", "p function") \
	X(cuGetErrorName, QUERY, "i error", "p pStr") \
	X(cuGetErrorString, QUERY, "i error", "p pStr") \
	X(cuGetExportTable, QUERY, "p ppExportTable", "p pExportTableId") \
	X(cuGetProcAddress, QUERY, "p symbol", "p pfn", "i cudaVersion", "l flags") \
	X(cuGetProcAddress_v2, QUERY, "p symbol", "p pfn", "i cudaVersion", "l flags", \
	  "p symbolStatus") \
	X(cuGraphBatchMemOpNodeGetParams, QUERY, "p hNode", "p nodeParams_out") \
	X(cuGraphChildGraphNodeGetGraph, QUERY, "p hNode", "p phGraph") \
	X(cuGraphDebugDotPrint, QUERY, "p hGraph", "p path", "u flags") \
	X(cuGraphEventRecordNodeGetEvent, QUERY, "p hNode", "p event_out") \
	X(cuGraphEventWaitNodeGetEvent, QUERY, "p hNode", "p event_out") \
	X(cuGraphExecGetFlags, QUERY, "p hGraphExec", "p flags") \
	X(cuGraphExternalSemaphoresSignalNodeGetParams, QUERY, "p hNode", "p params_out") \
	X(cuGraphExternalSemaphoresWaitNodeGetParams, QUERY, "p hNode", "p params_out") \
	X(cuGraphGetEdges, QUERY, "p hGraph", "p from", "p to", "p numEdges") \
	X(cuGraphGetEdges_v2, QUERY, "p hGraph", "p from", "p to", "p edgeData", "p numEdges") \
	X(cuGraphGetNodes, QUERY, "p hGraph", "p nodes", "p numNodes") \
	X(cuGraphGetRootNodes, QUERY, "p hGraph", "p rootNodes", "p numRootNodes") \
	X(cuGraphHostNodeGetParams, QUERY, "p hNode", "p nodeParams") \
	X(cuGraphKernelNodeGetAttribute, QUERY, "p hNode", "i attr", "p value_out") \
	X(cuGraphKernelNodeGetParams, QUERY, "p hNode", "p nodeParams") \
	X(cuGraphKernelNodeGetParams_v2, QUERY, "p hNode", "p nodeParams") \
	X(cuGraphMemAllocNodeGetParams, QUERY, "p hNode", "p params_out") \
	X(cuGraphMemFreeNodeGetParams, QUERY, "p hNode", "p dptr_out") \
	X(cuGraphMemcpyNodeGetParams, QUERY, "p hNode", "p nodeParams") \
	X(cuGraphMemsetNodeGetParams, QUERY, "p hNode", "p nodeParams") \
	X(cuGraphNodeFindInClone, QUERY, "p phNode", "p hOriginalNode", "p hClonedGraph") \
	X(cuGraphNodeGetDependencies, QUERY, "p hNode", "p dependencies", "p numDependencies") \
	X(cuGraphNodeGetDependencies_v2, QUERY, "p hNode", "p dependencies", "p edgeData", \
	  "p numDependencies") \
	X(cuGraphNodeGetDependentNodes, QUERY, "p hNode", "p dependentNodes", \
	  "p numDependentNodes") \
	X(cuGraphNodeGetDependentNodes_v2, QUERY, "p hNode", "p dependentNodes", "p edgeData", \
	  "p numDependentNodes") \
	X(cuGraphNodeGetEnabled, QUERY, "p hGraphExec", "p hNode", "p isEnabled") \
	X(cuGraphNodeGetType, QUERY, "p hNode", "p type") \
	X(cuGreenCtxGetDevResource, QUERY, "p hCtx", "p resource", "i type") \
	X(cuGreenCtxGetId, QUERY, "p greenCtx", "p greenCtxId") \
	X(cuIpcGetEventHandle, QUERY, "p pHandle", "p event") \
	X(cuIpcGetMemHandle, QUERY, "p pHandle", "a dptr") \
	X(cuKernelGetAttribute, QUERY, "p pi", "i attrib", "p kernel", "i dev") \
	X(cuKernelGetLibrary, QUERY, "p pLib", "p kernel") \
	X(cuKernelGetName, QUERY, "p name", "p hfunc") \
	X(cuKernelGetParamInfo, QUERY, "p kernel", "z paramIndex", "p paramOffset", "p paramSize") \
	X(cuLibraryEnumerateKernels, QUERY, "p kernels", "u numKernels", "p lib") \
	X(cuLibraryGetKernelCount, QUERY, "p count", "p lib") \
	X(cuMemGetAccess, QUERY, "p flags", "p location", "a ptr") \
	X(cuMemGetAddressRange, QUERY, "p pbase", "p psize", "u dptr") \
	X(cuMemGetAddressRange_v2, QUERY, "p pbase", "p psize", "a dptr") \
	X(cuMemGetAllocationGranularity, QUERY, "p granularity", "p prop", "i option") \
	X(cuMemGetAllocationPropertiesFromHandle, QUERY, "p prop", "l handle") \
	X(cuMemGetDefaultMemPool, QUERY, "p pool_out", "p location", "i type") \
	X(cuMemGetHandleForAddressRange, QUERY, "p handle", "a dptr", "z size", "i handleType", \
	  "l flags") \
	X(cuMemGetInfo, QUERY, "p free", "p total") \
	X(cuMemGetInfo_v2, QUERY, "p free", "p total") \
	X(cuMemGetMemPool, QUERY, "p pool", "p location", "i type") \
	X(cuMemHostGetDevicePointer, QUERY, "p pdptr", "p p", "u Flags") \
	X(cuMemHostGetDevicePointer_v2, QUERY, "p pdptr", "p p", "u Flags") \
	X(cuMemHostGetFlags, QUERY, "p pFlags", "p p") \
	X(cuMemPoolGetAccess, QUERY, "p flags", "p memPool", "p location") \
	X(cuMemPoolGetAttribute, QUERY, "p pool", "i attr", "p value") \
	X(cuMemRangeGetAttribute, QUERY, "p data", "z dataSize", "i attribute", "a devPtr", \
	  "z count") \
	X(cuMemRangeGetAttributes, QUERY, "p data", "p dataSizes", "p attributes", \
	  "z numAttributes", "a devPtr", "z count") \
	X(cuMipmappedArrayGetLevel, QUERY, "p pLevelArray", "p hMipmappedArray", "u level") \
	X(cuMipmappedArrayGetMemoryRequirements, QUERY, "p memoryRequirements", "p mipmap", \
	  "i device") \
	X(cuMipmappedArrayGetSparseProperties, QUERY, "p sparseProperties", "p mipmap") \
	X(cuModuleEnumerateFunctions, QUERY, "p functions", "u numFunctions", "p mod") \
	X(cuModuleGetFunctionCount, QUERY, "p count", "p mod") \
	X(cuModuleGetLoadingMode, QUERY, "p mode") \
	X(cuMulticastGetGranularity, QUERY, "p granularity", "p prop", "i option") \
	X(cuOccupancyAvailableDynamicSMemPerBlock, QUERY, "p dynamicSmemSize", "p func", \
	  "i numBlocks", "i blockSize") \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessor, QUERY, "p numBlocks", "p func", \
	  "i blockSize", "z dynamicSMemSize") \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, QUERY, "p numBlocks", "p func", \
	  "i blockSize", "z dynamicSMemSize", "u flags") \
	X(cuOccupancyMaxActiveClusters, QUERY, "p numClusters", "p func", "p config") \
	X(cuOccupancyMaxPotentialBlockSize, QUERY, "p minGridSize", "p blockSize", "p func", \
	  "i blockSizeToDynamicSMemSize", "z dynamicSMemSize", "i blockSizeLimit") \
	X(cuOccupancyMaxPotentialBlockSizeWithFlags, QUERY, "p minGridSize", "p blockSize", \
	  "p func", "i blockSizeToDynamicSMemSize", "z dynamicSMemSize", "i blockSizeLimit", \
	  "u flags") \
	X(cuOccupancyMaxPotentialClusterSize, QUERY, "p clusterSize", "p func", "p config") \
	X(cuPointerGetAttribute, QUERY, "p data", "i attribute", "a ptr") \
	X(cuPointerGetAttributes, QUERY, "u numAttributes", "p attributes", "p data", "a ptr") \
	X(cuStreamGetAttribute, QUERY, "p hStream", "i attr", "p value_out") \
	X(cuStreamGetAttribute_ptsz, QUERY, "p hStream", "i attr", "p value_out") \
	X(cuStreamGetCaptureInfo, QUERY, "p hStream", "p captureStatus_out", "p id_out") \
	X(cuStreamGetCaptureInfo_ptsz, QUERY, "p hStream", "p captureStatus_out", "p id_out") \
	X(cuStreamGetCaptureInfo_v2, QUERY, "p hStream", "p captureStatus_out", "p id_out", \
	  "p graph_out", "p dependencies_out", "p numDependencies_out") \
	X(cuStreamGetCaptureInfo_v2_ptsz, QUERY, "p hStream", "p captureStatus_out", "p id_out", \
	  "p graph_out", "p dependencies_out", "p numDependencies_out") \
	X(cuStreamGetCaptureInfo_v3, QUERY, "p hStream", "p captureStatus_out", "p id_out", \
	  "p graph_out", "p dependencies_out", "p edgeData_out", "p numDependencies_out") \
	X(cuStreamGetCaptureInfo_v3_ptsz, QUERY, "p hStream", "p captureStatus_out", "p id_out", \
	  "p graph_out", "p dependencies_out", "p edgeData_out", "p numDependencies_out") \
	X(cuStreamGetCtx, QUERY, "p hStream", "p pctx") \
	X(cuStreamGetCtx_ptsz, QUERY, "p hStream", "p pctx") \
	X(cuStreamGetCtx_v2, QUERY, "p hStream", "p pCtx", "p pGreenCtx") \
	X(cuStreamGetCtx_v2_ptsz, QUERY, "p hStream", "p pCtx", "p pGreenCtx") \
	X(cuStreamGetDevice, QUERY, "p hStream", "p device") \
	X(cuStreamGetDevice_ptsz, QUERY, "p hStream", "p device") \
	X(cuStreamGetFlags, QUERY, "p hStream", "p flags") \
	X(cuStreamGetFlags_ptsz, QUERY, "p hStream", "p flags") \
	X(cuStreamGetGreenCtx, QUERY, "p hStream", "p phCtx") \
	X(cuStreamGetId, QUERY, "p hStream", "p streamId") \
	X(cuStreamGetId_ptsz, QUERY, "p hStream", "p streamId") \
	X(cuStreamGetPriority, QUERY, "p hStream", "p priority") \
	X(cuStreamGetPriority_ptsz, QUERY, "p hStream", "p priority") \
	X(cuStreamIsCapturing, QUERY, "p hStream", "p captureStatus") \
	X(cuStreamIsCapturing_ptsz, QUERY, "p hStream", "p captureStatus")

#endif
