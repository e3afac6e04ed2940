/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is used of NVIDIA's management library, by its public documentation (NVML API reference).  The library is
 * found at run time; the software device has one of its own with the same functions.
 */
#ifndef GT_METRICS_NVML_ABI_H
#define GT_METRICS_NVML_ABI_H

#include <stdint.h>

typedef struct gt_nvml_device *gt_nvml_device;
typedef struct gt_nvml_gpm_sample *gt_nvml_gpm_sample;

enum gt_nvml_return {
	GT_NVML_SUCCESS = 0,
	GT_NVML_UNINITIALIZED = 1,
	GT_NVML_INVALID_ARGUMENT = 2,
	GT_NVML_NOT_SUPPORTED = 3,
	GT_NVML_NO_PERMISSION = 4,
	GT_NVML_NOT_FOUND = 6,
	GT_NVML_INSUFFICIENT_SIZE = 7,
	GT_NVML_DRIVER_NOT_LOADED = 9,
	GT_NVML_FUNCTION_NOT_FOUND = 13,
	GT_NVML_GPU_IS_LOST = 15,
	GT_NVML_MEMORY = 20,
	GT_NVML_NO_DATA = 21,
	GT_NVML_VERSION_MISMATCH = 25
};

struct gt_nvml_utilization {
	uint32_t gpu, memory;		/* % of the driver's last sampling period */
};

struct gt_nvml_memory {
	uint32_t version;		/* in: GT_NVML_MEMORY_VERSION */
	uint64_t total, reserved, free, used;
};
#define GT_NVML_MEMORY_VERSION ((uint32_t)sizeof(struct gt_nvml_memory) | 2u << 24)

struct gt_nvml_pci {
	char bus_id_legacy[16];
	uint32_t domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
};

struct gt_nvml_process {
	uint32_t pid;
	uint64_t used_memory;		/* UINT64_MAX: not known */
	uint32_t gpu_instance, compute_instance;
};

struct gt_nvml_process_utilization {
	uint32_t pid;
	uint64_t time_us;		/* by a clock of the driver's */
	uint32_t sm, memory, encoder, decoder;
};

/* Which of several: enums of the vendor's, of 4 bytes each, that its functions take. */
enum gt_nvml_clock { GT_NVML_CLOCK_SM = 1, GT_NVML_CLOCK_MEMORY = 2 };
enum gt_nvml_pcie { GT_NVML_PCIE_TX = 0, GT_NVML_PCIE_RX = 1 };
enum gt_nvml_sensor { GT_NVML_SENSOR_GPU = 0 };

enum gt_nvml_gpm_id {
	GT_NVML_GPM_GRAPHICS_UTIL = 1,
	GT_NVML_GPM_SM_UTIL = 2,
	GT_NVML_GPM_SM_OCCUPANCY = 3,
	GT_NVML_GPM_ANY_TENSOR_UTIL = 5,
	GT_NVML_GPM_DRAM_BW_UTIL = 10,
	GT_NVML_GPM_PCIE_TX = 20,
	GT_NVML_GPM_PCIE_RX = 21,
	GT_NVML_GPM_NVLINK_RX = 60,
	GT_NVML_GPM_NVLINK_TX = 61
};

struct gt_nvml_gpm_metric {
	uint32_t id;			/* in */
	uint32_t result;		/* enum gt_nvml_return; the value is good if it is 0 */
	double value;
	const char *short_name, *long_name, *unit;
};

/* As large as in the newest header, though a few are used: the library might clear it all. */
struct gt_nvml_gpm_request {
	uint32_t version;		/* in: 1 */
	uint32_t count;
	gt_nvml_gpm_sample earlier, later;
	struct gt_nvml_gpm_metric metrics[333];
};
#define GT_NVML_GPM_REQUEST_VERSION 1u

struct gt_nvml_gpm_support {
	uint32_t version;		/* in: 1 */
	uint32_t supported;
};
#define GT_NVML_GPM_SUPPORT_VERSION 1u

/* X(function, its parameters); all return an enum gt_nvml_return.  Without the first group there are no metrics at all. */
#define GT_NVML_NEEDED(X) \
	X(nvmlInit_v2, (void)) \
	X(nvmlShutdown, (void)) \
	X(nvmlDeviceGetCount_v2, (uint32_t *ret_count)) \
	X(nvmlDeviceGetHandleByIndex_v2, (uint32_t index, gt_nvml_device *ret_device)) \
	X(nvmlDeviceGetHandleByUUID, (const char *uuid, gt_nvml_device *ret_device)) \
	X(nvmlDeviceGetHandleByPciBusId_v2, (const char *address, gt_nvml_device *ret_device)) \
	X(nvmlDeviceGetUUID, (gt_nvml_device device, char *text, uint32_t size)) \
	X(nvmlDeviceGetName, (gt_nvml_device device, char *text, uint32_t size)) \
	X(nvmlDeviceGetPciInfo_v3, (gt_nvml_device device, struct gt_nvml_pci *ret_pci)) \
	X(nvmlDeviceGetCudaComputeCapability, (gt_nvml_device device, int *ret_major, int *ret_minor))

#define GT_NVML_OPTIONAL(X) \
	X(nvmlDeviceGetUtilizationRates, (gt_nvml_device device, struct gt_nvml_utilization *ret_utilization)) \
	X(nvmlDeviceGetMemoryInfo_v2, (gt_nvml_device device, struct gt_nvml_memory *memory)) \
	X(nvmlDeviceGetPowerUsage, (gt_nvml_device device, uint32_t *ret_milliwatts)) \
	X(nvmlDeviceGetTemperature, (gt_nvml_device device, uint32_t sensor, uint32_t *ret_celsius)) \
	X(nvmlDeviceGetClockInfo, (gt_nvml_device device, uint32_t clock, uint32_t *ret_mhz)) \
	X(nvmlDeviceGetCurrentClocksEventReasons, (gt_nvml_device device, uint64_t *ret_reasons)) \
	X(nvmlDeviceGetPcieThroughput, (gt_nvml_device device, uint32_t way, uint32_t *ret_kb)) \
	X(nvmlDeviceGetComputeRunningProcesses_v3, \
	  (gt_nvml_device device, uint32_t *count, struct gt_nvml_process *processes)) \
	X(nvmlDeviceGetProcessUtilization, (gt_nvml_device device, struct gt_nvml_process_utilization *samples, \
					    uint32_t *count, uint64_t since_us)) \
	X(nvmlGpmQueryDeviceSupport, (gt_nvml_device device, struct gt_nvml_gpm_support *support)) \
	X(nvmlGpmSampleAlloc, (gt_nvml_gpm_sample *ret_sample)) \
	X(nvmlGpmSampleFree, (gt_nvml_gpm_sample sample)) \
	X(nvmlGpmSampleGet, (gt_nvml_device device, gt_nvml_gpm_sample sample)) \
	X(nvmlGpmMetricsGet, (struct gt_nvml_gpm_request *request))

#endif
