/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/verify/helpers.h"

#include <linux/bpf.h>
#include <stddef.h>

#include <gputrace/object.h>

#include "lib/object/gpu-abi.h"
#include "lib/wire/probe.h"

/* Map types of bpftime's GPU programs. */
enum {
	BPFTIME_GPU_HASH = 1501,
	BPFTIME_THREAD_ARRAY = 1502,
	BPFTIME_GPU_ARRAY = 1503,
	BPFTIME_SHARED_ARRAY = 1504,
	BPFTIME_THREAD_ARRAY_HOST = 1512,
	BPFTIME_GPU_ARRAY_HOST = 1513,
	BPFTIME_RING = 1527,
};

#define PER_LANE GT_HELPER_PER_LANE
#define ENTRY (1u << GPUTRACE_POINT_ENTRY)

/*
 * In order of id.  ret_max is a promise of the compiler: the upper half of the
 * register is clear where the function returns 32 bits.
 */
static const struct gt_helper helpers[] = {
	{ .id = 1, .name = "bpf_map_lookup_elem", .arg = { GT_ARG_ELEMENT_MAP, GT_ARG_KEY },
	  .ret = GT_RET_VALUE_OR_NULL },
	{ .id = 2, .name = "bpf_map_update_elem",
	  .arg = { GT_ARG_ELEMENT_MAP, GT_ARG_KEY, GT_ARG_VALUE, GT_ARG_SCALAR }, .flags = PER_LANE },
	{ .id = 3, .name = "bpf_map_delete_elem", .arg = { GT_ARG_ELEMENT_MAP, GT_ARG_KEY },
	  .flags = PER_LANE },
	{ .id = 5, .name = "bpf_ktime_get_ns", .flags = PER_LANE },
	{ .id = 6, .name = "bpf_trace_printk",
	  .arg = { GT_ARG_READ, GT_ARG_SIZE, GT_ARG_ANY, GT_ARG_ANY, GT_ARG_ANY },
	  .flags = PER_LANE | GT_HELPER_PRINTS },
	{ .id = 7, .name = "bpf_get_prandom_u32", .flags = PER_LANE | GT_HELPER_THREAD, .ret_max = UINT32_MAX },
	{ .id = 8, .name = "bpf_get_smp_processor_id", .ret_max = UINT32_MAX },
	{ .id = 14, .name = "bpf_get_current_pid_tgid" },
	{ .id = 25, .name = "bpf_perf_event_output",
	  .arg = { GT_ARG_CONTEXT, GT_ARG_RING_MAP, GT_ARG_SCALAR, GT_ARG_READ, GT_ARG_SIZE_OR_ZERO },
	  .flags = PER_LANE },
	{ .id = 130, .name = "bpf_ringbuf_output",
	  .arg = { GT_ARG_RING_MAP, GT_ARG_READ, GT_ARG_SIZE_OR_ZERO, GT_ARG_SCALAR }, .flags = PER_LANE },
	{ .id = 131, .name = "bpf_ringbuf_reserve",
	  .arg = { GT_ARG_RING_MAP, GT_ARG_RECORD_SIZE, GT_ARG_SCALAR }, .ret = GT_RET_RECORD_OR_NULL,
	  .flags = PER_LANE },
	{ .id = 132, .name = "bpf_ringbuf_submit", .arg = { GT_ARG_RECORD, GT_ARG_SCALAR } },
	{ .id = 133, .name = "bpf_ringbuf_discard", .arg = { GT_ARG_RECORD, GT_ARG_SCALAR } },
	{ .id = 177, .name = "bpf_trace_vprintk",
	  .arg = { GT_ARG_READ, GT_ARG_SIZE, GT_ARG_READ_OR_NULL, GT_ARG_SIZE_OR_ZERO },
	  .flags = PER_LANE | GT_HELPER_PRINTS },
	{ .id = 181, .name = "bpf_loop",
	  .arg = { GT_ARG_SCALAR, GT_ARG_CALLBACK, GT_ARG_CALLBACK_CONTEXT, GT_ARG_SCALAR },
	  .flags = PER_LANE },
	/* bpftime's */
	{ .id = 502, .name = "bpf_get_globaltimer", .flags = PER_LANE },
	{ .id = 503, .name = "bpf_get_block_idx", .arg = { GT_ARG_U64, GT_ARG_U64, GT_ARG_U64 } },
	{ .id = 504, .name = "bpf_get_block_dim", .arg = { GT_ARG_U64, GT_ARG_U64, GT_ARG_U64 } },
	{ .id = 505, .name = "bpf_get_thread_idx", .arg = { GT_ARG_U64, GT_ARG_U64, GT_ARG_U64 },
	  .flags = PER_LANE | GT_HELPER_THREAD },
	{ .id = 506, .name = "bpf_gpu_membar" },
	{ .id = 507, .name = "bpf_cuda_exit", .flags = GT_HELPER_NO_REF, .points = ENTRY },
	{ .id = 508, .name = "bpf_get_grid_dim", .arg = { GT_ARG_U64, GT_ARG_U64, GT_ARG_U64 } },
	{ .id = 509, .name = "bpf_get_sm_id", .ret_max = UINT32_MAX },
	{ .id = 510, .name = "bpf_get_warp_id", .ret_max = UINT32_MAX },
	{ .id = 511, .name = "bpf_get_lane_id", .flags = PER_LANE | GT_HELPER_THREAD, .ret_max = 31 },
	/* this library's */
	{ .id = 4096, .name = "gputrace_globaltimer", .flags = PER_LANE },
	{ .id = 4097, .name = "gputrace_clock64", .flags = PER_LANE },
	{ .id = 4098, .name = "gputrace_sm_id", .ret_max = UINT32_MAX },
	{ .id = 4099, .name = "gputrace_warp_id", .ret_max = UINT32_MAX },
	{ .id = 4100, .name = "gputrace_lane_id", .flags = PER_LANE | GT_HELPER_THREAD, .ret_max = 31 },
	{ .id = 4101, .name = "gputrace_active_mask", .ret_max = UINT32_MAX },
	{ .id = 4102, .name = "gputrace_launch_id" },
	{ .id = 4103, .name = "gputrace_grid_id" },
	{ .id = 4104, .name = "gputrace_read_param", .arg = { GT_ARG_WRITE, GT_ARG_SIZE, GT_ARG_SCALAR },
	  .wants = GT_PROBE_WANTS_PARAMS },
	{ .id = 4105, .name = "gputrace_warp_sum", .arg = { GT_ARG_SCALAR }, .flags = GT_HELPER_WARP },
};

#define HELPERS (sizeof(helpers) / sizeof(helpers[0]))

const struct gt_helper *gt_helper_find(uint32_t id)
{
	for (unsigned i = 0; i < HELPERS; i++)
		if (helpers[i].id == id)
			return &helpers[i];
	return NULL;
}

const struct gt_helper *gt_helper_at(unsigned index)
{
	return index < HELPERS ? &helpers[index] : NULL;
}

enum gt_map_class gt_map_classify(uint32_t type)
{
	switch (type) {
	case BPF_MAP_TYPE_ARRAY:
	case BPF_MAP_TYPE_PERCPU_ARRAY:
	case GPUTRACE_MAP_TYPE_THREAD_ARRAY:
	case GPUTRACE_MAP_TYPE_WARP_ARRAY:
	case GPUTRACE_MAP_TYPE_BLOCK_ARRAY:
	case GPUTRACE_MAP_TYPE_SM_ARRAY:
	case BPFTIME_THREAD_ARRAY:
	case BPFTIME_GPU_ARRAY:
	case BPFTIME_SHARED_ARRAY:
	case BPFTIME_THREAD_ARRAY_HOST:
	case BPFTIME_GPU_ARRAY_HOST:
		return GT_MAP_CLASS_ARRAY;
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_PERCPU_HASH:
	case BPF_MAP_TYPE_LRU_HASH:
	case BPF_MAP_TYPE_LRU_PERCPU_HASH:
	case BPFTIME_GPU_HASH:
		return GT_MAP_CLASS_HASH;
	case BPF_MAP_TYPE_RINGBUF:
	case BPFTIME_RING:
		return GT_MAP_CLASS_RING;
	default:
		return GT_MAP_CLASS_OTHER;
	}
}

bool gt_map_is_per_thread(uint32_t type)
{
	return type == GPUTRACE_MAP_TYPE_THREAD_ARRAY || type == BPFTIME_THREAD_ARRAY ||
	       type == BPFTIME_THREAD_ARRAY_HOST;
}
