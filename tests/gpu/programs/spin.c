/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of known length: one thread that spins on the GPU's clock.  For each
 * one a line "spin ASKED OWN": the ns asked for, and what it measured itself.
 */
#include "driver.h"

static const char ptx[] =
	".version 6.3\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry spin(.param .u64 out, .param .u64 length)\n"
	"{\n"
	"	.reg .pred %more;\n"
	"	.reg .b64 %out, %length, %start, %now, %passed;\n"
	"	mov.u64 %start, %globaltimer;\n"
	"	ld.param.u64 %length, [length];\n"
	"again:\n"
	"	mov.u64 %now, %globaltimer;\n"
	"	sub.u64 %passed, %now, %start;\n"
	"	setp.lt.u64 %more, %passed, %length;\n"
	"	@%more bra again;\n"
	"	ld.param.u64 %out, [out];\n"
	"	cvta.to.global.u64 %out, %out;\n"
	"	st.global.u64 [%out], %passed;\n"
	"	ret;\n"
	"}\n";

static const uint64_t lengths[] = { 50000, 500000, 5000000 };

int main(int argc, char **argv)
{
	unsigned long rounds = option(argc, argv, "--rounds", 20);
	void *module, *function;
	uint64_t out, own;

	driver_open();
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, "spin"));
	CHECK(cuMemAlloc_v2(&out, sizeof(own)));
	for (unsigned long i = 0; i < rounds * 3; i++) {
		uint64_t length = lengths[i % 3];
		void *parameters[] = { &out, &length };

		CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
		CHECK(cuMemcpyDtoH_v2(&own, out, sizeof(own)));
		printf("spin %llu %llu\n", (unsigned long long)length, (unsigned long long)own);
	}
	CHECK(cuMemFree_v2(out));
	CHECK(cuModuleUnload(module));
	driver_close();
	printf("launches %lu\nthreads %lu\nwarps %lu\n", rounds * 3, rounds * 3, rounds * 3);
	return 0;
}
