/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs that have a chance to be accepted. */
#ifndef GT_TESTS_VERIFY_GENERATE_H
#define GT_TESTS_VERIFY_GENERATE_H

#include <linux/bpf.h>
#include <stdint.h>

#define GENERATED_MAX 400

/* Composed from parts that belong together; returns the number of instructions. */
unsigned generate_program(uint64_t *seed, struct bpf_insn insns[GENERATED_MAX]);
/* One of the tables' programs with a few fields changed. */
unsigned generate_mutant(uint64_t *seed, struct bpf_insn insns[GENERATED_MAX]);

#endif
