/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/compile/proof.h"

#include <errno.h>
#include <string.h>

#include "lib/object/object.h"
#include "lib/util/error.h"
#include "lib/verify/verify.h"

/* Rounds that a program's loops may make in all where the verifier cannot prove that they end. */
#define LOOP_BUDGET 65536u

/* The sentence with which it was refused: its log's last line. */
static int refuse_again(const char *log)
{
	size_t end = strlen(log), start;

	while (end && log[end - 1] == '\n')
		end--;
	for (start = end; start && log[start - 1] != '\n'; start--)
		;
	return gt_error(-EACCES, "%.*s", (int)(end - start), log + start);
}

void gt_program_unprove(struct gputrace_program *program)
{
	gt_verify_result_free(program->proof);
	program->proof = NULL;
}

int gt_program_prove(struct gputrace_program *program, const struct gt_verify_result **ret_proof)
{
	const struct gt_verify_opts opts = { .log_level = 1, .loop_budget = LOOP_BUDGET };
	uint64_t revision = program->object->revision;

	*ret_proof = NULL;
	if (!program->prog.context_size)
		return gt_error(-EACCES, "program %s takes plain memory, which cannot be verified", program->name);
	if (program->proof && program->proof_revision == revision) {
		*ret_proof = program->proof;
		return program->verdict ? refuse_again(program->proof->log) : 0;
	}
	gt_program_unprove(program);
	program->verdict = gt_verify(&program->prog, &opts, &program->proof);
	program->proof_revision = revision;
	*ret_proof = program->proof;
	return program->verdict;
}

int gt_program_log_at(struct gputrace_program *program, unsigned level)
{
	const struct gt_verify_opts opts = { .log_level = level, .loop_budget = LOOP_BUDGET };
	struct gt_verify_result *result = NULL;
	int r = gt_verify(&program->prog, &opts, &result);

	if (result) {
		gt_program_set_log(program, result->log);
		result->log = NULL;
	}
	gt_verify_result_free(result);
	return r == -ENOMEM ? r : 0;
}
