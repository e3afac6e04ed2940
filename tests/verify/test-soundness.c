/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the verifier accepts must not fault.  Random programs; those accepted run
 * on a machine that checks everything, several times with random inputs: no
 * fault, no more steps than claimed, no register outside its proved range, no
 * fact that does not hold, no warp that parts before a helper that needs it whole.
 *
 * GPUTRACE_TEST_PROGRAMS: how many; GPUTRACE_TEST_SEED: another sequence.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/verify/log.h"
#include "lib/verify/ranges.h"
#include "tests/verify/generate.h"
#include "tests/verify/table.h"
#include "tests/verify/vm.h"

#define PROGRAMS_DEFAULT 6000
#define RUNS 12
#define LANES 6

static unsigned tried, accepted_programs, countdowns, runs, unfinished;
static unsigned warps;
static uint64_t steps, warp_calls;

static void show(const struct gt_prog *prog)
{
	for (unsigned i = 0; i < prog->insn_count; i++) {
		char text[GT_DISASM_SIZE];

		gt_disasm(&prog->insns[i], i + 1 < prog->insn_count ? &prog->insns[i + 1] : NULL, text);
		fprintf(stderr, "%4u: %s\n", i, text);
	}
}

static int run_accepted(const struct gt_prog *prog, const struct gt_verify_result *result,
			const struct gt_range_log *ranges, uint64_t *seed)
{
	for (unsigned i = 0; i < RUNS; i++) {
		struct vm vm = { .prog = prog, .claims = result, .ranges = ranges, .seed = vm_random(seed), .patience = 20000 };

		runs++;
		switch (vm_run(&vm)) {
		case VM_FAULT:
			fprintf(stderr, "accepted, but: insn %u: %s\n", vm.pc, vm.why);
			show(prog);
			return -1;
		case VM_ENOUGH:
			unfinished++;
			break;
		default:
			break;
		}
		steps += vm.steps;
	}
	return 0;
}

static bool has_warp_call(const struct gt_prog *prog)
{
	for (unsigned i = 0; i < prog->insn_count; i++)
		if (prog->insns[i].code == (BPF_JMP | BPF_CALL) && prog->insns[i].imm == WARP_SUM &&
		    !prog->insns[i].src_reg)
			return true;
	return false;
}

/* The threads of a warp call the helpers for warps the same number of times, at the same places. */
static int run_warps(const struct gt_prog *prog, const struct gt_verify_result *result, uint64_t *seed)
{
	if (!has_warp_call(prog))
		return 0;
	for (unsigned i = 0; i < RUNS; i++) {
		uint64_t warp_seed = vm_random(seed) | 1, calls = 0, trace = 0;

		for (unsigned lane = 0; lane < LANES; lane++) {
			struct vm vm = { .prog = prog, .claims = result, .seed = vm_random(seed),
					 .warp_seed = warp_seed, .patience = 20000 };

			if (vm_run(&vm) != VM_DONE)
				break;
			if (lane && (vm.warp_calls != calls || vm.warp_trace != trace)) {
				fprintf(stderr, "accepted, but the threads of a warp part\n");
				show(prog);
				return -1;
			}
			calls = vm.warp_calls;
			trace = vm.warp_trace;
			warp_calls += calls;
		}
		warps++;
	}
	return 0;
}

/* As a caller does, then again with every number told apart, for the ranges. */
static int try_program(const struct gt_prog *prog, uint64_t *seed)
{
	struct gt_verify_opts opts = { .insn_budget = 20000, .loop_budget = vm_random(seed) % 3 ? 0 : 50 };
	struct gt_range_log *ranges = calloc(prog->insn_count, sizeof(*ranges));
	struct gt_verify_result *result = NULL, *exact = NULL;
	int r = gt_verify(prog, &opts, &result), failed = 0;

	tried++;
	if (r == 0) {
		accepted_programs++;
		countdowns += result->loop_budget != 0;
		failed = run_accepted(prog, result, NULL, seed);
		if (!failed)
			failed = run_warps(prog, result, seed);
		r = gt_verify_ranges(prog, &opts, ranges, &exact);
		if (!failed && r == 0)
			failed = run_accepted(prog, exact, ranges, seed);
	}
	gt_verify_result_free(result);
	gt_verify_result_free(exact);
	free(ranges);
	return failed;
}

int main(void)
{
	const char *programs = getenv("GPUTRACE_TEST_PROGRAMS"), *seed_text = getenv("GPUTRACE_TEST_SEED");
	unsigned long wanted = programs ? strtoul(programs, NULL, 0) : PROGRAMS_DEFAULT;
	uint64_t base = seed_text ? strtoull(seed_text, NULL, 0) : 1;
	struct bpf_insn insns[GENERATED_MAX];
	int failed = 0;

	for (unsigned long i = 0; i < wanted && !failed; i++) {
		uint64_t seed = base * 1000003 + i;
		struct gt_prog prog = {
			.name = "random", .insns = insns, .maps = test_maps, .map_count = MAPS,
			.point = GPUTRACE_POINT_ENTRY, .context_size = 80,
		};

		prog.insn_count = i % 2 ? generate_mutant(&seed, insns) : generate_program(&seed, insns);
		failed = try_program(&prog, &seed);
		if (failed)
			fprintf(stderr, "program %lu of seed %llu\n", i, (unsigned long long)base);
	}
	printf("programs tried %u, accepted %u (%u with a countdown), runs %u (%u not finished), steps %llu\n",
	       tried, accepted_programs, countdowns, runs, unfinished, (unsigned long long)steps);
	printf("warps run %u, calls of helpers for warps %llu\n", warps, (unsigned long long)warp_calls);
	if (!failed && wanted == PROGRAMS_DEFAULT && accepted_programs < wanted / 10) {
		fprintf(stderr, "too few accepted programs to show anything\n");
		failed = -1;
	}
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
