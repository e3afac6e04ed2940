/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels compiled at run time by NVRTC, to PTX and to machine code, with a mangled name of a template. */
#include <nvrtc.h>

#include "driver.h"

#define BLOCKS 4
#define WIDTH 64
#define N (BLOCKS * WIDTH)

static const char source[] =
	"template <int rounds> __global__ void mix(unsigned *out)\n"
	"{\n"
	"	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	for (int k = 0; k < rounds; k++)\n"
	"		out[i] = out[i] * 1664525u + i;\n"
	"}\n";

static void rtc(nvrtcResult result)
{
	require(result == NVRTC_SUCCESS, nvrtcGetErrorString(result));
}

/* Run the kernel of an image once. */
static void run(const void *image, const char *name, uint64_t out)
{
	void *module, *function, *parameters[] = { &out };

	CHECK(cuModuleLoadData(&module, image));
	CHECK(cuModuleGetFunction(&function, module, name));
	CHECK(cuLaunchKernel(function, BLOCKS, 1, 1, WIDTH, 1, 1, 0, NULL, parameters, NULL));
	CHECK(cuCtxSynchronize());
	CHECK(cuModuleUnload(module));
}

/* `real`: for that very architecture, which gives machine code. */
static void compile_and_run(int arch, int real, uint64_t out)
{
	const char *options[1], *name;
	char option[64], *image;
	nvrtcProgram program;
	size_t size;

	snprintf(option, sizeof(option), "--gpu-architecture=%s_%d", real ? "sm" : "compute", arch);
	options[0] = option;
	rtc(nvrtcCreateProgram(&program, source, "mix.cu", 0, NULL, NULL));
	rtc(nvrtcAddNameExpression(program, "mix<9>"));
	rtc(nvrtcCompileProgram(program, 1, options));
	rtc(nvrtcGetLoweredName(program, "mix<9>", &name));
	rtc(real ? nvrtcGetCUBINSize(program, &size) : nvrtcGetPTXSize(program, &size));
	image = malloc(size);
	rtc(real ? nvrtcGetCUBIN(program, image) : nvrtcGetPTX(program, image));
	run(image, name, out);
	free(image);
	rtc(nvrtcDestroyProgram(&program));
}

int main(int argc, char **argv)
{
	int (*attribute)(int *, int, int), major, minor, only_ptx = argc > 1 && !strcmp(argv[1], "ptx");
	uint32_t seen[N], right;
	uint64_t out;

	driver_open();
	attribute = (int (*)(int *, int, int))driver_symbol(driver, "cuDeviceGetAttribute");
	CHECK(attribute(&major, 75, device));	/* the compute capability */
	CHECK(attribute(&minor, 76, device));
	CHECK(cuMemAlloc_v2(&out, sizeof(seen)));
	CHECK(cuMemsetD32_v2(out, 0, N));
	compile_and_run(major * 10 + minor, 0, out);
	compile_and_run(major * 10 + minor, !only_ptx, out);
	CHECK(cuMemcpyDtoH_v2(seen, out, sizeof(seen)));
	for (unsigned i = 0; i < N; i++) {
		right = 0;
		for (unsigned k = 0; k < 2 * 9; k++)
			right = right * 1664525u + i;
		require(seen[i] == right, "the values");
	}
	report(2, 2 * N, checksum(seen, N));
	driver_close();
	return 0;
}
