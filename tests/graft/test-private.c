/* SPDX-License-Identifier: Apache-2.0 */
/* What names uniform registers does the same with the thread's own. */
#include <check.h>
#include <string.h>

#include "lib/agent/graft/stub.h"
#include "tests/suite.h"

#define EXIT ((gt_word)0x000fea0003800000 << 64 | 0x794d)

struct word {
	uint64_t high, low;
};

static gt_word make(struct word word)
{
	return (gt_word)word.high << 64 | word.low;
}

/* Puts a number into a uniform register. */
static gt_word umov(unsigned number)
{
	return (gt_word)0x000fe20000000000 << 64 | 0x7882 | number << 16 | 1ull << 32;
}

static const char *convert(gt_word *words, unsigned count, unsigned arch, struct gt_graft_stub *ret_stub)
{
	*ret_stub = (struct gt_graft_stub){
		.point = GT_POINT_EXIT, .arch = arch, .words = words, .count = count, .registers = 10,
	};
	return gt_stub_make_private(ret_stub);
}

/*
 * Instructions of NVIDIA's libraries for sm_90, and what they become when UR4 to UR7 are
 * R10 to R13; both as NVIDIA's disassembler reads them.  VIADD has no form for two registers:
 * there is none in all of these libraries.
 */
static const struct {
	struct word before, after;
} pairs[] = {
	{ { 0x000fe20000000000, 0x0000040000047882 }, { 0x000ff00000000f00, 0x00000400000a7802 } },	/* UMOV UR4, 0x400: MOV R10, 0x400 */
	{ { 0x000fe20008000000, 0x0000003f00047c82 }, { 0x000ff00000000f00, 0x000000ff000a7202 } },	/* UMOV UR4, URZ: MOV R10, RZ */
	{ { 0x000fe4000fffe13f, 0x0000001f04067890 }, { 0x000ff00007ffe1ff, 0x0000001f0a0c7810 } },	/* UIADD3 UR6, -UR4, 0x1f, URZ: IADD3 R12, -R10, 0x1f, RZ */
	{ { 0x000fe2000fffe03f, 0x0000000506067290 }, { 0x000ff00007ffe0ff, 0x0000000b0c0c7210 } },	/* UIADD3 UR6, UR6, UR5, URZ: IADD3 R12, R12, R11, RZ */
	{ { 0x002fcc000f8ec03f, 0x0000000405047291 }, { 0x002ff000078ec0ff, 0x0000000a0b0a7211 } },	/* ULEA UR4, UR5, UR4, 0x18: LEA R10, R11, R10, 0x18 */
	{ { 0x000fe2000f8e3c3f, 0x7fffffff06047892 }, { 0x000ff000078e3cff, 0x7fffffff0c0a7812 } },	/* ULOP3.LUT UR4, UR6, 0x7fffffff, URZ, 0x3c, !UPT: LOP3.LUT R10, R12, 0x7fffffff, RZ, 0x3c, !PT */
	{ { 0x000fe2000800063f, 0x0000000906067899 }, { 0x000ff000000006ff, 0x000000090c0c7819 } },	/* USHF.L.U32 UR6, UR6, 0x9, URZ: SHF.L.U32 R12, R12, 0x9, RZ */
	{ { 0x000fe2000800003f, 0x0000888004047896 }, { 0x000ff000000000ff, 0x000088800a0a7816 } },	/* UPRMT UR4, UR4, 0x8880, URZ: PRMT R10, R10, 0x8880, RZ */
	{ { 0x000fc8000f8e0205, 0xfffffff8040478a4 }, { 0x000ff000078e020b, 0xfffffff80a0a7824 } },	/* UIMAD UR4, UR4, -0x8, UR5: IMAD R10, R10, -0x8, R11 */
	{ { 0x000fe2000f8e0a06, 0x00000004050678a5 }, { 0x000ff000078e0a0c, 0x000000040b0c7825 } },	/* UIMAD.WIDE UR6, UR5, 0x4, -UR6: IMAD.WIDE R12, R11, 0x4, -R12 */
	{ { 0x000fe200038e0100, 0x0000000000057886 }, { 0x000ff000038e0100, 0x00000000000b7806 } },	/* VOTEU.ANY UR5, UPT, PT: VOTE.ANY R11, PT, PT */
	{ { 0x000e620000008800, 0x00000000000579c3 }, { 0x000e620000008800, 0x00000000000b7919 } },	/* S2UR UR5, SR_CgaCtaId: S2R R11, SR_CgaCtaId */
	{ { 0x001fda00000e0000, 0x00000000020572ca }, { 0x001fda0000000f00, 0x00000002000b7202 } },	/* R2UR UR5, R2: MOV R11, R2 */
	{ { 0x000fe20000000a00, 0x0000820000047ab9 }, { 0x000f700000000a00, 0x00008200ff0a7b82 } },	/* ULDC.64 UR4, c[0x0][0x208]: LDC.64 R10, c[0x0][0x208] */
	{ { 0x000fce0000000000, 0x0000940000047ab9 }, { 0x000f700000000000, 0x00009400ff0a7b82 } },	/* ULDC.U8 UR4, c[0x0][0x250]: LDC.U8 R10, c[0x0][0x250] */
	{ { 0x000fc8000fffe000, 0x800000041b1b7c10 }, { 0x000fc80007ffe000, 0x8000000a1b1b7210 } },	/* IADD3 R27, R27, -UR4, R0: IADD3 R27, R27, -R10, R0 */
	{ { 0x000fe400097fe4ff, 0x8000000615037c10 }, { 0x000fe400017fe4ff, 0x8000000c15037210 } },	/* IADD3.X R3, R21, ~UR6, RZ, P2, !PT: IADD3.X R3, R21, ~R12, RZ, P2, !PT */
	{ { 0x000fe20008000000, 0x8000000403030c36 }, { 0x000fe20007ffe0ff, 0x8000000a03030210 } },	/* @P0 VIADD R3, R3, -UR4: @P0 IADD3 R3, R3, -R10, RZ */
	{ { 0x000fca000f8e0200, 0x0000000403037c24 }, { 0x000fca00078e0200, 0x0000000a03037224 } },	/* IMAD R3, R3, UR4, R0: IMAD R3, R3, R10, R0 */
	{ { 0x000fe2000f8e02ff, 0x80000004ff057e24 }, { 0x000fe200078e0a0a, 0x000000ffff057224 } },	/* IMAD R5, RZ, RZ, -UR4: IMAD.MOV R5, RZ, RZ, -R10 */
	{ { 0x000fe200080e06ff, 0x80000007ff097e24 }, { 0x000fe200000e0e0d, 0x000000ffff097224 } },	/* IMAD.X R9, RZ, RZ, ~UR7, P0: IMAD.X R9, RZ, RZ, ~R13, P0 */
	{ { 0x008fca000f8e021d, 0x000000041a1c0e25 }, { 0x008fca00078e020a, 0x0000001d1a1c0225 } },	/* @P0 IMAD.WIDE R28, R26, R29, UR4: @P0 IMAD.WIDE R28, R26, R29, R10 */
	{ { 0x000fe2000f8e0008, 0x00000007030a7c25 }, { 0x000fe200078e0008, 0x0000000d030a7225 } },	/* IMAD.WIDE.U32 R10, R3, UR7, R8: IMAD.WIDE.U32 R10, R3, R13, R8 */
	{ { 0x000fca000f8e00ff, 0x0000000609097c27 }, { 0x000fca00078e00ff, 0x0000000c09097227 } },	/* IMAD.HI.U32 R9, R9, UR6, RZ: IMAD.HI.U32 R9, R9, R12, RZ */
	{ { 0x000fe2000bf45270, 0x00000004ff007c0c }, { 0x000fe20003f45270, 0x0000000aff00720c } },	/* ISETP.NE.AND P2, PT, RZ, UR4, PT: ISETP.NE.AND P2, PT, RZ, R10, PT */
	{ { 0x004fc8000f8220ff, 0x0000000613087c11 }, { 0x004fc800078220ff, 0x0000000c13087211 } },	/* LEA R8, P1, R19, UR6, 0x4: LEA R8, P1, R19, R12, 0x4 */
	{ { 0x002fe2000f8efcff, 0x000000063d027c12 }, { 0x002fe200078efcff, 0x0000000c3d027212 } },	/* LOP3.LUT R2, R61, UR6, RZ, 0xfc, !PT: LOP3.LUT R2, R61, R12, RZ, 0xfc, !PT */
	{ { 0x000fe40008000f00, 0x0000000600137c02 }, { 0x000fe40000000f00, 0x0000000c00137202 } },	/* MOV R19, UR6: MOV R19, R12 */
	{ { 0x001fc40008000000, 0x0000000408097c07 }, { 0x001fc40000000000, 0x0000000a08097207 } },	/* SEL R9, R8, UR4, P0: SEL R9, R8, R10, P0 */
	{ { 0x000fe200080006ff, 0x0000000500037c19 }, { 0x000fe200000006ff, 0x0000000b00037219 } },	/* SHF.L.U32 R3, R0, UR5, RZ: SHF.L.U32 R3, R0, R11, RZ */
};
#define PAIRS (sizeof(pairs) / sizeof(pairs[0]))

START_TEST(same_with_own_registers)
{
	gt_word words[] = { umov(4), umov(5), umov(6), umov(7), make(pairs[_i].before), EXIT, EXIT };
	struct gt_graft_stub stub;
	bool load = gt_op(words[4]) == GT_OP_ULDC;

	/* Not the descriptor of all memory, which would be dropped. */
	if (load)
		words[4] = gt_with(words[4], 38, 16, 0x20);
	ck_assert_ptr_null(convert(words, 7, 90, &stub));
	ck_assert(words[4] == (load ? gt_with(make(pairs[_i].after), 38, 16, 0x20) : make(pairs[_i].after)));
	/* Two above the highest, which is 13. */
	ck_assert_uint_eq(stub.registers, 16);
	ck_assert(!stub.descriptor);
	/* What is loaded is waited for by the next instruction, and by no other. */
	ck_assert_uint_eq(gt_bits(words[5], 116, 6), load ? 1u << 5 : 0);
	ck_assert_uint_eq(gt_bits(words[6], 116, 6), 0);
}
END_TEST

START_TEST(unknown_is_refused)
{
	static const struct word words[] = {
		{ 0x000fe2000ff1e03f, 0x0000000504047290 },	/* UIADD3 UR4, UP0, UR4, UR5, URZ */
		{ 0x000fe40008ffe43f, 0x000000053f047290 },	/* UIADD3.X UR4, URZ, UR5, URZ, UP1, !UPT */
		{ 0x000fe40008000000, 0x00000006000472bf },	/* UPOPC UR4, UR6 */
		{ 0x002fda0000020000, 0x000000000e3f72ca },	/* R2UR P1, URZ, R14 */
		{ 0x000fe20000000000, 0x0000040000040882 },	/* @UP0 UMOV UR4, 0x400 */
		{ 0x000fe2000f8e0008, 0x00000007030b7e25 },	/* IMAD.WIDE.U32 R11, R3, R8, UR7: a pair from an odd one on */
		{ 0x000fe20008000f00, 0x0000000800137c02 },	/* MOV R19, UR8: nobody has written it */
		{ 0x000ea20008000800, 0x0000000402047984 },	/* LDS R4, [R2+UR4] */
		{ 0x000fe2000fffe03f, 0x00000005060678f3 },	/* no instruction that we know of */
	};
	gt_word code[] = { umov(4), umov(5), umov(6), umov(7), make(words[_i]), EXIT };
	struct gt_graft_stub stub;
	const char *why = convert(code, 6, 90, &stub);

	ck_assert_msg(why && strstr(why, "in an unknown way"), "%s", why ? why : "taken");
}
END_TEST

/* sm_80: a pair holds a value first and the descriptor then, as ptxas writes it. */
static const struct word value_and_descriptor[] = {
	{ 0x000fe20008000000, 0x0000003f00047c82 },	/* UMOV UR4, URZ */
	{ 0x000fe2000fffe0ff, 0x0000000405037c10 },	/* IADD3 R3, R5, UR4, RZ */
	{ 0x000fe20000000a00, 0x0000460000047ab9 },	/* ULDC.64 UR4, c[0x0][0x118] */
	{ 0x000ea2000c1e1900, 0x0000000404097981 },	/* LDG.E R9, desc[UR4][R4.64] */
};

START_TEST(descriptors_stay)
{
	gt_word words[5], load = make(value_and_descriptor[2]), access = make(value_and_descriptor[3]);
	struct gt_graft_stub stub;

	for (unsigned i = 0; i < 4; i++)
		words[i] = make(value_and_descriptor[i]);
	words[4] = EXIT;
	ck_assert_ptr_null(convert(words, 5, 80, &stub));
	ck_assert(stub.descriptor);
	ck_assert_uint_eq(stub.registers, 14);
	ck_assert(words[0] == make((struct word){ 0x000ff00000000f00, 0x000000ff000a7202 }));	/* MOV R10, RZ */
	ck_assert(words[1] == make((struct word){ 0x000fe20007ffe0ff, 0x0000000a05037210 }));	/* IADD3 R3, R5, R10, RZ */
	ck_assert(words[2] == load);
	ck_assert(words[3] == access);

	/* The same descriptor, but brought back from a thread's register. */
	words[0] = make((struct word){ 0x001fda00000e0000, 0x00000000020472ca });	/* R2UR UR4, R2 */
	words[1] = gt_make_nop(0);
	ck_assert_ptr_nonnull(convert(words, 5, 80, &stub));
	/* A descriptor that nobody has loaded. */
	words[0] = gt_make_nop(0);
	ck_assert_ptr_null(convert(words, 5, 80, &stub));
	words[2] = gt_make_nop(0);
	ck_assert_ptr_nonnull(convert(words, 5, 80, &stub));
	/* One that is put elsewhere. */
	words[2] = load;
	words[1] = make((struct word){ 0x000fe40008000f00, 0x0000000400137c02 });	/* MOV R19, UR4 */
	ck_assert_ptr_nonnull(convert(words, 5, 80, &stub));
}
END_TEST

START_TEST(descriptors_that_nobody_reads_go)
{
	gt_word words[] = { make((struct word){ 0x000fe20000000a00, 0x0000820000047ab9 }), EXIT };	/* ULDC.64 UR4, c[0x0][0x208] */
	struct gt_graft_stub stub;

	ck_assert_ptr_null(convert(words, 2, 90, &stub));
	ck_assert_uint_eq(gt_op(words[0]), GT_OP_NOP);
	ck_assert_uint_eq(stub.registers, 10);
	ck_assert(!stub.descriptor);
}
END_TEST

/* sm_100, as ptxas writes it: constants are loaded by another instruction, numbers are longer, and so descriptors lie elsewhere. */
START_TEST(longer_numbers)
{
	static const struct word code[] = {
		{ 0x000e620008000800, 0x00005f00ff0477ac },	/* LDCU UR4, c[0x0][0x2f8] */
		{ 0x002fc8000fffe0ff, 0xffffffff04047890 },	/* UIADD3 UR4, UPT, UPT, UR4, -0x1, URZ */
		{ 0x000fe40008000f00, 0x0000000400137c02 },	/* MOV R19, UR4 */
		{ 0x000e220008000a00, 0x00006b00ff0677ac },	/* LDCU.64 UR6, c[0x0][0x358] */
		{ 0x001fe8000c12e506, 0x000018060200798e },	/* REDG.E.ADD.64.STRONG.GPU desc[UR6][R2.64+0x18], R6 */
		{ 0x000ea200081ef506, 0x800000120a0a79a8 },	/* ATOMG.E.ADD.64.STRONG.GPU PT, R10, desc[UR6][R10.64], R18 */
		{ 0x000ea4000c1e1b00, 0x400000061c067981 },	/* LDG.E.64 R6, desc[UR6][R28.64+0x400000] */
		{ 0x000fe8000c101b06, 0x000000080c007985 },	/* ST.E.64 desc[UR6][R12.64], R8 */
	};
	static const struct word unknown[] = {
		{ 0x000fc60000000000, 0x0000000100467882 },	/* UMOV UR70, 0x1 */
		{ 0x000fc60000000000, 0x00000001003f7882 },	/* UMOV UR63, 0x1, which is none that is always 0 */
		{ 0x000e220008000a00, 0x00c06b00060477ac },	/* LDCU.64 UR4, c[0x3][UR6+0x358] */
		{ 0x000e220008000c00, 0x00006b00ff0477ac },	/* LDCU.128 UR4, c[0x0][0x358] */
		{ 0x001fe8000c10e506, 0x000018060200798e },	/* REDG.E.ADD.64.STRONG.GPU [R2.64+UR6+0x18], R6 */
		{ 0x000fea000b800000, 0x0000000108387547 },	/* BRA.U !UP0, 0xf0 */
	};
	gt_word words[9];
	struct gt_graft_stub stub;

	for (unsigned i = 0; i < 8; i++)
		words[i] = make(code[i]);
	words[8] = EXIT;
	ck_assert_ptr_null(convert(words, 9, 100, &stub));
	ck_assert(stub.descriptor);
	ck_assert(words[0] == make((struct word){ 0x000f700000000800, 0x0000be00ff0a7b82 }));	/* LDC R10, c[0x0][0x2f8] */
	ck_assert(words[1] == make((struct word){ 0x022ff00007ffe0ff, 0xffffffff0a0a7810 }));	/* IADD3 R10, R10, -0x1, RZ */
	ck_assert(words[2] == make((struct word){ 0x000fe40000000f00, 0x0000000a00137202 }));	/* MOV R19, R10 */
	for (unsigned i = 3; i < 8; i++)
		ck_assert(words[i] == make(code[i]));
	for (unsigned i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		words[0] = make((struct word){ 0x000e220008000a00, 0x00006b00ff0677ac });
		words[1] = make(unknown[i]);
		words[2] = EXIT;
		ck_assert_ptr_nonnull(convert(words, 3, 100, &stub));
	}
}
END_TEST

START_TEST(registers_run_out)
{
	gt_word words[33];
	struct gt_graft_stub stub = { .point = GT_POINT_EXIT, .arch = 90, .words = words, .count = 33 };

	for (unsigned i = 0; i < 31; i++)
		words[i] = umov(2 * i);
	words[31] = make((struct word){ 0x000fe40008000f00, 0x0000003c00137c02 });	/* MOV R19, UR60 */
	words[32] = EXIT;
	/* 62 more, and two that code may not name. */
	stub.registers = 190 + _i;
	ck_assert(!gt_stub_make_private(&stub) == !_i);
	if (!_i)
		ck_assert_uint_eq(stub.registers, 254);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("private");

	tcase_add_loop_test(tcase, same_with_own_registers, 0, PAIRS);
	tcase_add_loop_test(tcase, unknown_is_refused, 0, 9);
	tcase_add_test(tcase, descriptors_stay);
	tcase_add_test(tcase, descriptors_that_nobody_reads_go);
	tcase_add_test(tcase, longer_numbers);
	tcase_add_loop_test(tcase, registers_run_out, 0, 2);
	return run_case("private", tcase);
}
