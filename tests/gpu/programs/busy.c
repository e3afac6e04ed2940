/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU that has nothing to do, then memory, then all to do; each for --seconds (2), as "idle FROM TO", "memory FROM TO"
 * and "busy FROM TO" in ns of CLOCK_MONOTONIC.  "bytes N": how much memory.
 */
#include "driver.h"

#define BLOCKS 2048
#define WIDTH 256
#define BYTES (UINT64_C(1) << 30)

/* Computes until 20 ms have passed; all threads do the same. */
static const char ptx[] =
	".version 6.3\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry compute(.param .u64 out)\n"
	"{\n"
	"	.reg .pred %more;\n"
	"	.reg .f32 %a, %b, %c, %d;\n"
	"	.reg .b32 %i;\n"
	"	.reg .b64 %out, %start, %now, %passed;\n"
	"	mov.u64 %start, %globaltimer;\n"
	"	mov.f32 %a, 0f3F800000;\n"
	"	mov.f32 %b, %a;\n"
	"	mov.f32 %c, %a;\n"
	"	mov.f32 %d, %a;\n"
	"again:\n"
	"	mov.u32 %i, 0;\n"
	"inner:\n"
	"	fma.rn.f32 %a, %a, %a, %d;\n"
	"	fma.rn.f32 %b, %b, %b, %a;\n"
	"	fma.rn.f32 %c, %c, %c, %b;\n"
	"	fma.rn.f32 %d, %d, %d, %c;\n"
	"	add.u32 %i, %i, 1;\n"
	"	setp.lt.u32 %more, %i, 256;\n"
	"	@%more bra inner;\n"
	"	mov.u64 %now, %globaltimer;\n"
	"	sub.u64 %passed, %now, %start;\n"
	"	setp.lt.u64 %more, %passed, 20000000;\n"
	"	@%more bra again;\n"
	"	ld.param.u64 %out, [out];\n"
	"	cvta.to.global.u64 %out, %out;\n"
	"	st.global.f32 [%out], %d;\n"
	"	ret;\n"
	"}\n";

static void say(const char *what, uint64_t from)
{
	printf("%s %llu %llu\n", what, (unsigned long long)from, (unsigned long long)now());
}

int main(int argc, char **argv)
{
	unsigned seconds = (unsigned)option(argc, argv, "--seconds", 2);
	void *module, *function;
	uint64_t out, memory, from;
	void *parameters[] = { &out };

	driver_open();
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, "compute"));
	CHECK(cuMemAlloc_v2(&out, 4));
	from = now();
	sleep(seconds);
	say("idle", from);
	CHECK(cuMemAlloc_v2(&memory, BYTES));
	from = now();
	sleep(seconds);
	say("memory", from);
	from = now();
	while (now() - from < seconds * UINT64_C(1000000000)) {
		/* One waits while the other runs. */
		for (int i = 0; i < 2; i++)
			CHECK(cuLaunchKernel(function, BLOCKS, 1, 1, WIDTH, 1, 1, 0, NULL, parameters, NULL));
		CHECK(cuCtxSynchronize());
	}
	say("busy", from);
	CHECK(cuMemFree_v2(memory));
	CHECK(cuMemFree_v2(out));
	CHECK(cuModuleUnload(module));
	driver_close();
	printf("bytes %llu\n", (unsigned long long)BYTES);
	return 0;
}
