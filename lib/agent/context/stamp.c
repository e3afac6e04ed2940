/* SPDX-License-Identifier: Apache-2.0 */
/* Clock records, for GPUs whose timer the controller cannot read by itself. */
#include <stddef.h>

#include "lib/agent/context/parts.h"

static const char stamp_ptx[] =
	".version 6.3\n.target sm_75\n.address_size 64\n"
	".visible .entry stamp(.param .u64 to)\n{\n"
	"\t.reg .b64 %rd<3>;\n"
	"\tld.param.u64 %rd1, [to];\n"
	"\tmov.u64 %rd2, %globaltimer;\n"
	"\tst.volatile.global.u64 [%rd1], %rd2;\n"
	"\tret;\n}\n";

/* Far longer than a launch on an idle GPU takes. */
#define STAMP_PATIENCE_NS 20000000

static bool load_stamp(struct gt_context *context)
{
	if (context->stamp)
		return true;
	return !gt_cu.cuModuleLoadData(&context->stamp_module, stamp_ptx) &&
	       !gt_cu.cuModuleGetFunction(&context->stamp, context->stamp_module, "stamp");
}

static void tell_stamp(struct gt_context *context, uint64_t gpu)
{
	struct gt_rec_clock record = {
		.context = context->number, .before = context->stamp_before, .gpu = gpu, .after = gt_now(),
	};

	if (gt_emit(GT_REC_CLOCK, &record, sizeof(record)))
		context->stamped = true;
}

/* One that took longer than it should says little, but the first says more than nothing. */
static void take_late_stamp(struct gt_context *context)
{
	uint64_t gpu = __atomic_load_n(&gt_context_area(context)->stamp, __ATOMIC_ACQUIRE);

	context->stamp_pending = false;
	if (gpu && !context->stamped)
		tell_stamp(context, gpu);
}

void gt_stamp_wait(struct gt_context *context)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	if (context->stamped || !context->stamp_pending)
		return;
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	if (!gt_cu.cuStreamSynchronize(context->stream))
		take_late_stamp(context);
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
}

void gt_stamp_take(struct gt_context *context)
{
	struct gt_host_arena *area = gt_context_area(context);
	CUdeviceptr to = context->host + offsetof(struct gt_host_arena, stamp);
	void *params[] = { &to };
	uint64_t gpu;

	if (context->stamp_pending) {
		if (gt_cu.cuStreamQuery(context->stream) == CUDA_ERROR_NOT_READY)
			return;
		take_late_stamp(context);
	}
	if (!load_stamp(context)) {
		context->stamping = false;
		return;
	}
	__atomic_store_n(&area->stamp, 0, __ATOMIC_SEQ_CST);
	context->stamp_before = gt_now();
	if (gt_cu.cuLaunchKernel(context->stamp, 1, 1, 1, 1, 1, 1, 0, context->stream, params, NULL))
		return;
	do {
		gpu = __atomic_load_n(&area->stamp, __ATOMIC_ACQUIRE);
	} while (!gpu && gt_now() - context->stamp_before < STAMP_PATIENCE_NS);
	context->stamp_pending = !gpu;
	if (gpu)
		tell_stamp(context, gpu);
}
