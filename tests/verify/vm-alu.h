/* SPDX-License-Identifier: Apache-2.0 */
/* What BPF's operations do to numbers. */
#ifndef GT_TESTS_VERIFY_VM_ALU_H
#define GT_TESTS_VERIFY_VM_ALU_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

/* BPF_ADD to BPF_ARSH and BPF_NEG; for 32 bits the low half of the result counts. */
uint64_t vm_arithmetic(unsigned op, bool is32, bool is_signed, uint64_t a, uint64_t b);
uint64_t vm_sign_extend(uint64_t value, unsigned bits);
/* A byte swap instruction. */
uint64_t vm_swap(const struct bpf_insn *insn, uint64_t a);
/* Does a conditional jump go? */
bool vm_compare(unsigned op, bool is32, uint64_t a, uint64_t b);

#endif
