/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/metrics/gpm.h"

#include <gputrace/gputrace.h>
#include <math.h>
#include <time.h>

#include "lib/reader/reader.h"

/*
 * The driver refreshes them no faster: rates between two that are closer mean nothing.  A tick that comes a little too
 * early, as every second one at that very period, waits.
 */
#define APART_NS 100000000u
#define EARLY_NS 10000000u

/* The bit of the samples as such; those of the counters follow. */
#define BIT_ALL GT_MISSING_GPM

struct counter {
	const char *name, *unit;
	uint32_t select, id;
};

static const struct counter counters[] = {
	{ "gpm.graphics_util", "%", GPUTRACE_METRICS_COUNTERS, GT_NVML_GPM_GRAPHICS_UTIL },
	{ "gpm.sm_util", "%", GPUTRACE_METRICS_COUNTERS, GT_NVML_GPM_SM_UTIL },
	{ "gpm.sm_occupancy", "%", GPUTRACE_METRICS_COUNTERS, GT_NVML_GPM_SM_OCCUPANCY },
	{ "gpm.any_tensor_util", "%", GPUTRACE_METRICS_COUNTERS, GT_NVML_GPM_ANY_TENSOR_UTIL },
	{ "gpm.dram_bw_util", "%", GPUTRACE_METRICS_COUNTERS, GT_NVML_GPM_DRAM_BW_UTIL },
	{ "gpm.pcie_tx", "MiB/s", GPUTRACE_METRICS_PCIE, GT_NVML_GPM_PCIE_TX },
	{ "gpm.pcie_rx", "MiB/s", GPUTRACE_METRICS_PCIE, GT_NVML_GPM_PCIE_RX },
	{ "gpm.nvlink_tx", "MiB/s", GPUTRACE_METRICS_COUNTERS, GT_NVML_GPM_NVLINK_TX },
	{ "gpm.nvlink_rx", "MiB/s", GPUTRACE_METRICS_COUNTERS, GT_NVML_GPM_NVLINK_RX },
};
#define COUNTERS (sizeof(counters) / sizeof(counters[0]))
_Static_assert(BIT_ALL + COUNTERS < GT_MISSING_USAGE, "bits of their own");

void gt_gpm_open(struct gt_gpm *gpm, const struct gt_nvml *nvml, gt_nvml_device device, struct gt_missing *missing)
{
	struct gt_nvml_gpm_support support = { .version = GT_NVML_GPM_SUPPORT_VERSION };
	enum gt_nvml_return result = GT_NVML_CALL(nvml, nvmlGpmQueryDeviceSupport, device, &support);

	if (!result && !support.supported)
		result = GT_NVML_NOT_SUPPORTED;
	if (!result)
		result = GT_NVML_CALL(nvml, nvmlGpmSampleAlloc, &gpm->earlier);
	if (!result)
		result = GT_NVML_CALL(nvml, nvmlGpmSampleAlloc, &gpm->later);
	gpm->supported = !result;
	if (result)
		gt_missing_add(missing, BIT_ALL, "gpm.*", nvml, result);
}

void gt_gpm_close(struct gt_gpm *gpm, const struct gt_nvml *nvml)
{
	if (gpm->earlier)
		GT_NVML_CALL(nvml, nvmlGpmSampleFree, gpm->earlier);
	if (gpm->later)
		GT_NVML_CALL(nvml, nvmlGpmSampleFree, gpm->later);
}

/* Between the two samples. */
static void put(const struct gt_gpm *gpm, const struct gt_nvml *nvml, struct gt_metric *metric, uint32_t select,
		struct gt_missing *missing, struct gt_outbox *outbox)
{
	struct gt_nvml_gpm_request request = { .version = GT_NVML_GPM_REQUEST_VERSION, .earlier = gpm->earlier,
					       .later = gpm->later };
	unsigned asked[COUNTERS];
	enum gt_nvml_return result;

	for (unsigned i = 0; i < COUNTERS; i++) {
		if (!(counters[i].select & select) || gt_missing_is(missing, BIT_ALL + 1 + i))
			continue;
		asked[request.count] = i;
		request.metrics[request.count++].id = counters[i].id;
	}
	if (!request.count)
		return;
	result = GT_NVML_CALL(nvml, nvmlGpmMetricsGet, &request);
	if (result) {
		gt_missing_add(missing, BIT_ALL, "gpm.*", nvml, result);
		return;
	}
	for (unsigned i = 0; i < request.count; i++) {
		const struct counter *counter = &counters[asked[i]];

		result = request.metrics[i].result;
		/* As it says of an interval in which its counters were not refreshed. */
		if (!result && !isfinite(request.metrics[i].value))
			result = GT_NVML_NO_DATA;
		if (result) {
			gt_missing_add(missing, BIT_ALL + 1 + asked[i], counter->name, nvml, result);
			continue;
		}
		metric->name = counter->name;
		metric->unit = counter->unit;
		metric->value = request.metrics[i].value;
		gt_outbox_put(outbox, metric);
	}
}

/* false: it is too early by far. */
static bool wait_until_due(const struct gt_gpm *gpm)
{
	uint64_t time = gpm->earlier_time + APART_NS;
	struct timespec t = { .tv_sec = (time_t)(time / 1000000000u), .tv_nsec = (long)(time % 1000000000u) };

	if (!gpm->earlier_time)
		return true;
	if (gt_reader_now() + EARLY_NS < time)
		return false;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	return true;
}

void gt_gpm_sample(struct gt_gpm *gpm, const struct gt_nvml *nvml, gt_nvml_device device,
		   const struct gputrace_gpu *gpu, uint32_t select, struct gt_missing *missing, struct gt_outbox *outbox)
{
	struct gt_metric metric = { .gpu = gpu, .time = gpm->earlier_time };
	gt_nvml_gpm_sample taken = gpm->later;
	enum gt_nvml_return result;
	uint64_t now;

	if (!wait_until_due(gpm))
		return;
	now = gt_reader_now();
	result = GT_NVML_CALL(nvml, nvmlGpmSampleGet, device, taken);
	if (result) {
		gt_missing_add(missing, BIT_ALL, "gpm.*", nvml, result);
	} else {
		metric.end = gt_reader_now();
		if (gpm->earlier_time)
			put(gpm, nvml, &metric, select, missing, outbox);
		gpm->later = gpm->earlier;
		gpm->earlier = taken;
		gpm->earlier_time = now;
	}
	gpm->supported = !gt_missing_is(missing, BIT_ALL);
}
