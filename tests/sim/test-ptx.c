/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX machine by hand-calculated values: front end, errors, launches, progress. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "tests/suite.h"

#define HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"	/* three lines */

static struct test_device device;
static struct sim_module *module;
static struct sim_error err;

static void setup(void)
{
	test_device_init(&device);
	module = NULL;
}

static void teardown(void)
{
	sim_module_unload(module);
	test_device_done(&device);
}

static int load(const char *body)
{
	char *text = malloc(strlen(body) + sizeof(HEADER));
	int result;

	strcpy(text, HEADER);
	strcat(text, body);
	sim_module_unload(module);
	module = NULL;
	result = sim_module_load(&device.dev, text, strlen(text), &module, &err);
	free(text);
	return result;
}

static void load_ok(const char *body)
{
	ck_assert_msg(!load(body), "%s", err.text);
}

static void load_fails(const char *body, int kind, unsigned line, const char *words)
{
	ck_assert_msg(load(body) == -1, "accepted: %s", body);
	ck_assert_msg(err.kind == kind && err.line == line && strstr(err.text, words),
		      "kind %d line %u: %s", err.kind, err.line, err.text);
}

static int run(const char *name, unsigned blocks, unsigned threads, const void *params)
{
	struct sim_launch launch = { .grid = { blocks, 1, 1 }, .block = { threads, 1, 1 },
				     .params = params, .grid_id = 42 };
	struct sim_kernel *kernel = sim_module_find_kernel(module, name);

	ck_assert_ptr_nonnull(kernel);
	return sim_kernel_run(kernel, &launch, &err);
}

static void run_ok(const char *name, unsigned blocks, unsigned threads, const void *params)
{
	ck_assert_msg(!run(name, blocks, threads, params), "%s", err.text);
}

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

START_TEST(test_info)
{
	const struct sim_kernel_info *info;
	uint64_t addr, size;

	load_ok(".global .align 8 .u32 table[3] = {1, 2, 3};\n.const .f64 half = 0.5;\n"
		".global .u64 here = table + 4;\n.global .align 1 .b8 text[] = {104, 105, 0};\n"
		".shared .align 4 .b8 used[100];\n.shared .align 4 .b8 unused[1000];\n"
		".entry first(.param .u8 a, .param .align 8 .b8 s[12], .param .u16 b, .param .u64 c) {\n"
		".local .align 8 .b8 depot[40]; .reg .b32 %r; .reg .b64 %l; mov.u32 %r, used; mov.u64 %l, depot; ret; }\n"
		".entry second() { ret; }");
	info = sim_kernel_info(sim_module_kernel(module, 0));
	ck_assert_str_eq(info->name, "first");
	ck_assert_uint_eq(info->param_count, 4);
	ck_assert_uint_eq(info->params[1].offset, 8);
	ck_assert_uint_eq(info->params[1].size, 12);
	ck_assert_uint_eq(info->params[2].offset, 20);
	ck_assert_uint_eq(info->params[3].offset, 24);
	ck_assert_uint_eq(info->param_bytes, 32);
	ck_assert_uint_eq(info->static_shared, 100);
	ck_assert_uint_ge(info->local_bytes, 40);
	ck_assert_uint_eq(info->ptx_version, 80);
	ck_assert_uint_eq(sim_kernel_info(sim_module_find_kernel(module, "second"))->static_shared, 0);
	ck_assert_ptr_null(sim_module_kernel(module, 2));
	ck_assert_ptr_null(sim_module_find_kernel(module, "third"));
	ck_assert_int_eq(sim_module_find_variable(module, "table", &addr, &size), 0);
	ck_assert_uint_eq(size, 12);
	ck_assert_uint_eq(((uint32_t *)(uintptr_t)addr)[2], 3);
	ck_assert_int_eq(sim_module_find_variable(module, "here", &size, &size), 0);
	ck_assert_int_eq(sim_module_find_variable(module, "text", &addr, &size), 0);
	ck_assert_uint_eq(size, 3);
	ck_assert_str_eq((char *)(uintptr_t)addr, "hi");
	ck_assert_int_eq(sim_module_find_variable(module, "used", &addr, &size), -1);
}
END_TEST

START_TEST(test_syntax_errors)
{
	load_fails(".entry k() {\n add.s32 %r1, %r2, %r3;\n}", SIM_ERROR_SYNTAX, 5, "'%r1' is not declared");
	load_fails(".entry k() { .reg .b32 %r<4>;\n\n bogus.u32 %r1, %r2;\n}", SIM_ERROR_SYNTAX, 6, "bogus");
	load_fails(".entry k() { .reg .b32 %r<4>;\n add.u32 %r1, %r2;\n}", SIM_ERROR_SYNTAX, 5, "operands");
	load_fails(".entry k() { .reg .b32 %r<4>;\n add.f32 %r1, %r2, 1.0;\n add.u64 %r1, %r2, %r3; }",
		   SIM_ERROR_SYNTAX, 6, "does not fit");
	load_fails(".entry k() { .reg .f32 %f<4>;\n add.u32 %f1, %f2, %f3;\n}", SIM_ERROR_SYNTAX, 5, "does not fit");
	load_fails(".entry k() { .reg .b32 %r<4>;\n add.wrong.u32 %r1, %r2, %r3;\n}", SIM_ERROR_SYNTAX, 5, "wrong");
	load_fails(".entry k() {\n bra NOWHERE;\n}", SIM_ERROR_SYNTAX, 5, "NOWHERE");
	load_fails(".entry k() {\n { L: }\n bra L;\n}", SIM_ERROR_SYNTAX, 6, "'L'");
	load_fails(".entry k() { .reg .b32 %r<4>;\n.reg .b64 %r<4>;\n}", SIM_ERROR_SYNTAX, 5, "already");
	load_fails(".entry k() {\n\n", SIM_ERROR_SYNTAX, 4, "never closed");
	load_fails(".entry k() { ret }", SIM_ERROR_SYNTAX, 4, "';'");
	load_fails(".global .u32 x[2] = {1, 2,\n 3};", SIM_ERROR_SYNTAX, 5, "more initialisers");
	load_fails("/* open", SIM_ERROR_SYNTAX, 4, "comment");
	load_fails(".global .u32 x = 1 / 0;", SIM_ERROR_SYNTAX, 4, "zero");
	load_fails(".entry k(.param .u32 a) { .reg .b64 %r<4>;\n ld.param.u64 %r1, [a];\n}", SIM_ERROR_SYNTAX, 5,
		   "outside parameter");
	load_fails(".func f(.param .u32 a);\n.func f(.param .u64 a) { ret; }", SIM_ERROR_SYNTAX, 5, "otherwise");
	ck_assert_int_eq(sim_module_load(&device.dev, "", 0, &module, &err), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_SYNTAX);
	ck_assert_uint_eq(err.line, 1);
}
END_TEST

START_TEST(test_other_load_errors)
{
	static const char newer[] = ".version 8.6\n.target sm_100\n", only[] = ".version 8.0\n.target sm_80a\n";

	load_fails(".entry k() { .reg .b64 %r<4>;\n wgmma.fence.sync.aligned;\n}", SIM_ERROR_UNSUPPORTED, 5,
		   "wgmma");
	load_fails(".entry k() { .reg .b32 %r<9>;\n tex.1d.v4.s32.s32 {%r1,%r2,%r3,%r4}, [%r5, {%r6}];\n}",
		   SIM_ERROR_UNSUPPORTED, 5, "'tex'");
	load_fails(".func (.param .b32 r) g();\n.entry k() { .param .b32 x;\n call (x), g;\n}", SIM_ERROR_UNRESOLVED, 6,
		   "'g'");
	load_fails(".extern .global .u32 there;\n.entry k() { .reg .b32 %r;\n ld.global.u32 %r, [there];\n}",
		   SIM_ERROR_UNRESOLVED, 6, "'there'");
	ck_assert_int_eq(sim_module_load(&device.dev, newer, sizeof(newer), &module, &err), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_UNSUPPORTED);
	ck_assert_uint_eq(err.line, 2);
	ck_assert_int_eq(sim_module_load(&device.dev, only, sizeof(only), &module, &err), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_UNSUPPORTED);
	/* a failed load leaves nothing allocated */
	ck_assert_uint_eq(device.allocated, 0);
}
END_TEST

static const char poke[] =
	".entry poke(.param .u64 p) {\n.reg .b64 %p, %l; .reg .b32 %t;\n.shared .align 4 .b8 s[64]; .local .align 8 .b8 d[64];\n"
	"ld.param.u64 %p, [p]; mov.u32 %t, %tid.x; mul.wide.u32 %l, %t, 4; add.u64 %p, %p, %l;\n"
	"st.global.u32 [%p], %t;\nret; }\n"						/* line 8 */
	".entry shared(.param .u64 p) {\n.reg .b64 %p; .reg .b32 %t; .shared .align 4 .b8 s[64];\n"
	"ld.param.u64 %p, [p]; mov.u32 %t, s;\nst.shared.u32 [%p], %t; ret; }\n"	/* line 13 */
	".entry local(.param .u64 p) {\n.reg .b64 %p; .local .align 8 .b8 d[64];\n"
	"ld.param.u64 %p, [p]; st.local.u64 [d], %p;\nst.local.u32 [%p], 5; ret; }\n";	/* line 17 */

START_TEST(test_bad_global)
{
	uint32_t *memory = test_alloc(&device, 256);
	struct { void *p; } params = { memory };
	char address[32];

	load_ok(poke);
	run_ok("poke", 1, 64, &params);
	ck_assert_uint_eq(memory[63], 63);
	ck_assert_int_eq(run("poke", 1, 96, &params), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_ADDRESS);
	ck_assert_uint_eq(err.line, 8);
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)(uintptr_t)(memory + 64));
	ck_assert_msg(strstr(err.text, "'poke'") && strstr(err.text, "line 8") && strstr(err.text, address) &&
		      strstr(err.text, "block (0,0,0)") && strstr(err.text, "thread (64,0,0)"), "%s", err.text);
	params.p = (char *)memory + 2;
	ck_assert_int_eq(run("poke", 1, 1, &params), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_ALIGN);
	params.p = NULL;
	ck_assert_int_eq(run("poke", 1, 1, &params), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_ADDRESS);
}
END_TEST

START_TEST(test_bad_shared_and_local)
{
	struct { uint64_t p; } params = { 60 };

	load_ok(poke);
	run_ok("shared", 1, 1, &params);
	params.p = 64;
	ck_assert_int_eq(run("shared", 1, 1, &params), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_ADDRESS);
	ck_assert_uint_eq(err.line, 13);
	params.p = 8;
	run_ok("local", 1, 1, &params);
	params.p = 1 << 20;
	ck_assert_int_eq(run("local", 1, 1, &params), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_ADDRESS);
	ck_assert_uint_eq(err.line, 17);
}
END_TEST

START_TEST(test_launch_limits)
{
	struct sim_launch launch = { .grid = { 1, 1, 1 }, .block = { 1025, 1, 1 } };
	struct sim_kernel *kernel;

	load_ok(".extern .shared .align 16 .b8 s[];\n.entry k() { .reg .b32 %r; mov.u32 %r, s; ret; }\n"
		".entry small() .maxntid 32 { ret; }\n.entry exact() .reqntid 64 { ret; }");
	kernel = sim_module_find_kernel(module, "k");
	ck_assert_int_eq(sim_kernel_run(kernel, &launch, &err), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_LAUNCH);
	launch.block[0] = 32;
	launch.dynamic_shared = device.dev.max_shared_per_block + 1;
	ck_assert_int_eq(sim_kernel_run(kernel, &launch, &err), -1);
	launch.dynamic_shared--;
	ck_assert_int_eq(sim_kernel_run(kernel, &launch, &err), 0);
	launch.grid[1] = 0;
	ck_assert_int_eq(sim_kernel_run(kernel, &launch, &err), -1);
	ck_assert_int_eq(run("small", 1, 64, NULL), -1);
	ck_assert_int_eq(run("exact", 1, 32, NULL), -1);
	ck_assert_int_eq(run("exact", 1, 64, NULL), 0);
}
END_TEST

START_TEST(test_trap_and_deadlock)
{
	load_ok(".entry t() { .reg .pred %p; .reg .b32 %r; mov.u32 %r, %tid.x; setp.eq.u32 %p, %r, 3;\n@%p trap; ret; }\n"
		".entry d() { .reg .pred %p; .reg .b32 %r; mov.u32 %r, %tid.x; setp.lt.u32 %p, %r, 32;\n"
		"@%p bar.sync 1, 64;\n@!%p bar.sync 2, 64; ret; }");
	ck_assert_int_eq(run("t", 1, 32, NULL), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_TRAP);
	ck_assert_uint_eq(err.line, 5);
	ck_assert_ptr_nonnull(strstr(err.text, "thread (3,0,0)"));
	ck_assert_int_eq(run("d", 1, 64, NULL), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "cannot come"));
}
END_TEST

START_TEST(test_stack_overflow)
{
	load_ok(".func f(.param .b32 a) {\n.param .b32 x; .reg .b32 %r; ld.param.b32 %r, [a]; st.param.b32 [x], %r;\n"
		"call f, (x); ret; }\n.entry k() { .param .b32 y; .reg .b32 %r; mov.b32 %r, 1; st.param.b32 [y], %r; call f, (y); ret; }");
	ck_assert_int_eq(run("k", 1, 1, NULL), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_ADDRESS);
	ck_assert_ptr_nonnull(strstr(err.text, "stack overflow"));
}
END_TEST

/* alloca in a called function is undone when it returns: 400 calls of 1000 bytes fit. */
START_TEST(test_alloca)
{
	uint32_t *out = test_alloc(&device, 4 * 32), i;
	struct { void *out; } params = { out };

	load_ok(".func (.param .b32 r) f(.param .b32 a) { .reg .b64 %p, %n; .reg .b32 %a, %b; ld.param.b32 %a, [a];\n"
		"and.b32 %b, %a, 1; mad.lo.u32 %b, %b, 8, 992; cvt.u64.u32 %n, %b; alloca.u64 %p, %n, 16; st.local.u32 [%p], %a;\n"
		"add.u64 %p, %p, %n; st.local.u32 [%p+-4], 7; sub.u64 %p, %p, %n; ld.local.u32 %a, [%p]; add.u32 %a, %a, 1;\n"
		"st.param.b32 [r], %a; ret; }\n"
		".entry k(.param .u64 out) { .reg .b64 %p, %l; .reg .b32 %a, %i; .reg .pred %q; .param .b32 x; .param .b32 y;\n"
		"ld.param.u64 %p, [out]; mov.u32 %a, %tid.x; mul.wide.u32 %l, %a, 4; add.u64 %p, %p, %l; mov.u32 %i, 0;\n"
		"L: st.param.b32 [x], %a; call (y), f, (x); ld.param.b32 %a, [y]; add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 400;\n"
		"@%q bra L; st.global.u32 [%p], %a; ret; }");
	run_ok("k", 1, 32, &params);
	for (i = 0; i < 32; i++)
		ck_assert_uint_eq(out[i], i + 400);
}
END_TEST

/* Shared variables of kernels that do not meet may overlap; those of one call tree may not. */
START_TEST(test_shared_layout)
{
	uint32_t *out = test_alloc(&device, 64);
	struct { void *out; } params = { out };

	load_ok(".shared .align 4 .b8 common[16];\n"
		".func (.param .b32 r) deep() { .shared .align 4 .b8 own[32]; .reg .b32 %a; mov.u32 %a, common; sub.u32 %a, own, %a; st.param.b32 [r], %a; ret; }\n"
		".entry one(.param .u64 out) { .shared .align 8 .b8 mine[8]; .reg .b32 %a, %b; .reg .b64 %p; .param .b32 x;\n"
		"ld.param.u64 %p, [out]; mov.u32 %a, mine; st.global.u32 [%p], %a; call (x), deep; ld.param.b32 %b, [x]; st.global.u32 [%p+4], %b;\n"
		"st.shared.u32 [mine], 3; st.shared.u32 [common], 4; ld.shared.u32 %a, [mine]; st.global.u32 [%p+8], %a; ret; }\n"
		".entry two() { .shared .align 8 .b8 other[64]; .reg .b32 %a; mov.u32 %a, other; ret; }");
	ck_assert_uint_eq(sim_kernel_info(sim_module_find_kernel(module, "one"))->static_shared, 56);
	ck_assert_uint_eq(sim_kernel_info(sim_module_find_kernel(module, "two"))->static_shared, 64);
	run_ok("one", 1, 1, &params);
	ck_assert_uint_eq(out[1], 16);
	ck_assert_uint_eq(out[2], 3);
}
END_TEST

START_TEST(test_dynamic_shared)
{
	uint32_t *out = test_alloc(&device, 64);
	struct { void *out; } params = { out };
	struct sim_launch launch = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .dynamic_shared = 40,
				     .params = &params };

	load_ok(".extern .shared .align 16 .b8 dyn[];\n.shared .align 4 .b8 fixed[20];\n"
		".entry k(.param .u64 out) { .reg .b32 %a, %b; .reg .b64 %p; ld.param.u64 %p, [out]; mov.u32 %b, fixed;\n"
		"mov.u32 %a, dyn; sub.u32 %a, %a, %b; st.global.u32 [%p], %a; mov.u32 %a, %dynamic_smem_size; st.global.u32 [%p+4], %a;\n"
		"mov.u32 %a, 77; st.shared.u32 [dyn+36], %a; ld.shared.u32 %b, [dyn+36]; st.global.u32 [%p+8], %b; ret; }");
	ck_assert_msg(!sim_kernel_run(sim_module_kernel(module, 0), &launch, &err), "%s", err.text);
	ck_assert_uint_eq(out[0], 32);
	ck_assert_uint_eq(out[1], 40);
	ck_assert_uint_eq(out[2], 77);
}
END_TEST

START_TEST(test_globaltimer)
{
	uint64_t *out = test_alloc(&device, 64);
	struct { void *out; } params = { out };

	load_ok(".entry k(.param .u64 out) { .reg .b64 %p, %a, %b; ld.param.u64 %p, [out]; mov.u64 %a, %globaltimer;\n"
		"mov.u64 %b, %globaltimer; sub.u64 %b, %b, %a; st.global.u64 [%p], %a; st.global.u64 [%p+8], %b;\n"
		"mov.u64 %a, %clock64; mov.u64 %b, %clock64; sub.u64 %b, %b, %a; st.global.u64 [%p+16], %b; ret; }");
	device.timer = 1000000;
	run_ok("k", 1, 1, &params);
	ck_assert_uint_eq(out[0], 1000032);
	ck_assert_uint_eq(out[1], 32);
	ck_assert_uint_lt(out[2], 1ull << 40);
}
END_TEST

/* Each lane takes a lock that one lane of its warp holds: all must come through. */
START_TEST(test_spin_locks)
{
	uint32_t *memory = test_alloc(&device, 64);
	struct { void *p; } params = { memory };

	load_ok(".entry leave(.param .u64 p) { .reg .b64 %p; .reg .b32 %a; .reg .pred %q; ld.param.u64 %p, [p];\n"
		"L: atom.global.cas.b32 %a, [%p], 0, 1; setp.ne.u32 %q, %a, 0;\n@%q bra L;\n"
		"ld.volatile.global.u32 %a, [%p+4]; add.u32 %a, %a, 1; st.volatile.global.u32 [%p+4], %a; membar.gl;\n"
		"st.volatile.global.u32 [%p], 0; ret; }\n"
		".entry inside(.param .u64 p) { .reg .b64 %p; .reg .b32 %a; .reg .pred %q; ld.param.u64 %p, [p];\n"
		"L: atom.global.exch.b32 %a, [%p], 1; setp.ne.u32 %q, %a, 0;\n@%q bra L;\n"
		"ld.volatile.global.u32 %a, [%p+4]; add.u32 %a, %a, 1; st.volatile.global.u32 [%p+4], %a; membar.gl;\n"
		"atom.global.exch.b32 %a, [%p], 0; bar.warp.sync 0xffffffff; bar.sync 0; ret; }");
	run_ok("leave", 6, 128, &params);
	ck_assert_uint_eq(memory[1], 6 * 128);
	memory[1] = 0;
	run_ok("inside", 4, 96, &params);
	ck_assert_uint_eq(memory[1], 4 * 96);
}
END_TEST

/*
 * Lanes that are done wait for those of their warp that go on: that add to memory, that compute, that wait for
 * another warp (64 threads), which works for 100,000 turns first.
 */
START_TEST(test_waiting_together)
{
	static const struct { const char *name; unsigned threads; } kernels[] = {
		{ "adds", 32 }, { "computes", 32 }, { "waits", 64 },
	};
	uint32_t *memory = test_alloc(&device, 4096);
	struct { void *p; } params = { memory };

#define BEGIN(name) \
	".entry " name "(.param .u64 p) { .reg .b64 %p, %o; .reg .b32 %a, %n, %w; .reg .pred %q; ld.param.u64 %p, [p];\n" \
	"mov.u32 %w, %tid.x; mul.wide.u32 %o, %w, 4; add.u64 %o, %o, %p; mov.u32 %n, %laneid;\n"
#define END "activemask.b32 %a; st.global.u32 [%o+64], %a; ret; }\n"
	load_ok(BEGIN("adds") "shr.u32 %n, %n, 4; mul.lo.u32 %n, %n, 20000; add.u32 %n, %n, 1;\n"
		"L: atom.global.add.u32 %a, [%p], 1; sub.u32 %n, %n, 1; setp.ne.u32 %q, %n, 0; @%q bra L;\n" END
		BEGIN("computes") "shr.u32 %n, %n, 4; mul.lo.u32 %n, %n, 150000; add.u32 %n, %n, 1;\n"
		"L: sub.u32 %n, %n, 1; setp.ne.u32 %q, %n, 0; @%q bra L;\n" END
		BEGIN("waits") "setp.ge.u32 %q, %w, 32; @%q bra OTHER; setp.lt.u32 %q, %n, 16; @%q bra OUT;\n"
		"L: ld.volatile.global.u32 %a, [%p+4]; setp.eq.u32 %q, %a, 0; @%q bra L; bra OUT;\n"
		"OTHER: mov.u32 %n, 100000;\n"
		"M: sub.u32 %n, %n, 1; setp.ne.u32 %q, %n, 0; @%q bra M; st.volatile.global.u32 [%p+4], 1;\nOUT: " END);
	for (unsigned i = 0; i < 3; i++) {
		memset(memory, 0, 4096);
		run_ok(kernels[i].name, 1, kernels[i].threads, &params);
		for (unsigned t = 0; t < kernels[i].threads; t++)
			ck_assert_msg(memory[16 + t] == 0xffffffff, "%s: thread %u with %#x", kernels[i].name, t, memory[16 + t]);
	}
}
END_TEST

/* The last block of an ordinary launch lets all others go. */
START_TEST(test_blocks_wait)
{
	uint32_t *memory = test_alloc(&device, 64);
	struct { void *p; } params = { memory };

	load_ok(".entry k(.param .u64 p) { .reg .b64 %p; .reg .b32 %a, %n; .reg .pred %q; ld.param.u64 %p, [p];\n"
		"mov.u32 %a, %ctaid.x; mov.u32 %n, %nctaid.x; sub.u32 %n, %n, 1; setp.eq.u32 %q, %a, %n;\n"
		"@%q st.volatile.global.u32 [%p], 1;\nL: ld.volatile.global.u32 %a, [%p]; setp.eq.u32 %q, %a, 0;\n@%q bra L;\n"
		"red.global.add.u32 [%p+4], 1; ret; }");
	run_ok("k", 200, 32, &params);
	ck_assert_uint_eq(memory[1], 200 * 32);
}
END_TEST

static void *let_go(void *arg)
{
	uint32_t *memory = arg;

	while (!__atomic_load_n(&memory[1], __ATOMIC_ACQUIRE))
		;
	__atomic_store_n(&memory[0], 5, __ATOMIC_RELEASE);
	return NULL;
}

/* A kernel waits for the host, and a second one runs meanwhile. */
START_TEST(test_host_and_kernels)
{
	uint32_t *memory = test_alloc(&device, 64);
	struct { void *p; } params = { memory };
	pthread_t thread;

	load_ok(".entry k(.param .u64 p) { .reg .b64 %p; .reg .b32 %a; .reg .pred %q; ld.param.u64 %p, [p];\n"
		"st.release.sys.global.u32 [%p+4], 1;\nL: ld.acquire.sys.global.u32 %a, [%p]; setp.ne.u32 %q, %a, 5;\n@%q bra L;\n"
		"st.global.u32 [%p+8], %a; ret; }");
	pthread_create(&thread, NULL, let_go, memory);
	run_ok("k", 1, 1, &params);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(memory[2], 5);
}
END_TEST

static void *add_many(void *arg)
{
	struct { void *p; } params = { arg };
	struct sim_launch launch = { .grid = { 40, 1, 1 }, .block = { 64, 1, 1 }, .params = &params };
	struct sim_error e;
	long failed = 0;

	for (int i = 0; i < 10; i++)
		failed |= sim_kernel_run(sim_module_kernel(module, 0), &launch, &e);
	return (void *)failed;
}

START_TEST(test_concurrent_atomics)
{
	uint32_t *memory = test_alloc(&device, 64);
	pthread_t threads[2];
	void *failed;
	int i;

	load_ok(".entry k(.param .u64 p) { .reg .b64 %p; .reg .b32 %a; ld.param.u64 %p, [p];\n"
		"red.global.add.u32 [%p], 1; atom.global.add.f32 %a, [%p+4], 0f3f800000; atom.add.u64 %p, [%p+8], 1; ret; }");
	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, add_many, memory);
	for (i = 0; i < 1000; i++)
		__atomic_fetch_add(&memory[0], 1, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++) {
		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
	}
	ck_assert_uint_eq(memory[0], 2 * 10 * 40 * 64 + 1000);
	ck_assert_uint_eq(((uint64_t *)memory)[1], 2 * 10 * 40 * 64);
}
END_TEST

/* Lanes meet behind an if and behind a loop that they leave at different times. */
START_TEST(test_convergence)
{
	uint32_t *out = test_alloc(&device, 4 * 96), i;
	struct { void *out; } params = { out };

	load_ok(".entry k(.param .u64 out) { .reg .b64 %p, %l; .reg .b32 %t, %m, %i; .reg .pred %q; ld.param.u64 %p, [out];\n"
		"mov.u32 %t, %tid.x; mul.wide.u32 %l, %t, 12; add.u64 %p, %p, %l; setp.lt.u32 %q, %t, 5;\n"
		"@%q bra COLD;\nJOIN: activemask.b32 %m; st.global.u32 [%p], %m; mov.u32 %i, 0;\n"
		"LOOP: setp.eq.u32 %q, %i, %t;\n@%q bra DONE;\nadd.u32 %i, %i, 1; bra LOOP;\n"
		"DONE: activemask.b32 %m; st.global.u32 [%p+4], %m; ret;\n"
		"COLD: activemask.b32 %m; st.global.u32 [%p+8], %m; bra JOIN; }");
	run_ok("k", 1, 32, &params);
	for (i = 0; i < 32; i++) {
		ck_assert_uint_eq(out[3 * i], 0xffffffff);
		ck_assert_uint_eq(out[3 * i + 1], 0xffffffff);
		ck_assert_uint_eq(out[3 * i + 2], i < 5 ? 31 : 0);
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		test_integers, test_carry, test_bits, test_floats, test_halves, test_conversions,
		test_selection, test_moves, test_scopes_and_noise, test_info, test_syntax_errors,
		test_other_load_errors, test_bad_global, test_bad_shared_and_local, test_launch_limits,
		test_trap_and_deadlock, test_stack_overflow, test_alloca, test_shared_layout, test_dynamic_shared,
		test_globaltimer, test_spin_locks, test_waiting_together, test_blocks_wait, test_host_and_kernels,
		test_concurrent_atomics, test_convergence,
	};
	TCase *tcase = tcase_create("ptx");
	unsigned i;

	tcase_add_checked_fixture(tcase, setup, teardown);
	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		tcase_add_test(tcase, tests[i]);
	return run_case("sim-ptx", tcase);
}
