/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of the PTX machine by values that were worked out by hand. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "common.h"
#include "tests/suite.h"

/*
 * One thread runs a piece of PTX.  a, b, c are its inputs as 64-bit (%a64), 32-bit
 * (%a32), 16-bit (%a16), float (%af) and double (%ad) registers; it leaves its
 * result in %r64, %r32, %r16, %rf, %rd or %rp, of which `from` names the kind.
 */
static uint64_t calc(const char *from, const char *code, uint64_t a, uint64_t b, uint64_t c)
{
	static const struct {
		const char *kind, *store;
	} stores[] = {
		{ "64", "mov.b64 %w, %r64;" }, { "32", "cvt.u64.u32 %w, %r32;" },
		{ "16", "cvt.u64.u16 %w, %r16;" }, { "f", "mov.b32 %t, %rf; cvt.u64.u32 %w, %t;" },
		{ "d", "mov.b64 %w, %rd;" }, { "p", "selp.b64 %w, 1, 0, %rp;" },
	};
	char text[4096];
	uint64_t *out = test_alloc(&device, 8), result;
	struct { uint64_t a, b, c; void *out; } params = { a, b, c, out };
	unsigned i;

	for (i = 0; strcmp(stores[i].kind, from); i++)
		;
	snprintf(text, sizeof(text), ".entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 out) {\n"
		 ".reg .b64 %%a64, %%b64, %%c64, %%r64, %%w, %%o; .reg .b32 %%a32, %%b32, %%c32, %%r32, %%t;\n"
		 ".reg .b16 %%a16, %%b16, %%c16, %%r16; .reg .f32 %%af, %%bf, %%cf, %%rf;\n"
		 ".reg .f64 %%ad, %%bd, %%cd, %%rd; .reg .pred %%rp, %%q;\n"
		 "ld.param.u64 %%a64, [a]; ld.param.u64 %%b64, [b]; ld.param.u64 %%c64, [c];\n"
		 "cvt.u32.u64 %%a32, %%a64; cvt.u32.u64 %%b32, %%b64; cvt.u32.u64 %%c32, %%c64;\n"
		 "cvt.u16.u64 %%a16, %%a64; cvt.u16.u64 %%b16, %%b64; cvt.u16.u64 %%c16, %%c64;\n"
		 "mov.b32 %%af, %%a32; mov.b32 %%bf, %%b32; mov.b32 %%cf, %%c32;\n"
		 "mov.b64 %%ad, %%a64; mov.b64 %%bd, %%b64; mov.b64 %%cd, %%c64;\n"
		 "%s\nld.param.u64 %%o, [out]; %s st.global.u64 [%%o], %%w; }", code, stores[i].store);
	load_ok(text);
	run_ok("k", 1, 1, &params);
	result = *out;
	test_release(&device, out);
	return result;
}

#define CALC(expected, from, code, a, b, c) \
	do { \
		uint64_t got_ = calc(from, code, a, b, c); \
		ck_assert_msg(got_ == (uint64_t)(expected), "%s of %llx %llx %llx: %llx, not %llx", code, \
			      (unsigned long long)(a), (unsigned long long)(b), \
			      (unsigned long long)(c), (unsigned long long)got_, \
			      (unsigned long long)(expected)); \
	} while (0)

START_TEST(test_integers)
{
	CALC(0, "32", "add.u32 %r32, %a32, %b32;", 0xffffffff, 1, 0);
	CALC(0xffff, "16", "sub.u16 %r16, %a16, %b16;", 0, 1, 0);
	CALC(0x7fffffff, "32", "add.sat.s32 %r32, %a32, %b32;", 0x7fffffff, 5, 0);
	CALC(0x80000000, "32", "sub.sat.s32 %r32, %a32, %b32;", 0x80000000, 5, 0);
	CALC(0xfffffffe, "32", "mul.hi.u32 %r32, %a32, %b32;", 0xffffffff, 0xffffffff, 0);
	CALC(0, "32", "mul.hi.s32 %r32, %a32, %b32;", 0xffffffff, 0xffffffff, 0);
	CALC(0xfffffffe00000001, "64", "mul.wide.u32 %r64, %a32, %b32;", 0xffffffff, 0xffffffff, 0);
	CALC(1, "64", "mul.wide.s32 %r64, %a32, %b32;", 0xffffffff, 0xffffffff, 0);
	CALC(0xfffffffffffffffe, "64", "mul.hi.u64 %r64, %a64, %b64;", ~0ull, ~0ull, 0);
	CALC(47, "32", "mad.lo.s32 %r32, %a32, %b32, %c32;", 6, 7, 5);
	CALC(0xfffffff7, "32", "div.s32 %r32, %a32, %b32;", (uint32_t)-100, 11, 0);
	CALC(0xffffffff, "32", "rem.s32 %r32, %a32, %b32;", (uint32_t)-100, 11, 0);
	CALC(0x80000000, "32", "div.s32 %r32, %a32, %b32;", 0x80000000, 0xffffffff, 0);
	CALC(17, "32", "sad.s32 %r32, %a32, %b32, %c32;", (uint32_t)-3, 4, 10);
	CALC(0xfc000004, "32", "mul24.lo.u32 %r32, %a32, %b32;", 0xfffffe, 0xfffffe, 0);
	CALC(0xffff8001, "32", "min.s32 %r32, %a32, %b32;", 0xffff8001, 5, 0);
	CALC(5, "32", "min.u32 %r32, %a32, %b32;", 0xffff8001, 5, 0);
	CALC(0x80000000, "32", "abs.s32 %r32, %a32;", 0x80000000, 0, 0);
	/* 1*5 + 2*6 + 3*7 + 4*8 + 100; with -1 for 255 where signed */
	CALC(170, "32", "dp4a.u32.u32 %r32, %a32, %b32, %c32;", 0x04030201, 0x08070605, 100);
	CALC((uint32_t)(100 - 5), "32", "dp4a.s32.u32 %r32, %a32, %b32, %c32;", 0xff, 5, 100);
	CALC(100 + 255 * 5, "32", "dp4a.u32.u32 %r32, %a32, %b32, %c32;", 0xff, 5, 100);
	CALC(2 * 7 + 3 * 8, "32", "dp2a.hi.u32.u32 %r32, %a32, %b32, 0;", 0x00030002, 0x08070605, 0);
}
END_TEST

START_TEST(test_carry)
{
	CALC(8, "32", "add.cc.u32 %t, %a32, %b32; addc.u32 %r32, 3, 4;", 0xffffffff, 1, 0);
	CALC(7, "32", "add.cc.u32 %t, %a32, %b32; addc.u32 %r32, 3, 4;", 0xfffffffe, 1, 0);
	CALC(5, "32", "sub.cc.u32 %t, %a32, %b32; subc.u32 %r32, 10, 4;", 0, 1, 0);
	CALC(6, "32", "sub.cc.u32 %t, %a32, %b32; subc.u32 %r32, 10, 4;", 1, 1, 0);
	/* 0xffffffff squared plus 0xffffffff is 0xffffffff_00000000 */
	CALC(0xffffffff, "32", "mad.lo.cc.u32 %t, %a32, %b32, %c32; madc.hi.u32 %r32, %a32, %b32, 0;",
	     0xffffffff, 0xffffffff, 0xffffffff);
}
END_TEST

START_TEST(test_bits)
{
	CALC(0x80, "32", "bfe.u32 %r32, %a32, 4, 8;", 0x12345806, 0, 0);
	CALC(0xffffff80, "32", "bfe.s32 %r32, %a32, 4, 8;", 0x12345806, 0, 0);
	CALC(0xffffffff, "32", "bfe.s32 %r32, %a32, 40, 8;", 0x80000000, 0, 0);
	CALC(0x1234ab06, "32", "bfi.b32 %r32, %b32, %a32, 8, 8;", 0x12345806, 0xffab, 0);
	CALC(0x1e6a2c48, "32", "brev.b32 %r32, %a32;", 0x12345678, 0, 0);
	CALC(30, "32", "bfind.u32 %r32, %a32;", 0x40000001, 0, 0);
	CALC(0xffffffff, "32", "bfind.s32 %r32, %a32;", 0xffffffff, 0, 0);
	CALC(1, "32", "bfind.shiftamt.u32 %r32, %a32;", 0x40000001, 0, 0);
	CALC(64, "32", "clz.b64 %r32, %a64;", 0, 0, 0);
	CALC(0x55667788, "32", "prmt.b32 %r32, %a32, %b32, 0x4567;", 0x11223344, 0x88776655, 0);
	CALC(0xff00ff00, "32", "prmt.b32 %r32, %a32, %b32, 0xb8b8;", 0x80223344, 0, 0);
	CALC(0x34567812, "32", "shf.l.wrap.b32 %r32, %a32, %a32, 8;", 0x12345678, 0, 0);
	CALC(0x96, "32", "lop3.b32 %r32, 0xf0, 0xcc, 0xaa, 0x96;", 0, 0, 0);
	CALC(0, "32", "shl.b32 %r32, %a32, %b32;", 1, 32, 0);
	CALC(0xffffffff, "32", "shr.s32 %r32, %a32, %b32;", 0x80000000, 200, 0);
	CALC(3, "32", "fns.b32 %r32, %a32, 0, 3;", 0x2b, 0, 0);
	CALC(1, "32", "cnot.b32 %r32, %a32;", 0, 0, 0);
	CALC(0xff010002, "32", "vadd4.u32.u32.u32.sat %r32, %a32, %b32, 0;", 0xf0000001, 0x20010001, 0);
	CALC(100 + 6, "32", "vabsdiff4.u32.u32.u32.add %r32, %a32, %b32, %c32;", 0x01020304, 0x04030205, 100);
	CALC(0x8000ffff, "32", "vmin2.s32.s32.s32 %r32, %a32, %b32, 0;", 0x80000001, 0x0000ffff, 0);
}
END_TEST

/* 1 + 2^-24 lies halfway between 1 and the next float. */
START_TEST(test_floats)
{
	CALC(0x3f800000, "f", "add.rn.f32 %rf, %af, %bf;", 0x3f800000, 0x33800000, 0);
	CALC(0x3f800001, "f", "add.rp.f32 %rf, %af, %bf;", 0x3f800000, 0x33800000, 0);
	CALC(0x3f7fffff, "f", "sub.rz.f32 %rf, %af, %bf;", 0x3f800000, 0x32800000, 0);
	CALC(0x3eaaaaab, "f", "div.rn.f32 %rf, %af, %bf;", 0x3f800000, 0x40400000, 0);
	CALC(0x3eaaaaaa, "f", "div.rz.f32 %rf, %af, %bf;", 0x3f800000, 0x40400000, 0);
	CALC(0x3fb504f3, "f", "sqrt.rn.f32 %rf, %af;", 0x40000000, 0, 0);
	CALC(0x3fb504f4, "f", "sqrt.rp.f32 %rf, %af;", 0x40000000, 0, 0);
	CALC(0, "f", "mul.ftz.f32 %rf, %af, %bf;", 0x00400000, 0x3f800000, 0);
	CALC(0x00400000, "f", "mul.f32 %rf, %af, %bf;", 0x00400000, 0x3f800000, 0);
	CALC(0x3f800000, "f", "add.sat.f32 %rf, %af, %bf;", 0x3f800000, 0x3f800000, 0);
	CALC(0, "f", "mul.sat.f32 %rf, %af, %bf;", 0x7fc00000, 0x3f800000, 0);
	/* (1 + 2^-23)^2 - (1 + 2^-22) is 2^-46, which only a fused multiply sees */
	CALC(0x28800000, "f", "fma.rn.f32 %rf, %af, %af, %bf;", 0x3f800001, 0xbf800002, 0);
	CALC(0x40000000, "f", "min.f32 %rf, %af, %bf;", 0x7fc00000, 0x40000000, 0);
	CALC(0x7fffffff, "f", "min.NaN.f32 %rf, %af, %bf;", 0x7fc00000, 0x40000000, 0);
	CALC(0x80000000, "f", "min.f32 %rf, %af, %bf;", 0, 0x80000000, 0);
	CALC(0xc0000000, "f", "copysign.f32 %rf, %af, %bf;", 0xbf800000, 0x40000000, 0);
	CALC(0x3fd5555555555555, "d", "div.rn.f64 %rd, %ad, %bd;", 0x3ff0000000000000, 0x4008000000000000, 0);
	CALC(0x3fd5555555555556, "d", "div.rp.f64 %rd, %ad, %bd;", 0x3ff0000000000000, 0x4008000000000000, 0);
	CALC(1, "p", "testp.subnormal.f32 %rp, %af;", 0x00400000, 0, 0);
	CALC(1, "p", "setp.neu.f32 %rp, %af, %bf;", 0x7fc00000, 0x3f800000, 0);
	CALC(0, "p", "setp.ne.f32 %rp, %af, %bf;", 0x7fc00000, 0x3f800000, 0);
	CALC(0x40800000, "f", "ex2.approx.f32 %rf, %af;", 0x40000000, 0, 0);
	CALC(0x40400000, "f", "lg2.approx.f32 %rf, %af;", 0x41000000, 0, 0);
}
END_TEST

START_TEST(test_halves)
{
	CALC(0x4000, "16", "add.rn.f16 %r16, %a16, %b16;", 0x3c00, 0x3c00, 0);
	/* 2048 + 1 is halfway: to even */
	CALC(0x6800, "16", "add.rn.f16 %r16, %a16, %b16;", 0x6800, 0x3c00, 0);
	CALC(0x6802, "16", "add.rn.f16 %r16, %a16, %b16;", 0x6801, 0x3c00, 0);
	CALC(0x44004200, "32", "add.rn.f16x2 %r32, %a32, %b32;", 0x40003c00, 0x40004000, 0);
	CALC(0x4040, "16", "add.rn.bf16 %r16, %a16, %b16;", 0x3f80, 0x4000, 0);
	CALC(0, "16", "fma.rn.relu.f16 %r16, %a16, %b16, %c16;", 0xbc00, 0x3c00, 0);
	CALC(0x7c00, "16", "mul.rn.f16 %r16, %a16, %b16;", 0x7bff, 0x7bff, 0);
	CALC(0x3555, "16", "cvt.rn.f16.f32 %r16, %af;", 0x3eaaaaab, 0, 0);
	CALC(0x3eab, "16", "cvt.rn.bf16.f32 %r16, %af;", 0x3eaaaaab, 0, 0);
	CALC(0x3eaaa000, "f", "cvt.f32.f16 %rf, %a16;", 0x3555, 0, 0);
	/* eight bits: 448 is the largest, with three bits of mantissa 17 becomes 16 */
	CALC(0x7e58, "16", "cvt.rn.satfinite.e4m3x2.f32 %r16, %af, %bf;", 0x44000000, 0x41880000, 0);
	CALC(0xbc7b, "16", "cvt.rn.satfinite.e5m2x2.f32 %r16, %af, %bf;", 0xbf800000, 0x7f800000, 0);
	CALC(0x3c005f00, "32", "cvt.rn.f16x2.e4m3x2 %r32, %a16;", 0x387e, 0, 0);
	CALC(0x00003c00, "32", "set.gt.f16x2.f16x2 %r32, %a32, %b32;", 0x3c004000, 0x40003c00, 0);
	CALC(0xffff0000, "32", "set.lt.u32.f16x2 %r32, %a32, %b32;", 0x3c004000, 0x40003c00, 0);
	CALC(0x3c004000, "32", "cvt.rn.f16x2.f32 %r32, %af, %bf;", 0x3f800000, 0x40000000, 0);
}
END_TEST

START_TEST(test_conversions)
{
	CALC(0xffffff80, "32", "cvt.s32.s8 %r32, %a32;", 0x180, 0, 0);
	CALC(127, "32", "cvt.sat.s8.s32 %r32, %a32;", 1000, 0, 0);
	CALC(0, "32", "cvt.sat.u32.s32 %r32, %a32;", (uint32_t)-5, 0, 0);
	CALC(0xfffffffffffffffb, "64", "cvt.s64.s32 %r64, %a32;", (uint32_t)-5, 0, 0);
	CALC(0x4b800000, "f", "cvt.rn.f32.u32 %rf, %a32;", 16777217, 0, 0);
	CALC(0x4b800001, "f", "cvt.rp.f32.u32 %rf, %a32;", 16777217, 0, 0);
	CALC(2, "32", "cvt.rni.s32.f32 %r32, %af;", 0x40200000, 0, 0);	/* 2.5 */
	CALC(3, "32", "cvt.rpi.s32.f32 %r32, %af;", 0x40200000, 0, 0);
	CALC(0xfffffffd, "32", "cvt.rmi.s32.f32 %r32, %af;", 0xc0200000, 0, 0);
	CALC(0x7fffffff, "32", "cvt.rzi.s32.f32 %r32, %af;", 0x4f800000, 0, 0);
	CALC(0, "32", "cvt.rzi.u32.f32 %r32, %af;", 0xbf800000, 0, 0);
	CALC(0, "32", "cvt.rzi.s32.f32 %r32, %af;", 0x7fc00000, 0, 0);
	CALC(0x40400000, "f", "cvt.rpi.f32.f32 %rf, %af;", 0x40200000, 0, 0);
	CALC(0x3eaaaaab, "f", "cvt.rn.f32.f64 %rf, %ad;", 0x3fd5555555555555, 0, 0);
	CALC(0x3eaaaaaa, "f", "cvt.rz.f32.f64 %rf, %ad;", 0x3fd5555555555555, 0, 0);
	/* an integer that two roundings would get wrong: 2^60 + 2^36 + 1 */
	CALC(0x5d800001, "f", "cvt.rn.f32.u64 %rf, %a64;", (1ull << 60) + (1ull << 36) + 1, 0, 0);
	CALC(0x80, "64", "cvt.u64.u8 %r64, %a32;", 0x180, 0, 0);
}
END_TEST

START_TEST(test_selection)
{
	CALC(7, "32", "setp.lt.s32 %q, %a32, %b32; selp.b32 %r32, 7, 9, %q;", (uint32_t)-1, 1, 0);
	CALC(9, "32", "setp.lt.u32 %q, %a32, %b32; selp.b32 %r32, 7, 9, %q;", (uint32_t)-1, 1, 0);
	CALC(0xffffffff, "32", "set.gt.u32.s32 %r32, %a32, %b32;", 2, 1, 0);
	CALC(0x3f800000, "f", "set.gt.f32.s32 %rf, %a32, %b32;", 2, 1, 0);
	CALC(4, "32", "slct.b32.s32 %r32, 3, 4, %a32;", (uint32_t)-1, 0, 0);
	CALC(3, "32", "slct.b32.f32 %r32, 3, 4, %af;", 0x80000000, 0, 0);
	CALC(1, "p", "setp.eq.u32 %q, 1, 1; setp.gt.or.s32 %rp, 1, 2, %q;", 0, 0, 0);
	CALC(1, "p", "setp.gt.s32 %q|%rp, 1, 2;", 0, 0, 0);
	CALC(12, "32", "setp.gt.s32 %q, 1, 2; mov.u32 %r32, 12; @%q mov.u32 %r32, 13;", 0, 0, 0);
}
END_TEST

START_TEST(test_moves)
{
	CALC(0x0000000200000001, "64", "mov.b64 %r64, {%a32, %b32};", 1, 2, 0);
	CALC(2, "32", "mov.b64 {%t, %r32}, %a64;", 0x0000000200000001, 0, 0);
	CALC(0x0004000300020001, "64", "mov.b64 %r64, {%a16, %b16, %c16, %r16};"
	     " add.u64 %r64, %r64, 0x0004000000000000;", 1, 2, 3);
	CALC(0x123456789abcdef0, "64", ".reg .b128 %x; mov.b128 %x, {%a64, %b64}; mov.b128 {%w, %r64}, %x;",
	     1, 0x123456789abcdef0, 0);
	CALC(35, "32", "mov.u32 %r32, (3 + 4) * 5;", 0, 0, 0);
	CALC(42, "64", "mov.u64 %r64, %gridid;", 0, 0, 0);
	CALC(0x3fc00000, "f", "mov.f32 %rf, 1.5;", 0, 0, 0);
	CALC(5, "32", ".reg .v2 .b32 %v; mov.u32 %v.x, 2; mov.u32 %v.y, 3; add.u32 %r32, %v.x, %v.y;", 0, 0, 0);
}
END_TEST

START_TEST(test_scopes_and_noise)
{
	CALC(3, "32", ".pragma \"nounroll\"; .loc 1 2 3\n .loc 1 4 5, function_name $L__info, inlined_at 1 2 3\n"
	     "{ .reg .b32 %r32; mov.u32 %r32, 9; { bra L; mov.u32 %r32, 8; L: } }\n"
	     "{ bra L; L: } /* } ; */ mov.u32 %r32, 3; // ; }\n", 0, 0, 0);
	load_ok(".file 1 \"x.cu\"\n.section .debug_info {\n.b32 1, 2\n$L__x:\n.b64 $L__x\n}\n"
		".extern .shared .align 16 .b8 s[];\n.visible .entry e\n.maxntid 64, 2\n.minnctapersm 1\n{ ret; }\n"
		".weak .func (.param .b32 r) f(.param .b32 a);\n.common .global .b32 c;\n");
	ck_assert_uint_eq(sim_kernel_info(sim_module_kernel(module, 0))->max_threads, 128);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("values");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_integers);
	tcase_add_test(tcase, test_carry);
	tcase_add_test(tcase, test_bits);
	tcase_add_test(tcase, test_floats);
	tcase_add_test(tcase, test_halves);
	tcase_add_test(tcase, test_conversions);
	tcase_add_test(tcase, test_selection);
	tcase_add_test(tcase, test_moves);
	tcase_add_test(tcase, test_scopes_and_noise);
	return run_case("sim-values", tcase);
}
