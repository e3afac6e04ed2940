/* SPDX-License-Identifier: Apache-2.0 */
/* Code whose name is longer, and whose scopes lie deeper in each other, than any compiler makes them. */
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define NAME1 PASTE(name, name)
#define NAME2 PASTE(NAME1, NAME1)
#define NAME3 PASTE(NAME2, NAME2)
#define NAME4 PASTE(NAME3, NAME3)
#define NAME5 PASTE(NAME4, NAME4)
#define NAME6 PASTE(NAME5, NAME5)
#define NAME7 PASTE(NAME6, NAME6)
#define NAME8 PASTE(NAME7, NAME7)
#define NAME9 PASTE(NAME8, NAME8)
#define NAME10 PASTE(NAME9, NAME9)
#define NAME11 PASTE(NAME10, NAME10)
#define NAME12 PASTE(NAME11, NAME11)
#define NAME13 PASTE(NAME12, NAME12)
#define NAME14 PASTE(NAME13, NAME13)
#define NAME15 PASTE(NAME14, NAME14)

	.text
	.globl	deep, NAME15
	.type	deep, %function
deep:
	nop
	.size	deep, 1
	.type	NAME15, %function
NAME15:
	nop
	.size	NAME15, 1
.Lend:

	.section .debug_abbrev, "", %progbits
	/* DW_TAG_compile_unit, DW_TAG_subprogram and DW_TAG_inlined_subroutine with children, low_pc and high_pc */
	.uleb128 1, 0x11
	.byte	1
	.uleb128 0x11, 0x01, 0x12, 0x07, 0, 0
	.uleb128 2, 0x2e
	.byte	1
	.uleb128 0x11, 0x01, 0x12, 0x07, 0, 0
	.uleb128 3, 0x1d
	.byte	1
	.uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0
	.byte	0

	.section .debug_info, "", %progbits
	.long	.Lunit_end - .Lunit
.Lunit:	.value	4
	.long	0
	.byte	8
	.uleb128 1
	.quad	deep, .Lend - deep
	.uleb128 2
	.quad	deep, .Lend - deep
	.rept	200000
	.uleb128 3
	.asciz	"f"
	.quad	deep, .Lend - deep
	.endr
	.fill	200002, 1, 0
.Lunit_end:

	.section .debug_aranges, "", %progbits
	.long	.Lranges_end - .Lranges
.Lranges: .value 2
	.long	0
	.byte	8, 0
	.long	0
	.quad	deep, .Lend - deep, 0, 0
.Lranges_end:

	.section .note.GNU-stack, "", %progbits
