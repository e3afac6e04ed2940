/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's parts that need no driver: hooks in machine code, the handle table. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/agent/hook/patch.h"
#include "lib/agent/table.h"
#include "tests/suite.h"

/* ---- patching ---- */

/*
 * A function that begins as the driver's do: rax = rdi * 2 + rsi, and checks that
 * the stack is as it should be by using it.
 */
static const uint8_t code[] = {
	0x55,				/* push rbp */
	0x48, 0x89, 0xe5,		/* mov rbp,rsp */
	0x41, 0x54,			/* push r12 */
	0x48, 0x83, 0xec, 0x08,		/* sub rsp,8 */
	0x49, 0x89, 0xfc,		/* mov r12,rdi */
	0x4d, 0x01, 0xe4,		/* add r12,r12 */
	0x4a, 0x8d, 0x04, 0x26,		/* lea rax,[rsi+r12] */
	0x48, 0x83, 0xc4, 0x08,		/* add rsp,8 */
	0x41, 0x5c,			/* pop r12 */
	0x5d,				/* pop rbp */
	0xc3,				/* ret */
};

typedef long function_type(long, long);
static function_type *original;

static uint8_t *make_function(const uint8_t *bytes, size_t size, size_t at)
{
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(page, MAP_FAILED);
	memcpy(page + at, bytes, size);
	ck_assert_int_eq(mprotect(page, 8192, PROT_READ | PROT_EXEC), 0);
	return page + at;
}

static function_type *as_function(void *address)
{
	function_type *function;

	memcpy(&function, &address, sizeof(function));
	return function;
}

static long replacement(long a, long b)
{
	return original(a, b) + 1000000;
}

START_TEST(patch_redirects_and_keeps_the_original)
{
	/* At the start of a page, in it, and with the jump across two pages' border of 8 bytes. */
	static const size_t places[] = { 0, 256, 4096 - 8 };
	uint8_t *address = make_function(code, sizeof(code), places[_i]);
	function_type *function = as_function(address);
	void *pad;

	ck_assert_int_eq(function(20, 2), 42);
	ck_assert_int_eq(gt_patch(address, (void *)replacement, NULL, false, &pad), 0);
	original = as_function(pad);
	ck_assert_int_eq(function(20, 2), 1000042);
	ck_assert_int_eq(original(20, 2), 42);
	/* The first byte is a uprobe's place; the rest of the function is as it was. */
	ck_assert_uint_eq(address[0], 0x55);
	ck_assert_uint_eq(address[1], 0xe9);
	ck_assert_mem_eq(address + 6, code + 6, sizeof(code) - 6);
}
END_TEST

START_TEST(patch_accepts_a_breakpoint_in_the_first_byte)
{
	uint8_t bytes[sizeof(code)];
	uint8_t *address;
	void *pad;

	memcpy(bytes, code, sizeof(code));
	bytes[0] = 0xcc;
	address = make_function(bytes, sizeof(bytes), 64);
	ck_assert_int_eq(gt_patch(address, (void *)replacement, NULL, false, &pad), 0);
	ck_assert_uint_eq(address[0], 0xcc);
	/* The pad runs what the breakpoint hides. */
	ck_assert_int_eq(as_function(pad)(3, 4), 10);
}
END_TEST

START_TEST(patch_refuses_what_it_does_not_know)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0xc3 };
	uint8_t bytes[sizeof(code)];
	uint8_t *address = make_function(endbr, sizeof(endbr), 0);
	void *pad = NULL;

	ck_assert_int_eq(gt_patch(address, (void *)replacement, NULL, false, &pad), -ENOTSUP);
	ck_assert_mem_eq(address, endbr, sizeof(endbr));
	memcpy(bytes, code, sizeof(code));
	bytes[5] = 0x55;		/* push r13 instead of r12 */
	ck_assert_int_eq(gt_patch(make_function(bytes, sizeof(bytes), 0), (void *)replacement, NULL, false, &pad), -ENOTSUP);
	/* Not on an 8-byte boundary: it could not be changed in one store. */
	ck_assert_int_eq(gt_patch(make_function(code, sizeof(code), 4), (void *)replacement, NULL, false, &pad), -ENOTSUP);
	ck_assert_ptr_null(pad);
}
END_TEST

/* A thread that was interrupted before push r12 finds it where it was. */
START_TEST(patch_of_a_busy_function)
{
	uint8_t *address = make_function(code, sizeof(code), 1024);
	void *pad;

	ck_assert_int_eq(gt_patch(address, (void *)replacement, NULL, true, &pad), 0);
	original = as_function(pad);
	ck_assert_int_eq(as_function(address)(20, 2), 1000042);
	ck_assert_mem_eq(address + 4, code + 4, sizeof(code) - 4);
	ck_assert_int_eq(gt_patches_remove(NULL, 0), 0);
	ck_assert_mem_eq(address, code, sizeof(code));
	ck_assert_int_eq(as_function(address)(20, 2), 42);
	ck_assert_int_eq(original(20, 2), 42);
	ck_assert_int_eq(gt_patches_restore(), 0);
	ck_assert_int_eq(as_function(address)(20, 2), 1000042);
	ck_assert_int_eq(gt_patches_remove((const void *[]){ pad }, 1), 0);
	ck_assert_int_eq(as_function(address)(20, 2), 1000042);
}
END_TEST

static function_type *toggled;
static atomic_bool toggling;
static atomic_long calls;

static void *call_toggled(void *wrong)
{
	while (atomic_load(&toggling)) {
		long got = toggled(20, 2);

		if (got != 42 && got != 1000042)
			atomic_fetch_add((atomic_long *)wrong, 1);
		atomic_fetch_add(&calls, 1);
	}
	return NULL;
}

START_TEST(patch_comes_and_goes_under_calls)
{
	uint8_t *address = make_function(code, sizeof(code), 2048);
	atomic_long wrong = 0;
	pthread_t threads[4];
	void *pad;

	ck_assert_int_eq(gt_patch(address, (void *)replacement, NULL, true, &pad), 0);
	original = as_function(pad);
	toggled = as_function(address);
	atomic_store(&toggling, true);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, call_toggled, &wrong), 0);
	for (int i = 0; i < 2000 || atomic_load(&calls) <= 1000; i++) {
		ck_assert_int_eq(gt_patches_remove(NULL, 0), 0);
		ck_assert_int_eq(gt_patches_restore(), 0);
	}
	atomic_store(&toggling, false);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(atomic_load(&wrong), 0);
}
END_TEST

START_TEST(bypass_leaves_the_function_alone)
{
	uint8_t *address = make_function(code, sizeof(code), 512);
	static const uint8_t other[] = { 0x31, 0xc0, 0xc3 };	/* xor eax,eax; ret */
	uint8_t *unknown = make_function(other, sizeof(other), 0);
	void *pad = gt_bypass(address);

	ck_assert_ptr_ne(pad, address);
	ck_assert_mem_eq(address, code, sizeof(code));
	ck_assert_int_eq(as_function(pad)(20, 2), 42);
	ck_assert_ptr_eq(gt_bypass(unknown), unknown);
	ck_assert_ptr_null(gt_bypass(NULL));
}
END_TEST

/* ---- table ---- */

static void *number(uintptr_t value)
{
	return (void *)value;
}

START_TEST(table_holds_removes_and_comes_back)
{
	static struct gt_table *table;		/* as long as the process, like those of the agent */

	ck_assert_ptr_null(gt_table_get(&table, number(8)));
	for (uintptr_t i = 1; i <= 10000; i++)
		ck_assert_int_eq(gt_table_set(&table, number(i * 16), number(i)), 0);
	for (uintptr_t i = 1; i <= 10000; i++)
		ck_assert_ptr_eq(gt_table_get(&table, number(i * 16)), number(i));
	ck_assert_ptr_null(gt_table_get(&table, number(24)));
	for (uintptr_t i = 1; i <= 10000; i += 2)
		ck_assert_int_eq(gt_table_set(&table, number(i * 16), NULL), 0);
	for (uintptr_t i = 1; i <= 10000; i++)
		ck_assert_ptr_eq(gt_table_get(&table, number(i * 16)), i % 2 ? NULL : number(i));
	ck_assert_int_eq(gt_table_set(&table, number(16), number(77)), 0);
	ck_assert_ptr_eq(gt_table_get(&table, number(16)), number(77));
	/* Removing what was never there is no error. */
	ck_assert_int_eq(gt_table_set(&table, number(12345), NULL), 0);
}
END_TEST

static struct gt_table *shared;
static atomic_bool stop;

static void *read_all_the_time(void *unused)
{
	(void)unused;
	while (!atomic_load(&stop)) {
		/* Key 1 << 40 is set before the threads start and never changes. */
		if (gt_table_get(&shared, number(1ul << 40)) != number(5))
			return number(1);
	}
	return NULL;
}

START_TEST(table_is_read_while_it_grows)
{
	pthread_t threads[3];
	void *wrong;

	ck_assert_int_eq(gt_table_set(&shared, number(1ul << 40), number(5)), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_all_the_time, NULL), 0);
	for (uintptr_t round = 0; round < 20; round++) {
		for (uintptr_t i = 1; i <= 5000; i++)
			ck_assert_int_eq(gt_table_set(&shared, number((round * 5000 + i) * 8), number(i)), 0);
		for (uintptr_t i = 1; i <= 5000; i++)
			ck_assert_int_eq(gt_table_set(&shared, number((round * 5000 + i) * 8), NULL), 0);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &wrong);
		ck_assert_ptr_null(wrong);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("agent");

	tcase_add_loop_test(tcase, patch_redirects_and_keeps_the_original, 0, 3);
	tcase_add_test(tcase, patch_accepts_a_breakpoint_in_the_first_byte);
	tcase_add_test(tcase, patch_refuses_what_it_does_not_know);
	tcase_add_test(tcase, patch_of_a_busy_function);
	tcase_add_test(tcase, patch_comes_and_goes_under_calls);
	tcase_add_test(tcase, bypass_leaves_the_function_alone);
	tcase_add_test(tcase, table_holds_removes_and_comes_back);
	tcase_add_test(tcase, table_is_read_while_it_grows);
	return run_case("agent", tcase);
}
