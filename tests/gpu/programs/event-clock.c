/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are the times of the driver's events those of %globaltimer?  A kernel that reads it runs
 * between two events, again and again; how far the two clocks can be apart is narrowed
 * down by each.  Prints "samples N", "width N", the ns that are left of it in the end,
 * "contradictions N", how often nothing was left, "tick N", of which the distances of
 * events are multiples, "reversed N", whether a distance can be negative, and "bracket N", the shortest
 * time of the host around the record of an event and its being seen.
 */

#define MORE_FUNCTIONS(X) \
	X(cuStreamCreate, (void **, unsigned)) \
	X(cuStreamSynchronize, (void *)) \
	X(cuEventCreate, (void **, unsigned)) \
	X(cuEventRecord, (void *, void *)) \
	X(cuEventQuery, (void *)) \
	X(cuEventElapsedTime, (float *, void *, void *)) \
	X(cuMemAllocHost_v2, (void **, size_t))
#include "driver.h"

static const char ptx[] =
	".version 6.3\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry stamp(.param .u64 to)\n"
	"{\n"
	"	.reg .b64 %to, %now;\n"
	"	ld.param.u64 %to, [to];\n"
	"	cvta.to.global.u64 %to, %to;\n"
	"	mov.u64 %now, %globaltimer;\n"
	"	st.volatile.global.u64 [%to], %now;\n"
	"	ret;\n"
	"}\n";

/* Before and behind the kernel, and the reference that times count from. */
static void *stream, *function, *before, *behind, *reference, *spare;
static uint64_t *stamp, at, tick;

/* What %globaltimer is ahead of the events by lies between these. */
static int64_t lo = INT64_MIN, hi = INT64_MAX;
static unsigned long samples, contradictions;

static uint64_t common_factor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Exact as long as it is less than 8 ms: a float has 24 bits. */
static uint64_t between(void *from, void *to)
{
	float ms;

	CHECK(cuEventElapsedTime(&ms, from, to));
	return (uint64_t)((double)ms * 1e6 + 0.5);
}

static void renew_reference(void)
{
	void *old = reference;

	CHECK(cuEventRecord(spare, stream));
	CHECK(cuStreamSynchronize(stream));
	at += between(old, spare);
	reference = spare;
	spare = old;
}

static void take_sample(void)
{
	void *parameters[] = { &stamp };
	int64_t least, most;

	CHECK(cuEventRecord(before, stream));
	CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
	CHECK(cuEventRecord(behind, stream));
	CHECK(cuStreamSynchronize(stream));
	least = (int64_t)(*stamp - at - between(reference, behind));
	most = (int64_t)(*stamp - at - between(reference, before));
	samples++;
	if (between(before, behind) < 4000000)
		tick = common_factor(tick, between(before, behind));
	lo = least > lo ? least : lo;
	hi = most < hi ? most : hi;
	if (lo <= hi)
		return;
	contradictions++;
	lo = least;
	hi = most;
}

static uint64_t shortest_bracket(void)
{
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		uint64_t begin = now(), length;

		CHECK(cuEventRecord(before, stream));
		while (cuEventQuery(before))
			;
		length = now() - begin;
		shortest = length < shortest ? length : shortest;
	}
	return shortest;
}

int main(int argc, char **argv)
{
	uint64_t end, renewed;
	void *module, *host;
	float ms = 0;

	driver_open();
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, "stamp"));
	CHECK(cuMemAllocHost_v2(&host, sizeof(*stamp)));
	stamp = host;
	CHECK(cuStreamCreate(&stream, 1));
	CHECK(cuEventCreate(&before, 0));
	CHECK(cuEventCreate(&behind, 0));
	CHECK(cuEventCreate(&reference, 0));
	CHECK(cuEventCreate(&spare, 0));
	CHECK(cuEventRecord(reference, stream));
	CHECK(cuStreamSynchronize(stream));
	end = now() + option(argc, argv, "--seconds", 10) * 1000000000ull;
	renewed = now();
	while (now() < end) {
		take_sample();
		if (now() - renewed < 2000000)
			continue;
		renew_reference();
		renewed = now();
	}
	printf("samples %lu\nwidth %lld\ncontradictions %lu\ntick %llu\n", samples, (long long)(hi - lo), contradictions,
	       (unsigned long long)tick);
	printf("reversed %d\n", !cuEventElapsedTime(&ms, behind, before) && ms < 0);
	printf("bracket %llu\n", (unsigned long long)shortest_bracket());
	return 0;
}
