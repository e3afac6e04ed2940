/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes grafted onto compiled kernels, on a real GPU: each kernel computes the
 * same as without probes, and every thread is counted once at entry and once at
 * exit.
 *
 * usage: graft [-v VARIANT] [SOURCE.cu|CODE.cubin]
 *
 * Without an argument tests/gpu/programs/graft.cu of the folder at hand; a .cu
 * file is compiled with nvcc ($NVCC) for the GPU's architecture.  A line for each variant
 * and kernel that begins with PASS or FAIL, then a summary.  Exit status: 0 all
 * passed, 1 not, 77 no GPU or nothing to compile with.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/agent/graft/graft.h"
#include "lib/agent/image/image.h"
#include "tests/graft/stubs.h"

#define SKIP 77
#define CHILD_SECONDS 60
#define CRASHED 100	/* and the index of the kernel: exit status of a child whose context died */

#define OUT_BYTES ((size_t)8 << 20)
#define IN_COUNT 65536
#define DEV_BYTES ((size_t)8 << 20)
#define THREADS_MAX 65536u
#define REPEATS 6
#define LAUNCH_ID 0x123456789ull

#define FUNCTIONS(X) \
	X(cuInit, (unsigned)) \
	X(cuDeviceGet, (int *, int)) \
	X(cuDeviceGetName, (char *, int, int)) \
	X(cuDeviceGetAttribute, (int *, int, int)) \
	X(cuDevicePrimaryCtxRetain, (void **, int)) \
	X(cuCtxSetCurrent, (void *)) \
	X(cuCtxSynchronize, (void)) \
	X(cuGetErrorName, (int, const char **)) \
	X(cuModuleLoadData, (void **, const void *)) \
	X(cuModuleGetFunction, (void **, void *, const char *)) \
	X(cuLibraryLoadData, (void **, const void *, void *, void *, unsigned, void *, void *, unsigned)) \
	X(cuLibraryGetKernel, (void **, void *, const char *)) \
	X(cuKernelGetFunction, (void **, void *)) \
	X(cuFuncGetAttribute, (int *, int, void *)) \
	X(cuLinkCreate_v2, (unsigned, int *, void **, void **)) \
	X(cuLinkAddData_v2, (void *, int, void *, size_t, const char *, unsigned, int *, void **)) \
	X(cuLinkComplete, (void *, void **, size_t *)) \
	X(cuLinkDestroy, (void *)) \
	X(cuMemAlloc_v2, (uint64_t *, size_t)) \
	X(cuMemsetD8_v2, (uint64_t, unsigned char, size_t)) \
	X(cuMemcpyDtoH_v2, (void *, uint64_t, size_t)) \
	X(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t)) \
	X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, \
			   void **, void **))

#define DECLARE(name, parameters) static int (*name) parameters;
FUNCTIONS(DECLARE)

#define ATTRIBUTE_MAJOR 75
#define ATTRIBUTE_MINOR 76
#define FUNCTION_REGISTERS 4
#define JIT_ERROR_LOG 5
#define JIT_ERROR_LOG_SIZE 6
#define INPUT_PTX 1

/* ---- variants ---- */

struct variant {
	const char *name;
	const char *entry, *exit;	/* names in test_stubs, or NULL */
	bool off;			/* the links are switched off: nothing is counted */
	bool library;			/* loaded by cuLibraryLoadData */
	bool one_block;
	bool timeline;
};

static const struct variant variants[] = {
	{ .name = "off", .entry = "entry", .exit = "exit", .off = true },
	{ .name = "entry", .entry = "entry" },
	{ .name = "exit", .exit = "exit" },
	{ .name = "both", .entry = "entry", .exit = "exit" },
	{ .name = "warp", .entry = "entry-warp", .exit = "exit-warp" },
	{ .name = "block", .entry = "entry", .exit = "exit-block" },
	{ .name = "group", .exit = "exit-group" },
	{ .name = "params", .entry = "entry-params", .exit = "exit-params" },
	{ .name = "ring-entry", .entry = "entry-ring" },
	{ .name = "ring-exit", .exit = "exit-ring" },
	{ .name = "aggregate", .entry = "entry-aggregate", .exit = "exit-aggregate" },
	{ .name = "big", .entry = "entry-big", .exit = "exit-big" },
	{ .name = "big-library", .entry = "entry-big", .exit = "exit-big", .library = true },
	{ .name = "order", .entry = "entry-two", .one_block = true },
	{ .name = "literal", .entry = "entry-literal", .one_block = true },
	{ .name = "divide", .entry = "entry-divide", .exit = "exit-divide" },
	{ .name = "generic", .entry = "entry-generic", .exit = "exit-generic" },
	{ .name = "uniform", .entry = "entry-uniform", .exit = "exit-uniform" },
	{ .name = "timeline", .entry = "entry-timeline", .exit = "exit-timeline", .timeline = true },
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

/* ---- the driver ---- */

static uint64_t out_memory, in_memory, dev_memory;
static unsigned arch;

static const char *error_name(int result)
{
	const char *name = "?";

	cuGetErrorName(result, &name);
	return name;
}

static int load_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

	if (!driver)
		return -1;
#define FIND(name, parameters) \
	name = (int (*) parameters)(uintptr_t)dlsym(driver, #name); \
	if (!name) \
		return -1;
	FUNCTIONS(FIND)
	return cuInit(0) ? -1 : 0;
}

static void find_arch(void)
{
	int device, major = 0, minor = 0;

	if (cuDeviceGet(&device, 0))
		return;
	cuDeviceGetAttribute(&major, ATTRIBUTE_MAJOR, device);
	cuDeviceGetAttribute(&minor, ATTRIBUTE_MINOR, device);
	arch = (unsigned)(10 * major + minor);
}

static int open_context(void)
{
	void *context;
	int device;

	return cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context) ||
	       cuMemAlloc_v2(&out_memory, OUT_BYTES) || cuMemAlloc_v2(&in_memory, IN_COUNT * sizeof(float)) ||
	       cuMemAlloc_v2(&dev_memory, DEV_BYTES);
}

static void fill_input(void)
{
	float *in = malloc(IN_COUNT * sizeof(*in));
	unsigned seed = 12345;

	for (int i = 0; i < IN_COUNT; i++) {
		seed = seed * 1664525u + 1013904223u;
		in[i] = (float)(seed >> 8) / (1 << 24) - (i % 11 ? 0 : 1);
	}
	cuMemcpyHtoD_v2(in_memory, in, IN_COUNT * sizeof(*in));
	free(in);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The driver's own linker, as the agent uses it. */
static void *assemble(const char *ptx, size_t *ret_size)
{
	char log[4096] = "";
	int options[] = { JIT_ERROR_LOG, JIT_ERROR_LOG_SIZE };
	void *values[] = { log, (void *)(uintptr_t)sizeof(log) }, *state, *code = NULL, *copy = NULL;

	if (cuLinkCreate_v2(2, options, values, &state))
		return NULL;
	if (!cuLinkAddData_v2(state, INPUT_PTX, (void *)(uintptr_t)ptx, strlen(ptx) + 1, "stub", 0, NULL, NULL) &&
	    !cuLinkComplete(state, &code, ret_size)) {
		copy = malloc(*ret_size);
		memcpy(copy, code, *ret_size);
	} else {
		printf("# the driver's compiler: %s\n", log);
	}
	cuLinkDestroy(state);
	return copy;
}

static struct gt_graft_stub *make_stub(const char *name)
{
	const struct test_stub *test = test_stubs;
	char why[GT_GRAFT_WHY] = "", *text;
	struct gt_graft_stub *stub = NULL;
	double start = now();
	size_t size = 0;
	void *code;

	while (strcmp(test->name, name))
		test++;
	if (test_stub_text(test, arch, &text, why)) {
		printf("# %s: %s\n", name, why);
		return NULL;
	}
	code = assemble(text, &size);
	if (code && gt_graft_stub_open(code, size, test->point, &stub, why))
		printf("# %s: %s\n", name, why);
	printf("# stub %s: %.1f ms\n", name, 1e3 * (now() - start));
	free(code);
	free(text);
	return stub;
}

/* ---- the kernels ---- */

#define KERNELS_MAX 64
static char *kernel_names[KERNELS_MAX];
static unsigned kernel_count;
static void *cubin;
static size_t cubin_size;

static int add_kernel(void *data, const struct gt_cubin_kernel *kernel)
{
	(void)data;
	if (kernel_count < KERNELS_MAX)
		kernel_names[kernel_count++] = strdup(kernel->name);
	return 0;
}

static int read_cubin(const char *path)
{
	FILE *file = fopen(path, "rb");
	const char *why;
	long size;

	if (!file)
		return -1;
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	cubin = malloc((size_t)size);
	cubin_size = fread(cubin, 1, (size_t)size, file);
	fclose(file);
	return gt_cubin_kernels(cubin, cubin_size, add_kernel, NULL, &why);
}

/* ---- one variant ---- */

struct shape {
	unsigned grid[3], block[3];
	int n;
};

static const struct shape shapes[] = {
	{ { 256, 1, 1 }, { 192, 1, 1 }, IN_COUNT - 64 },
	{ { 256, 1, 1 }, { 100, 1, 1 }, 20011 },
	{ { 256, 1, 1 }, { 256, 1, 1 }, IN_COUNT - 64 },
	/* For the kernel that knows of more than one dimension. */
	{ { 16, 16, 1 }, { 16, 12, 1 }, IN_COUNT - 64 },
	{ { 7, 5, 6 }, { 11, 3, 5 }, 20011 },
	{ { 1, 1, 50 }, { 1, 4, 64 }, 10000 },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))
#define FLAT_SHAPES 3u

static unsigned blocks_of(const struct shape *shape)
{
	return shape->grid[0] * shape->grid[1] * shape->grid[2];
}

static unsigned threads_of(const struct shape *shape)	/* of one block */
{
	return shape->block[0] * shape->block[1] * shape->block[2];
}

struct run {
	const struct variant *variant;
	struct gt_graft_result results[KERNELS_MAX];
	void *plain, *probed;		/* module; module or library */
	uint8_t *expected, *got;
	uint64_t *dev;
};

static int launch(void *function, const struct shape *shape, struct gt_launch_param *hidden)
{
	int n = shape->n;
	void *params[] = { &out_memory, &in_memory, &n, hidden };

	return cuLaunchKernel(function, shape->grid[0], shape->grid[1], shape->grid[2], shape->block[0],
			      shape->block[1], shape->block[2], 0, NULL, params, NULL);
}

/* Launches that keep the GPU busy, microseconds each; best of three. */
static double time_launches(void *function, struct gt_launch_param *hidden)
{
	double best = 1e9, start;

	for (int try = 0; try < 3; try++) {
		cuCtxSynchronize();
		start = now();
		for (int i = 0; i < 50; i++)
			launch(function, &shapes[2], hidden);
		cuCtxSynchronize();
		if (now() - start < best)
			best = now() - start;
	}
	return 1e6 * best / 50;
}

static uint64_t trips(const struct shape *shape)
{
	uint64_t sum = 0;

	for (unsigned x = 0; x < shape->block[0]; x++)
		sum += x & 7;
	return sum * shape->block[1] * shape->block[2] * blocks_of(shape);
}

/* At entry and at exit. */
static void expect_divisions(const struct shape *shape, uint64_t want[C_COUNTERS])
{
	uint64_t times = 2ull * shape->grid[1] * shape->grid[2] * shape->block[1] * shape->block[2];

	for (uint32_t i = 0; i < shape->grid[0] * shape->block[0]; i++) {
		want[C_QUOTIENTS] += times * (test_dividend(i) / test_divisor(i));
		want[C_RESTS] += times * (test_dividend(i) % test_divisor(i));
	}
}

/* What each counter must hold. */
static void expect(const struct run *run, const struct shape *shape, uint32_t id, uint64_t want[C_COUNTERS])
{
	const struct variant *v = run->variant;
	uint64_t blocks = blocks_of(shape), threads = blocks * threads_of(shape);
	uint64_t warps = blocks * ((threads_of(shape) + 31) / 32);
	uint64_t entries = v->entry && !strcmp(v->entry, "entry") ? threads :
			   v->entry && !strcmp(v->entry, "entry-warp") ? warps : 0;
	uint64_t exits = v->exit && !strcmp(v->exit, "exit") ? threads :
			 v->exit && !strcmp(v->exit, "exit-warp") ? warps :
			 v->exit && !strcmp(v->exit, "exit-block") ? blocks : 0;
	bool big = v->entry && !strcmp(v->entry, "entry-big"), params = v->entry && !strcmp(v->entry, "entry-params");
	bool ring = (v->entry && !strcmp(v->entry, "entry-ring")) || (v->exit && !strcmp(v->exit, "exit-ring"));

	memset(want, 0, C_COUNTERS * sizeof(*want));
	if (v->off)
		return;
	want[C_ENTRIES] = entries;
	want[C_ENTRY_IDS] = entries * id;
	want[C_ENTRY_LAUNCH] = entries * LAUNCH_ID;
	want[C_EXITS] = exits;
	want[C_EXIT_IDS] = exits * id;
	want[C_GROUPED] = v->exit && !strcmp(v->exit, "exit-group") ? threads : 0;
	want[C_PARAMS] = params ? 2 * threads * (uint32_t)out_memory : 0;
	want[C_BIG_ENTRY] = want[C_BIG_EXIT] = big ? threads : 0;
	want[C_BIG_ENTRY_TRIPS] = want[C_BIG_EXIT_TRIPS] = big ? trips(shape) : 0;
	want[C_RING_HEAD] = ring ? threads : 0;
	want[C_AGGREGATED] = v->entry && !strcmp(v->entry, "entry-aggregate") ? 2 * threads : 0;
	/* 1 and then 1 * 4 + 2; the other way round it would be 5. */
	want[C_ORDER] = v->entry && !strcmp(v->entry, "entry-two") ? 6 : 0;
	/* Whatever it is, the same at both ends, and never 0. */
	if (v->entry && !strcmp(v->entry, "entry-uniform"))
		want[C_UNIFORM_ENTRY] = want[C_UNIFORM_EXIT] = run->dev[C_UNIFORM_ENTRY] ? run->dev[C_UNIFORM_ENTRY] : 1;
	want[C_GENERIC] = v->entry && !strcmp(v->entry, "entry-generic") ? 2 * 5 * threads : 0;
	if (v->entry && !strcmp(v->entry, "entry-divide"))
		expect_divisions(shape, want);
	want[C_LITERAL] = v->entry && !strcmp(v->entry, "entry-literal") ? LITERAL_RESULT : 0;
}

/* Each thread's number is in one of the first slots. */
static bool ring_is_whole(const struct run *run, uint64_t threads)
{
	bool *seen = calloc(threads + 1, sizeof(*seen)), whole = true;

	for (uint64_t i = 0; whole && i < threads; i++) {
		uint64_t number = run->dev[C_SLOTS + i];

		whole = number && number <= threads && !seen[number];
		if (whole)
			seen[number] = true;
	}
	free(seen);
	return whole;
}

/* ---- the timeline's places: all in one memory, the ring where TEST_RING says ---- */

#define HOST_AT ((uint64_t)5 << 20)
#define SLOT (LAUNCH_ID % GT_LAUNCH_SLOTS)

static uint64_t word_at(const struct run *run, uint64_t at)
{
	return run->dev[at / 8];
}

/* One record of the launch, and its slot is clean and given back. */
static bool timeline_is_right(const struct run *run, unsigned kernel)
{
	uint64_t record = HOST_AT + TEST_RING, dirty = 0;
	bool right;

	/* Every row has a word of the slot's. */
	for (uint64_t at = 8 * SLOT; at < sizeof(struct gt_launch_slots); at += 8 * GT_LAUNCH_SLOTS)
		dirty |= word_at(run, TEST_SLOTS + at);
	right = word_at(run, offsetof(struct gt_ring_ctl, head)) == 48 && !word_at(run, offsetof(struct gt_ring_ctl, lost)) &&
		(uint32_t)word_at(run, record) == 1 && word_at(run, record + 16) == LAUNCH_ID &&
		word_at(run, record + 24) == 1000 + kernel && word_at(run, record + 32) &&
		word_at(run, record + 32) <= word_at(run, record + 40) &&
		word_at(run, HOST_AT + offsetof(struct gt_host_arena, slot_done) + 8 * SLOT) == LAUNCH_ID;
	if (!right || dirty)
		printf("#   timeline %s: %" PRIu64 " bytes of records, launch %" PRIx64 ", start %" PRIu64 ", end %" PRIu64 "%s\n",
		       kernel_names[kernel], word_at(run, 0), word_at(run, record + 16), word_at(run, record + 32),
		       word_at(run, record + 40), dirty ? ", slot not clean" : "");
	return right && !dirty;
}

static int prepare_dev(const struct run *run)
{
	uint64_t credits = TEST_RING_SIZE;
	int r = cuMemsetD8_v2(dev_memory, 0, DEV_BYTES);

	if (r || !run->variant->timeline)
		return r;
	return cuMemcpyHtoD_v2(dev_memory + offsetof(struct gt_ring_ctl, credits), &credits, sizeof(credits));
}

static bool compare(const struct run *run, const struct shape *shape, unsigned kernel)
{
	uint64_t want[C_COUNTERS], at = 0;

	if (memcmp(run->expected, run->got, OUT_BYTES)) {
		while (run->expected[at] == run->got[at])
			at++;
		printf("#   %s %s, blocks of %u: the result differs at byte %" PRIu64 "\n", run->variant->name,
		       kernel_names[kernel], threads_of(shape), at);
		return false;
	}
	if (run->variant->timeline)
		return timeline_is_right(run, kernel);
	expect(run, shape, 1000 + kernel, want);
	for (unsigned c = 0; c < C_COUNTERS; c++)
		if (run->dev[c] != want[c]) {
			printf("#   %s %s, blocks of %u: counter %u is %" PRIu64 ", not %" PRIu64 "\n", run->variant->name,
			       kernel_names[kernel], threads_of(shape), c, run->dev[c], want[c]);
			return false;
		}
	/* Its threads are numbered in one dimension. */
	if (want[C_RING_HEAD] && shape->block[0] == threads_of(shape) && !ring_is_whole(run, want[C_RING_HEAD])) {
		printf("#   %s %s: a thread's record is missing\n", run->variant->name, kernel_names[kernel]);
		return false;
	}
	return true;
}

/* The driver's result, or -1 when something was not right. */
static int try_shape(const struct run *run, const struct shape *shape, unsigned kernel, void *plain, void *probed,
		     struct gt_launch_param *hidden)
{
	int r = cuMemsetD8_v2(out_memory, 0, OUT_BYTES) || launch(plain, shape, NULL);

	if (!r)
		r = cuCtxSynchronize();
	if (!r)
		r = cuMemcpyDtoH_v2(run->expected, out_memory, OUT_BYTES);
	for (int i = 0; !r && i < REPEATS; i++) {
		r = cuMemsetD8_v2(out_memory, 0, OUT_BYTES);
		if (!r)
			r = prepare_dev(run);
		if (!r)
			r = launch(probed, shape, hidden);
		if (!r)
			r = cuCtxSynchronize();
		if (!r)
			r = cuMemcpyDtoH_v2(run->got, out_memory, OUT_BYTES);
		if (!r)
			r = cuMemcpyDtoH_v2(run->dev, dev_memory, DEV_BYTES);
		if (!r && !compare(run, shape, kernel))
			r = -1;
	}
	return r;
}

static int get_function(const struct run *run, const char *name, void **ret_function)
{
	void *kernel;
	int r;

	if (!run->variant->library)
		return cuModuleGetFunction(ret_function, run->probed, name);
	r = cuLibraryGetKernel(&kernel, run->probed, name);
	return r ? r : cuKernelGetFunction(ret_function, kernel);
}

/* False: the context is lost. */
static bool try_kernel(const struct run *run, unsigned kernel)
{
	struct gt_launch_param hidden = {
		LAUNCH_ID | (run->variant->off ? 0 : 0xffffull << GT_LAUNCH_ID_BITS), dev_memory, dev_memory + HOST_AT,
	};
	const char *name = kernel_names[kernel], *variant = run->variant->name;
	struct shape one = { { 1, 1, 1 }, { 256, 1, 1 }, IN_COUNT - 64 };
	void *plain = NULL, *probed = NULL;
	int r, registers[2] = { 0, 0 };
	double bare, with;

	if (!run->results[kernel].done) {
		printf("FAIL %s %s: refused: %s\n", variant, name, run->results[kernel].why);
		return true;
	}
	r = cuModuleGetFunction(&plain, run->plain, name);
	if (!r)
		r = get_function(run, name, &probed);
	if (!r && run->variant->one_block) {
		if (strcmp(name, "k_cluster"))
			r = try_shape(run, &one, kernel, plain, probed, &hidden);
	} else {
		for (unsigned i = 0; !r && i < (strcmp(name, "k_dims") ? FLAT_SHAPES : SHAPES); i++)
			r = try_shape(run, &shapes[i], kernel, plain, probed, &hidden);
	}
	if (r) {
		printf("FAIL %s %s: %s\n", variant, name, r < 0 ? "not the same" : error_name(r));
		return r < 0;
	}
	bare = time_launches(plain, NULL);
	with = time_launches(probed, &hidden);
	cuFuncGetAttribute(&registers[0], FUNCTION_REGISTERS, plain);
	cuFuncGetAttribute(&registers[1], FUNCTION_REGISTERS, probed);
	printf("PASS %s %s: %u exits, %d -> %d registers, %.2f -> %.2f us (%.2f)\n", variant, name,
	       run->results[kernel].exits, registers[0], registers[1], bare, with, with / bare);
	return true;
}

/* All kernels in one pass. */
static int graft_all(struct run *run, void **ret_image)
{
	struct gt_graft_plan plans[KERNELS_MAX];
	const struct variant *v = run->variant;
	struct gt_graft_stub *entry = v->entry ? make_stub(v->entry) : NULL, *exit = v->exit ? make_stub(v->exit) : NULL;
	char why[GT_GRAFT_WHY] = "the probes could not be made";
	double start;
	size_t size;
	int r = -1;

	if ((!v->entry || entry) && (!v->exit || exit)) {
		for (unsigned i = 0; i < kernel_count; i++)
			plans[i] = (struct gt_graft_plan){ .name = kernel_names[i], .kernel_id = 1000 + i, .entry = entry, .exit = exit };
		start = now();
		r = gt_graft(cubin, cubin_size, GT_GRAFT_FORCE, plans, kernel_count, ret_image, &size, run->results, why);
		printf("# %s: %u kernels grafted in %.0f us\n", v->name, kernel_count, 1e6 * (now() - start));
	}
	if (r)
		printf("FAIL %s: %s\n", v->name, why);
	gt_graft_stub_free(entry);
	gt_graft_stub_free(exit);
	return r;
}

static int load(struct run *run, const void *image)
{
	int r = cuModuleLoadData(&run->plain, cubin);

	if (r)
		return r;
	return run->variant->library ? cuLibraryLoadData(&run->probed, image, NULL, NULL, 0, NULL, NULL, 0) :
				       cuModuleLoadData(&run->probed, image);
}

/* A process for itself: a kernel that goes wrong takes its context with it. */
static int child(const struct variant *variant, unsigned first)
{
	struct run run = {
		.variant = variant, .expected = malloc(OUT_BYTES), .got = malloc(OUT_BYTES), .dev = malloc(DEV_BYTES),
	};
	void *image = NULL;
	int r;

	alarm(CHILD_SECONDS);
	if (load_driver() || open_context()) {
		printf("FAIL %s: there is no context\n", variant->name);
		return 1;
	}
	fill_input();
	if (graft_all(&run, &image))
		return 1;
	r = load(&run, image);
	if (r) {
		printf("FAIL %s: the driver does not load it: %s\n", variant->name, error_name(r));
		return 1;
	}
	for (unsigned i = first; i < kernel_count; i++) {
		if (!try_kernel(&run, i)) {
			fflush(stdout);
			_exit(CRASHED + (int)i);
		}
		fflush(stdout);
	}
	_exit(0);
}

/* ---- all variants ---- */

static unsigned passed, failed;

/* Passes on what the child writes and counts it; its wait status. */
static int run_child(const struct variant *variant, unsigned first)
{
	int pipes[2], status = 0;
	char line[1024];
	FILE *output;
	pid_t pid;

	fflush(stdout);
	if (pipe(pipes))
		return 0;
	pid = fork();
	if (!pid) {
		dup2(pipes[1], 1);
		close(pipes[0]);
		close(pipes[1]);
		exit(child(variant, first));
	}
	close(pipes[1]);
	output = fdopen(pipes[0], "r");
	while (fgets(line, sizeof(line), output)) {
		passed += !strncmp(line, "PASS", 4);
		failed += !strncmp(line, "FAIL", 4);
		fputs(line, stdout);
	}
	fclose(output);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static void run_variant(const struct variant *variant)
{
	unsigned first = 0;
	int status;

	do {
		status = run_child(variant, first);
		if (WIFEXITED(status) && WEXITSTATUS(status) >= CRASHED)
			first = (unsigned)(WEXITSTATUS(status) - CRASHED) + 1;
		else
			first = kernel_count;
		if (WIFSIGNALED(status)) {
			failed++;
			printf("FAIL %s: ended by signal %d%s\n", variant->name, WTERMSIG(status),
			       WTERMSIG(status) == SIGALRM ? ", it took too long" : "");
		}
	} while (first < kernel_count);
}

/* Asks in a child, since a process that has used the driver cannot be forked. */
static unsigned ask_arch(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		if (!load_driver())
			find_arch();
		_exit((int)arch);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 0;
}

static int compile(const char *source)
{
	const char *nvcc = getenv("NVCC") ? getenv("NVCC") : "nvcc";
	char command[8192], path[] = "/tmp/gputrace-graft-XXXXXX";
	int fd = mkstemp(path), r;

	if (fd < 0)
		return -1;
	close(fd);
	snprintf(command, sizeof(command), "%s -cubin -arch=sm_%u '%s' -o %s", nvcc, arch, source, path);
	r = system(command) ? -1 : read_cubin(path);
	unlink(path);
	return r;
}

int main(int argc, char **argv)
{
	const char *only = NULL, *source = "tests/gpu/programs/graft.cu";
	int option;

	while ((option = getopt(argc, argv, "v:")) == 'v')
		only = optarg;
	if (option != -1)
		return 2;
	if (optind < argc)
		source = argv[optind];
	arch = ask_arch();
	if (!arch) {
		printf("SKIP: there is no GPU\n");
		return SKIP;
	}
	if (strstr(source, ".cubin") ? read_cubin(source) : compile(source)) {
		printf("SKIP: %s cannot be read or compiled\n", source);
		return SKIP;
	}
	printf("# sm_%u, %u kernels\n", arch, kernel_count);
	for (unsigned i = 0; i < VARIANTS; i++)
		if (!only || !strcmp(only, variants[i].name))
			run_variant(&variants[i]);
	printf("graft: %u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
