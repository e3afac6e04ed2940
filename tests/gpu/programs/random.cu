/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers by cuRAND: every generator, and what is made of its bits. */
#include "common.h"

#include <cmath>
#include <curand.h>

#define COUNT 200000
#define SEED 12345

#define RAND(call) require((call) == CURAND_STATUS_SUCCESS, #call)

static const curandRngType_t pseudo[] = {
	CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A, CURAND_RNG_PSEUDO_MTGP32, CURAND_RNG_PSEUDO_MT19937,
	CURAND_RNG_PSEUDO_PHILOX4_32_10,
};
static const curandRngType_t quasi[] = { CURAND_RNG_QUASI_SOBOL32, CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 };

static float *numbers;
static uint64_t sum;

/* Five deviations of the mean of so many numbers: seeds are fixed, so that it holds always or never. */
static void verify(double mean, double deviation, const char *what)
{
	std::vector<float> host(COUNT);
	double all = 0;

	CHECK(cudaMemcpy(host.data(), numbers, COUNT * sizeof(float), cudaMemcpyDeviceToHost));
	for (float number : host)
		all += number;
	require(fabs(all / COUNT - mean) < 5 * deviation / sqrt(COUNT), what);
	sum = sum * 31 ^ checksum((const uint32_t *)host.data(), COUNT);
}

static void draw(curandGenerator_t generator)
{
	RAND(curandGenerateUniform(generator, numbers, COUNT));
	verify(0.5, sqrt(1.0 / 12), "uniform");
	RAND(curandGenerateNormal(generator, numbers, COUNT, 3, 2));
	verify(3, 2, "normal");
	RAND(curandGenerateLogNormal(generator, numbers, COUNT, 0, 0.5f));
	verify(exp(0.125), sqrt((exp(0.25) - 1) * exp(0.25)), "logarithmically normal");
}

int main(void)
{
	curandGenerator_t generator;

	CHECK(cudaMalloc(&numbers, COUNT * sizeof(float)));
	for (curandRngType_t type : pseudo) {
		RAND(curandCreateGenerator(&generator, type));
		RAND(curandSetPseudoRandomGeneratorSeed(generator, SEED));
		draw(generator);
		RAND(curandGeneratePoisson(generator, (unsigned *)numbers, COUNT, 10));
		sum = sum * 31 ^ checksum_device((const uint32_t *)numbers, COUNT);
		RAND(curandDestroyGenerator(generator));
	}
	for (curandRngType_t type : quasi) {
		RAND(curandCreateGenerator(&generator, type));
		draw(generator);
		RAND(curandDestroyGenerator(generator));
	}
	report_checksum(sum);
	return 0;
}
