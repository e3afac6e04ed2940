/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/metrics/gpm.h"

#include <gputrace/gputrace.h>
#include <math.h>
#include <time.h>

#include "lib/reader/reader.h"

/*
 * The driver refreshes them no faster: rates between two that are closer mean nothing.  A tick that comes a little too
 * early, as every second one at that very period, waits.  No number after GIVE_UP_NS is none.
 */
#define APART_NS 100000000u
#define EARLY_NS 10000000u
#define GIVE_UP_NS 1000000000u

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

/* All of them: some tell whether there is something new. */
static enum gt_nvml_return ask(const struct gt_gpm *gpm, const struct gt_nvml *nvml, struct gt_nvml_gpm_request *request)
{
	*request = (struct gt_nvml_gpm_request){ .version = GT_NVML_GPM_REQUEST_VERSION, .count = COUNTERS,
						 .earlier = gpm->earlier, .later = gpm->later };
	for (unsigned i = 0; i < COUNTERS; i++)
		request->metrics[i].id = counters[i].id;
	return GT_NVML_CALL(nvml, nvmlGpmMetricsGet, request);
}

/* Where the driver has not refreshed its counters in between, parts of what passed are no numbers, and rates are 0. */
static bool is_new(const struct gt_nvml_gpm_request *request)
{
	for (unsigned i = 0; i < COUNTERS; i++) {
		if (!request->metrics[i].result && !isfinite(request->metrics[i].value))
			return false;
	}
	return true;
}

/* Between the two samples.  false: the next one has to be compared with the earlier one, too. */
static bool put(const struct gt_gpm *gpm, const struct gt_nvml *nvml, struct gt_metric *metric, uint32_t select,
		struct gt_missing *missing, struct gt_outbox *outbox)
{
	struct gt_nvml_gpm_request request;
	enum gt_nvml_return result = ask(gpm, nvml, &request);

	if (result)
		gt_missing_add(missing, BIT_ALL, "gpm.*", nvml, result);
	else if (!is_new(&request) && metric->end - metric->time < GIVE_UP_NS)
		return false;
	for (unsigned i = 0; i < COUNTERS && !result; i++) {
		const struct gt_nvml_gpm_metric *given = &request.metrics[i];

		if (!(counters[i].select & select))
			continue;
		if (given->result || !isfinite(given->value)) {
			gt_missing_add(missing, BIT_ALL + 1 + i, counters[i].name, nvml,
				       given->result ? given->result : GT_NVML_NO_DATA);
			continue;
		}
		metric->name = counters[i].name;
		metric->unit = counters[i].unit;
		metric->value = given->value;
		gt_outbox_put(outbox, metric);
	}
	return true;
}

/* false: it is too early by far. */
static bool wait_until_due(const struct gt_gpm *gpm)
{
	uint64_t time = gpm->earlier_time + APART_NS;
	struct timespec t = gt_reader_moment(time);

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
		if (!gpm->earlier_time || put(gpm, nvml, &metric, select, missing, outbox)) {
			gpm->later = gpm->earlier;
			gpm->earlier = taken;
			gpm->earlier_time = now;
		}
	}
	gpm->supported = !gt_missing_is(missing, BIT_ALL);
}
