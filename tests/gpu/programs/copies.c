/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and memsets of several sizes, each between two kernels of its stream, and for
 * each a line "copy BYTES NS": how long it took by events of the program's own around it.
 * Then many small ones: "host N" and "stream N" are the ns that one took the program and
 * the stream.
 */

#define MORE_FUNCTIONS(X) \
	X(cuStreamCreate, (void **, unsigned)) \
	X(cuStreamSynchronize, (void *)) \
	X(cuEventCreate, (void **, unsigned)) \
	X(cuEventRecord, (void *, void *)) \
	X(cuEventElapsedTime, (float *, void *, void *)) \
	X(cuMemAllocHost_v2, (void **, size_t)) \
	X(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *)) \
	X(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *)) \
	X(cuMemsetD8Async, (uint64_t, unsigned char, size_t, void *))
#include "driver.h"

#define BATCH 8u	/* rounds between waits */
#define MANY 100u

static const char ptx[] = STEP_PTX("step");
static const size_t sizes[] = { 4 << 10, 64 << 10, 1 << 20, 16 << 20 };
#define LARGEST (16u << 20)

static void *stream, *function, *host;
static uint64_t data, words;
static void *events[BATCH][2];
static unsigned long launches;

static void launch(void)
{
	unsigned value = 1;
	void *parameters[] = { &words, &value };

	CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
	launches++;
}

static void copy(unsigned long i)
{
	size_t size = sizes[i / 3 % 4];

	if (i % 3 == 0)
		CHECK(cuMemcpyHtoDAsync_v2(data, host, size, stream));
	else if (i % 3 == 1)
		CHECK(cuMemcpyDtoHAsync_v2(host, data, size, stream));
	else
		CHECK(cuMemsetD8Async(data, 0, size, stream));
}

static void copy_between(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++) {
		launch();
		CHECK(cuEventRecord(events[i % BATCH][0], stream));
		copy(i);
		CHECK(cuEventRecord(events[i % BATCH][1], stream));
		launch();
		if (i % BATCH != BATCH - 1)
			continue;
		CHECK(cuStreamSynchronize(stream));
		for (unsigned j = 0; j < BATCH; j++) {
			unsigned long which = i - BATCH + 1 + j;
			float ms;

			CHECK(cuEventElapsedTime(&ms, events[j][0], events[j][1]));
			printf("copy %zu %.0f\n", sizes[which / 3 % 4], (double)ms * 1e6);
		}
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The medians. */
static void time_many(unsigned batches)
{
	uint64_t *on_host = calloc(batches, sizeof(uint64_t)), *in_stream = calloc(batches, sizeof(uint64_t));

	for (unsigned i = 0; i < batches; i++) {
		uint64_t begin;
		float ms;

		CHECK(cuEventRecord(events[0][0], stream));
		begin = now();
		for (unsigned j = 0; j < MANY; j++)
			CHECK(cuMemcpyHtoDAsync_v2(data, host, sizes[0], stream));
		on_host[i] = (now() - begin) / MANY;
		CHECK(cuEventRecord(events[0][1], stream));
		CHECK(cuStreamSynchronize(stream));
		CHECK(cuEventElapsedTime(&ms, events[0][0], events[0][1]));
		in_stream[i] = (uint64_t)((double)ms * 1e6) / MANY;
	}
	qsort(on_host, batches, sizeof(uint64_t), compare);
	qsort(in_stream, batches, sizeof(uint64_t), compare);
	printf("host %llu\nstream %llu\n", (unsigned long long)on_host[batches / 2],
	       (unsigned long long)in_stream[batches / 2]);
	free(on_host);
	free(in_stream);
}

int main(int argc, char **argv)
{
	unsigned long rounds = option(argc, argv, "--rounds", 240) / BATCH * BATCH;
	unsigned batches = (unsigned)option(argc, argv, "--batches", 40);
	void *module;

	driver_open();
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, "step"));
	CHECK(cuMemAlloc_v2(&data, LARGEST));
	CHECK(cuMemAlloc_v2(&words, 32 * 4));
	CHECK(cuMemsetD32_v2(words, 0, 32));
	CHECK(cuMemAllocHost_v2(&host, LARGEST));
	CHECK(cuStreamCreate(&stream, 1));
	for (unsigned i = 0; i < BATCH; i++) {
		CHECK(cuEventCreate(&events[i][0], 0));
		CHECK(cuEventCreate(&events[i][1], 0));
	}
	copy_between(rounds);
	time_many(batches);
	printf("launches %lu\ncopies %lu\n", launches, rounds + 1 + batches * (unsigned long)MANY);
	return 0;
}
