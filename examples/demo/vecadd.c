/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ordinary CUDA program, to have something to trace: it adds vectors in
 * pieces, on two streams, with copies, and checks the sums.  It uses the driver
 * API alone and brings its kernel as PTX text, so it is built without the CUDA
 * toolkit and runs on a GPU or on the software device, whichever libcuda.so.1 is
 * found.
 */
#include <dlfcn.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK 256
#define STREAMS 2

static const char ptx[] =
	".version 6.3\n"
	".target sm_75\n"
	".address_size 64\n"
	"// out[i] = a[i] + b[i]\n"
	".visible .entry vecadd(.param .u64 a, .param .u64 b, .param .u64 out, .param .u32 n)\n"
	"{\n"
	"	.reg .pred %past;\n"
	"	.reg .b32 %i, %n, %block, %width, %x, %y;\n"
	"	.reg .b64 %a, %b, %out, %offset;\n"
	"	mov.u32 %i, %tid.x;\n"
	"	mov.u32 %block, %ctaid.x;\n"
	"	mov.u32 %width, %ntid.x;\n"
	"	mad.lo.u32 %i, %block, %width, %i;\n"
	"	ld.param.u32 %n, [n];\n"
	"	setp.ge.u32 %past, %i, %n;\n"
	"	@%past ret;\n"
	"	ld.param.u64 %a, [a];\n"
	"	ld.param.u64 %b, [b];\n"
	"	ld.param.u64 %out, [out];\n"
	"	cvta.to.global.u64 %a, %a;\n"
	"	cvta.to.global.u64 %b, %b;\n"
	"	cvta.to.global.u64 %out, %out;\n"
	"	mul.wide.u32 %offset, %i, 4;\n"
	"	add.u64 %a, %a, %offset;\n"
	"	add.u64 %b, %b, %offset;\n"
	"	add.u64 %out, %out, %offset;\n"
	"	ld.global.u32 %x, [%a];\n"
	"	ld.global.u32 %y, [%b];\n"
	"	add.u32 %x, %x, %y;\n"
	"	st.global.u32 [%out], %x;\n"
	"	ret;\n"
	"}\n";

/* The part of the driver API that this program needs; handles are pointers, results ints. */
#define FUNCTIONS(X) \
	X(cuInit, (unsigned)) \
	X(cuDeviceGet, (int *, int)) \
	X(cuDeviceGetName, (char *, int, int)) \
	X(cuDevicePrimaryCtxRetain, (void **, int)) \
	X(cuDevicePrimaryCtxRelease_v2, (int)) \
	X(cuCtxSetCurrent, (void *)) \
	X(cuModuleLoadData, (void **, const void *)) \
	X(cuModuleUnload, (void *)) \
	X(cuModuleGetFunction, (void **, void *, const char *)) \
	X(cuMemAlloc_v2, (uint64_t *, size_t)) \
	X(cuMemFree_v2, (uint64_t)) \
	X(cuMemHostAlloc, (void **, size_t, unsigned)) \
	X(cuMemFreeHost, (void *)) \
	X(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *)) \
	X(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *)) \
	X(cuStreamCreate, (void **, unsigned)) \
	X(cuStreamSynchronize, (void *)) \
	X(cuStreamDestroy_v2, (void *)) \
	X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, \
			   void **, void **))

#define DECLARE(name, parameters) static int (*name) parameters;
FUNCTIONS(DECLARE)

/* One of the streams and the vectors that it works on. */
struct lane {
	void *stream;
	uint64_t a, b, out;		/* on the GPU */
	uint32_t *host_a, *host_b, *host_out;
};

#define CHECK(call) check(call, #call)
static void check(int result, const char *call)
{
	if (!result)
		return;
	fprintf(stderr, "vecadd: %s: CUDA error %d\n", call, result);
	exit(EXIT_FAILURE);
}

static void *symbol(void *library, const char *name)
{
	void *address = dlsym(library, name);

	if (!address) {
		fprintf(stderr, "vecadd: %s\n", dlerror());
		exit(EXIT_FAILURE);
	}
	return address;
}

static void find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "vecadd: %s\n", dlerror());
		exit(EXIT_FAILURE);
	}
#define FIND(name, parameters) *(void **)&name = symbol(library, #name);
	FUNCTIONS(FIND)
}

static void make_lane(struct lane *lane, unsigned n)
{
	size_t bytes = n * sizeof(uint32_t);

	CHECK(cuStreamCreate(&lane->stream, 1));
	CHECK(cuMemAlloc_v2(&lane->a, bytes));
	CHECK(cuMemAlloc_v2(&lane->b, bytes));
	CHECK(cuMemAlloc_v2(&lane->out, bytes));
	CHECK(cuMemHostAlloc((void **)&lane->host_a, bytes, 0));
	CHECK(cuMemHostAlloc((void **)&lane->host_b, bytes, 0));
	CHECK(cuMemHostAlloc((void **)&lane->host_out, bytes, 0));
}

static void free_lane(struct lane *lane)
{
	CHECK(cuMemFreeHost(lane->host_out));
	CHECK(cuMemFreeHost(lane->host_b));
	CHECK(cuMemFreeHost(lane->host_a));
	CHECK(cuMemFree_v2(lane->out));
	CHECK(cuMemFree_v2(lane->b));
	CHECK(cuMemFree_v2(lane->a));
	CHECK(cuStreamDestroy_v2(lane->stream));
}

static void start(struct lane *lane, void *function, unsigned round, unsigned n)
{
	size_t bytes = n * sizeof(uint32_t);
	void *parameters[] = { &lane->a, &lane->b, &lane->out, &n };

	for (unsigned i = 0; i < n; i++) {
		lane->host_a[i] = i;
		lane->host_b[i] = 3 * i + round;
	}
	CHECK(cuMemcpyHtoDAsync_v2(lane->a, lane->host_a, bytes, lane->stream));
	CHECK(cuMemcpyHtoDAsync_v2(lane->b, lane->host_b, bytes, lane->stream));
	CHECK(cuLaunchKernel(function, (n + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, lane->stream, parameters,
			     NULL));
	CHECK(cuMemcpyDtoHAsync_v2(lane->host_out, lane->out, bytes, lane->stream));
}

/* Wait, check the sums, and return what they add up to. */
static uint64_t finish(struct lane *lane, unsigned round, unsigned n)
{
	uint64_t total = 0;

	CHECK(cuStreamSynchronize(lane->stream));
	for (unsigned i = 0; i < n; i++) {
		if (lane->host_out[i] != 4 * i + round) {
			fprintf(stderr, "vecadd: wrong sum %u at %u\n", lane->host_out[i], i);
			exit(EXIT_FAILURE);
		}
		total += lane->host_out[i];
	}
	return total;
}

static void parse(int argc, char **argv, unsigned *launches, unsigned *n)
{
	int option;

	while ((option = getopt(argc, argv, "l:n:")) != -1) {
		if (option == 'l')
			*launches = (unsigned)strtoul(optarg, NULL, 0);
		else if (option == 'n')
			*n = (unsigned)strtoul(optarg, NULL, 0);
		else {
			fprintf(stderr, "usage: vecadd [-l LAUNCHES] [-n LENGTH]\n");
			exit(EXIT_FAILURE);
		}
	}
	if (*n < 1 || *n > 1u << 28) {
		fprintf(stderr, "vecadd: the length must be 1 to 2^28\n");
		exit(EXIT_FAILURE);
	}
}

int main(int argc, char **argv)
{
	struct lane lanes[STREAMS];
	unsigned launches = 8, n = 1u << 18;
	uint64_t total = 0;
	void *context, *module, *function;
	char name[96];
	int device;

	parse(argc, argv, &launches, &n);
	find_driver();
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDeviceGetName(name, sizeof(name), device));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, "vecadd"));
	for (unsigned i = 0; i < STREAMS; i++)
		make_lane(&lanes[i], n);

	for (unsigned i = 0; i < launches; i++) {
		if (i >= STREAMS)
			total += finish(&lanes[i % STREAMS], i - STREAMS, n);
		start(&lanes[i % STREAMS], function, i, n);
	}
	for (unsigned i = launches < STREAMS ? 0 : launches - STREAMS; i < launches; i++)
		total += finish(&lanes[i % STREAMS], i, n);

	for (unsigned i = 0; i < STREAMS; i++)
		free_lane(&lanes[i]);
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease_v2(device));
	printf("device %s\n", name);
	printf("launches %u\n", launches);
	printf("threads %llu\n", (unsigned long long)launches * ((n + BLOCK - 1) / BLOCK) * BLOCK);
	printf("total %llu\n", (unsigned long long)total);
	return EXIT_SUCCESS;
}
