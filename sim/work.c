/* SPDX-License-Identifier: Apache-2.0 */
/* Units of work: run, copied, freed. */
#include <stdlib.h>
#include <string.h>

#include "sim/graph.h"
#include "sim/memory.h"
#include "sim/work.h"

CUresult sim_work_run(struct sim_work *work)
{
	switch (work->type) {
	case SIM_WORK_KERNEL:
		return sim_kernel_work_run(work->ctx, &work->kernel);
	case SIM_WORK_COPY:
		sim_copy_run(&work->copy.what);
		break;
	case SIM_WORK_FILL:
		sim_fill_run(&work->fill);
		break;
	case SIM_WORK_HOST:
		work->host.fn(work->host.userData);
		break;
	case SIM_WORK_FREE:
		sim_memory_free(work->freed, 1u << SIM_MEMORY_DEVICE);
		break;
	case SIM_WORK_CALLBACK:
		work->callback.function(work->callback.stream,
					(CUresult)atomic_load(&work->ctx->error),
					work->callback.data);
		break;
	case SIM_WORK_VALUE:
		sim_value_run(work->ctx, &work->value);
		break;
	case SIM_WORK_EXEC:
		return sim_run_run(work->run);
	}
	return CUDA_SUCCESS;
}

CUresult sim_work_copy(struct sim_work *to, const struct sim_work *from)
{
	*to = *from;
	if (from->type == SIM_WORK_KERNEL) {
		CUresult r = sim_kernel_work_copy(&to->kernel, &from->kernel);

		if (r != CUDA_SUCCESS)
			sim_work_clear(to);
		return r;
	}
	if (from->type == SIM_WORK_COPY)
		to->copy.staged = NULL;		/* only streams have those */
	if (from->type == SIM_WORK_CHILD)
		return sim_graph_copy(from->child, &to->child);
	return CUDA_SUCCESS;
}

void sim_work_clear(struct sim_work *work)
{
	if (work->type == SIM_WORK_KERNEL) {
		free(work->kernel.params);
		free(work->kernel.pointers);
	} else if (work->type == SIM_WORK_COPY) {
		free(work->copy.staged);
	} else if (work->type == SIM_WORK_CHILD) {
		sim_graph_free(work->child);
	} else if (work->type == SIM_WORK_EXEC) {
		sim_run_free(work->run);
	}
	work->type = SIM_WORK_EMPTY;
}
