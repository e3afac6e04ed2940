/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver says of a kernel of a library, of the function that this is in a context, and of a
 * function of a module, when it is asked which module and which library each belongs to.  A line for each
 * handle and question: the result, and whether the answer is right.
 */
#include "driver.h"

#define HANDLE_FUNCTIONS(X) \
	X(cuLibraryLoadData, (void **, const void *, void *, void *, unsigned, void *, void *, unsigned)) \
	X(cuLibraryGetKernel, (void **, void *, const char *)) \
	X(cuLibraryGetModule, (void **, void *)) \
	X(cuKernelGetFunction, (void **, void *)) \
	X(cuKernelGetLibrary, (void **, void *)) \
	X(cuFuncGetModule, (void **, void *))
HANDLE_FUNCTIONS(DECLARE)

/* Of whichever kind. */
static void launch(void *handle, uint64_t out)
{
	unsigned value = 1;
	void *parameters[] = { &out, &value };

	CHECK(cuLaunchKernel(handle, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
}

static void ask(const char *handle, void *of, const void *module, const void *library)
{
	void *answer = NULL;
	int result = cuFuncGetModule(&answer, of);

	printf("%s module %d %s\n", handle, result, result ? "none" : answer == module ? "right" : "wrong");
	answer = NULL;
	result = cuKernelGetLibrary(&answer, of);
	printf("%s library %d %s\n", handle, result, result ? "none" : answer == library ? "right" : "wrong");
}

int main(void)
{
	void *library, *kernel, *function, *module, *its_module, *own;
	uint64_t out;

	driver_open();
#define FIND_HANDLE(name, parameters) *(void **)&name = driver_symbol(driver, #name);
	HANDLE_FUNCTIONS(FIND_HANDLE)
	CHECK(cuLibraryLoadData(&library, STEP_PTX("step"), NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuModuleLoadData(&module, STEP_PTX("step")));
	CHECK(cuLibraryGetKernel(&kernel, library, "step"));
	CHECK(cuLibraryGetModule(&its_module, library));
	CHECK(cuKernelGetFunction(&function, kernel));
	CHECK(cuModuleGetFunction(&own, module, "step"));
	ask("kernel", kernel, its_module, library);
	ask("its-function", function, its_module, library);
	ask("function", own, module, NULL);
	CHECK(cuMemAlloc_v2(&out, 32 * sizeof(uint32_t)));
	launch(kernel, out);
	launch(function, out);
	launch(own, out);
	CHECK(cuCtxSynchronize());
	driver_close();
	return 0;
}
