/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/metrics/device.h"

#include <gputrace/gputrace.h>
#include <stdio.h>

#include "lib/reader/reader.h"

/* ---- what the driver has a number for ---- */

static enum gt_nvml_return read_gpu(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	struct gt_nvml_utilization utilization = { 0 };
	enum gt_nvml_return result = GT_NVML_CALL(nvml, nvmlDeviceGetUtilizationRates, device, &utilization);

	*ret_value = utilization.gpu;
	return result;
}

static enum gt_nvml_return read_memory_controller(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	struct gt_nvml_utilization utilization = { 0 };
	enum gt_nvml_return result = GT_NVML_CALL(nvml, nvmlDeviceGetUtilizationRates, device, &utilization);

	*ret_value = utilization.memory;
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

static enum gt_nvml_return read_temperature(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	uint32_t celsius = 0;
	enum gt_nvml_return result = GT_NVML_CALL(nvml, nvmlDeviceGetTemperature, device, GT_NVML_SENSOR_GPU, &celsius);

	*ret_value = celsius;
	return result;
}

static enum gt_nvml_return read_clock(const struct gt_nvml *nvml, gt_nvml_device device, enum gt_nvml_clock clock,
				      double *ret_value)
{
	uint32_t mhz = 0;
	enum gt_nvml_return result = GT_NVML_CALL(nvml, nvmlDeviceGetClockInfo, device, clock, &mhz);

	*ret_value = mhz;
	return result;
}

static enum gt_nvml_return read_sm_clock(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	return read_clock(nvml, device, GT_NVML_CLOCK_SM, ret_value);
}

static enum gt_nvml_return read_memory_clock(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	return read_clock(nvml, device, GT_NVML_CLOCK_MEMORY, ret_value);
}

static enum gt_nvml_return read_reasons(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	uint64_t reasons = 0;
	enum gt_nvml_return result = GT_NVML_CALL(nvml, nvmlDeviceGetCurrentClocksEventReasons, device, &reasons);

	/* What a double has room for; the driver knows nine. */
	*ret_value = (double)(reasons & ((UINT64_C(1) << 53) - 1));
	return result;
}

static enum gt_nvml_return read_pcie(const struct gt_nvml *nvml, gt_nvml_device device, enum gt_nvml_pcie way,
				     double *ret_value)
{
	uint32_t kb = 0;
	enum gt_nvml_return result = GT_NVML_CALL(nvml, nvmlDeviceGetPcieThroughput, device, way, &kb);

	*ret_value = kb;
	return result;
}

static enum gt_nvml_return read_pcie_tx(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	return read_pcie(nvml, device, GT_NVML_PCIE_TX, ret_value);
}

static enum gt_nvml_return read_pcie_rx(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value)
{
	return read_pcie(nvml, device, GT_NVML_PCIE_RX, ret_value);
}

/* The driver takes 20 ms for each of the last two. */
static const struct {
	const char *name, *unit;
	uint32_t select;
	enum gt_nvml_return (*read)(const struct gt_nvml *nvml, gt_nvml_device device, double *ret_value);
} readings[] = {
	{ "utilization.gpu", "%", GPUTRACE_METRICS_UTILIZATION, read_gpu },
	{ "utilization.memory", "%", GPUTRACE_METRICS_UTILIZATION, read_memory_controller },
	{ "memory.used", "bytes", GPUTRACE_METRICS_MEMORY, read_memory },
	{ "power.draw", "W", GPUTRACE_METRICS_POWER, read_power },
	{ "temperature.gpu", "C", GPUTRACE_METRICS_TEMPERATURE, read_temperature },
	{ "clocks.sm", "MHz", GPUTRACE_METRICS_CLOCKS, read_sm_clock },
	{ "clocks.mem", "MHz", GPUTRACE_METRICS_CLOCKS, read_memory_clock },
	{ "clocks_event_reasons.active", "bits", GPUTRACE_METRICS_CLOCKS, read_reasons },
	{ "pcie.tx", "KB/s", GPUTRACE_METRICS_PCIE, read_pcie_tx },
	{ "pcie.rx", "KB/s", GPUTRACE_METRICS_PCIE, read_pcie_rx },
};
#define READINGS (sizeof(readings) / sizeof(readings[0]))
_Static_assert(GT_MISSING_READINGS + READINGS <= GT_MISSING_GPM, "bits of their own");

static void take_readings(struct gt_metric_device *device, const struct gt_nvml *nvml, uint32_t select,
			  struct gt_outbox *outbox)
{
	for (unsigned i = 0; i < READINGS; i++) {
		struct gt_metric metric = { .gpu = device->gpu, .name = readings[i].name, .unit = readings[i].unit };
		enum gt_nvml_return result;

		if (!(readings[i].select & select) || gt_missing_is(&device->missing, GT_MISSING_READINGS + i))
			continue;
		metric.time = gt_reader_now();
		result = readings[i].read(nvml, device->handle, &metric.value);
		metric.end = gt_reader_now();
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
