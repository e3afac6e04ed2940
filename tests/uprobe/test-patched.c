/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's jump and the kernel's breakpoint on one function: the breakpoint
 * takes byte 0 (push rbp), the jump takes bytes 1 to 5.  Whichever comes first,
 * both work, and taking one away leaves the other.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"
#include "tests/suite.h"

#ifdef __x86_64__

static const uint8_t prologue[6] = { 0x55, 0x48, 0x89, 0xe5, 0x41, 0x54 };

static struct fake fake;
static int (*original)(uintptr_t stream);	/* the function without the jump */

static int hook(uintptr_t stream)
{
	return original(stream) + 100;
}

static void put_address(uint8_t *at, uint64_t address)
{
	memcpy(at, &address, sizeof(address));
}

/*
 * Near the function, so that a jump of 32 bits reaches it:
 *	0: pop rbp; jmp hook		what the patched function jumps to
 *	32: the prologue; jmp function+6	what the hook calls
 */
static uint8_t *make_stubs(const uint8_t *function)
{
	static const uint8_t jump[6] = { 0xff, 0x25, 0, 0, 0, 0 };	/* jmp [rip+0] */
	uintptr_t page = (uintptr_t)function & ~4095ul;
	uint8_t *stubs = MAP_FAILED;

	for (int i = 1; i < 10000 && stubs == MAP_FAILED; i++)
		stubs = mmap((void *)(page - i * 65536ul), 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (stubs == MAP_FAILED)
		_exit(30);
	stubs[0] = 0x5d;
	memcpy(stubs + 1, jump, sizeof(jump));
	put_address(stubs + 7, (uintptr_t)hook);
	memcpy(stubs + 32, prologue, sizeof(prologue));
	memcpy(stubs + 38, jump, sizeof(jump));
	put_address(stubs + 44, (uintptr_t)function + 6);
	mprotect(stubs, 4096, PROT_READ | PROT_EXEC);
	original = (int (*)(uintptr_t))(stubs + 32);
	return stubs;
}

static void protect(const uint8_t *function, int mode)
{
	if (mprotect((void *)((uintptr_t)function & ~4095ul), 4096, mode))
		_exit(31);
}

/* Writes bytes 1 to 5 and leaves byte 0 alone; the page ends up in the mode wanted. */
static void write_bytes(uint8_t *function, const uint8_t *bytes, int mode)
{
	protect(function, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(function + 1, bytes, 5);
	protect(function, mode);
}

static void patch(uint8_t *function, int mode)
{
	uint8_t bytes[5] = { 0xe9 };
	int32_t distance = (int32_t)(make_stubs(function) - (function + 6));

	memcpy(bytes + 1, &distance, sizeof(distance));
	write_bytes(function, bytes, mode);
}

/* What the test's parent reads: what the calls gave, and byte 0 as the process sees it. */
struct report {
	int plain, patched, unpatched, after_detach;
	uint8_t byte_before, byte_at_end;
};

static struct report *report;

static uint8_t *function(void)
{
	return (uint8_t *)fake.cuStreamSynchronize;
}

#define RX (PROT_READ | PROT_EXEC)

/* The breakpoint is there before the library is loaded. */
static void probe_first(int go, int ready)
{
	wait_go(go);
	fake_open(&fake);
	report->byte_before = function()[0];
	report->plain = fake.cuStreamSynchronize(1);
	patch(function(), RX);
	report->patched = fake.cuStreamSynchronize(2);
	write_bytes(function(), prologue + 1, RX);
	report->unpatched = fake.cuStreamSynchronize(3);
	patch(function(), RX);
	tell(ready);
	wait_go(go);
	report->after_detach = fake.cuStreamSynchronize(4);
	report->byte_at_end = function()[0];
}

/* The function is patched when the breakpoint comes; `mode` is how its page was left. */
static void patched_first(int go, int ready, int mode)
{
	fake_open(&fake);
	patch(function(), mode);
	tell(ready);
	wait_go(go);
	report->byte_before = function()[0];
	report->patched = fake.cuStreamSynchronize(2);
	protect(function(), RX);
	write_bytes(function(), prologue + 1, RX);
	report->unpatched = fake.cuStreamSynchronize(3);
	patch(function(), RX);
	tell(ready);
	wait_go(go);
	report->after_detach = fake.cuStreamSynchronize(4);
	report->byte_at_end = function()[0];
}

static void patched_first_closed(int go, int ready)
{
	patched_first(go, ready, RX);
}

static void patched_first_open(int go, int ready)
{
	patched_first(go, ready, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void setup(void)
{
	report = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(report, MAP_FAILED);
}

/* The nth call seen had this argument and this result. */
static void check_call(const struct calls *calls, size_t n, uint64_t arg, int result)
{
	const struct gt_api_call *call = calls_find(calls, "cuStreamSynchronize", n);

	ck_assert_ptr_nonnull(call);
	ck_assert_uint_eq(call->args[0], arg);
	ck_assert_int_eq(call->result, result);
	ck_assert_uint_le(call->enter, call->leave);
	ck_assert_uint_eq(call->flags, 0);
}

static const unsigned flags[] = { 0, GT_API_TRACE_SINGLE };

START_TEST(test_probe_first)
{
	struct calls calls = { 0 };
	struct child child = child_start(probe_first);
	struct gt_api_trace *trace = fake_trace(child.pid, flags[_i]);

	child_go(&child);
	child_wait_ready(&child);
	ck_assert_int_eq(gt_api_trace_consume(trace, calls_add, &calls), 3);
	gt_api_trace_close(trace);
	child_go(&child);
	child_end(&child);
	ck_assert_uint_eq(report->byte_before, 0xcc);
	ck_assert_int_eq(report->plain, 2);
	ck_assert_int_eq(report->patched, 103);
	ck_assert_int_eq(report->unpatched, 4);
	ck_assert_int_eq(report->after_detach, 105);
	ck_assert_uint_eq(report->byte_at_end, 0x55);
	check_call(&calls, 0, 1, 2);
	check_call(&calls, 1, 2, 103);
	check_call(&calls, 2, 3, 4);
	calls_clear(&calls);
}
END_TEST

START_TEST(test_patched_first)
{
	struct calls calls = { 0 };
	struct child child = child_start(patched_first_closed);
	struct gt_api_trace *trace;

	child_wait_ready(&child);
	trace = fake_trace(child.pid, flags[_i]);
	child_go(&child);
	child_wait_ready(&child);
	ck_assert_int_eq(gt_api_trace_consume(trace, calls_add, &calls), 2);
	gt_api_trace_close(trace);
	child_go(&child);
	child_end(&child);
	ck_assert_uint_eq(report->byte_before, 0xcc);
	ck_assert_int_eq(report->patched, 103);
	ck_assert_int_eq(report->unpatched, 4);
	ck_assert_int_eq(report->after_detach, 105);
	ck_assert_uint_eq(report->byte_at_end, 0x55);
	check_call(&calls, 0, 2, 103);
	check_call(&calls, 1, 3, 4);
	calls_clear(&calls);
}
END_TEST

/*
 * The kernel puts no breakpoint into a mapping that can be written to, and says
 * nothing: the process works, its calls are not seen.  Hence the agent must not
 * leave a page of the driver writable.
 */
START_TEST(test_page_left_writable)
{
	struct calls calls = { 0 };
	struct child child = child_start(patched_first_open);
	struct gt_api_trace *trace;

	child_wait_ready(&child);
	trace = fake_trace(child.pid, flags[_i]);
	child_go(&child);
	child_wait_ready(&child);
	ck_assert_int_eq(gt_api_trace_consume(trace, calls_add, &calls), 0);
	gt_api_trace_close(trace);
	child_go(&child);
	child_end(&child);
	ck_assert_uint_eq(report->byte_before, 0x55);
	ck_assert_int_eq(report->patched, 103);
	ck_assert_int_eq(report->after_detach, 105);
	calls_clear(&calls);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("patched");

	skip_unless_permitted();
	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_loop_test(t, test_probe_first, 0, 2);
	tcase_add_loop_test(t, test_patched_first, 0, 2);
	tcase_add_loop_test(t, test_page_left_writable, 0, 1);
	return run_case("patched", t);
}

#else

int main(void)
{
	printf("skipped: the agent patches x86-64 only\n");
	return 77;
}

#endif
