/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/metrics/machine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/ctx.h"
#include "lib/target/target.h"
#include "lib/util/error.h"

/* "GPU-00112233-4455-...": zeros if it is anything else. */
static void parse_uuid(const char *text, uint8_t uuid[16])
{
	unsigned byte, digits = 0;
	uint8_t bytes[16];

	for (text += strcspn(text, "-"); *text && digits < 16; text += 2) {
		text += *text == '-';
		if (sscanf(text, "%2x", &byte) != 1)
			return;
		bytes[digits++] = (uint8_t)byte;
	}
	if (digits == 16)
		memcpy(uuid, bytes, sizeof(bytes));
}

static int add_gpu(struct gputrace_target *target, const struct gt_nvml *nvml, uint32_t index)
{
	struct gt_rec_context record = { .device = (int32_t)index };
	struct gt_nvml_pci pci = { 0 };
	struct gputrace_gpu *gpu;
	gt_nvml_device device;
	char uuid[96] = "";
	int major = 0, minor = 0, r;
	enum gt_nvml_return result = nvml->nvmlDeviceGetHandleByIndex_v2(index, &device);

	/* One that this user may not look at, or nobody can any more. */
	if (result == GT_NVML_NO_PERMISSION || result == GT_NVML_GPU_IS_LOST) {
		gt_log(target->ctx, GPUTRACE_LOG_WARNING, "no metrics of GPU %u of this machine: %s", index,
		       gt_nvml_words(nvml, result));
		return 0;
	}
	if (!result)
		result = nvml->nvmlDeviceGetUUID(device, uuid, sizeof(uuid));
	if (!result)
		result = nvml->nvmlDeviceGetPciInfo_v3(device, &pci);
	if (!result)
		result = nvml->nvmlDeviceGetName(device, record.name, sizeof(record.name));
	if (!result)
		result = nvml->nvmlDeviceGetCudaComputeCapability(device, &major, &minor);
	if (result)
		return gt_nvml_error(nvml, result, "a GPU of this machine");
	parse_uuid(uuid, record.uuid);
	record.pci_domain = pci.domain;
	record.pci_bus = pci.bus;
	record.pci_device = pci.device;
	record.arch = (uint32_t)(10 * major + minor);
	r = gt_gpu_get(target, &record, &gpu);
	return r ? gt_error(r, "a GPU of this machine: %s", strerror(-r)) : 0;
}

int gt_machine_add_gpus(struct gputrace_target *target, const struct gt_nvml *nvml)
{
	uint32_t count = 0;
	enum gt_nvml_return result = nvml->nvmlDeviceGetCount_v2(&count);
	int r = result ? gt_nvml_error(nvml, result, "the GPUs of this machine") : 0;

	for (uint32_t i = 0; i < count && i < GT_GPUS_MAX && !r; i++)
		r = add_gpu(target, nvml, i);
	if (!r && !target->gpus)
		r = gt_error(-ENODEV, "this machine has no GPU that may be looked at: there are no metrics");
	return r;
}
