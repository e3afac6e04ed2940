/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs that every target must run alike: arithmetic of all kinds, jumps,
 * a loop, loads and stores of the stack and of 64 bytes of memory, atomics, calls.
 * They end with the registers in the memory, and 0 in r0.
 */
#ifndef TESTS_COMPILE_RANDOM_H
#define TESTS_COMPILE_RANDOM_H

#include <linux/bpf.h>
#include <stdint.h>

#define RANDOM_INSNS 400
#define RANDOM_MEMORY 64

struct random_program {
	struct bpf_insn insns[RANDOM_INSNS];
	unsigned count;
	uint8_t memory[RANDOM_MEMORY];		/* before */
};

/*
 * kernel: for BPF_PROG_TYPE_SCHED_CLS, with the memory as the packet; else r1 is its
 * address.  The same seed gives the same program but for that.
 */
void random_program(uint64_t seed, int kernel, struct random_program *program);

#endif
