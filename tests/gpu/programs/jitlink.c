/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code that nvJitLink makes of two files: PTX with PTX, and intermediate code with link-time optimisation. */
#include <nvJitLink.h>
#include <nvrtc.h>

#include "driver.h"

#define BLOCKS 4
#define WIDTH 64
#define N (BLOCKS * WIDTH)

static const char *const sources[] = {
	"extern __device__ unsigned twist(unsigned value);\n"
	"extern \"C\" __global__ void joined(unsigned *out)\n"
	"{\n"
	"	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	out[i] = twist(out[i] + i);\n"
	"}\n",
	"__device__ unsigned twist(unsigned value)\n"
	"{\n"
	"	return value * 1664525u + 1013904223u;\n"
	"}\n",
};

static int arch;

static void rtc(nvrtcResult result)
{
	require(result == NVRTC_SUCCESS, nvrtcGetErrorString(result));
}

static void jit(nvJitLinkResult result)
{
	require(result == NVJITLINK_SUCCESS, "nvJitLink");
}

/* One of the sources, as PTX or as intermediate code; malloc'd. */
static char *compile(const char *source, int lto, size_t *ret_size)
{
	char option[64], *image;
	const char *options[] = { option, "-dc", "-dlto" };
	nvrtcProgram program;

	snprintf(option, sizeof(option), "--gpu-architecture=compute_%d", arch);
	rtc(nvrtcCreateProgram(&program, source, "part.cu", 0, NULL, NULL));
	rtc(nvrtcCompileProgram(program, lto ? 3 : 2, options));
	rtc(lto ? nvrtcGetLTOIRSize(program, ret_size) : nvrtcGetPTXSize(program, ret_size));
	image = malloc(*ret_size);
	rtc(lto ? nvrtcGetLTOIR(program, image) : nvrtcGetPTX(program, image));
	rtc(nvrtcDestroyProgram(&program));
	return image;
}

static char *join(int lto)
{
	char option[32], *parts[2], *image;
	const char *options[] = { option, "-lto" };
	nvJitLinkHandle link;
	size_t size;

	snprintf(option, sizeof(option), "-arch=sm_%d", arch);
	jit(nvJitLinkCreate(&link, lto ? 2 : 1, options));
	for (int i = 0; i < 2; i++) {
		parts[i] = compile(sources[i], lto, &size);
		jit(nvJitLinkAddData(link, lto ? NVJITLINK_INPUT_LTOIR : NVJITLINK_INPUT_PTX, parts[i], size, "part"));
	}
	jit(nvJitLinkComplete(link));
	jit(nvJitLinkGetLinkedCubinSize(link, &size));
	image = malloc(size);
	jit(nvJitLinkGetLinkedCubin(link, image));
	jit(nvJitLinkDestroy(&link));
	free(parts[0]);
	free(parts[1]);
	return image;
}

static void run(int lto, uint64_t out)
{
	void *module, *function, *parameters[] = { &out };
	char *image = join(lto);

	CHECK(cuModuleLoadData(&module, image));
	free(image);
	CHECK(cuModuleGetFunction(&function, module, "joined"));
	CHECK(cuLaunchKernel(function, BLOCKS, 1, 1, WIDTH, 1, 1, 0, NULL, parameters, NULL));
	CHECK(cuCtxSynchronize());
	CHECK(cuModuleUnload(module));
}

int main(void)
{
	int (*attribute)(int *, int, int), major, minor;
	uint32_t seen[N];
	uint64_t out;

	driver_open();
	attribute = (int (*)(int *, int, int))driver_symbol(driver, "cuDeviceGetAttribute");
	CHECK(attribute(&major, 75, device));	/* the compute capability */
	CHECK(attribute(&minor, 76, device));
	arch = major * 10 + minor;
	CHECK(cuMemAlloc_v2(&out, sizeof(seen)));
	CHECK(cuMemsetD32_v2(out, 0, N));
	run(0, out);
	run(1, out);
	CHECK(cuMemcpyDtoH_v2(seen, out, sizeof(seen)));
	for (uint32_t i = 0; i < N; i++)
		require(seen[i] == ((i * 1664525u + 1013904223u) + i) * 1664525u + 1013904223u, "the values");
	report(2, 2 * N, checksum(seen, N));
	driver_close();
	return 0;
}
