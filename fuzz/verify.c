/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any instructions give an answer, soon, and what is accepted runs without a
 * fault.  4 bytes choose point, granularity, log level and loop budget, 4 are
 * skipped, then come the instructions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/verify/programs.h"
#include "tests/verify/vm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const struct gt_prog *prog, const struct gt_verify_result *result)
{
	for (uint64_t seed = 0; seed < 3; seed++) {
		struct vm vm = { .prog = prog, .claims = result, .seed = seed, .patience = 4000 };

		if (vm_run(&vm) == VM_FAULT) {
			fprintf(stderr, "insn %u: %s\n", vm.pc, vm.why);
			abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_verify_opts opts = { .insn_budget = 20000 };
	struct gt_verify_result *result = NULL;
	struct gt_prog prog = { .name = "fuzz", .maps = test_maps, .map_count = MAPS, .context_size = 80 };

	if (size < 16)
		return 0;
	prog.point = 1 + data[0] % 7;
	prog.granularity = data[1] % 3;
	opts.log_level = data[2] % 3;
	opts.loop_budget = data[3];
	prog.insn_count = (unsigned)((size - 8) / sizeof(struct bpf_insn));
	prog.insns = malloc(prog.insn_count * sizeof(struct bpf_insn));
	memcpy(prog.insns, data + 8, prog.insn_count * sizeof(struct bpf_insn));
	if (gt_verify(&prog, &opts, &result) == 0)
		run(&prog, result);
	gt_verify_result_free(result);
	free(prog.insns);
	return 0;
}
