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

/* Room for trampolines; pads are for the life of the process, since threads may be in them. */
struct pool {
	uint8_t *next, *end;
};
static struct pool pools[256];
static unsigned pool_count;

#define POOL_SIZE (16 * 1024)
#define PAD_SIZE 64
#define REACH 0x7ff00000L

/* Where a jump may lead that is put into a function. */
struct span {
	const uint8_t *from, *to;
};

/* Anywhere that a 32-bit jump gets to; a library may lie so low that this begins at 0. */
static struct span in_reach(const uint8_t *code)
{
	uintptr_t at = (uintptr_t)code;

	return (struct span){ (const uint8_t *)(at > REACH ? at - REACH : 0), code + REACH };
}

/*
 * The jump takes the place of `mov rbp,rsp; push r12`, five bytes.  A thread that
 * was interrupted between the two goes on at the fourth byte of the jump, so this
 * and the fifth must go on being `push r12`: they are the upper half of the
 * jump's distance.
 */
static struct span around_push(const uint8_t *code)
{
	const uint8_t *first = code + sizeof(prologue) + (prologue[5] << 24 | prologue[4] << 16);

	return (struct span){ first, first + 0xffff };
}

static bool holds(const struct span *span, const uint8_t *pad)
{
	/* The replacement's part of the pad is what is jumped to. */
	return pad >= span->from && pad + 16 <= span->to;
}

static uint8_t *map_at(uint8_t *want)
{
	void *got = mmap(want, POOL_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (got == MAP_FAILED)
		return NULL;
	if (got == want)
		return got;
	munmap(got, POOL_SIZE);	/* a kernel that does not know the flag */
	return NULL;
}

static uint8_t *map_near(const uint8_t *code)
{
	uintptr_t base = (uintptr_t)code & ~(uintptr_t)0xffff;
	uint8_t *got = NULL;

	for (intptr_t distance = 1 << 20; !got && distance < REACH; distance += 1 << 20) {
		got = map_at((uint8_t *)(base + (uintptr_t)distance));
		if (!got && base > (uintptr_t)distance)
			got = map_at((uint8_t *)(base - (uintptr_t)distance));
	}
	return got;
}

static uint8_t *map_in(const struct span *span)
{
	uintptr_t page = 4096, at = ((uintptr_t)span->from + page - 1) & ~(page - 1);
	uint8_t *got = NULL;

	for (; !got && at + PAD_SIZE <= (uintptr_t)span->to; at += page)
		got = map_at((uint8_t *)at);
	return got;
}

/* near: any place that the code there can reach will do. */
static uint8_t *take_pad(const struct span *span, const uint8_t *near)
{
	struct pool *pool;

	for (pool = pools; pool < pools + pool_count; pool++) {
		if (pool->next < pool->end && holds(span, pool->next))
			break;
	}
	if (pool == pools + sizeof(pools) / sizeof(pools[0]))
		return NULL;
	if (pool == pools + pool_count) {
		pool->next = near ? map_near(near) : map_in(span);
		if (!pool->next)
			return NULL;
		pool->end = pool->next + POOL_SIZE;
		pool_count++;
	}
	pool->next += PAD_SIZE;
	return pool->next - PAD_SIZE;
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

/* What stands in a pad behind the original.  All that may change later is data. */
struct redirect {
	uint8_t code[24];
	const void *site;
	void *replacement;
};

_Static_assert(16 + sizeof(struct redirect) <= PAD_SIZE, "both fit in a pad");

static struct redirect *redirect_in(uint8_t *pad)
{
	return (struct redirect *)(void *)(pad + 16);
}

/* Bytes 0..15 of the pad are the original; the rest undoes push rbp and jumps to the replacement. */
static void fill_pad(uint8_t *pad, uint8_t *function, void *replacement, const void *site)
{
	static const uint8_t code[] = {
		0x48, 0x8d, 0x64, 0x24, 0x08,		/* lea rsp,[rsp+8] */
		0x4c, 0x8b, 0x1d, 12, 0, 0, 0,		/* mov r11,[site] */
		0xff, 0x25, 14, 0, 0, 0,		/* jmp [replacement] */
	};
	struct redirect *redirect = redirect_in(pad);

	fill_original(pad, function);
	memcpy(redirect->code, code, sizeof(code));
	redirect->site = site;
	redirect->replacement = replacement;
}

/* One more in front of a replacement; that one does not look at r11, so the order of these two is enough. */
static void redirect_again(struct redirect *redirect, void *replacement, const void *site, void **ret_original)
{
	*ret_original = redirect->replacement;
	__atomic_store_n(&redirect->site, site, __ATOMIC_SEQ_CST);
	__atomic_store_n(&redirect->replacement, replacement, __ATOMIC_SEQ_CST);
}

/* A function that was redirected, and may be again. */
struct patch {
	uint8_t *code, *pad;
	uint8_t jump[5];
};
static struct patch patches[1024];
static unsigned patch_count;

#define WORD 8	/* what one store changes */

/*
 * One aligned store, so that a thread running here sees all of it or nothing.  The
 * first byte stays as it is: a uprobe may come or go at any moment.
 */
static int put_bytes(uint8_t *code, const uint8_t *bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *first = (uint8_t *)((uintptr_t)code & ~(uintptr_t)(page - 1));
	size_t length = (size_t)(code + WORD - first + (long)page - 1) & ~(page - 1);
	uint64_t *at = (uint64_t *)(void *)code, before, after;

	if (mprotect(first, length, PROT_READ | PROT_WRITE | PROT_EXEC))
		return -EACCES;
	before = __atomic_load_n(at, __ATOMIC_RELAXED);
	do {
		after = before;
		memcpy((uint8_t *)&after + 1, bytes, sizeof(prologue) - 1);
	} while (!__atomic_compare_exchange_n(at, &before, after, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	mprotect(first, length, PROT_READ | PROT_EXEC);
	return 0;
}

static struct patch *find_patch(const uint8_t *code)
{
	for (unsigned i = 0; i < patch_count; i++) {
		if (patches[i].code == code)
			return &patches[i];
	}
	return NULL;
}

/* A pad for the function; *ret_error says why there is none. */
static uint8_t *pad_for(uint8_t *code, bool busy, int *ret_error)
{
	struct span best = around_push(code), any = in_reach(code);
	uint8_t *pad;

	if (patch_count == sizeof(patches) / sizeof(patches[0])) {
		*ret_error = -ENOMEM;
		return NULL;
	}
	pad = take_pad(&best, NULL);
	if (!pad && !busy)
		pad = take_pad(&any, code);
	*ret_error = busy ? -EBUSY : -ENOMEM;
	return pad;
}

int gt_patch(void *function, void *replacement, const void *site, bool busy, void **ret_original)
{
	uint8_t *code = function, *pad;
	struct patch *patch = find_patch(code);
	int r;

	if (patch) {
		redirect_again(redirect_in(patch->pad), replacement, site, ret_original);
		return 0;
	}
	if (!is_known(code) || ((uintptr_t)code & (WORD - 1)))
		return -ENOTSUP;
	pad = pad_for(code, busy, &r);
	if (!pad)
		return r;
	fill_pad(pad, code, replacement, site);
	patch = &patches[patch_count];
	patch->code = code;
	patch->pad = pad;
	put_jump_from(patch->jump, code + 1, redirect_in(pad)->code);
	*ret_original = pad;
	r = put_bytes(code, patch->jump);
	if (r)
		*ret_original = function;
	else
		patch_count++;
	return r;
}

static bool is_kept(const struct patch *patch, const void *const *kept, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (kept[i] == patch->pad)
			return true;
	}
	return false;
}

int gt_patches_remove(const void *const *kept, unsigned count)
{
	int r = 0;

	for (unsigned i = 0; i < patch_count; i++) {
		if (!is_kept(&patches[i], kept, count))
			r |= put_bytes(patches[i].code, prologue + 1);
	}
	return r ? -EACCES : 0;
}

int gt_patches_restore(void)
{
	int r = 0;

	for (unsigned i = 0; i < patch_count; i++)
		r |= put_bytes(patches[i].code, patches[i].jump);
	return r ? -EACCES : 0;
}

void *gt_bypass(void *function)
{
	uint8_t *code = function, *pad;
	struct span any;

	if (!code || !is_known(code))
		return function;
	any = in_reach(code);
	pad = take_pad(&any, code);
	if (!pad)
		return function;
	fill_original(pad, code);
	return pad;
}
