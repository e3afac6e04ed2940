/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long it takes to verify and compile a program of 100 instructions to PTX:
 * compile [ROUNDS]
 *
 * The first line is of this process's first compilation, the second of ROUNDS (default
 * 50) that may not look into the cache on disk, the last of as many that find it there:
 * median, us.  The cache is a folder of this run's own.
 */
#include <gputrace/gputrace.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <gputrace/bpf/gputrace_gpu.h>

#define INSTRUCTIONS 100
#define ROUNDS_MAX 1000

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void need(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "%s: %s\n", what, gputrace_last_error());
	exit(1);
}

static struct bpf_insn alu(uint8_t op, uint8_t dst, uint8_t src, int32_t imm)
{
	return (struct bpf_insn){ .code = BPF_ALU64 | op, .dst_reg = dst, .src_reg = src, .imm = imm };
}

/*
 * Six times: something of the thread's place, mixed, and by its lowest bits one of four
 * elements of a map, to which it is added.  round: what one program has that others lack.
 */
static unsigned write_program(struct bpf_insn *insns, unsigned round)
{
	unsigned n = 0;

	insns[n++] = alu(BPF_MOV | BPF_X, 6, 1, 0);
	insns[n++] = alu(BPF_MOV | BPF_K, 7, 0, (int32_t)round);
	for (unsigned i = 0; i < 6; i++) {
		insns[n++] = (struct bpf_insn){ .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 8, .src_reg = 6,
						.off = (int16_t)(offsetof(struct gputrace_gpu_ctx, thread) + 4 * (i % 3)) };
		insns[n++] = alu(BPF_MUL | BPF_K, 8, 0, 31 + (int32_t)i);
		insns[n++] = alu(BPF_XOR | BPF_X, 7, 8, 0);
		insns[n++] = alu(BPF_RSH | BPF_K, 8, 0, 3);
		insns[n++] = alu(BPF_ADD | BPF_X, 7, 8, 0);
		insns[n++] = alu(BPF_MOV | BPF_X, 2, 7, 0);
		insns[n++] = alu(BPF_AND | BPF_K, 2, 0, 3);
		insns[n++] = (struct bpf_insn){ .code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = 10, .src_reg = 2, .off = -4 };
		insns[n++] = alu(BPF_MOV | BPF_X, 2, 10, 0);
		insns[n++] = alu(BPF_ADD | BPF_K, 2, 0, -4);
		insns[n++] = (struct bpf_insn){ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD };
		insns[n++] = (struct bpf_insn){ 0 };
		insns[n++] = (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem };
		insns[n++] = (struct bpf_insn){ .code = BPF_JMP | BPF_JEQ | BPF_K, .off = 1 };
		insns[n++] = (struct bpf_insn){ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .src_reg = 7, .imm = BPF_ADD };
	}
	while (n < INSTRUCTIONS - 2)
		insns[n++] = alu(BPF_ADD | BPF_K, 7, 0, 1);
	insns[n++] = alu(BPF_MOV | BPF_K, 0, 0, 0);
	insns[n++] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	return n;
}

static double compile(unsigned round, uint32_t flags)
{
	struct gputrace_map_opts map = {
		.size = sizeof(map), .type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 4,
	};
	struct gputrace_compile_opts opts = { .size = sizeof(opts), .flags = flags };
	struct bpf_insn insns[INSTRUCTIONS];
	struct gputrace_program *program;
	struct gputrace_object *object;
	struct gputrace_image *image;
	struct gputrace_map *sums;
	double begin, spent;

	need(gputrace_object_new(NULL, "bench", &object), "object");
	need(gputrace_object_add_map(object, "sums", &map, &sums), "map");
	need(gputrace_object_add_program(object, "mix", "cuda/entry:*", insns, write_program(insns, round), &program), "program");
	begin = now();
	need(gputrace_compile_ptx(program, &opts, &image), "compile");
	spent = now() - begin;
	gputrace_image_unref(image);
	gputrace_object_unref(object);
	return spent;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void measure(const char *what, unsigned rounds, uint32_t flags)
{
	double spent[ROUNDS_MAX];

	for (unsigned i = 0; i < rounds; i++)
		spent[i] = compile(flags ? i + 2 : 1, flags);
	qsort(spent, rounds, sizeof(*spent), compare);
	printf("%s %.0f\n", what, spent[rounds / 2]);
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 50;
	char folder[] = "/tmp/gputrace-bench-XXXXXX", command[64];
	int r;

	if (!rounds || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: %s [ROUNDS up to %d]\n", argv[0], ROUNDS_MAX);
		return 2;
	}
	if (!mkdtemp(folder) || setenv("XDG_CACHE_HOME", folder, 1)) {
		perror(folder);
		return 1;
	}
	printf("first %.0f\n", compile(1, 0));
	measure("cold", rounds, GPUTRACE_COMPILE_UNCACHED);
	measure("warm", rounds, 0);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	r = system(command);
	return r != 0;
}
