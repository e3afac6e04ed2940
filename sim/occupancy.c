/* SPDX-License-Identifier: Apache-2.0 */
/* How many blocks fit: the usual arithmetic with the limits of attribute.c. */
#include "sim/module.h"

/* A function for a query, which needs no current context when given a CUfunction. */
static CUresult find(CUfunction handle, struct CUfunc_st **ret_function)
{
	struct CUctx_st *ctx = NULL;
	CUresult r = sim_ready();

	if (r == CUDA_SUCCESS && !sim_handle_is(handle, SIM_FUNCTION))
		r = sim_current(&ctx);
	return r ? r : sim_function(handle, ctx, ret_function);
}

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_blocks, CUfunction handle,
								  int threads, size_t dynamic,
								  unsigned flags)
{
	struct CUfunc_st *f;
	CUresult r = find(handle, &f);

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_blocks || threads <= 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_blocks = (int)sim_occupancy(f, (unsigned)threads, dynamic);
	return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_blocks, CUfunction handle,
							 int threads, size_t dynamic)
{
	return sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ret_blocks, handle, threads,
									dynamic, 0);
}

/* The largest block with the most threads resident. */
CUresult sim_cuOccupancyMaxPotentialBlockSizeWithFlags(int *ret_grid, int *ret_block,
						       CUfunction handle,
						       CUoccupancyB2DSize dynamic_for,
						       size_t dynamic, int limit, unsigned flags)
{
	unsigned best = 0, best_threads = 0, best_blocks = 0, max;
	struct CUfunc_st *f;
	CUresult r = find(handle, &f);

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_grid || !ret_block || limit < 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
		return CUDA_ERROR_INVALID_VALUE;
	max = f->info->max_threads;
	if (limit && (unsigned)limit < max)
		max = (unsigned)limit;
	for (unsigned threads = max; threads; threads = threads > 32 ? (threads - 1) / 32 * 32 : 0) {
		size_t shared = dynamic_for ? dynamic_for((int)threads) : dynamic;
		unsigned blocks = sim_occupancy(f, threads, shared);

		if (blocks * threads > best) {
			best = blocks * threads;
			best_threads = threads;
			best_blocks = blocks;
		}
	}
	*ret_grid = (int)(best_blocks * f->module->gpu->machine.sm_count);
	*ret_block = (int)best_threads;
	return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxPotentialBlockSize(int *ret_grid, int *ret_block, CUfunction handle,
					      CUoccupancyB2DSize dynamic_for, size_t dynamic, int limit)
{
	return sim_cuOccupancyMaxPotentialBlockSizeWithFlags(ret_grid, ret_block, handle, dynamic_for,
							     dynamic, limit, 0);
}

CUresult sim_cuOccupancyAvailableDynamicSMemPerBlock(size_t *ret_size, CUfunction handle, int blocks,
						     int threads)
{
	struct CUfunc_st *f;
	CUresult r = find(handle, &f);
	size_t size, used;

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_size || blocks <= 0 || threads <= 0 ||
	    sim_occupancy(f, (unsigned)threads, 0) < (unsigned)blocks)
		return CUDA_ERROR_INVALID_VALUE;
	size = 228 * 1024 / (size_t)blocks;
	used = f->info->static_shared + 1024;
	size = size > used ? size - used : 0;
	*ret_size = size < (size_t)f->max_dynamic ? size : (size_t)f->max_dynamic;
	return CUDA_SUCCESS;
}

/* Clusters are as many as blocks fit, since nothing here ties them to parts of the device. */
CUresult sim_cuOccupancyMaxActiveClusters(int *ret_clusters, CUfunction handle,
					  const CUlaunchConfig *config)
{
	struct CUfunc_st *f;
	CUresult r = find(handle, &f);
	unsigned size = 1, blocks;

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_clusters || !config || (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			size = config->attrs[i].value.clusterDim.x * config->attrs[i].value.clusterDim.y *
			       config->attrs[i].value.clusterDim.z;
	if (!size || size > 16)
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	blocks = sim_occupancy(f, config->blockDimX * config->blockDimY * config->blockDimZ,
			       config->sharedMemBytes);
	*ret_clusters = (int)(blocks * f->module->gpu->machine.sm_count / size);
	return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxPotentialClusterSize(int *ret_size, CUfunction handle,
						const CUlaunchConfig *config)
{
	struct CUfunc_st *f;
	CUresult r = find(handle, &f);

	if (r == CUDA_SUCCESS && (!ret_size || !config))
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_size = f->non_portable_cluster ? 16 : 8;
	return r;
}
