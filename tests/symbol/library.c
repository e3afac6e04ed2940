/* SPDX-License-Identifier: Apache-2.0 */
/* Code that says where it is. */
#include <stddef.h>

#define EXPORT __attribute__((visibility("default"), noinline))

#if defined(__x86_64__)
#define PLACE(p) __asm__ volatile("1: leaq 1b(%%rip), %0" : "=r"(p))
#elif defined(__aarch64__)
#define PLACE(p) __asm__ volatile("1: adr %0, 1b" : "=r"(p))
#endif

int library_inner_line, library_outer_line;

static inline __attribute__((always_inline)) void *inlined_inner(void)
{
	void *place;

	library_inner_line = __LINE__; PLACE(place);
	return place;
}

static inline __attribute__((always_inline)) void *inlined_outer(void)
{
	library_outer_line = __LINE__; return inlined_inner();
}

void *library_place(void);
void *library_hidden(void);

/* A place in inlined_inner() in inlined_outer() in this function. */
EXPORT void *library_place(void)
{
	return inlined_outer();
}

static __attribute__((noinline)) void *hidden_function(void)
{
	void *place;

	PLACE(place);
	return place;
}

/* A place in a function that is not exported. */
EXPORT void *library_hidden(void)
{
	void *place = hidden_function();

	__asm__ volatile("");
	return place;
}

/*
 * The linker puts the section of this one first, then code without lines, then all
 * others.  A last line is said to begin where the code ends, as compilers do after
 * calls that do not return.
 */
EXPORT __attribute__((section(".text.startup"))) void library_first(void);
void library_first(void)
{
	__asm__ volatile("nop\n\t.loc 1 1\n\t.loc 1 2");
	__builtin_unreachable();
}

__asm__(".pushsection .text.hot, \"ax\", %progbits\n"
	".globl library_lineless\n"
	".type library_lineless, %function\n"
	"library_lineless: .fill 64, 1, 0\n"
	".size library_lineless, 64\n"
	".popsection\n");
