/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The software device's management library.  Its values are made up, and so that a reader can tell whether they have
 * come through as they were, and when they were asked for: README.md has the list.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "lib/metrics/nvml_abi.h"
#include "sim/answers.h"
#include "sim/children.h"
#include "sim/driver.h"

#define CHILDREN_MAX 256u
#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

#define EXPORT __attribute__((visibility("default")))
#define DECLARE(name, parameters) EXPORT enum gt_nvml_return name parameters;
GT_NVML_NEEDED(DECLARE)
GT_NVML_OPTIONAL(DECLARE)
#undef DECLARE
EXPORT const char *nvmlErrorString(enum gt_nvml_return result);

struct gt_nvml_device {
	unsigned number;
};

struct gt_nvml_gpm_sample {
	unsigned device;
	uint64_t time;
};

static struct gt_nvml_device devices[SIM_MAX_DEVICES];
static unsigned device_count;

static uint64_t now_on(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Of every second device little is known. */
static bool is_poor(gt_nvml_device device)
{
	return device->number % 2;
}

/* Return what the environment wants to be answered here. */
#define ANSWER(device) \
	do { \
		enum gt_nvml_return answer_ = sim_answer(__func__, (device)->number); \
		if (answer_) \
			return answer_; \
	} while (0)

static enum gt_nvml_return give(uint32_t *ret_value, uint32_t value)
{
	*ret_value = value;
	return GT_NVML_SUCCESS;
}

enum gt_nvml_return nvmlInit_v2(void)
{
	const char *text = getenv("GPUTRACE_SIM_DEVICES");
	unsigned long count = text ? strtoul(text, NULL, 10) : 1;

	device_count = count >= 1 && count <= SIM_MAX_DEVICES ? (unsigned)count : 1;
	for (unsigned i = 0; i < device_count; i++)
		devices[i].number = i;
	sim_answers_read();
	return GT_NVML_SUCCESS;
}

enum gt_nvml_return nvmlShutdown(void)
{
	device_count = 0;
	return GT_NVML_SUCCESS;
}

const char *nvmlErrorString(enum gt_nvml_return result)
{
	return result == GT_NVML_SUCCESS ? "Success" : result == GT_NVML_NOT_SUPPORTED ? "Not Supported" :
	       result == GT_NVML_NOT_FOUND ? "Not Found" : result == GT_NVML_GPU_IS_LOST ? "GPU is lost" :
	       result == GT_NVML_NO_DATA ? "No data" : "Error";
}

/* ---- which devices there are ---- */

enum gt_nvml_return nvmlDeviceGetCount_v2(uint32_t *ret_count)
{
	return give(ret_count, device_count);
}

enum gt_nvml_return nvmlDeviceGetHandleByIndex_v2(uint32_t index, gt_nvml_device *ret_device)
{
	if (index >= device_count)
		return GT_NVML_NOT_FOUND;
	ANSWER(&devices[index]);
	*ret_device = &devices[index];
	return GT_NVML_SUCCESS;
}

enum gt_nvml_return nvmlDeviceGetUUID(gt_nvml_device device, char *text, uint32_t size)
{
	char whole[48], *to = whole + sprintf(whole, "GPU-");
	CUuuid uuid;

	sim_device_uuid(device->number, &uuid);
	for (unsigned i = 0; i < sizeof(uuid.bytes); i++)
		to += sprintf(to, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (uint8_t)uuid.bytes[i]);
	return (size_t)snprintf(text, size, "%s", whole) < size ? GT_NVML_SUCCESS : GT_NVML_INSUFFICIENT_SIZE;
}

enum gt_nvml_return nvmlDeviceGetHandleByUUID(const char *uuid, gt_nvml_device *ret_device)
{
	char own[48];

	for (unsigned i = 0; i < device_count; i++) {
		nvmlDeviceGetUUID(&devices[i], own, sizeof(own));
		if (!strcasecmp(own, uuid))
			return nvmlDeviceGetHandleByIndex_v2(i, ret_device);
	}
	return GT_NVML_NOT_FOUND;
}

enum gt_nvml_return nvmlDeviceGetHandleByPciBusId_v2(const char *address, gt_nvml_device *ret_device)
{
	unsigned domain, bus, device;

	if (sscanf(address, "%x:%x:%x", &domain, &bus, &device) != 3 || domain || device || bus < SIM_PCI_BUS)
		return GT_NVML_NOT_FOUND;
	return nvmlDeviceGetHandleByIndex_v2(bus - SIM_PCI_BUS, ret_device);
}

enum gt_nvml_return nvmlDeviceGetName(gt_nvml_device device, char *text, uint32_t size)
{
	(void)device;
	snprintf(text, size, "gputrace software device");
	return GT_NVML_SUCCESS;
}

enum gt_nvml_return nvmlDeviceGetPciInfo_v3(gt_nvml_device device, struct gt_nvml_pci *ret_pci)
{
	*ret_pci = (struct gt_nvml_pci){ .bus = SIM_PCI_BUS + device->number };
	snprintf(ret_pci->bus_id_legacy, sizeof(ret_pci->bus_id_legacy), "0000:%02X:00.0", ret_pci->bus);
	snprintf(ret_pci->bus_id, sizeof(ret_pci->bus_id), "00000000:%02X:00.0", ret_pci->bus);
	return GT_NVML_SUCCESS;
}

enum gt_nvml_return nvmlDeviceGetCudaComputeCapability(gt_nvml_device device, int *ret_major, int *ret_minor)
{
	(void)device;
	*ret_major = 9;
	*ret_minor = 0;
	return GT_NVML_SUCCESS;
}

/* ---- the whole device ---- */

enum gt_nvml_return nvmlDeviceGetUtilizationRates(gt_nvml_device device, struct gt_nvml_utilization *ret_utilization)
{
	ANSWER(device);
	*ret_utilization = (struct gt_nvml_utilization){ .gpu = 40 + device->number, .memory = 20 + device->number };
	return GT_NVML_SUCCESS;
}

enum gt_nvml_return nvmlDeviceGetMemoryInfo_v2(gt_nvml_device device, struct gt_nvml_memory *memory)
{
	ANSWER(device);
	if (memory->version != GT_NVML_MEMORY_VERSION)
		return GT_NVML_VERSION_MISMATCH;
	memory->total = 80 * GIB;
	memory->reserved = GIB / 2;
	memory->used = (device->number + 1) * GIB;
	memory->free = memory->total - memory->reserved - memory->used;
	return GT_NVML_SUCCESS;
}

/* The time in ms. */
enum gt_nvml_return nvmlDeviceGetPowerUsage(gt_nvml_device device, uint32_t *ret_milliwatts)
{
	ANSWER(device);
	if (is_poor(device))
		return GT_NVML_NOT_SUPPORTED;
	return give(ret_milliwatts, (uint32_t)(now_on(CLOCK_MONOTONIC) / 1000000 % 1000000));
}

enum gt_nvml_return nvmlDeviceGetTemperature(gt_nvml_device device, uint32_t sensor, uint32_t *ret_celsius)
{
	ANSWER(device);
	return sensor == GT_NVML_SENSOR_GPU ? give(ret_celsius, 50 + device->number) : GT_NVML_INVALID_ARGUMENT;
}

enum gt_nvml_return nvmlDeviceGetClockInfo(gt_nvml_device device, uint32_t clock, uint32_t *ret_mhz)
{
	ANSWER(device);
	return give(ret_mhz, (clock == GT_NVML_CLOCK_SM ? 1980 : 2619) - device->number);
}

enum gt_nvml_return nvmlDeviceGetCurrentClocksEventReasons(gt_nvml_device device, uint64_t *ret_reasons)
{
	ANSWER(device);
	*ret_reasons = is_poor(device) ? 0 : 0x24;
	return GT_NVML_SUCCESS;
}

enum gt_nvml_return nvmlDeviceGetPcieThroughput(gt_nvml_device device, uint32_t way, uint32_t *ret_kb)
{
	ANSWER(device);
	return give(ret_kb, (way == GT_NVML_PCIE_TX ? 1000 : 2000) * (device->number + 1));
}

/* ---- processes ---- */

enum gt_nvml_return nvmlDeviceGetComputeRunningProcesses_v3(gt_nvml_device device, uint32_t *count,
							    struct gt_nvml_process *processes)
{
	int pids[CHILDREN_MAX];
	unsigned n = sim_children(pids, CHILDREN_MAX);
	bool fits = n <= *count;

	ANSWER(device);
	*count = n;
	for (unsigned i = 0; fits && i < n; i++)
		processes[i] = (struct gt_nvml_process){ (uint32_t)pids[i], 256 * MIB * (device->number + 1), UINT32_MAX,
							 UINT32_MAX };
	return fits ? GT_NVML_SUCCESS : GT_NVML_INSUFFICIENT_SIZE;
}

/* There is a sample for each 100 ms, by a clock that is not everywhere the same. */
enum gt_nvml_return nvmlDeviceGetProcessUtilization(gt_nvml_device device, struct gt_nvml_process_utilization *samples,
						    uint32_t *count, uint64_t since_us)
{
	uint64_t sample_us = now_on(is_poor(device) ? CLOCK_MONOTONIC : CLOCK_REALTIME) / 100000000 * 100000;
	int pids[CHILDREN_MAX];
	unsigned n = sim_children(pids, CHILDREN_MAX);
	bool fits = n <= *count;

	ANSWER(device);
	*count = n;
	if (!n || sample_us <= since_us)
		return GT_NVML_NOT_FOUND;
	for (unsigned i = 0; fits && i < n; i++)
		samples[i] = (struct gt_nvml_process_utilization){ (uint32_t)pids[i], sample_us, 30 + device->number,
								   10 + device->number, 0, 0 };
	return fits ? GT_NVML_SUCCESS : GT_NVML_INSUFFICIENT_SIZE;
}

/* ---- GPM ---- */

enum gt_nvml_return nvmlGpmQueryDeviceSupport(gt_nvml_device device, struct gt_nvml_gpm_support *support)
{
	ANSWER(device);
	if (support->version != GT_NVML_GPM_SUPPORT_VERSION)
		return GT_NVML_VERSION_MISMATCH;
	support->supported = !is_poor(device);
	return GT_NVML_SUCCESS;
}

enum gt_nvml_return nvmlGpmSampleAlloc(gt_nvml_gpm_sample *ret_sample)
{
	*ret_sample = calloc(1, sizeof(**ret_sample));
	return *ret_sample ? GT_NVML_SUCCESS : GT_NVML_MEMORY;
}

enum gt_nvml_return nvmlGpmSampleFree(gt_nvml_gpm_sample sample)
{
	free(sample);
	return GT_NVML_SUCCESS;
}

enum gt_nvml_return nvmlGpmSampleGet(gt_nvml_device device, gt_nvml_gpm_sample sample)
{
	ANSWER(device);
	if (is_poor(device))
		return GT_NVML_NOT_SUPPORTED;
	*sample = (struct gt_nvml_gpm_sample){ device->number, now_on(CLOCK_MONOTONIC) };
	return GT_NVML_SUCCESS;
}

/* NVLink: read, the ms between the samples; written, not supported.  The others: their numbers, and an eighth. */
static void answer(struct gt_nvml_gpm_metric *metric, const struct gt_nvml_gpm_request *request)
{
	metric->result = metric->id == GT_NVML_GPM_NVLINK_TX ? GT_NVML_NOT_SUPPORTED : GT_NVML_SUCCESS;
	if (metric->id == GT_NVML_GPM_NVLINK_RX)
		metric->value = (double)(request->later->time - request->earlier->time) / 1e6;
	else
		metric->value = metric->id + request->later->device + 0.125;
}

enum gt_nvml_return nvmlGpmMetricsGet(struct gt_nvml_gpm_request *request)
{
	if (request->version != GT_NVML_GPM_REQUEST_VERSION)
		return GT_NVML_VERSION_MISMATCH;
	for (uint32_t i = 0; i < request->count; i++)
		answer(&request->metrics[i], request);
	return GT_NVML_SUCCESS;
}
