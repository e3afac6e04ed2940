/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/metrics/device.h"

#include <gputrace/gputrace.h>
#include <stdio.h>

#include "lib/reader/reader.h"

/* ---- what the driver has a number for ---- */

/* Of the GPU, and of its memory. */
static enum gt_nvml_return read_utilization(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_values)
{
	struct gt_nvml_utilization utilization = { 0 };
	enum gt_nvml_return result = GT_NVML_CALL(nvml, nvmlDeviceGetUtilizationRates, device, &utilization);

	ret_values[0] = utilization.gpu;
	ret_values[1] = utilization.memory;
	return result;
}

static enum gt_nvml_return read_memory(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	struct gt_nvml_memory memory = { .version = GT_NVML_MEMORY_VERSION };
	enum gt_nvml_return result = GT_NVML_CALL(nvml, nvmlDeviceGetMemoryInfo_v2, device, &memory);

	*ret_value = (double)memory.used;
	return result;
}

static enum gt_nvml_return read_power(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	uint32_t milliwatts = 0;
	enum gt_nvml_return result = GT_NVML_CALL(nvml, nvmlDeviceGetPowerUsage, device, &milliwatts);

	*ret_value = milliwatts / 1000.0;
	return result;
}

/* One of those that a function of the driver's has; NULL: the driver does not have it. */
static enum gt_nvml_return read_which(enum gt_nvml_return (*function)(gt_nvml_device, uint32_t which, uint32_t *ret_number),
				      gt_nvml_device device, uint32_t which, double *ret_value)
{
	uint32_t number = 0;
	enum gt_nvml_return result = function ? function(device, which, &number) : GT_NVML_FUNCTION_NOT_FOUND;

	*ret_value = number;
	return result;
}

static enum gt_nvml_return read_temperature(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	return read_which(nvml->nvmlDeviceGetTemperature, device, GT_NVML_SENSOR_GPU, ret_value);
}

static enum gt_nvml_return read_sm_clock(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	return read_which(nvml->nvmlDeviceGetClockInfo, device, GT_NVML_CLOCK_SM, ret_value);
}

static enum gt_nvml_return read_memory_clock(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	return read_which(nvml->nvmlDeviceGetClockInfo, device, GT_NVML_CLOCK_MEMORY, ret_value);
}

static enum gt_nvml_return read_reasons(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	uint64_t reasons = 0;
	enum gt_nvml_return result = GT_NVML_CALL(nvml, nvmlDeviceGetCurrentClocksEventReasons, device, &reasons);

	/* What a double has room for; the driver knows nine. */
	*ret_value = (double)(reasons & ((UINT64_C(1) << 53) - 1));
	return result;
}

static enum gt_nvml_return read_pcie_tx(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	return read_which(nvml->nvmlDeviceGetPcieThroughput, device, GT_NVML_PCIE_TX, ret_value);
}

static enum gt_nvml_return read_pcie_rx(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	return read_which(nvml->nvmlDeviceGetPcieThroughput, device, GT_NVML_PCIE_RX, ret_value);
}

#define ANSWERS_MAX 2

/* Answers to one question come one after the other.  The driver takes 20 ms for each of the last two. */
static const struct {
	const char *name, *unit;
	uint32_t select;
	enum gt_nvml_return (*read)(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_values);
	unsigned answer;		/* of ret_values; with the first of them it is asked */
} readings[] = {
	{ "utilization.gpu", "%", GPUTRACE_METRICS_UTILIZATION, read_utilization, 0 },
	{ "utilization.memory", "%", GPUTRACE_METRICS_UTILIZATION, read_utilization, 1 },
	{ "memory.used", "bytes", GPUTRACE_METRICS_MEMORY, read_memory, 0 },
	{ "power.draw", "W", GPUTRACE_METRICS_POWER, read_power, 0 },
	{ "temperature.gpu", "C", GPUTRACE_METRICS_TEMPERATURE, read_temperature, 0 },
	{ "clocks.sm", "MHz", GPUTRACE_METRICS_CLOCKS, read_sm_clock, 0 },
	{ "clocks.mem", "MHz", GPUTRACE_METRICS_CLOCKS, read_memory_clock, 0 },
	{ "clocks_event_reasons.active", "bits", GPUTRACE_METRICS_CLOCKS, read_reasons, 0 },
	{ "pcie.tx", "KB/s", GPUTRACE_METRICS_PCIE, read_pcie_tx, 0 },
	{ "pcie.rx", "KB/s", GPUTRACE_METRICS_PCIE, read_pcie_rx, 0 },
};
#define READINGS (sizeof(readings) / sizeof(readings[0]))
_Static_assert(GT_MISSING_READINGS + READINGS <= GT_MISSING_GPM, "bits of their own");

static void take_readings(struct gt_metric_device *device, const struct gt_nvml *nvml, uint32_t select,
			  struct gt_outbox *outbox)
{
	struct gt_metric metric = { .gpu = device->gpu };
	enum gt_nvml_return result = 0;
	double answers[ANSWERS_MAX] = { 0 };

	for (unsigned i = 0; i < READINGS; i++) {
		if (!(readings[i].select & select) || gt_missing_is(&device->missing, GT_MISSING_READINGS + i))
			continue;
		if (!readings[i].answer) {
			metric.time = gt_reader_now();
			result = readings[i].read(nvml, device->handle, answers);
			metric.end = gt_reader_now();
		}
		metric.name = readings[i].name;
		metric.unit = readings[i].unit;
		metric.value = answers[readings[i].answer];
		if (result)
			gt_missing_add(&device->missing, GT_MISSING_READINGS + i, readings[i].name, nvml, result);
		else
			gt_outbox_put(outbox, &metric);
	}
}

/* ---- the GPU ---- */

/* By its UUID, or where the library does not know that, as of a part of a GPU (MIG), by where it is. */
static enum gt_nvml_return find(const struct gt_nvml *nvml, const struct gputrace_gpu *gpu, gt_nvml_device *ret_device)
{
	char uuid[48], *to = uuid + sprintf(uuid, "GPU-");
	enum gt_nvml_return result;

	for (unsigned i = 0; i < sizeof(gpu->uuid); i++)
		to += sprintf(to, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", gpu->uuid[i]);
	result = nvml->nvmlDeviceGetHandleByUUID(uuid, ret_device);
	return result ? nvml->nvmlDeviceGetHandleByPciBusId_v2(gpu->pci_address, ret_device) : 0;
}

static void open_device(struct gt_metric_device *device, const struct gt_nvml *nvml, uint32_t select,
			struct gt_outbox *outbox)
{
	enum gt_nvml_return result = find(nvml, &device->identity, &device->handle);

	device->opened = true;
	device->unknown = result;
	if (device->unknown) {
		gt_outbox_put_note(outbox, "no metrics of GPU %u (%s): the driver's management library does not find it (%s)",
				   device->identity.index, device->identity.name, gt_nvml_words(nvml, result));
		return;
	}
	if (select & (GPUTRACE_METRICS_COUNTERS | GPUTRACE_METRICS_PCIE))
		gt_gpm_open(&device->gpm, nvml, device->handle, &device->missing);
	if (select & GPUTRACE_METRICS_PROCESSES)
		gt_usage_open(&device->usage, nvml, device->handle);
}

void gt_metric_device_sample(struct gt_metric_device *device, const struct gt_nvml *nvml, uint32_t select,
			     struct gt_outbox *outbox)
{
	if (!device->opened)
		open_device(device, nvml, select, outbox);
	if (device->unknown || device->missing.lost)
		return;
	if (device->gpm.supported)
		gt_gpm_sample(&device->gpm, nvml, device->handle, device->gpu, select, &device->missing, outbox);
	if (select & GPUTRACE_METRICS_PROCESSES)
		gt_usage_sample(&device->usage, nvml, device->handle, device->gpu, &device->missing, outbox);
	take_readings(device, nvml, device->gpm.supported ? select & ~GPUTRACE_METRICS_PCIE : select, outbox);
	gt_missing_tell(&device->missing, &device->identity, outbox);
}

void gt_metric_device_close(struct gt_metric_device *device, const struct gt_nvml *nvml)
{
	gt_gpm_close(&device->gpm, nvml);
}
