/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/metrics/usage.h"

#include "lib/reader/reader.h"

#define PROCESSES_MAX 512u

enum bit { BIT_MEMORY = GT_MISSING_USAGE, BIT_UTILIZATION, BIT_MEMORY_OF_ONE };

/* The samples' times say only which is newer: what clock they are of is the driver's affair. */
static void see(struct gt_usage *usage, const struct gt_nvml_process_utilization *sample)
{
	if (sample->time_us > usage->since_us)
		usage->since_us = sample->time_us;
}

/* Those that are there already are of before. */
void gt_usage_open(struct gt_usage *usage, const struct gt_nvml *nvml, gt_nvml_device device)
{
	struct gt_nvml_process_utilization samples[PROCESSES_MAX];
	uint32_t count = PROCESSES_MAX;

	usage->since = gt_reader_now();
	if (GT_NVML_CALL(nvml, nvmlDeviceGetProcessUtilization, device, samples, &count, 0))
		return;
	for (uint32_t i = 0; i < count && i < PROCESSES_MAX; i++)
		see(usage, &samples[i]);
}

static void put(struct gt_outbox *outbox, const struct gt_metric *times, uint32_t pid, const char *name,
		const char *unit, double value)
{
	struct gt_metric metric = *times;

	metric.pid = (int)pid;
	metric.name = name;
	metric.unit = unit;
	metric.value = value;
	gt_outbox_put(outbox, &metric);
}

static void sample_memory(struct gt_usage *usage, const struct gt_nvml *nvml, gt_nvml_device device,
			  const struct gputrace_gpu *gpu, struct gt_missing *missing, struct gt_outbox *outbox)
{
	struct gt_nvml_process processes[PROCESSES_MAX];
	struct gt_metric times = { .gpu = gpu, .time = gt_reader_now() };
	uint32_t count = PROCESSES_MAX;
	enum gt_nvml_return result;

	if (gt_missing_is(missing, BIT_MEMORY))
		return;
	result = GT_NVML_CALL(nvml, nvmlDeviceGetComputeRunningProcesses_v3, device, &count, processes);
	if (result) {
		gt_missing_add(missing, BIT_MEMORY, "process.memory.used", nvml, result);
		return;
	}
	times.end = gt_reader_now();
	usage->lists++;
	for (uint32_t i = 0; i < count && i < PROCESSES_MAX; i++) {
		if (processes[i].used_memory == UINT64_MAX)
			gt_missing_add(missing, BIT_MEMORY_OF_ONE, "process.memory.used of some", nvml, GT_NVML_NO_DATA);
		else
			put(outbox, &times, processes[i].pid, "process.memory.used", "bytes",
			    (double)processes[i].used_memory);
	}
}

static void sample_utilization(struct gt_usage *usage, const struct gt_nvml *nvml, gt_nvml_device device,
			       const struct gputrace_gpu *gpu, struct gt_missing *missing, struct gt_outbox *outbox)
{
	struct gt_nvml_process_utilization samples[PROCESSES_MAX];
	struct gt_metric times = { .gpu = gpu, .time = usage->since };
	uint64_t now = gt_reader_now(), since_us = usage->since_us;
	uint32_t count = PROCESSES_MAX;
	enum gt_nvml_return result;

	if (gt_missing_is(missing, BIT_UTILIZATION))
		return;
	result = GT_NVML_CALL(nvml, nvmlDeviceGetProcessUtilization, device, samples, &count, since_us);
	/* Nothing new. */
	if (result == GT_NVML_NOT_FOUND)
		return;
	if (result) {
		gt_missing_add(missing, BIT_UTILIZATION, "process.utilization.*", nvml, result);
		return;
	}
	times.end = gt_reader_now();
	for (uint32_t i = 0; i < count && i < PROCESSES_MAX; i++) {
		if (!samples[i].pid || samples[i].time_us <= since_us)
			continue;
		put(outbox, &times, samples[i].pid, "process.utilization.sm", "%", samples[i].sm);
		put(outbox, &times, samples[i].pid, "process.utilization.memory", "%", samples[i].memory);
		see(usage, &samples[i]);
	}
	if (usage->since_us > since_us)
		usage->since = now;
}

void gt_usage_sample(struct gt_usage *usage, const struct gt_nvml *nvml, gt_nvml_device device,
		     const struct gputrace_gpu *gpu, struct gt_missing *missing, struct gt_outbox *outbox)
{
	sample_memory(usage, nvml, device, gpu, missing, outbox);
	sample_utilization(usage, nvml, device, gpu, missing, outbox);
}
