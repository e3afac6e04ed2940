/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A unit of work for a device: what a stream runs and what a node of a graph
 * holds.  Every asynchronous call of the driver makes one and hands it to
 * sim_submit(), which queues it or, while the stream captures, adds it to the
 * graph.
 */
#ifndef SIM_WORK_H
#define SIM_WORK_H

#include "sim/driver.h"

/* The types of a graph's nodes, and those that exist in streams only. */
enum {
	SIM_WORK_KERNEL = CU_GRAPH_NODE_TYPE_KERNEL,
	SIM_WORK_COPY = CU_GRAPH_NODE_TYPE_MEMCPY,
	SIM_WORK_FILL = CU_GRAPH_NODE_TYPE_MEMSET,
	SIM_WORK_HOST = CU_GRAPH_NODE_TYPE_HOST,
	SIM_WORK_CHILD = CU_GRAPH_NODE_TYPE_GRAPH,
	SIM_WORK_EMPTY = CU_GRAPH_NODE_TYPE_EMPTY,
	SIM_WORK_WAIT = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
	SIM_WORK_RECORD = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
	SIM_WORK_FREE = CU_GRAPH_NODE_TYPE_MEM_FREE,
	SIM_WORK_CALLBACK = 100,
	SIM_WORK_VALUE,
	SIM_WORK_EXEC,
};

struct sim_kernel_work {
	struct CUfunc_st *function;
	CUkernel kern;		/* as the caller named it, or NULL */
	uint32_t grid[3], block[3], cluster[3];
	uint32_t shared;	/* dynamic, bytes */
	int cooperative, priority;
	void *params;		/* the parameter block, owned */
	void **pointers;	/* to each parameter in it, owned */
	uint64_t grid_id;
};

struct sim_work {
	int type;
	struct CUctx_st *ctx;
	union {
		struct sim_kernel_work kernel;
		struct {
			CUDA_MEMCPY3D what;
			void *staged;	/* copy of pageable source bytes, owned, or NULL */
		} copy;
		CUDA_MEMSET_NODE_PARAMS_v1 fill;
		CUDA_HOST_NODE_PARAMS host;
		CUgraph child;		/* owned */
		CUevent event;
		CUdeviceptr freed;
		struct {
			CUstreamCallback function;
			CUstream stream;
			void *data;
		} callback;
		CUstreamBatchMemOpParams value;
		struct sim_run *run;	/* one launch of an executable graph, owned */
	};
};

/* Run on the calling thread; CUDA_SUCCESS or what went wrong. */
CUresult sim_work_run(struct sim_work *work);
/* A copy that owns its own memory. */
CUresult sim_work_copy(struct sim_work *to, const struct sim_work *from);
void sim_work_clear(struct sim_work *work);	/* free what it owns */

/* launch.c */
CUresult sim_kernel_work_make(struct CUctx_st *ctx, const CUlaunchConfig *config, CUfunction f,
			      void **params, void **extra, struct sim_kernel_work *ret);
CUresult sim_kernel_work_run(struct CUctx_st *ctx, const struct sim_kernel_work *work);
CUresult sim_kernel_work_copy(struct sim_kernel_work *to, const struct sim_kernel_work *from);

/* copy.c, fill.c, value.c: check at the call, run later. */
CUresult sim_copy_check(const CUDA_MEMCPY3D *copy);
void sim_copy_run(const CUDA_MEMCPY3D *copy);
CUresult sim_fill_check(const CUDA_MEMSET_NODE_PARAMS_v1 *fill);
void sim_fill_run(const CUDA_MEMSET_NODE_PARAMS_v1 *fill);
void sim_value_run(struct CUctx_st *ctx, const CUstreamBatchMemOpParams *op);

/* graph-exec.c */
CUresult sim_run_run(struct sim_run *run);
void sim_run_free(struct sim_run *run);

#endif
