/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts, a scan and a sum by CUB and Thrust. */
#include "common.h"

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <thrust/device_vector.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

#define COUNT 100003

static std::vector<uint32_t> numbers(void)
{
	std::vector<uint32_t> host(COUNT);
	uint32_t state = 1;

	for (uint32_t &value : host)
		value = state = state * 1664525u + 1013904223u;
	return host;
}

template <typename Call> static void with_scratch(Call call)
{
	void *scratch = NULL;
	size_t bytes = 0;

	CHECK(call(scratch, bytes));
	CHECK(cudaMalloc(&scratch, bytes));
	CHECK(call(scratch, bytes));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaFree(scratch));
}

static uint64_t by_cub(const std::vector<uint32_t> &input, const std::vector<uint32_t> &sorted)
{
	thrust::device_vector<uint32_t> keys = input, values = input, keys_out(COUNT), values_out(COUNT), total(1);
	uint32_t *in = thrust::raw_pointer_cast(keys.data()), *out = thrust::raw_pointer_cast(keys_out.data());
	uint32_t *from = thrust::raw_pointer_cast(values.data()), *to = thrust::raw_pointer_cast(values_out.data());
	uint32_t *sum = thrust::raw_pointer_cast(total.data()), right = 0;
	std::vector<uint32_t> host(COUNT);

	with_scratch([&](void *scratch, size_t &bytes) {
		return cub::DeviceRadixSort::SortPairs(scratch, bytes, in, out, from, to, COUNT);
	});
	with_scratch([&](void *scratch, size_t &bytes) {
		return cub::DeviceReduce::Sum(scratch, bytes, in, sum, COUNT);
	});
	CHECK(cudaMemcpy(host.data(), out, COUNT * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	require(host == sorted, "cub::DeviceRadixSort, keys");
	CHECK(cudaMemcpy(host.data(), to, COUNT * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	require(host == sorted, "cub::DeviceRadixSort, values");
	for (uint32_t value : input)
		right += value;
	require(total[0] == right, "cub::DeviceReduce");
	return checksum(host.data(), COUNT) ^ right;
}

static uint64_t by_thrust(const std::vector<uint32_t> &input, const std::vector<uint32_t> &sorted)
{
	thrust::device_vector<uint32_t> keys = input;
	std::vector<uint32_t> host(COUNT), right(COUNT);

	thrust::sort(keys.begin(), keys.end(), thrust::greater<uint32_t>());
	thrust::inclusive_scan(keys.begin(), keys.end(), keys.begin());
	thrust::copy(keys.begin(), keys.end(), host.begin());
	for (size_t i = 0; i < COUNT; i++)
		right[i] = sorted[COUNT - 1 - i] + (i ? right[i - 1] : 0);
	require(host == right, "thrust::sort and thrust::inclusive_scan");
	return checksum(host.data(), COUNT);
}

int main(void)
{
	std::vector<uint32_t> input = numbers(), sorted = input;

	std::sort(sorted.begin(), sorted.end());
	report_checksum(by_cub(input, sorted) ^ by_thrust(input, sorted) * 3);
	return 0;
}
