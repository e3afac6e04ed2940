/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/launch/fit.h"

#include <stdarg.h>
#include <stdio.h>

#include "lib/agent/agent.h"

void gt_launch_misses(struct gt_kernel *kernel, const char *format, ...)
{
	char why[256];
	va_list args;

	if (atomic_exchange(&kernel->said, true))
		return;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	gt_note(4, "some launches of %.128s run without programs: %s", kernel->name, why);
}

static unsigned product(const uint32_t extent[3])
{
	return extent[0] * extent[1] * extent[2];
}

static const CUlaunchAttributeValue *attribute(const CUlaunchConfig *config, CUlaunchAttributeID id)
{
	for (unsigned i = 0; config && config->attrs && i < config->numAttrs; i++) {
		if (config->attrs[i].id == id)
			return &config->attrs[i].value;
	}
	return NULL;
}

/* All blocks of a cooperative launch must be on the device at once. */
static bool fits_at_once(const struct gt_launch *launch, CUfunction copy)
{
	uint64_t blocks = (uint64_t)launch->record.grid[0] * launch->record.grid[1] * launch->record.grid[2];
	int each = 0, processors = 0;

	if (gt_cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, copy, (int)product(launch->record.block),
							      launch->record.shared_bytes) ||
	    gt_cu.cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
				       launch->context->device))
		return false;
	if (blocks <= (uint64_t)each * (uint64_t)processors)
		return true;
	gt_launch_misses(launch->kernel, "a cooperative launch of %llu blocks has no room for the registers that the programs need",
			 (unsigned long long)blocks);
	return false;
}

static bool fits_in_clusters(const struct gt_launch *launch, CUfunction copy)
{
	int clusters = 0;

	if (!gt_cu.cuOccupancyMaxActiveClusters(&clusters, copy, launch->config) && clusters)
		return true;
	gt_launch_misses(launch->kernel, "its clusters have no room for the registers that the programs need");
	return false;
}

bool gt_launch_fits(const struct gt_launch *launch, const void *function)
{
	CUfunction copy = (CUfunction)(uintptr_t)function;
	unsigned threads = product(launch->record.block);
	const CUlaunchAttributeValue *cooperative = attribute(launch->config, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);

	if (launch->kernel->max_threads && threads > launch->kernel->max_threads) {
		gt_launch_misses(launch->kernel, "with the registers that the programs need, a block has at most %u threads, not %u",
				 launch->kernel->max_threads, threads);
		return false;
	}
	if ((launch->record.flags & GT_LAUNCH_COOPERATIVE || (cooperative && cooperative->cooperative)) &&
	    !fits_at_once(launch, copy))
		return false;
	return !attribute(launch->config, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) || fits_in_clusters(launch, copy);
}
