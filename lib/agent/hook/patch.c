/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/hook/patch.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* push rbp; mov rbp,rsp; push r12: how the driver's entries begin. */
static const uint8_t prologue[] = { 0x55, 0x48, 0x89, 0xe5, 0x41, 0x54 };

/* An INT3 of a uprobe may stand where push rbp was. */
#define BREAKPOINT 0xcc

/* Room for trampolines, within reach of a 32-bit jump from the code it serves. */
struct pool {
	uint8_t *next, *end;
};
static struct pool pool;

#define POOL_SIZE (64 * 1024)
#define PAD_SIZE 64
#define REACH 0x7ff00000L

static int in_reach(const uint8_t *from, const uint8_t *to)
{
	intptr_t distance = (intptr_t)to - (intptr_t)from;

	return distance < REACH && distance > -REACH;
}

static uint8_t *map_near(uint8_t *code)
{
	uintptr_t base = (uintptr_t)code & ~(uintptr_t)0xffff;

	for (intptr_t distance = 1 << 20; distance < REACH; distance += 1 << 20) {
		for (int sign = -1; sign <= 1; sign += 2) {
			void *want = (void *)(base + (uintptr_t)(sign * distance));
			void *got = mmap(want, POOL_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

			if (got == MAP_FAILED)
				continue;
			if (got == want)
				return got;
			munmap(got, POOL_SIZE);	/* a kernel that does not know the flag */
		}
	}
	return NULL;
}

static uint8_t *take_pad(uint8_t *code)
{
	if (!pool.next || pool.end - pool.next < PAD_SIZE || !in_reach(code, pool.next)) {
		pool.next = map_near(code);
		if (!pool.next)
			return NULL;
		pool.end = pool.next + POOL_SIZE;
	}
	pool.next += PAD_SIZE;
	return pool.next - PAD_SIZE;
}

/* Write into `at` the jump that, executed at `from`, leads to `to`. */
static void put_jump_from(uint8_t *at, const uint8_t *from, const uint8_t *to)
{
	int32_t relative = (int32_t)((intptr_t)to - (intptr_t)from - 5);

	at[0] = 0xe9;
	memcpy(at + 1, &relative, 4);
}

/* Does the function begin as we know it?  A breakpoint may hide the first byte. */
static int is_known(const uint8_t *code)
{
	return (code[0] == prologue[0] || code[0] == BREAKPOINT) &&
	       !memcmp(code + 1, prologue + 1, sizeof(prologue) - 1);
}

/* What the function's first instructions did, then on behind them. */
static void fill_original(uint8_t *pad, uint8_t *function)
{
	memcpy(pad, prologue, sizeof(prologue));
	put_jump_from(pad + sizeof(prologue), pad + sizeof(prologue), function + sizeof(prologue));
}

/*
 * Bytes 0..15 of the pad are the original; from byte 16 on it undoes push rbp and
 * jumps to the replacement.
 */
static void fill_pad(uint8_t *pad, uint8_t *function, void *replacement)
{
	static const uint8_t undo_and_jump[] = {
		0x48, 0x8d, 0x64, 0x24, 0x08,	/* lea rsp,[rsp+8] */
		0xff, 0x25, 0, 0, 0, 0,		/* jmp [rip] */
	};

	fill_original(pad, function);
	memcpy(pad + 16, undo_and_jump, sizeof(undo_and_jump));
	memcpy(pad + 16 + sizeof(undo_and_jump), &replacement, sizeof(replacement));
}

int gt_patch(void *function, void *replacement, void **ret_original)
{
	uint8_t *code = function, *pad, patched[8];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *first = (uint8_t *)((uintptr_t)code & ~(uintptr_t)(page - 1));
	size_t length = (size_t)(code + 8 - first + (long)page - 1) & ~(page - 1);
	uint64_t word;

	if (!is_known(code) || ((uintptr_t)code & 7))
		return -ENOTSUP;
	pad = take_pad(code);
	if (!pad)
		return -ENOMEM;
	fill_pad(pad, code, replacement);

	if (mprotect(first, length, PROT_READ | PROT_WRITE | PROT_EXEC))
		return -EACCES;
	/* One aligned store, so that a thread running here sees all of it or nothing. */
	memcpy(patched, code, 8);
	put_jump_from(patched + 1, code + 1, pad + 16);
	memcpy(&word, patched, 8);
	*ret_original = pad;
	__atomic_store_n((uint64_t *)(void *)code, word, __ATOMIC_SEQ_CST);
	mprotect(first, length, PROT_READ | PROT_EXEC);
	return 0;
}

void *gt_bypass(void *function)
{
	uint8_t *code = function, *pad;

	if (!code || !is_known(code))
		return function;
	pad = take_pad(code);
	if (!pad)
		return function;
	fill_original(pad, code);
	return pad;
}
