/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/gpu/bpf-device.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ATTRIBUTE_SMS 16
#define ATTRIBUTE_MAJOR 75
#define ATTRIBUTE_MINOR 76
#define JIT_ERROR_LOG 5
#define JIT_ERROR_LOG_SIZE 6
#define INPUT_PTX 1
#define LOG_BYTES 8192

#define DEFINE(name, parameters) int (*name) parameters;
FUNCTIONS(DEFINE)

struct device device;
static char part[96] = "start";

void begin_part(const char *name)
{
	snprintf(part, sizeof(part), "%s", name);
	fflush(stdout);
}

void stop(const char *format, ...)
{
	va_list args;

	printf("FAIL %s: ", part);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\nbpf: ended in %s\n", part);
	fflush(stdout);
	_exit(1);
}

void end_part(bool passed, const char *format, ...)
{
	va_list args;

	printf("%s %s: ", passed ? "PASS" : "FAIL", part);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

void must(int result, const char *what)
{
	const char *name = "?";

	if (!result)
		return;
	cuGetErrorName(result, &name);
	stop("%s: %s", what, name);
}

static bool find_functions(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

	if (!driver)
		return false;
#define FIND(name, parameters) \
	name = (int (*) parameters)(uintptr_t)dlsym(driver, #name); \
	if (!name) \
		return false;
	FUNCTIONS(FIND)
	return true;
}

bool device_open(void)
{
	int number, major = 0, minor = 0, sms = 0;
	void *context;

	if (!find_functions() || cuInit(0) || cuDeviceGet(&number, 0))
		return false;
	CU(cuDeviceGetName(device.name, sizeof(device.name), number));
	CU(cuDeviceGetAttribute(&major, ATTRIBUTE_MAJOR, number));
	CU(cuDeviceGetAttribute(&minor, ATTRIBUTE_MINOR, number));
	CU(cuDeviceGetAttribute(&sms, ATTRIBUTE_SMS, number));
	CU(cuDevicePrimaryCtxRetain(&context, number));
	CU(cuCtxSetCurrent(context));
	device.arch = (unsigned)(10 * major + minor);
	device.sms = (unsigned)sms;
	device.software = strstr(device.name, "software");
	return true;
}

void *link_ptx(const char *text, size_t *ret_size)
{
	static char log[LOG_BYTES];
	int options[] = { JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE };
	void *values[] = { log, (void *)(uintptr_t)sizeof(log) }, *state, *code = NULL, *copy = NULL;

	log[0] = 0;
	CU(cuLinkCreate_v2(2, options, values, &state));
	if (!cuLinkAddData_v2(state, INPUT_PTX, (void *)(uintptr_t)text, strlen(text) + 1, "bpf", 0, NULL, NULL) &&
	    !cuLinkComplete(state, &code, ret_size)) {
		copy = malloc(*ret_size);
		if (copy)
			memcpy(copy, code, *ret_size);
	} else {
		printf("# the driver's compiler: %.*s\n", (int)strcspn(log, "\n"), log);
	}
	cuLinkDestroy(state);
	return copy;
}

void *load_module(const void *image)
{
	void *module;

	CU(cuModuleLoadData(&module, image));
	return module;
}

void *find_function(void *module, const char *name)
{
	void *function;

	must(cuModuleGetFunction(&function, module, name), name);
	return function;
}

void launch(void *function, unsigned blocks, unsigned threads, void **params)
{
	CU(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL));
}

uint64_t device_memory(size_t size)
{
	uint64_t memory;

	CU(cuMemAlloc_v2(&memory, size));
	CU(cuMemsetD8_v2(memory, 0, size));
	return memory;
}
