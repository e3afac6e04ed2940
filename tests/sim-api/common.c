/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim-api/common.h"

const char test_ptx[] =
	".version 7.0\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .global .align 4 .u32 counter = 41;\n"
	"\n"
	".visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)\n"
	"{\n"
	"	.reg .pred %p<2>;\n"
	"	.reg .b32 %r<6>;\n"
	"	.reg .f32 %f<5>;\n"
	"	.reg .b64 %rd<8>;\n"
	"	ld.param.u32 %r1, [n];\n"
	"	mov.u32 %r2, %ctaid.x;\n"
	"	mov.u32 %r3, %ntid.x;\n"
	"	mov.u32 %r4, %tid.x;\n"
	"	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
	"	setp.ge.u32 %p1, %r5, %r1;\n"
	"	@%p1 bra done;\n"
	"	ld.param.f32 %f1, [a];\n"
	"	ld.param.u64 %rd1, [x];\n"
	"	ld.param.u64 %rd2, [y];\n"
	"	mul.wide.u32 %rd5, %r5, 4;\n"
	"	add.s64 %rd6, %rd1, %rd5;\n"
	"	add.s64 %rd7, %rd2, %rd5;\n"
	"	ld.global.f32 %f2, [%rd6];\n"
	"	ld.global.f32 %f3, [%rd7];\n"
	"	fma.rn.f32 %f4, %f1, %f2, %f3;\n"
	"	st.global.f32 [%rd7], %f4;\n"
	"done:\n"
	"	ret;\n"
	"}\n"
	"\n"
	".visible .entry store(.param .u64 p, .param .u32 v)\n"
	"{\n"
	"	.reg .b32 %r<2>;\n"
	"	.reg .b64 %rd<2>;\n"
	"	ld.param.u64 %rd1, [p];\n"
	"	ld.param.u32 %r1, [v];\n"
	"	st.global.u32 [%rd1], %r1;\n"
	"	ret;\n"
	"}\n"
	"\n"
	".visible .entry add(.param .u64 p, .param .u32 v)\n"
	"{\n"
	"	.reg .b32 %r<4>;\n"
	"	.reg .b64 %rd<2>;\n"
	"	ld.param.u64 %rd1, [p];\n"
	"	ld.param.u32 %r1, [v];\n"
	"	ld.global.u32 %r2, [%rd1];\n"
	"	add.u32 %r3, %r2, %r1;\n"
	"	st.global.u32 [%rd1], %r3;\n"
	"	ret;\n"
	"}\n"
	"\n"
	".visible .entry gid(.param .u64 p)\n"
	"{\n"
	"	.reg .b64 %rd<3>;\n"
	"	ld.param.u64 %rd1, [p];\n"
	"	mov.u64 %rd2, %gridid;\n"
	"	st.global.u64 [%rd1], %rd2;\n"
	"	ret;\n"
	"}\n"
	"\n"
	".visible .entry spin(.param .u64 p, .param .u32 v)\n"
	"{\n"
	"	.reg .pred %p<2>;\n"
	"	.reg .b32 %r<3>;\n"
	"	.reg .b64 %rd<2>;\n"
	"	ld.param.u64 %rd1, [p];\n"
	"	ld.param.u32 %r1, [v];\n"
	"again:\n"
	"	ld.volatile.global.u32 %r2, [%rd1];\n"
	"	setp.ne.u32 %p1, %r2, %r1;\n"
	"	@%p1 bra again;\n"
	"	ret;\n"
	"}\n"
	"\n"
	".visible .entry fail()\n"
	"{\n"
	"	trap;\n"
	"	ret;\n"
	"}\n"
	"\n"
	".visible .entry shared(.param .u64 p)\n"
	".maxntid 128, 1, 1\n"
	"{\n"
	"	.shared .align 4 .b8 room[64];\n"
	"	.reg .b32 %r<3>;\n"
	"	.reg .b64 %rd<2>;\n"
	"	mov.u32 %r1, 7;\n"
	"	st.shared.u32 [room], %r1;\n"
	"	ld.shared.u32 %r2, [room];\n"
	"	ld.param.u64 %rd1, [p];\n"
	"	st.global.u32 [%rd1], %r2;\n"
	"	ret;\n"
	"}\n";

CUmodule setup(void)
{
	CUcontext ctx;
	CUmodule module;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	OK(cuModuleLoadData(&module, test_ptx));
	return module;
}

void teardown(void)
{
	OK(cuDevicePrimaryCtxRelease_v2(0));
	OK(cuCtxSetCurrent(NULL));
}

CUfunction function(CUmodule module, const char *name)
{
	CUfunction f;

	OK(cuModuleGetFunction(&f, module, name));
	return f;
}

static void launch2(CUmodule module, const char *name, CUstream stream, CUdeviceptr p, uint32_t value)
{
	void *params[] = { &p, &value };

	OK(cuLaunchKernel(function(module, name), 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

void launch_store(CUmodule module, CUstream stream, CUdeviceptr p, uint32_t value)
{
	launch2(module, "store", stream, p, value);
}

void launch_add(CUmodule module, CUstream stream, CUdeviceptr p, uint32_t value)
{
	launch2(module, "add", stream, p, value);
}

void launch_spin(CUmodule module, CUstream stream, CUdeviceptr p, uint32_t value)
{
	launch2(module, "spin", stream, p, value);
}

uint32_t *gate_new(void)
{
	void *memory;

	OK(cuMemHostAlloc(&memory, sizeof(uint32_t), CU_MEMHOSTALLOC_DEVICEMAP));
	*(uint32_t *)memory = 0;
	return memory;
}

void gate_open(uint32_t *gate)
{
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
}

