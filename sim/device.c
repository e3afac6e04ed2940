/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices, how many and of what kind the environment says:
 *	GPUTRACE_SIM_DEVICES	how many, 1 to 16, else 1
 *	GPUTRACE_SIM_SMS	multiprocessors of each, a list; the last one goes on
 *	GPUTRACE_SIM_ARCH	compute capability times ten of each, a list likewise
 *	GPUTRACE_SIM_DRIFT_PPM	how far the timer of each runs, a list likewise: see clock.c
 *	CUDA_VISIBLE_DEVICES	which of them the program sees
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory.h"

#define DEFAULT_SMS	4
#define DEFAULT_ARCH	90
#define SMS_MIN		1
#define SMS_MAX		1024
#define ARCH_MIN	50
#define ARCH_MAX	129

static struct sim_gpu gpus[SIM_MAX_DEVICES];
static unsigned gpu_count;

/* The index-th number of a comma-separated list, or its last one; `def` if there is none in range. */
static unsigned from_list(const char *name, unsigned index, unsigned min, unsigned max, unsigned def)
{
	const char *text = getenv(name);
	unsigned value = def;

	for (unsigned i = 0; text && *text && i <= index; i++) {
		char *end;
		unsigned long n = strtoul(text, &end, 10);

		if (end == text)
			break;
		value = n >= min && n <= max ? (unsigned)n : def;
		text = *end == ',' ? end + 1 : NULL;
	}
	return value;
}

/* Is each of the comma-separated numbers in range? */
static bool is_list(const char *text, double min, double max)
{
	char *end;

	for (;; text = end + 1) {
		double n = strtod(text, &end);

		if (end == text || !(n >= min && n <= max))
			return false;
		if (*end != ',')
			return !*end;
	}
}

/* Values out of range are said here, once; where they are used they do not count. */
static void check_settings(void)
{
	static const struct {
		const char *name, *kind;
		int min, max;
	} settings[] = {
		{ "GPUTRACE_SIM_DEVICES", "a number", 1, SIM_MAX_DEVICES },
		{ "GPUTRACE_SIM_SMS", "a list of numbers", SMS_MIN, SMS_MAX },
		{ "GPUTRACE_SIM_ARCH", "a list of numbers", ARCH_MIN, ARCH_MAX },
		{ "GPUTRACE_SIM_DRIFT_PPM", "a list of numbers", -SIM_DRIFT_MAX, SIM_DRIFT_MAX },
	};

	for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		const char *text = getenv(settings[i].name);

		if (text && *text && !is_list(text, settings[i].min, settings[i].max))
			fprintf(stderr, "gputrace software device: %s=%s is not %s from %d to %d\n", settings[i].name, text,
				settings[i].kind, settings[i].min, settings[i].max);
	}
}

static uint64_t globaltimer(void *data)
{
	return sim_clock(data);
}

/* Device printf: to standard output, as the real driver does. */
static void print(void *data, const char *text, size_t length)
{
	(void)data;
	fwrite(text, 1, length, stdout);
}

CUresult sim_devices_init(void)
{
	unsigned numbers[SIM_MAX_DEVICES];

	check_settings();
	gpu_count = sim_visible_devices(from_list("GPUTRACE_SIM_DEVICES", 0, 1, SIM_MAX_DEVICES, 1), numbers);
	for (unsigned i = 0; i < gpu_count; i++) {
		struct sim_gpu *gpu = &gpus[i];

		gpu->ordinal = (CUdevice)i;
		gpu->number = numbers[i];
		sim_clock_init_gpu(gpu);
		gpu->machine = (struct sim_device) {
			.arch = from_list("GPUTRACE_SIM_ARCH", numbers[i], ARCH_MIN, ARCH_MAX, DEFAULT_ARCH),
			.sm_count = from_list("GPUTRACE_SIM_SMS", numbers[i], SMS_MIN, SMS_MAX, DEFAULT_SMS),
			.max_shared_per_block = 227 * 1024,
			.check = sim_memory_check,
			.alloc = sim_memory_alloc_variable,
			.release = sim_memory_free_variable,
			.globaltimer = globaltimer,
			.print = print,
			.data = gpu,
		};
	}
	return gpu_count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

unsigned sim_device_count(void)
{
	return gpu_count;
}

struct sim_gpu *sim_gpu(CUdevice dev)
{
	return dev >= 0 && (unsigned)dev < gpu_count ? &gpus[dev] : NULL;
}

CUresult sim_gpu_for(CUdevice dev, bool arguments, struct sim_gpu **ret_gpu)
{
	CUresult r = sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!arguments)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_gpu = sim_gpu(dev);
	return *ret_gpu ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_cuDeviceGetCount(int *ret_count)
{
	CUresult r = sim_ready();

	if (r == CUDA_SUCCESS && !ret_count)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_count = (int)gpu_count;
	return r;
}

CUresult sim_cuDeviceGet(CUdevice *ret_dev, int ordinal)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(ordinal, ret_dev, &gpu);

	if (r == CUDA_SUCCESS)
		*ret_dev = ordinal;
	return r;
}

CUresult sim_cuDeviceGetName(char *name, int length, CUdevice dev)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, name, &gpu);

	if (r == CUDA_SUCCESS && length <= 0)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		snprintf(name, (size_t)length, "gputrace software device");
	return r;
}

CUresult sim_cuDeviceGetUuid_v2(CUuuid *ret_uuid, CUdevice dev)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, ret_uuid, &gpu);

	if (r != CUDA_SUCCESS)
		return r;
	sim_device_uuid(gpu->number, ret_uuid);
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetUuid(CUuuid *ret_uuid, CUdevice dev)
{
	return sim_cuDeviceGetUuid_v2(ret_uuid, dev);
}

CUresult sim_cuDeviceTotalMem_v2(size_t *ret_bytes, CUdevice dev)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, ret_bytes, &gpu);

	if (r == CUDA_SUCCESS)
		*ret_bytes = sim_memory_total();
	return r;
}

CUresult sim_cuDeviceComputeCapability(int *ret_major, int *ret_minor, CUdevice dev)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, ret_major, &gpu);

	if (r == CUDA_SUCCESS && !ret_minor)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS) {
		*ret_major = (int)(gpu->machine.arch / 10);
		*ret_minor = (int)(gpu->machine.arch % 10);
	}
	return r;
}

CUresult sim_cuDeviceGetPCIBusId(char *text, int length, CUdevice dev)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, text, &gpu);
	int bus;

	if (r == CUDA_SUCCESS && length < 13)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return r;
	sim_gpu_attribute(gpu, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, &bus);
	snprintf(text, (size_t)length, "0000:%02X:00.0", (unsigned)bus & 0xff);
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetByPCIBusId(CUdevice *ret_dev, const char *text)
{
	CUresult r = sim_ready();
	unsigned domain = 0, bus, slot, function = 0;

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_dev || !text)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
		domain = 0;
		if (sscanf(text, "%x:%x.%x", &bus, &slot, &function) < 2)
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (unsigned i = 0; i < gpu_count; i++) {
		int number;

		sim_gpu_attribute(&gpus[i], CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, &number);
		if (!domain && bus == (unsigned)number && !slot && !function) {
			*ret_dev = (CUdevice)i;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_cuDeviceGetAttribute(int *ret_value, CUdevice_attribute attribute, CUdevice dev)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, ret_value, &gpu);

	return r ? r : sim_gpu_attribute(gpu, attribute, ret_value);
}

CUresult sim_cuDeviceGetProperties(CUdevprop *ret_prop, CUdevice dev)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, ret_prop, &gpu);

	if (r != CUDA_SUCCESS)
		return r;
	*ret_prop = (CUdevprop) {
		.maxThreadsPerBlock = 1024, .maxThreadsDim = { 1024, 1024, 64 },
		.maxGridSize = { 0x7fffffff, 65535, 65535 }, .sharedMemPerBlock = 48 * 1024,
		.totalConstantMemory = 65536, .SIMDWidth = 32, .memPitch = 0x7fffffff,
		.regsPerBlock = 65536, .textureAlign = 512,
	};
	return sim_gpu_attribute(gpu, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &ret_prop->clockRate);
}

CUresult sim_cuDeviceCanAccessPeer(int *ret_can, CUdevice dev, CUdevice peer)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, ret_can, &gpu);

	r = r ? r : sim_gpu_for(peer, ret_can, &gpu);
	if (r == CUDA_SUCCESS)
		*ret_can = dev != peer;
	return r;
}

CUresult sim_cuDeviceGetP2PAttribute(int *ret_value, CUdevice_P2PAttribute attribute, CUdevice from,
				     CUdevice to)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(from, ret_value, &gpu);

	r = r ? r : sim_gpu_for(to, ret_value, &gpu);
	if (r != CUDA_SUCCESS)
		return r;
	if (from == to)
		return CUDA_ERROR_INVALID_DEVICE;
	switch ((int)attribute) {
	case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
		*ret_value = 1;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
	case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
		*ret_value = 0;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuDeviceGetExecAffinitySupport(int *ret_supported, CUexecAffinityType type, CUdevice dev)
{
	struct sim_gpu *gpu;
	CUresult r = sim_gpu_for(dev, ret_supported, &gpu);

	(void)type;
	if (r == CUDA_SUCCESS)
		*ret_supported = 0;
	return r;
}
