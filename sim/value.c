/* SPDX-License-Identifier: Apache-2.0 */
/* A stream that writes a word of memory, or waits until it has a value. */
#include <stdatomic.h>
#include <time.h>

#include "sim/memory.h"
#include "sim/stream.h"

static bool is_wait(int operation)
{
	return operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
	       operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

static size_t width(int operation)
{
	return operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
	       operation == CU_STREAM_MEM_OP_WRITE_VALUE_64 ? 8 : 4;
}

static CUresult check(const CUstreamBatchMemOpParams *op)
{
	int operation = (int)op->operation;
	unsigned condition = op->waitValue.flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH;

	if (operation == CU_STREAM_MEM_OP_BARRIER ||
	    operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES)
		return CUDA_SUCCESS;
	if (operation < 1 || operation > CU_STREAM_MEM_OP_WRITE_VALUE_64)
		return CUDA_ERROR_INVALID_VALUE;
	if (condition > (is_wait(operation) ? 3u : 1u))
		return CUDA_ERROR_INVALID_VALUE;
	if (op->waitValue.address % width(operation) ||
	    !sim_memory_holds(op->waitValue.address, width(operation)))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static uint64_t read_word(uint64_t addr, size_t size)
{
	if (size == 8)
		return __atomic_load_n((uint64_t *)addr, __ATOMIC_ACQUIRE);
	return __atomic_load_n((uint32_t *)addr, __ATOMIC_ACQUIRE);
}

static bool holds(const CUstreamBatchMemOpParams *op)
{
	size_t size = width((int)op->operation);
	uint64_t now = read_word(op->waitValue.address, size);
	uint64_t value = size == 8 ? op->waitValue.value64 : op->waitValue.value;

	switch (op->waitValue.flags & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ:	/* cyclic, so that counters may wrap */
		return size == 8 ? (int64_t)(now - value) >= 0
				 : (int32_t)((uint32_t)now - (uint32_t)value) >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return now == value;
	case CU_STREAM_WAIT_VALUE_AND:
		return (now & value) != 0;
	default:
		return (~(now | value) & (size == 8 ? UINT64_MAX : UINT32_MAX)) != 0;
	}
}

/* A failed context gives up waiting: what it waits for may never come. */
static void wait_value(struct CUctx_st *ctx, const CUstreamBatchMemOpParams *op)
{
	struct timespec pause = { .tv_nsec = 20000 };

	for (unsigned tries = 0; !holds(op) && !atomic_load(&ctx->error); tries++)
		if (tries > 1000)
			nanosleep(&pause, NULL);
}

void sim_value_run(struct CUctx_st *ctx, const CUstreamBatchMemOpParams *op)
{
	switch ((int)op->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		wait_value(ctx, op);
		break;
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		__atomic_store_n((uint32_t *)op->writeValue.address, op->writeValue.value,
				 __ATOMIC_SEQ_CST);
		break;
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		__atomic_store_n((uint64_t *)op->writeValue.address, op->writeValue.value64,
				 __ATOMIC_SEQ_CST);
		break;
	default:
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		break;
	}
}

CUresult sim_cuStreamBatchMemOp_v2(CUstream handle, unsigned count, CUstreamBatchMemOpParams *ops,
				   unsigned flags)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	if (r != CUDA_SUCCESS)
		return r;
	if (flags || !ops || !count || count > 256)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->capture)
		return CUDA_ERROR_NOT_SUPPORTED;
	for (unsigned i = 0; i < count && r == CUDA_SUCCESS; i++)
		r = check(&ops[i]);
	for (unsigned i = 0; i < count && r == CUDA_SUCCESS; i++) {
		struct sim_work work = { .type = SIM_WORK_VALUE, .value = ops[i] };

		r = sim_submit(stream, &work, NULL);
	}
	return r;
}

CUresult sim_cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams *ops,
				unsigned flags)
{
	return sim_cuStreamBatchMemOp_v2(stream, count, ops, flags);
}

#define VALUE(name, operation_name, bits, member)						\
	CUresult sim_cuStream##name##_v2(CUstream stream, CUdeviceptr addr,			\
					 uint##bits##_t value, unsigned flags)			\
	{											\
		CUstreamBatchMemOpParams op = { .operation = CU_STREAM_MEM_OP_##operation_name };	\
												\
		op.member.address = addr;							\
		if (bits == 64)									\
			op.member.value64 = value;						\
		else										\
			op.member.value = (uint32_t)value;					\
		op.member.flags = flags;							\
		return sim_cuStreamBatchMemOp_v2(stream, 1, &op, 0);				\
	}											\
	CUresult sim_cuStream##name(CUstream stream, CUdeviceptr addr, uint##bits##_t value,	\
				    unsigned flags)						\
	{											\
		return sim_cuStream##name##_v2(stream, addr, value, flags);			\
	}

VALUE(WaitValue32, WAIT_VALUE_32, 32, waitValue)
VALUE(WaitValue64, WAIT_VALUE_64, 64, waitValue)
VALUE(WriteValue32, WRITE_VALUE_32, 32, writeValue)
VALUE(WriteValue64, WRITE_VALUE_64, 64, writeValue)
