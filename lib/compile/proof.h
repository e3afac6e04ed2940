/* SPDX-License-Identifier: Apache-2.0 */
/* A program's proof, which is kept with it. */
#ifndef GT_COMPILE_PROOF_H
#define GT_COMPILE_PROOF_H

struct gputrace_program;
struct gt_verify_result;

/*
 * Verify a program for the GPU, unless that was done and nothing that the proof
 * depends on has changed since.  The proof is the program's, until the next call.
 * -EACCES: refused, with *ret_proof for its log, or NULL; -ENOMEM.
 */
int gt_program_prove(struct gputrace_program *program, const struct gt_verify_result **ret_proof);

/* Verify it once more for a log of another level (struct gt_verify_opts), which becomes the program's.  -ENOMEM. */
int gt_program_log_at(struct gputrace_program *program, unsigned level);

/* Its instructions have changed: there is no proof for them. */
void gt_program_unprove(struct gputrace_program *program);

#endif
