/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that looks like the driver from outside: a few of its names, whose
 * results are easy to foretell.  Not linked to the tests but opened by them.
 */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default"), noinline))

int cuMemAlloc_v2(uint64_t *dptr, size_t bytes);
int cuMemFree_v2(uint64_t dptr);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **params, void **extra);
int cuMemsetD8_v2(uint64_t dptr, unsigned char value, size_t count);
int cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t bytes);
int cuMemcpyHtoDAsync_v2(uint64_t dst, const void *src, size_t bytes, void *stream);
int cuGraphLaunch(void *exec, void *stream);
int cuLaunchHostFunc(void *stream, void (*fn)(void *data), void *data);
int cuCtxGetCurrent(void **context);
int cuMemHostUnregister(uint64_t dptr);

EXPORT int cuMemAlloc_v2(uint64_t *dptr, size_t bytes)
{
	*dptr = 0x7f0000000000ull + bytes;
	return bytes % 1000;
}

EXPORT int cuMemFree_v2(uint64_t dptr)
{
	return -(int)(dptr % 1000);
}

EXPORT int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			  unsigned bz, unsigned shared, void *stream, void **params, void **extra)
{
	return (uintptr_t)f + gx + gy + gz + bx + by + bz + shared + (uintptr_t)stream +
	       (uintptr_t)params + (uintptr_t)extra;
}

EXPORT int cuMemsetD8_v2(uint64_t dptr, unsigned char value, size_t count)
{
	return (int)(dptr + count) + value;
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t dst, const void *src, size_t bytes, void *stream)
{
	return dst && src && bytes && !stream ? 5 : 6;
}

/* One exported function that calls another. */
EXPORT int cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t bytes)
{
	return cuMemcpyHtoDAsync_v2(dst, src, bytes, NULL) + 100;
}

/* Itself again, as often as `exec` says. */
EXPORT int cuGraphLaunch(void *exec, void *stream)
{
	uintptr_t depth = (uintptr_t)exec;
	int below;

	if (!depth)
		return 0;
	below = cuGraphLaunch((void *)(depth - 1), stream);
	__asm__ volatile("" : "+r"(below));	/* else the compiler makes a loop of it */
	return below + 1;
}

/* What `fn` does need not return. */
EXPORT int cuLaunchHostFunc(void *stream, void (*fn)(void *data), void *data)
{
	(void)stream;
	fn(data);
	return 0;
}

EXPORT int cuCtxGetCurrent(void **context)
{
	*context = NULL;
	return 0;
}

/* A second name for one place. */
int cuMemHostUnregister(uint64_t dptr) __attribute__((alias("cuMemFree_v2"), visibility("default")));

#ifdef __x86_64__
/* The driver's own way to begin a function; the result is the argument plus one. */
__asm__(
	".text\n"
	".globl cuStreamSynchronize\n"
	".type cuStreamSynchronize, @function\n"
	".p2align 4\n"
	"cuStreamSynchronize:\n"
	"	.byte 0x55\n"			/* push rbp */
	"	.byte 0x48, 0x89, 0xe5\n"	/* mov rbp, rsp */
	"	.byte 0x41, 0x54\n"		/* push r12 */
	"	subq $8, %rsp\n"
	"	leal 1(%rdi), %eax\n"
	"	addq $8, %rsp\n"
	"	popq %r12\n"
	"	popq %rbp\n"
	"	ret\n"
	".size cuStreamSynchronize, .-cuStreamSynchronize\n"
	/* Ends by a jump into another exported function. */
	".globl cuStreamQuery\n"
	".type cuStreamQuery, @function\n"
	".p2align 4\n"
	"cuStreamQuery:\n"
	"	addq $1000, %rdi\n"
	"	jmp cuStreamSynchronize@PLT\n"
	".size cuStreamQuery, .-cuStreamQuery\n"
	/* Begins with what the kernel does not emulate but steps over. */
	".globl cuCtxResetPersistingL2Cache\n"
	".type cuCtxResetPersistingL2Cache, @function\n"
	".p2align 4\n"
	"cuCtxResetPersistingL2Cache:\n"
	"	xorl %eax, %eax\n"
	"	ret\n"
	".size cuCtxResetPersistingL2Cache, .-cuCtxResetPersistingL2Cache\n"
	".section .note.GNU-stack,\"\",@progbits\n"
	".text\n"
);
#endif
