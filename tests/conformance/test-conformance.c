/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every vector as host code, unoptimised and optimised, and as PTX on the software
 * device's machine.  Prints how many passed.
 */
#include <errno.h>
#include <gputrace/gputrace.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/compile/compile.h"
#include "tests/conformance/vectors.h"
#include "tests/conformance/wrap.h"
#include "tests/sim/plain.h"

struct count {
	unsigned passed, refused, failed;
};

static void check(struct count *count, const char *target, const struct vector *v, int error, uint64_t got)
{
	if (v->refused && error == -EOPNOTSUPP) {
		count->refused++;
		return;
	}
	if (!v->refused && !error && got == v->expected) {
		count->passed++;
		return;
	}
	count->failed++;
	if (error)
		printf("%s: %s: %s\n", target, v->name, gputrace_last_error());
	else if (v->refused)
		printf("%s: %s: compiled, though the kernel refuses it\n", target, v->name);
	else
		printf("%s: %s: got 0x%llx, expected 0x%llx\n", target, v->name, (unsigned long long)got,
		       (unsigned long long)v->expected);
}

static void print_count(const char *target, const struct count *count)
{
	printf("%s: %u passed, %u refused as by the kernel, %u failed\n", target, count->passed, count->refused,
	       count->failed);
	if (count->failed)
		exit(1);
}

static int compile(const struct vector *v, uint32_t optimize, bool gpu, struct gputrace_image **ret_image)
{
	struct gputrace_compile_opts opts = {
		.size = sizeof(opts), .optimize = optimize, .flags = GPUTRACE_COMPILE_UNVERIFIED,
	};
	struct gputrace_program *program;
	struct gputrace_object *object;
	int r;

	r = gputrace_object_new(NULL, "vectors", &object);
	if (r < 0)
		return r;
	r = gputrace_object_add_program(object, "vector", NULL, v->insns, v->count, &program);
	if (r >= 0)
		r = gpu ? gputrace_compile_ptx(program, &opts, ret_image) :
			  gputrace_compile_host(program, &opts, ret_image);
	gputrace_object_unref(object);
	return r;
}

static void run_on_host(const struct vectors *vectors, const char *target, uint32_t optimize)
{
	struct count count = {};
	unsigned i;

	for (i = 0; i < vectors->count; i++) {
		const struct vector *v = &vectors->list[i];
		uint8_t memory[VECTOR_MEMORY] __attribute__((aligned(16)));
		struct gputrace_image *image;
		uint64_t got = 0;
		int r;

		memcpy(memory, v->memory, sizeof(memory));
		r = compile(v, optimize, false, &image);
		if (r >= 0) {
			r = gputrace_image_run(image, memory, v->memory_size, &got);
			gputrace_image_unref(image);
		}
		check(&count, target, v, r, got);
	}
	print_count(target, &count);
}

/* ---- the PTX machine ---- */

static int run_kernel(struct sim_module *module, unsigned number, const struct vector *v, uint64_t *got)
{
	uint8_t memory[VECTOR_MEMORY] __attribute__((aligned(16)));
	struct sim_launch launch = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } };
	struct wrap_params params = { .memory = (uintptr_t)memory, .size = v->memory_size, .result = (uintptr_t)got };
	struct sim_kernel *kernel;
	struct sim_error error;
	char name[32];

	memcpy(memory, v->memory, sizeof(memory));
	snprintf(name, sizeof(name), "run%u", number);
	kernel = sim_module_find_kernel(module, name);
	launch.params = &params;
	if (kernel && !sim_kernel_run(kernel, &launch, &error))
		return 0;
	printf("%s: %s\n", v->name, kernel ? error.text : "no such kernel");
	return -1;
}

static void run_on_machine(const struct vectors *vectors, const char *text)
{
	const struct sim_device device = plain_device();
	struct count count = {};
	struct sim_module *module;
	struct sim_error error;
	unsigned i;

	if (sim_module_load(&device, text, strlen(text), &module, &error)) {
		printf("the PTX machine refuses: %s\n", error.text);
		exit(1);
	}
	for (i = 0; i < vectors->count; i++) {
		const struct vector *v = &vectors->list[i];
		uint64_t got = ~v->expected;
		int r = v->refused ? -EOPNOTSUPP : run_kernel(module, i, v, &got);

		check(&count, "PTX", v, r, got);
	}
	sim_module_unload(module);
	print_count("PTX on the software device", &count);
}

/* One module with a kernel for each vector that there can be one for. */
static char *make_module(const struct vectors *vectors)
{
	const struct gt_link_env env = {};
	struct gputrace_image *image;
	char *text = NULL, *part, *function;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	unsigned i;
	int r;

	wrap_header(out);
	for (i = 0; i < vectors->count; i++) {
		r = compile(&vectors->list[i], 0, true, &image);
		if (vectors->list[i].refused && r == -EOPNOTSUPP)
			continue;
		if (r < 0 || gt_image_link(image, i, &env, &part, &function) < 0) {
			printf("%s: %s\n", vectors->list[i].name, gputrace_last_error());
			exit(1);
		}
		fputs(part, out);
		wrap_kernel(out, i, function);
		free(part);
		free(function);
		gputrace_image_unref(image);
	}
	fclose(out);
	return text;
}

/*
 * `test-conformance -p` prints the module, for other devices and for ptxas;
 * `test-conformance LIST` runs what print-suite printed instead of our own.
 */
int main(int argc, char **argv)
{
	struct vectors vectors = {};
	char *text;

	if (argc > 1 && strcmp(argv[1], "-p"))
		add_listed_vectors(&vectors, argv[1]);
	else
		add_own_vectors(&vectors);
	text = make_module(&vectors);
	if (argc > 1 && !strcmp(argv[1], "-p")) {
		fputs(text, stdout);
	} else {
		run_on_host(&vectors, "host, unoptimised", GPUTRACE_OPTIMIZE_NONE);
		run_on_host(&vectors, "host", 0);
		run_on_machine(&vectors, text);
	}
	free(text);
	free(vectors.list);
	return 0;
}
