/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs over plain memory: hand-made vectors and random ones.  Each is run by a
 * warp whose lanes have memory of their own.
 */
#include <errno.h>
#include <gputrace/gputrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/compile/compile.h"
#include "tests/compile/random.h"
#include "tests/conformance/vectors.h"
#include "tests/conformance/wrap.h"
#include "tests/gpu/bpf-device.h"
#include "tests/gpu/bpf.h"

#define LANES 32u
#define BATCH 250u

_Static_assert(RANDOM_MEMORY % 16 == 0 && VECTOR_MEMORY % 16 == 0, "every lane's memory is aligned");

static int compile(const struct bpf_insn *insns, unsigned count, bool gpu, struct gputrace_image **ret_image)
{
	struct gputrace_compile_opts opts = { .size = sizeof(opts), .flags = GPUTRACE_COMPILE_UNVERIFIED };
	struct gputrace_program *program;
	struct gputrace_object *object;
	int r;

	r = gputrace_object_new(NULL, "programs", &object);
	if (r < 0)
		return r;
	r = gputrace_object_add_program(object, "program", NULL, insns, count, &program);
	if (r >= 0)
		r = gpu ? gputrace_compile_ptx(program, &opts, ret_image) :
			  gputrace_compile_host(program, &opts, ret_image);
	gputrace_object_unref(object);
	return r;
}

/* ---- a module with a kernel for each program ---- */

struct module {
	char *text;
	size_t size;
	FILE *out;
	void *loaded;
	uint64_t memory, results;	/* for all lanes */
	unsigned stride;		/* bytes of one lane's memory */
};

static void module_begin(struct module *module, unsigned stride)
{
	memset(module, 0, sizeof(*module));
	module->stride = stride;
	module->out = open_memstream(&module->text, &module->size);
	wrap_header(module->out);
}

/* Kernel run<number>: each lane calls the program with its memory and stores r0. */
static void write_kernel(FILE *out, unsigned number, const char *function, unsigned stride)
{
	fprintf(out,
		".visible .entry run%u(.param .b64 memory, .param .b32 size, .param .b64 result)\n"
		"{\n"
		"\t.reg .b64 %%memory, %%result, %%none;\n"
		"\t.reg .b32 %%size, %%lane;\n"
		"\tld.param.b64 %%memory, [memory];\n"
		"\tld.param.b32 %%size, [size];\n"
		"\tld.param.b64 %%result, [result];\n"
		"\tmov.u32 %%lane, %%tid.x;\n"
		"\tmad.wide.u32 %%memory, %%lane, %u, %%memory;\n"
		"\tmad.wide.u32 %%result, %%lane, 8, %%result;\n"
		"\tmov.b64 %%none, 0;\n"
		"\tmov.b32 %%lane, 0;\n"
		"\t{\n"
		"\t.param .b64 p0, p1, p2, p4, p5;\n"
		"\t.param .b32 p3, p6, p7;\n"
		"\tst.param.b64 [p0], %%none;\n"
		"\tst.param.b64 [p1], %%none;\n"
		"\tst.param.b64 [p2], %%none;\n"
		"\tst.param.b32 [p3], %%lane;\n"
		"\tst.param.b64 [p4], %%result;\n"
		"\tst.param.b64 [p5], %%memory;\n"
		"\tst.param.b32 [p6], %%size;\n"
		"\tst.param.b32 [p7], %%lane;\n"
		"\tcall %s, (p0, p1, p2, p3, p4, p5, p6, p7);\n"
		"\t}\n"
		"\tret;\n"
		"}\n",
		number, stride, function);
}

static void module_add(struct module *module, unsigned number, const struct bpf_insn *insns, unsigned count)
{
	const struct gt_link_env env = {};
	struct gputrace_image *image;
	char *text, *function;

	if (compile(insns, count, true, &image) < 0 || gt_image_link(image, number, &env, &text, &function) < 0)
		stop("program %u: %s", number, gputrace_last_error());
	fputs(text, module->out);
	write_kernel(module->out, number, function, module->stride);
	free(text);
	free(function);
	gputrace_image_unref(image);
}

static void module_load(struct module *module)
{
	fclose(module->out);
	module->loaded = load_module(module->text);
	module->memory = device_memory(LANES * (size_t)module->stride);
	module->results = device_memory(LANES * sizeof(uint64_t));
}

/* memory: in and out, of all lanes. */
static void module_run(struct module *module, unsigned number, uint32_t size, uint8_t *memory, uint64_t *results)
{
	void *params[] = { &module->memory, &size, &module->results };
	char name[32];

	snprintf(name, sizeof(name), "run%u", number);
	CU(cuMemcpyHtoD_v2(module->memory, memory, LANES * (size_t)module->stride));
	CU(cuMemsetD8_v2(module->results, 0xa5, LANES * sizeof(uint64_t)));
	launch(find_function(module->loaded, name), 1, LANES, params);
	must(cuCtxSynchronize(), name);
	CU(cuMemcpyDtoH_v2(memory, module->memory, LANES * (size_t)module->stride));
	CU(cuMemcpyDtoH_v2(results, module->results, LANES * sizeof(uint64_t)));
}

static void module_end(struct module *module)
{
	CU(cuModuleUnload(module->loaded));
	CU(cuMemFree_v2(module->memory));
	CU(cuMemFree_v2(module->results));
	free(module->text);
}

/* ---- vectors ---- */

static bool is_refused(const struct vector *v)
{
	struct gputrace_image *image;
	int r = compile(v->insns, v->count, true, &image);

	if (r >= 0)
		gputrace_image_unref(image);
	return r == -EOPNOTSUPP;
}

static bool vector_holds(struct module *module, unsigned number, const struct vector *v)
{
	uint8_t memory[LANES * VECTOR_MEMORY];
	uint64_t results[LANES];
	unsigned lane;

	for (lane = 0; lane < LANES; lane++)
		memcpy(memory + lane * VECTOR_MEMORY, v->memory, VECTOR_MEMORY);
	module_run(module, number, v->memory_size, memory, results);
	for (lane = 0; lane < LANES; lane++)
		if (results[lane] != v->expected) {
			printf("# %s: lane %u got 0x%llx, expected 0x%llx\n", v->name, lane,
			       (unsigned long long)results[lane], (unsigned long long)v->expected);
			return false;
		}
	return true;
}

static bool run_vectors(struct vectors *vectors)
{
	unsigned i, passed = 0, with_memory = 0, refused = 0;
	struct module module;
	bool ok;

	module_begin(&module, VECTOR_MEMORY);
	for (i = 0; i < vectors->count; i++)
		if (!vectors->list[i].refused)
			module_add(&module, i, vectors->list[i].insns, vectors->list[i].count);
	module_load(&module);
	for (i = 0; i < vectors->count; i++) {
		if (vectors->list[i].refused)
			refused += is_refused(&vectors->list[i]);
		else
			passed += vector_holds(&module, i, &vectors->list[i]);
		with_memory += vectors->list[i].memory_size > 0;
	}
	module_end(&module);
	free(vectors->list);
	ok = passed + refused == vectors->count;
	end_part(ok, "%u of %u passed, %u refused as by the kernel, %u with memory, each by %u lanes", passed,
		 vectors->count, refused, with_memory, LANES);
	return ok;
}

bool test_vectors(void)
{
	struct vectors vectors = {};

	begin_part("vectors");
	add_own_vectors(&vectors);
	return run_vectors(&vectors);
}

bool test_suite(const struct options *options)
{
	struct vectors vectors = {};

	begin_part("suite");
	add_listed_vectors(&vectors, options->suite);
	return run_vectors(&vectors);
}

/* ---- random programs ---- */

/* Lane 0 has the program's own memory, the others what they make of it. */
static void fill_lanes(const struct random_program *program, uint8_t *memory)
{
	unsigned lane, i;

	for (lane = 0; lane < LANES; lane++)
		for (i = 0; i < RANDOM_MEMORY; i++)
			memory[lane * RANDOM_MEMORY + i] =
				(uint8_t)(program->memory[(i + lane) % RANDOM_MEMORY] + lane * (i & 3));
}

static void run_on_host(unsigned long seed, const struct random_program *program, uint8_t *memory, uint64_t *results)
{
	uint8_t aligned[RANDOM_MEMORY] __attribute__((aligned(16)));
	struct gputrace_image *image;
	unsigned lane;

	if (compile(program->insns, program->count, false, &image) < 0)
		stop("seed %lu: %s", seed, gputrace_last_error());
	for (lane = 0; lane < LANES; lane++) {
		memcpy(aligned, memory + lane * RANDOM_MEMORY, RANDOM_MEMORY);
		if (gputrace_image_run(image, aligned, RANDOM_MEMORY, &results[lane]) < 0)
			stop("seed %lu: %s", seed, gputrace_last_error());
		memcpy(memory + lane * RANDOM_MEMORY, aligned, RANDOM_MEMORY);
	}
	gputrace_image_unref(image);
}

static bool same_as_host(struct module *module, unsigned number, unsigned long seed)
{
	uint8_t expected[LANES * RANDOM_MEMORY], got[LANES * RANDOM_MEMORY];
	uint64_t expected_r0[LANES], got_r0[LANES];
	struct random_program program;
	unsigned lane;

	random_program(seed, 0, &program);
	fill_lanes(&program, expected);
	memcpy(got, expected, sizeof(got));
	run_on_host(seed, &program, expected, expected_r0);
	module_run(module, number, RANDOM_MEMORY, got, got_r0);
	for (lane = 0; lane < LANES; lane++)
		if (expected_r0[lane] != got_r0[lane] ||
		    memcmp(expected + lane * RANDOM_MEMORY, got + lane * RANDOM_MEMORY, RANDOM_MEMORY)) {
			printf("# seed %lu: lane %u differs from host code\n", seed, lane);
			return false;
		}
	return true;
}

static unsigned run_batch(unsigned long first, unsigned count)
{
	struct random_program program;
	unsigned i, passed = 0;
	struct module module;

	module_begin(&module, RANDOM_MEMORY);
	for (i = 0; i < count; i++) {
		random_program(first + i, 0, &program);
		module_add(&module, i, program.insns, program.count);
	}
	module_load(&module);
	for (i = 0; i < count; i++)
		passed += same_as_host(&module, i, first + i);
	module_end(&module);
	return passed;
}

bool test_random(const struct options *options)
{
	unsigned done, count, passed = 0;

	begin_part("random");
	for (done = 0; done < options->programs; done += count) {
		count = options->programs - done < BATCH ? options->programs - done : BATCH;
		passed += run_batch(options->seed + done, count);
	}
	end_part(passed == done, "%u of %u programs agree with host code, each by %u lanes; seeds from %lu", passed, done,
		 LANES, options->seed);
	return passed == done;
}
