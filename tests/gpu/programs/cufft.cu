/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms by cuFFT there and back: complex in one dimension, real in two. */
#include "common.h"

#include <cmath>
#include <cufft.h>

#define LENGTH 4096
#define BATCH 4
#define ROWS 96
#define COLUMNS 80

#define FFT(call) fft(call, #call)
static void fft(cufftResult result, const char *call)
{
	if (result == CUFFT_SUCCESS)
		return;
	fprintf(stderr, "%s: cuFFT error %d, then %s\n", call, result, cudaGetErrorString(cudaGetLastError()));
	exit(1);
}

static std::vector<float> signal(size_t count)
{
	std::vector<float> host(count);

	for (size_t i = 0; i < count; i++)
		host[i] = (float)((uint32_t)i * 2654435761u >> 24) / 256;
	return host;
}

/* Back is the original, scaled. */
static void verify(const float *device, const std::vector<float> &right, float scale, const char *what)
{
	std::vector<float> host(right.size());

	CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < host.size(); i++)
		require(fabsf(host[i] / scale - right[i]) < 1e-4f, what);
}

static float *upload(const std::vector<float> &host)
{
	float *device;

	CHECK(cudaMalloc(&device, host.size() * sizeof(float)));
	CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
	return device;
}

int main(void)
{
	std::vector<float> line = signal(2 * LENGTH * BATCH), image = signal(ROWS * COLUMNS);
	float *data = upload(line), *pixels = upload(image);
	const size_t half = ROWS * (COLUMNS / 2 + 1);
	cufftComplex *complex = (cufftComplex *)data, *spectrum;
	cufftHandle plan, there, back;
	uint64_t sum;

	FFT(cufftPlan1d(&plan, LENGTH, CUFFT_C2C, BATCH));
	FFT(cufftExecC2C(plan, complex, complex, CUFFT_FORWARD));
	sum = checksum_device((uint32_t *)data, line.size());
	FFT(cufftExecC2C(plan, complex, complex, CUFFT_INVERSE));
	verify(data, line, LENGTH, "one dimension");
	sum ^= checksum_device((uint32_t *)data, line.size()) * 3;

	CHECK(cudaMalloc(&spectrum, half * sizeof(*spectrum)));
	FFT(cufftPlan2d(&there, ROWS, COLUMNS, CUFFT_R2C));
	FFT(cufftPlan2d(&back, ROWS, COLUMNS, CUFFT_C2R));
	FFT(cufftExecR2C(there, pixels, spectrum));
	sum ^= checksum_device((uint32_t *)spectrum, half * 2) * 5;
	FFT(cufftExecC2R(back, spectrum, pixels));
	verify(pixels, image, ROWS * COLUMNS, "two dimensions");
	sum ^= checksum_device((uint32_t *)pixels, image.size()) * 7;
	report_checksum(sum);
	return 0;
}
