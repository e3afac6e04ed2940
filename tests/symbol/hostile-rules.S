/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information that no compiler makes, but linkers take.  What is to be
 * followed stands behind the first instruction of each function, which has two bytes.
 */
	.macro begin name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	xchg %ax, %ax
	.endm
	.macro finish name
	xchg %ax, %ax
	ret
	.cfi_endproc
	.size \name, . - \name
	.endm

	.text
	/* DW_CFA_undefined of register 2^60, for which there is no memory, and of 2^28, for which there might be. */
	begin huge_register
	.cfi_escape 0x07, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10
	finish huge_register
	begin large_register
	.cfi_escape 0x07, 0x80, 0x80, 0x80, 0x80, 0x01
	finish large_register
	/* DW_CFA_remember_state a million times. */
	begin deep_states
	.rept 1000000
	.cfi_escape 0x0a
	.endr
	finish deep_states
	/* DW_CFA_restore_state of none. */
	begin no_state
	.cfi_escape 0x0b
	finish no_state
	/* What can be followed. */
	begin known_rules
	.cfi_def_cfa_offset 24
	finish known_rules

	.section .note.GNU-stack,"",@progbits
