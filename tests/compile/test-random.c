/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs as host code, unoptimised and optimised, as PTX on the software
 * device's machine, and in the operating system's kernel if that is allowed: all
 * must leave the same memory.
 *
 *   test-random [count [first seed]]
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <gputrace/gputrace.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/compile/compile.h"
#include "tests/compile/random.h"
#include "tests/conformance/wrap.h"
#include "tests/sim/plain.h"

#define BATCH 100u

static int compile(const struct random_program *program, uint32_t optimize, bool gpu,
		   struct gputrace_image **ret_image)
{
	struct gputrace_compile_opts opts = {
		.size = sizeof(opts), .optimize = optimize, .flags = GPUTRACE_COMPILE_UNVERIFIED,
	};
	struct gputrace_program *added;
	struct gputrace_object *object;
	int r;

	r = gputrace_object_new(NULL, "random", &object);
	if (r < 0)
		return r;
	r = gputrace_object_add_program(object, "random", NULL, program->insns, program->count, &added);
	if (r >= 0)
		r = gpu ? gputrace_compile_ptx(added, &opts, ret_image) :
			  gputrace_compile_host(added, &opts, ret_image);
	gputrace_object_unref(object);
	return r;
}

static void fail(uint64_t seed, const char *target, const char *why)
{
	printf("seed %llu: %s: %s\n", (unsigned long long)seed, target, why);
	exit(1);
}

static void check(uint64_t seed, const char *target, const uint8_t *expected, const uint8_t *got)
{
	unsigned i;

	for (i = 0; i < RANDOM_MEMORY; i += 8) {
		uint64_t a, b;

		memcpy(&a, expected + i, 8);
		memcpy(&b, got + i, 8);
		if (a == b)
			continue;
		printf("seed %llu: word %u is 0x%llx, %s says 0x%llx\n", (unsigned long long)seed, i / 8,
		       (unsigned long long)a, target, (unsigned long long)b);
		exit(1);
	}
}

static void run_host(uint64_t seed, const struct random_program *program, uint32_t optimize, uint8_t *memory)
{
	struct gputrace_image *image;
	uint64_t value = 1;

	memcpy(memory, program->memory, RANDOM_MEMORY);
	if (compile(program, optimize, false, &image) < 0 ||
	    gputrace_image_run(image, memory, RANDOM_MEMORY, &value) < 0 || value)
		fail(seed, "host", gputrace_last_error());
	gputrace_image_unref(image);
}

/* False when this process may not load programs. */
static bool run_kernel(uint64_t seed, uint8_t *memory)
{
	uint8_t out[RANDOM_MEMORY];
	struct random_program program;
	static char log[65536];
	LIBBPF_OPTS(bpf_prog_load_opts, load_opts, .log_buf = log, .log_size = sizeof(log));
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int fd;

	random_program(seed, 1, &program);
	fd = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "random", "GPL", program.insns, program.count, &load_opts);
	if (fd == -EPERM)
		return false;
	if (fd < 0)
		fail(seed, "kernel", log);
	opts.data_in = program.memory;
	opts.data_size_in = RANDOM_MEMORY;
	opts.data_out = out;
	opts.data_size_out = sizeof(out);
	if (bpf_prog_test_run_opts(fd, &opts) < 0 || opts.retval)
		fail(seed, "kernel", "it does not run");
	memcpy(memory, out, RANDOM_MEMORY);
	close(fd);
	return true;
}

/* ---- the PTX machine ---- */

struct batch {
	uint64_t first;
	unsigned count;
	uint8_t expected[BATCH][RANDOM_MEMORY];
	char *text;
	size_t size;
	FILE *out;
};

static void add_to_batch(struct batch *batch, const struct random_program *program, const uint8_t *expected)
{
	const struct gt_link_env env = {};
	struct gputrace_image *image;
	char *text, *function;

	if (compile(program, 0, true, &image) < 0 || gt_image_link(image, batch->count, &env, &text, &function) < 0)
		fail(batch->first + batch->count, "PTX", gputrace_last_error());
	fputs(text, batch->out);
	wrap_kernel(batch->out, batch->count, function);
	free(text);
	free(function);
	gputrace_image_unref(image);
	memcpy(batch->expected[batch->count++], expected, RANDOM_MEMORY);
}

static void run_batch(struct batch *batch)
{
	const struct sim_device device = plain_device();
	struct sim_module *module;
	struct sim_error error;
	unsigned i;

	fclose(batch->out);
	if (sim_module_load(&device, batch->text, batch->size, &module, &error))
		fail(batch->first, "PTX machine", error.text);
	for (i = 0; i < batch->count; i++) {
		uint8_t memory[RANDOM_MEMORY] __attribute__((aligned(16)));
		struct sim_launch launch = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
		uint64_t result = 1;
		struct wrap_params params = {
			.memory = (uintptr_t)memory, .size = RANDOM_MEMORY, .result = (uintptr_t)&result,
		};
		struct random_program program;
		char name[16];

		random_program(batch->first + i, 0, &program);
		memcpy(memory, program.memory, RANDOM_MEMORY);
		snprintf(name, sizeof(name), "run%u", i);
		launch.params = &params;
		if (sim_kernel_run(sim_module_find_kernel(module, name), &launch, &error))
			fail(batch->first + i, "PTX machine", error.text);
		check(batch->first + i, "PTX", batch->expected[i], memory);
	}
	sim_module_unload(module);
	free(batch->text);
}

static void begin_batch(struct batch *batch, uint64_t first)
{
	memset(batch, 0, sizeof(*batch));
	batch->first = first;
	batch->out = open_memstream(&batch->text, &batch->size);
	wrap_header(batch->out);
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : BATCH, i, by_kernel = 0;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	static struct batch batch;

	for (i = 0; i < count; i++) {
		uint8_t expected[RANDOM_MEMORY], got[RANDOM_MEMORY];
		struct random_program program;

		if (i % BATCH == 0)
			begin_batch(&batch, first + i);
		random_program(first + i, 0, &program);
		run_host(first + i, &program, GPUTRACE_OPTIMIZE_NONE, expected);
		run_host(first + i, &program, 0, got);
		check(first + i, "optimised", expected, got);
		if (run_kernel(first + i, got)) {
			check(first + i, "the kernel", expected, got);
			by_kernel++;
		}
		add_to_batch(&batch, &program, expected);
		if (batch.count == BATCH || i + 1 == count)
			run_batch(&batch);
	}
	printf("%u programs: host code, optimised host code and PTX agree", count);
	printf(by_kernel ? "; so does the kernel for %u\n" : "; the kernel was not asked (no permission)\n", by_kernel);
	return 0;
}
