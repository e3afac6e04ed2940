/* SPDX-License-Identifier: Apache-2.0 */
/* A module that the driver links from two PTX texts, one of which calls the other. */
#include "driver.h"

#define BLOCKS 4
#define WIDTH 64
#define N (BLOCKS * WIDTH)
#define INPUT_PTX 1

static const char caller[] =
	".version 6.3\n"
	".target sm_75\n"
	".address_size 64\n"
	".extern .func (.param .b32 result) twist(.param .b32 value);\n"
	".extern .global .u32 calls;\n"
	".visible .entry linked(.param .u64 out)\n"
	"{\n"
	"	.reg .b32 %i, %block, %width, %value;\n"
	"	.reg .b64 %out, %offset;\n"
	"	mov.u32 %i, %tid.x;\n"
	"	mov.u32 %block, %ctaid.x;\n"
	"	mov.u32 %width, %ntid.x;\n"
	"	mad.lo.u32 %i, %block, %width, %i;\n"
	"	{\n"
	"	.param .b32 to, from;\n"
	"	st.param.b32 [to], %i;\n"
	"	call.uni (from), twist, (to);\n"
	"	ld.param.b32 %value, [from];\n"
	"	}\n"
	"	ld.param.u64 %out, [out];\n"
	"	cvta.to.global.u64 %out, %out;\n"
	"	mul.wide.u32 %offset, %i, 4;\n"
	"	add.u64 %out, %out, %offset;\n"
	"	st.global.u32 [%out], %value;\n"
	"	red.global.add.u32 [calls], 1;\n"
	"	ret;\n"
	"}\n";

static const char callee[] =
	".version 6.3\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .global .u32 calls = 7;\n"
	".visible .func (.param .b32 result) twist(.param .b32 value)\n"
	"{\n"
	"	.reg .b32 %value;\n"
	"	ld.param.b32 %value, [value];\n"
	"	mad.lo.u32 %value, %value, 1664525, 1013904223;\n"
	"	st.param.b32 [result], %value;\n"
	"	ret;\n"
	"}\n";

#define LINK_FUNCTIONS(X) \
	X(cuLinkCreate_v2, (unsigned, void *, void *, void **)) \
	X(cuLinkAddData_v2, (void *, int, const void *, size_t, const char *, unsigned, void *, void *)) \
	X(cuLinkComplete, (void *, void **, size_t *)) \
	X(cuLinkDestroy, (void *))
LINK_FUNCTIONS(DECLARE)

int main(void)
{
	void *link, *code, *module, *function;
	uint32_t seen[N], calls;
	uint64_t out, address;
	void *parameters[] = { &out };
	size_t size;

	driver_open();
	LINK_FUNCTIONS(FIND)
	CHECK(cuLinkCreate_v2(0, NULL, NULL, &link));
	CHECK(cuLinkAddData_v2(link, INPUT_PTX, caller, sizeof(caller), "caller", 0, NULL, NULL));
	CHECK(cuLinkAddData_v2(link, INPUT_PTX, callee, sizeof(callee), "callee", 0, NULL, NULL));
	CHECK(cuLinkComplete(link, &code, &size));
	CHECK(cuModuleLoadData(&module, code));
	CHECK(cuLinkDestroy(link));
	CHECK(cuModuleGetFunction(&function, module, "linked"));
	CHECK(cuMemAlloc_v2(&out, sizeof(seen)));
	CHECK(cuLaunchKernel(function, BLOCKS, 1, 1, WIDTH, 1, 1, 0, NULL, parameters, NULL));
	CHECK(cuMemcpyDtoH_v2(seen, out, sizeof(seen)));
	for (unsigned i = 0; i < N; i++)
		require(seen[i] == i * 1664525u + 1013904223u, "the values");
	CHECK(cuModuleGetGlobal_v2(&address, &size, module, "calls"));
	CHECK(cuMemcpyDtoH_v2(&calls, address, sizeof(calls)));
	require(calls == 7 + N, "the variable of the other text");
	report(1, N, checksum(seen, N));
	driver_close();
	return 0;
}
