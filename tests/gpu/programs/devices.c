/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process on every GPU that it sees:
 *
 *	devices threads N	on each GPU two host threads, N launches each, a module for each GPU
 *	devices switch N	one thread, N launches on each GPU in turns, one library for all
 *	devices peer N		N times: compute on the first, copy to the next, compute there, and so on
 *	devices variants N	as switch, with a library that has other code for sm_90 and later
 *	devices pair N		two kernels on two GPUs, N rounds of waiting for each other's flag
 *	devices contexts N	N contexts made, used by one launch and destroyed, GPU after GPU
 *	devices crowd N		the same with all N there at a time, and then one more
 *	devices makers N	as contexts, by two host threads for each GPU at once
 *
 * For each GPU it says "gpu ORDINAL PCI-ADDRESS launches N threads N"; what the
 * kernels computed is checked.
 */
#include <pthread.h>

#define MORE_FUNCTIONS(X) \
	X(cuDeviceGetCount, (int *)) \
	X(cuDeviceGetAttribute, (int *, int, int)) \
	X(cuDeviceCanAccessPeer, (int *, int, int)) \
	X(cuCtxCreate_v2, (void **, unsigned, int)) \
	X(cuCtxDestroy_v2, (void *)) \
	X(cuCtxEnablePeerAccess, (void *, unsigned)) \
	X(cuMemcpyPeer, (uint64_t, void *, uint64_t, void *, size_t)) \
	X(cuStreamCreate, (void **, unsigned)) \
	X(cuStreamSynchronize, (void *)) \
	X(cuLibraryLoadData, (void **, const void *, void *, void *, unsigned, void *, void *, unsigned)) \
	X(cuLibraryGetKernel, (void **, void *, const char *)) \
	X(cuLibraryUnload, (void *))

#include "driver.h"

#define ATTRIBUTE_BUS 33
#define ATTRIBUTE_MAJOR 75
#define ATTRIBUTE_DEVICE 34
#define ATTRIBUTE_DOMAIN 50
#define NON_BLOCKING 1
#define GPUS_MAX 16
#define WIDTH 64		/* threads of a block */
#define WAIT_NS "10000000000"	/* that a kernel waits at most for another one */

static const char ptx[] =
	".version 6.3\n"
	".target sm_75\n"
	".address_size 64\n"
	/* out[i] += add, for each thread */
	".visible .entry work(.param .u64 out, .param .u32 add)\n"
	"{\n"
	"	.reg .b32 %i, %n, %block, %value, %add;\n"
	"	.reg .b64 %out, %offset;\n"
	"	ld.param.u64 %out, [out];\n"
	"	ld.param.u32 %add, [add];\n"
	"	cvta.to.global.u64 %out, %out;\n"
	"	mov.u32 %block, %ctaid.x;\n"
	"	mov.u32 %n, %ntid.x;\n"
	"	mov.u32 %i, %tid.x;\n"
	"	mad.lo.u32 %i, %block, %n, %i;\n"
	"	mul.wide.u32 %offset, %i, 4;\n"
	"	add.u64 %out, %out, %offset;\n"
	"	ld.global.u32 %value, [%out];\n"
	"	add.u32 %value, %value, %add;\n"
	"	st.global.u32 [%out], %value;\n"
	"	ret;\n"
	"}\n"
	/* each round: raise the other's flag, wait for one's own; *done: how many rounds came to an end */
	".visible .entry pair(.param .u64 mine, .param .u64 theirs, .param .u64 done, .param .u32 rounds)\n"
	"{\n"
	"	.reg .pred %p;\n"
	"	.reg .b32 %round, %rounds, %seen;\n"
	"	.reg .b64 %mine, %theirs, %done, %start, %now;\n"
	"	ld.param.u64 %mine, [mine];\n"
	"	ld.param.u64 %theirs, [theirs];\n"
	"	ld.param.u64 %done, [done];\n"
	"	ld.param.u32 %rounds, [rounds];\n"
	"	cvta.to.global.u64 %mine, %mine;\n"
	"	cvta.to.global.u64 %theirs, %theirs;\n"
	"	cvta.to.global.u64 %done, %done;\n"
	"	mov.u64 %start, %globaltimer;\n"
	"	mov.u32 %round, 0;\n"
	"next:\n"
	"	setp.eq.u32 %p, %round, %rounds;\n"
	"	@%p bra end;\n"
	"	add.u32 %round, %round, 1;\n"
	"	st.volatile.global.u32 [%theirs], %round;\n"
	"	membar.sys;\n"
	"wait:\n"
	"	ld.volatile.global.u32 %seen, [%mine];\n"
	"	setp.ge.u32 %p, %seen, %round;\n"
	"	@%p bra passed;\n"
	"	mov.u64 %now, %globaltimer;\n"
	"	sub.u64 %now, %now, %start;\n"
	"	setp.lt.u64 %p, %now, " WAIT_NS ";\n"
	"	@%p bra wait;\n"
	"	bra end;\n"
	"passed:\n"
	"	st.volatile.global.u32 [%done], %round;\n"
	"	bra next;\n"
	"end:\n"
	"	ret;\n"
	"}\n";

struct gpu {
	int ordinal;
	void *context;
	uint64_t out;
	uint32_t expected;	/* in every element of out */
	unsigned blocks;
	unsigned long launches, threads;
	pthread_mutex_t lock;
};

static struct gpu gpus[GPUS_MAX];
static int gpu_count;
static unsigned long rounds;

static void fail(const char *text)
{
	fprintf(stderr, "%s\n", text);
	exit(1);
}

static void count(struct gpu *gpu, unsigned blocks, unsigned width)
{
	pthread_mutex_lock(&gpu->lock);
	gpu->launches++;
	gpu->threads += (unsigned long)blocks * width;
	pthread_mutex_unlock(&gpu->lock);
}

static void work_on(struct gpu *gpu, void *function, uint64_t out, uint32_t add, void *stream)
{
	void *parameters[] = { &out, &add };

	CHECK(cuLaunchKernel(function, gpu->blocks, 1, 1, WIDTH, 1, 1, 0, stream, parameters, NULL));
	count(gpu, gpu->blocks, WIDTH);
}

static size_t bytes_of(const struct gpu *gpu)
{
	return (size_t)gpu->blocks * WIDTH * sizeof(uint32_t);
}

static void check_memory(const struct gpu *gpu, uint64_t out, uint32_t expected)
{
	uint32_t *values = malloc(bytes_of(gpu));

	CHECK(cuMemcpyDtoH_v2(values, out, bytes_of(gpu)));
	for (size_t i = 0; i < bytes_of(gpu) / sizeof(*values); i++) {
		if (values[i] != expected) {
			fprintf(stderr, "GPU %d: value %zu is %u, not %u\n", gpu->ordinal, i, values[i], expected);
			exit(1);
		}
	}
	free(values);
}

static uint64_t new_memory(const struct gpu *gpu)
{
	uint64_t out;

	CHECK(cuMemAlloc_v2(&out, bytes_of(gpu)));
	CHECK(cuMemsetD32_v2(out, 0, bytes_of(gpu) / sizeof(uint32_t)));
	return out;
}

/* So that what one GPU has counted is not taken for what another one has. */
static void open_gpus(void)
{
	CHECK(cuDeviceGetCount(&gpu_count));
	if (gpu_count > GPUS_MAX)
		gpu_count = GPUS_MAX;
	for (int i = 0; i < gpu_count; i++) {
		struct gpu *gpu = &gpus[i];

		gpu->ordinal = i;
		gpu->blocks = 3 + 2 * (unsigned)i;
		pthread_mutex_init(&gpu->lock, NULL);
		CHECK(cuDevicePrimaryCtxRetain(&gpu->context, i));
	}
}

static void close_gpus(void)
{
	int domain, bus, slot;

	for (int i = 0; i < gpu_count; i++) {
		CHECK(cuDevicePrimaryCtxRelease_v2(i));
		CHECK(cuDeviceGetAttribute(&domain, ATTRIBUTE_DOMAIN, i));
		CHECK(cuDeviceGetAttribute(&bus, ATTRIBUTE_BUS, i));
		CHECK(cuDeviceGetAttribute(&slot, ATTRIBUTE_DEVICE, i));
		printf("gpu %d %04x:%02x:%02x.0 launches %lu threads %lu\n", i, domain, bus, slot, gpus[i].launches,
		       gpus[i].threads);
	}
}

/* ---- threads ---- */

struct thread {
	pthread_t id;
	struct gpu *gpu;
};

static void *run_thread(void *data)
{
	struct gpu *gpu = ((struct thread *)data)->gpu;
	void *module, *function, *stream;
	uint64_t out;

	CHECK(cuCtxSetCurrent(gpu->context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, "work"));
	CHECK(cuStreamCreate(&stream, NON_BLOCKING));
	out = new_memory(gpu);
	CHECK(cuCtxSynchronize());
	for (unsigned long i = 0; i < rounds; i++)
		work_on(gpu, function, out, 1, stream);
	CHECK(cuStreamSynchronize(stream));
	check_memory(gpu, out, (uint32_t)rounds);
	return NULL;
}

/* Two for each GPU. */
static void on_threads(void *(*fn)(void *data))
{
	struct thread threads[2 * GPUS_MAX];

	for (int i = 0; i < 2 * gpu_count; i++) {
		threads[i].gpu = &gpus[i % gpu_count];
		pthread_create(&threads[i].id, NULL, fn, &threads[i]);
	}
	for (int i = 0; i < 2 * gpu_count; i++)
		pthread_join(threads[i].id, NULL);
}

static void run_threads(void)
{
	on_threads(run_thread);
}

/* ---- switch, peer ---- */

/* One library; its kernel's handle serves every context. */
static void *load_library(void **ret_library, const char *name)
{
	void *kernel;

	CHECK(cuLibraryLoadData(ret_library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&kernel, *ret_library, name));
	return kernel;
}

static void run_switch(void)
{
	void *library, *kernel = load_library(&library, "work");

	for (int i = 0; i < gpu_count; i++) {
		CHECK(cuCtxSetCurrent(gpus[i].context));
		gpus[i].out = new_memory(&gpus[i]);
	}
	for (unsigned long round = 0; round < rounds; round++) {
		for (int i = 0; i < gpu_count; i++) {
			CHECK(cuCtxSetCurrent(gpus[i].context));
			work_on(&gpus[i], kernel, gpus[i].out, (uint32_t)i + 1, NULL);
		}
	}
	for (int i = 0; i < gpu_count; i++) {
		CHECK(cuCtxSetCurrent(gpus[i].context));
		CHECK(cuCtxSynchronize());
		check_memory(&gpus[i], gpus[i].out, (uint32_t)rounds * ((uint32_t)i + 1));
	}
	CHECK(cuLibraryUnload(library));
}

/* The values travel round: every GPU adds its number plus one. */
static void run_peer(void)
{
	void *library, *kernel = load_library(&library, "work");
	uint32_t expected = 0;

	for (int i = 0; i < gpu_count; i++) {
		gpus[i].blocks = 5;
		CHECK(cuCtxSetCurrent(gpus[i].context));
		gpus[i].out = new_memory(&gpus[i]);
	}
	for (unsigned long round = 0; round < rounds; round++) {
		for (int i = 0; i < gpu_count; i++) {
			struct gpu *gpu = &gpus[i], *next = &gpus[(i + 1) % gpu_count];

			CHECK(cuCtxSetCurrent(gpu->context));
			work_on(gpu, kernel, gpu->out, (uint32_t)i + 1, NULL);
			expected += (uint32_t)i + 1;
			CHECK(cuCtxSynchronize());
			CHECK(cuMemcpyPeer(next->out, next->context, gpu->out, gpu->context, bytes_of(gpu)));
		}
	}
	CHECK(cuCtxSetCurrent(gpus[0].context));
	check_memory(&gpus[0], gpus[0].out, expected);
	CHECK(cuLibraryUnload(library));
}

/* ---- variants ---- */

/* Adds a number by which one sees what code ran. */
#define VARIANT(target, number) \
	".version 7.8\n" \
	".target sm_" target "\n" \
	".address_size 64\n" \
	".visible .entry variant(.param .u64 out)\n" \
	"{\n" \
	"	.reg .b32 %i, %n, %block, %value;\n" \
	"	.reg .b64 %out, %offset;\n" \
	"	ld.param.u64 %out, [out];\n" \
	"	cvta.to.global.u64 %out, %out;\n" \
	"	mov.u32 %block, %ctaid.x;\n" \
	"	mov.u32 %n, %ntid.x;\n" \
	"	mov.u32 %i, %tid.x;\n" \
	"	mad.lo.u32 %i, %block, %n, %i;\n" \
	"	mul.wide.u32 %offset, %i, 4;\n" \
	"	add.u64 %out, %out, %offset;\n" \
	"	ld.global.u32 %value, [%out];\n" \
	"	add.u32 %value, %value, " number ";\n" \
	"	st.global.u32 [%out], %value;\n" \
	"	ret;\n" \
	"}\n"

static const struct {
	uint32_t arch;
	const char *text;
} variants[] = { { 75, VARIANT("75", "75") }, { 90, VARIANT("90", "90") } };

/* nvcc's container, with PTX for two architectures in it. */
static void *make_fatbin(void)
{
	struct {
		uint32_t magic;
		uint16_t version, header_size;
		uint64_t size;
	} header = { 0xba55ed50, 1, 16, 0 };
	struct {
		uint16_t kind, version;
		uint32_t header_size;
		uint64_t padded_size;
		uint32_t compressed_size, options;
		uint16_t minor, major;
		uint32_t arch, name, name_length;
		uint64_t flags, reserved, full_size;
	} entry = { .kind = 1, .version = 0x101, .header_size = 64, .minor = 8, .major = 7, .flags = 0x11 };
	uint8_t *bytes = calloc(1, 65536), *at = bytes + sizeof(header);

	for (unsigned i = 0; i < 2; i++) {
		entry.arch = variants[i].arch;
		entry.padded_size = (strlen(variants[i].text) + 8) & ~7ull;
		memcpy(at, &entry, sizeof(entry));
		memcpy(at + sizeof(entry), variants[i].text, strlen(variants[i].text));
		at += sizeof(entry) + entry.padded_size;
	}
	header.size = (uint64_t)(at - bytes) - sizeof(header);
	memcpy(bytes, &header, sizeof(header));
	return bytes;
}

static uint32_t expected_variant(int ordinal)
{
	int major;

	CHECK(cuDeviceGetAttribute(&major, ATTRIBUTE_MAJOR, ordinal));
	return major >= 9 ? 90 : 75;
}

static void run_variants(void)
{
	void *library, *kernel, *fatbin = make_fatbin();

	/* Loaded while the last one is current, used on all. */
	CHECK(cuCtxSetCurrent(gpus[gpu_count - 1].context));
	CHECK(cuLibraryLoadData(&library, fatbin, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&kernel, library, "variant"));
	for (int i = 0; i < gpu_count; i++) {
		CHECK(cuCtxSetCurrent(gpus[i].context));
		gpus[i].out = new_memory(&gpus[i]);
	}
	for (unsigned long round = 0; round < rounds; round++) {
		for (int i = 0; i < gpu_count; i++) {
			void *parameters[] = { &gpus[i].out };

			CHECK(cuCtxSetCurrent(gpus[i].context));
			CHECK(cuLaunchKernel(kernel, gpus[i].blocks, 1, 1, WIDTH, 1, 1, 0, NULL, parameters, NULL));
			count(&gpus[i], gpus[i].blocks, WIDTH);
		}
	}
	for (int i = 0; i < gpu_count; i++) {
		CHECK(cuCtxSetCurrent(gpus[i].context));
		CHECK(cuCtxSynchronize());
		check_memory(&gpus[i], gpus[i].out, (uint32_t)rounds * expected_variant(i));
	}
	CHECK(cuLibraryUnload(library));
	free(fatbin);
}

/* ---- pair ---- */

/* Nothing has run on either GPU before: what a tracer prepares at a first launch must not wait for the other GPU. */
static void run_pair(void)
{
	void *library, *kernel = load_library(&library, "pair"), *streams[2];
	uint64_t flags[2], done[2];
	uint32_t finished;
	int can = 0;

	if (gpu_count > 1)
		CHECK(cuDeviceCanAccessPeer(&can, 0, 1));
	if (!can) {
		fprintf(stderr, "two GPUs are needed that can use each other's memory\n");
		exit(77);
	}
	for (int i = 0; i < 2; i++) {
		CHECK(cuCtxSetCurrent(gpus[i].context));
		CHECK(cuCtxEnablePeerAccess(gpus[1 - i].context, 0));
		flags[i] = new_memory(&gpus[i]);
		done[i] = new_memory(&gpus[i]);
		CHECK(cuStreamCreate(&streams[i], NON_BLOCKING));
		CHECK(cuCtxSynchronize());
	}
	for (int i = 0; i < 2; i++) {
		uint32_t n = (uint32_t)rounds;
		void *parameters[] = { &flags[i], &flags[1 - i], &done[i], &n };

		CHECK(cuCtxSetCurrent(gpus[i].context));
		CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, streams[i], parameters, NULL));
		count(&gpus[i], 1, 1);
	}
	for (int i = 0; i < 2; i++) {
		CHECK(cuCtxSetCurrent(gpus[i].context));
		CHECK(cuCtxSynchronize());
		CHECK(cuMemcpyDtoH_v2(&finished, done[i], sizeof(finished)));
		if (finished != rounds) {
			fprintf(stderr, "GPU %d saw the end of %u rounds of %lu\n", i, finished, rounds);
			exit(1);
		}
	}
	CHECK(cuLibraryUnload(library));
}

/* ---- contexts ---- */

static void *new_context(struct gpu *gpu)
{
	void *context, *module, *function;
	uint64_t out;

	CHECK(cuCtxCreate_v2(&context, 0, gpu->ordinal));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, "work"));
	out = new_memory(gpu);
	work_on(gpu, function, out, 7, NULL);
	CHECK(cuCtxSynchronize());
	check_memory(gpu, out, 7);
	return context;
}

static void run_contexts(void)
{
	for (unsigned long i = 0; i < rounds; i++)
		CHECK(cuCtxDestroy_v2(new_context(&gpus[i % (unsigned)gpu_count])));
}

static void run_crowd(void)
{
	void **contexts = calloc(rounds, sizeof(*contexts));

	for (unsigned long i = 0; i < rounds; i++)
		contexts[i] = new_context(&gpus[i % (unsigned)gpu_count]);
	for (unsigned long i = 0; i < rounds; i++)
		CHECK(cuCtxDestroy_v2(contexts[i]));
	free(contexts);
	CHECK(cuCtxDestroy_v2(new_context(&gpus[0])));
}

static void *make_contexts(void *data)
{
	for (unsigned long i = 0; i < rounds; i++)
		CHECK(cuCtxDestroy_v2(new_context(((struct thread *)data)->gpu)));
	return NULL;
}

static void run_makers(void)
{
	on_threads(make_contexts);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "threads", run_threads }, { "switch", run_switch }, { "peer", run_peer },
		{ "variants", run_variants },		{ "pair", run_pair }, { "contexts", run_contexts },
		{ "crowd", run_crowd }, { "makers", run_makers },
	};

	driver_load();
	rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 100;
	open_gpus();
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (argc > 1 && !strcmp(argv[1], modes[i].name)) {
			modes[i].run();
			close_gpus();
			return 0;
		}
	}
	fail("usage: devices threads|switch|peer|variants|pair|contexts|crowd|makers [N]");
	return 2;
}
