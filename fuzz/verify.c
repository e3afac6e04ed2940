/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any instructions give an answer, soon.  4 bytes choose point, granularity, log
 * level and loop budget, 4 are skipped, then come the instructions.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/verify/verify.h"
#include "tests/verify/programs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_verify_opts opts = { .insn_budget = 20000 };
	struct gt_verify_result *result = NULL;
	struct gt_prog prog = { .name = "fuzz", .maps = test_maps, .map_count = MAPS, .context_size = 80 };
	size_t count;

	if (size < 16)
		return 0;
	count = (size - 8) / sizeof(struct bpf_insn);
	prog.point = 1 + data[0] % 7;
	prog.granularity = data[1] % 3;
	opts.log_level = data[2] % 3;
	opts.loop_budget = data[3];
	prog.insns = malloc(count * sizeof(struct bpf_insn));
	if (!prog.insns)
		return 0;
	memcpy(prog.insns, data + 8, count * sizeof(struct bpf_insn));
	prog.insn_count = (unsigned)count;
	if (gt_verify(&prog, &opts, &result) == 0 && result->fact_count != count)
		abort();
	gt_verify_result_free(result);
	free(prog.insns);
	return 0;
}
