/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of functions without frame pointers, as libraries have them, between a program
 * and what it has called in the end: chain_first, chain_registers, chain_aligned,
 * chain_last.  No call is a jump.
 */
#include <alloca.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default"), noinline))
#define HIDDEN static __attribute__((noinline))
#define HERE __asm__ volatile("" ::: "memory")

void chain_first(void (*next)(void));
void chain_deep(unsigned left, void (*next)(void));

HIDDEN void chain_last(void (*next)(void))
{
	volatile char room[200];

	room[0] = 1;
	next();
	room[1] = room[0];
}

/* Its frame begins at a multiple of 64, so that it takes an expression to say where its caller's is. */
HIDDEN void chain_aligned(void (*next)(void), volatile unsigned *bytes)
{
	char aligned[64] __attribute__((aligned(64)));
	char *more = alloca(*bytes);

	memset(more, 1, *bytes);
	memset(aligned, 2, sizeof(aligned));
	__asm__ volatile("" :: "r"(aligned), "r"(more) : "memory");
	chain_last(next);
	HERE;
}

/* While it calls, the registers that it has saved hold nonsense, the frame pointer among them. */
HIDDEN void chain_registers(void (*next)(void))
{
	volatile unsigned bytes = 100;

	__asm__ volatile("mov $0x5a5a5a5a, %%ebp\n\tmov %%rbp, %%rbx\n\tmov %%rbp, %%r12\n\tmov %%rbp, %%r13\n\t"
			 "mov %%rbp, %%r14\n\tmov %%rbp, %%r15" ::: "rbp", "rbx", "r12", "r13", "r14", "r15");
	chain_aligned(next, &bytes);
	HERE;
}

EXPORT void chain_first(void (*next)(void))
{
	chain_registers(next);
	HERE;
}

/* `left` more frames of four kilobytes each. */
HIDDEN void deep(unsigned left, void (*next)(void))
{
	volatile char room[4096];

	room[0] = 1;
	if (left)
		deep(left - 1, next);
	else
		next();
	room[1] = room[0];
}

EXPORT void chain_deep(unsigned left, void (*next)(void))
{
	deep(left, next);
	HERE;
}
