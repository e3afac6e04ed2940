/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's way to give one library code for GPUs of several architectures: the
 * driver's linker makes machine code for each, and the agent's writer puts it into a
 * container, from which the driver must choose.  A kernel adds the number of its
 * variant, so that one sees which ran.
 */
#define MORE_FUNCTIONS(X) \
	X(cuDeviceGetAttribute, (int *, int, int)) \
	X(cuLinkCreate_v2, (unsigned, int *, void **, void **)) \
	X(cuLinkAddData_v2, (void *, int, void *, size_t, const char *, unsigned, int *, void **)) \
	X(cuLinkComplete, (void *, void **, size_t *)) \
	X(cuLinkDestroy, (void *)) \
	X(cuLibraryLoadData, (void **, const void *, void *, void *, unsigned, void *, void *, unsigned)) \
	X(cuLibraryGetKernel, (void **, void *, const char *)) \
	X(cuLibraryUnload, (void *))

#include "driver.h"
#include "lib/agent/image/image.h"

#define ATTRIBUTE_MAJOR 75
#define ATTRIBUTE_MINOR 76
#define JIT_TARGET 9
#define INPUT_PTX 1
#define WIDTH 64

#define VARIANT(number) \
	".version 6.3\n" \
	".target sm_75\n" \
	".address_size 64\n" \
	".visible .entry variant(.param .u64 out)\n" \
	"{\n" \
	"	.reg .b32 %i, %value;\n" \
	"	.reg .b64 %out, %offset;\n" \
	"	ld.param.u64 %out, [out];\n" \
	"	cvta.to.global.u64 %out, %out;\n" \
	"	mov.u32 %i, %tid.x;\n" \
	"	mul.wide.u32 %offset, %i, 4;\n" \
	"	add.u64 %out, %out, %offset;\n" \
	"	ld.global.u32 %value, [%out];\n" \
	"	add.u32 %value, %value, " number ";\n" \
	"	st.global.u32 [%out], %value;\n" \
	"	ret;\n" \
	"}\n"

static unsigned long launches;

static struct gt_fatbin_part compiled(const char *text, unsigned arch)
{
	struct gt_fatbin_part part = { .arch = arch };
	void *values[] = { (void *)(uintptr_t)arch }, *state, *code, *copy;
	int options[] = { JIT_TARGET };

	CHECK(cuLinkCreate_v2(1, options, values, &state));
	CHECK(cuLinkAddData_v2(state, INPUT_PTX, (void *)(uintptr_t)text, strlen(text) + 1, "variant", 0, NULL, NULL));
	CHECK(cuLinkComplete(state, &code, &part.size));
	copy = malloc(part.size);
	memcpy(copy, code, part.size);
	part.code = copy;
	CHECK(cuLinkDestroy(state));
	return part;
}

/* Load what the parts make, run it twice, and see which part it was. */
static void run(const struct gt_fatbin_part *parts, unsigned count, uint32_t expected)
{
	void *library, *kernel, *image;
	uint32_t values[WIDTH];
	uint64_t out;
	size_t size;
	void *parameters[] = { &out };

	image = gt_fatbin_write(parts, count, &size);
	require(image && size, "a container");
	CHECK(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&kernel, library, "variant"));
	CHECK(cuMemAlloc_v2(&out, sizeof(values)));
	CHECK(cuMemsetD32_v2(out, 0, WIDTH));
	for (int i = 0; i < 2; i++, launches++)
		CHECK(cuLaunchKernel(kernel, 1, 1, 1, WIDTH, 1, 1, 0, NULL, parameters, NULL));
	CHECK(cuMemcpyDtoH_v2(values, out, sizeof(values)));
	for (unsigned i = 0; i < WIDTH; i++)
		require(values[i] == 2 * expected, "the variant for this GPU");
	CHECK(cuMemFree_v2(out));
	CHECK(cuLibraryUnload(library));
	free(image);
}

int main(void)
{
	static const char text[] = VARIANT("3");
	struct gt_fatbin_part here, other, original = { 0 };
	struct gt_image plain;
	int major, minor;
	const char *why;

	driver_open();
	CHECK(cuDeviceGetAttribute(&major, ATTRIBUTE_MAJOR, device));
	CHECK(cuDeviceGetAttribute(&minor, ATTRIBUTE_MINOR, device));
	here = compiled(VARIANT("1"), (unsigned)(major * 10 + minor));
	other = compiled(VARIANT("2"), major == 8 ? 90 : 80);
	require(!gt_image_open(text, &plain, &why), "PTX text");
	original.member = plain.members;
	run((struct gt_fatbin_part[]){ here, other }, 2, 1);
	run((struct gt_fatbin_part[]){ other, here }, 2, 1);
	run((struct gt_fatbin_part[]){ other, original }, 2, 3);
	gt_image_close(&plain);
	free((void *)(uintptr_t)here.code);
	free((void *)(uintptr_t)other.code);
	driver_close();
	printf("launches %lu\nthreads %lu\nwarps %lu\n", launches, launches * WIDTH, launches * 2);
	return 0;
}
