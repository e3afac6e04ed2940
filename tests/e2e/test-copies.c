/* SPDX-License-Identifier: Apache-2.0 */
/* When copies and memsets ran: all of them, what they did, where they lie, and that the program notices nothing. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

static const uint32_t by_agent[] = { GPUTRACE_API_AGENT, 0 };

static struct run run, plain;
static bool real_device;

static void setup(void)
{
	real_device = run_wants_real_device();
}

static void teardown(void)
{
	run_free(&run);
	run_free(&plain);
}

static struct run_options options(void)
{
	return (struct run_options){ .timeline = true, .copies = true, .real_device = real_device };
}

static unsigned copies(void)
{
	return run.events[GPUTRACE_EVENT_COPY];
}

/* The driver's functions ran as they do without us, and nothing was lost; these notes came. */
static void check_noted(const char *what, const char *number, const char *notes)
{
	run_plain(&plain, real_device, what, number, NULL);
	ck_assert_str_eq(run.output, plain.output);
	ck_assert_int_eq(run.status, 0);
	ck_assert_int_eq(plain.status, 0);
	ck_assert_str_eq(run.notes, notes);
	ck_assert_uint_eq(run.lost, 0);
}

static void check_program(const char *what, const char *number)
{
	check_noted(what, number, "");
}

/* A program as it is, with what both ask for. */
static void record(const char *what, const char *number)
{
	struct run_options chosen = options();

	run_target(&run, &chosen, what, number, NULL);
	check_program(what, number);
}

static void check_timed(const struct run_event *copy)
{
	ck_assert_str_eq(copy->text, "");
	ck_assert_uint_ne(copy->error, UINT64_MAX);
	ck_assert_uint_ne(copy->time, 0);
	ck_assert_uint_le(copy->time, copy->end);
	ck_assert_uint_ne(copy->gpu_start, 0);
	ck_assert_uint_le(copy->gpu_start, copy->gpu_end);
}

/* Where the reader waits for all before it gives any out. */
static void check_all_timed(unsigned count)
{
	ck_assert_uint_eq(run.disorder, 0);
	ck_assert_uint_eq(copies(), count);
	for (unsigned i = 0; i < count; i++)
		check_timed(&run.copies[i]);
}

static int by_id(const void *a, const void *b)
{
	const struct run_event *x = a, *y = b;

	return (x->launch_id > y->launch_id) - (x->launch_id < y->launch_id);
}

static void sort(struct run_event *events, unsigned count)
{
	qsort(events, count, sizeof(*events), by_id);
}

/* ---- each kind ---- */

#define HTOD GPUTRACE_COPY_HOST_TO_DEVICE
#define DTOH GPUTRACE_COPY_DEVICE_TO_HOST
#define DTOD GPUTRACE_COPY_DEVICE_TO_DEVICE
#define HTOH GPUTRACE_COPY_HOST_TO_HOST
#define PEER GPUTRACE_COPY_PEER
#define SET GPUTRACE_COPY_MEMSET

/* What copier.c does, in that order. */
static const struct {
	const char *function;
	int kind;
	uint64_t bytes;
	bool waits;
} each[] = {
	{ "cuMemcpyHtoD_v2", HTOD, 1, true }, { "cuMemcpyDtoH_v2", DTOH, 2, true },
	{ "cuMemcpyDtoD_v2", DTOD, 3, false }, { "cuMemcpy", HTOD, 4, true },
	{ "cuMemcpy", DTOH, 5, true }, { "cuMemcpy", DTOD, 6, false },
	{ "cuMemcpyPeer", PEER, 7, false }, { "cuMemcpy2D_v2", HTOD, 103 * 2, true },
	{ "cuMemcpy2DUnaligned_v2", HTOD, 103 * 2, true }, { "cuMemcpy3D_v2", DTOH, 104 * 2 * 3, true },
	{ "cuMemcpy3DPeer", PEER, 105 * 2, false }, { "cuMemsetD8_v2", SET, 8, false },
	{ "cuMemsetD16_v2", SET, 2 * 9, false }, { "cuMemsetD32_v2", SET, 4 * 10, false },
	{ "cuMemsetD2D8_v2", SET, 11 * 2, false }, { "cuMemsetD2D16_v2", SET, 2 * 12 * 2, false },
	{ "cuMemsetD2D32_v2", SET, 4 * 13 * 2, false }, { "cuMemcpyHtoD_v2_ptds", HTOD, 14, true },
	{ "cuMemcpyDtoH_v2_ptds", DTOH, 15, true }, { "cuMemsetD8_v2_ptds", SET, 16, false },
	{ "cuMemcpyHtoDAsync_v2", HTOD, 21, false }, { "cuMemcpyHtoDAsync_v2", HTOD, 22, false },
	{ "cuMemcpyDtoHAsync_v2", DTOH, 23, false }, { "cuMemcpyDtoHAsync_v2", DTOH, 24, false },
	{ "cuMemcpyDtoDAsync_v2", DTOD, 25, false }, { "cuMemcpyAsync", DTOH, 26, false },
	{ "cuMemcpyAsync", HTOH, 27, false }, { "cuMemcpyPeerAsync", PEER, 28, false },
	{ "cuMemcpy2DAsync_v2", HTOD, 203 * 2, false }, { "cuMemcpy3DAsync_v2", DTOH, 204 * 2 * 3, false },
	{ "cuMemcpy3DPeerAsync", PEER, 205 * 2, false }, { "cuMemsetD8Async", SET, 29, false },
	{ "cuMemsetD16Async", SET, 2 * 30, false }, { "cuMemsetD32Async", SET, 4 * 31, false },
	{ "cuMemsetD2D8Async", SET, 32 * 2, false }, { "cuMemsetD2D16Async", SET, 2 * 33 * 2, false },
	{ "cuMemsetD2D32Async", SET, 4 * 34 * 2, false }, { "cuMemcpyHtoDAsync_v2", HTOD, 35, false },
	{ "cuMemcpyHtoDAsync_v2_ptsz", HTOD, 36, false }, { "cuMemsetD8Async_ptsz", SET, 37, false },
};
#define EACH (sizeof(each) / sizeof(each[0]))

static const struct run_event *call_of(const struct run_event *copy)
{
	for (unsigned i = 0; i < run.events[GPUTRACE_EVENT_API]; i++) {
		if (run.calls[i].launch_id == copy->launch_id)
			return &run.calls[i];
	}
	ck_abort_msg("no call has the id of a copy of %llu bytes", (unsigned long long)copy->bytes);
	return NULL;
}

static const char *name_of(int kind)
{
	static const char *const names[] = {
		[HTOD] = "memcpy HtoD", [DTOH] = "memcpy DtoH", [DTOD] = "memcpy DtoD",
		[HTOH] = "memcpy HtoH", [PEER] = "memcpy PtoP", [SET] = "memset",
	};

	return names[kind];
}

/* The streams are the legacy one, the program's, and the thread's own. */
static void check_streams(void)
{
	uint64_t own = run.copies[20].stream, threads = run.copies[17].stream;

	ck_assert(own && threads && own != threads);
	for (unsigned i = 0; i < EACH; i++) {
		uint64_t stream = i < 17 || i == 37 ? 0 : i < 20 || i > 37 ? threads : own;

		ck_assert_uint_eq(run.copies[i].stream, stream);
	}
}

static void check_each(const uint32_t *flags)
{
	struct run_options chosen = options();

	chosen.api = true;
	chosen.api_flags = flags;
	run_target(&run, &chosen, "each", NULL);
	check_program("each", NULL);
	check_all_timed(EACH);
	sort(run.copies, EACH);
	for (unsigned i = 0; i < EACH; i++) {
		const struct run_event *copy = &run.copies[i], *call = call_of(copy);

		ck_assert_uint_eq(copy->bytes, each[i].bytes);
		ck_assert_int_eq(copy->copy_kind, each[i].kind);
		ck_assert_str_eq(copy->name, name_of(each[i].kind));
		ck_assert_str_eq(call->name, each[i].function);
		ck_assert_int_eq(copy->tid, call->tid);
		ck_assert_uint_le(call->time, copy->time + copy->error);
		if (each[i].waits)
			ck_assert_uint_le(copy->end, call->end);
	}
	check_streams();
}

START_TEST(each_function_is_recorded)
{
	check_each(by_agent);
}
END_TEST

START_TEST(uprobes_call_them_by_the_same_ids)
{
	check_each(NULL);
}
END_TEST

/* Nobody asks for them. */
START_TEST(none_is_recorded_unless_asked_for)
{
	struct run_options chosen = options();

	chosen.copies = false;
	run_target(&run, &chosen, "each", NULL);
	check_program("each", NULL);
	ck_assert_uint_eq(copies(), 0);
}
END_TEST

/* ---- order ---- */

#define ORDER 200

static const struct run_event *kernel_number(unsigned number)
{
	for (unsigned i = 0; i < run.events[GPUTRACE_EVENT_KERNEL]; i++) {
		if (run.kernels[i].grid[0] == number)
			return &run.kernels[i];
	}
	ck_abort_msg("kernel %u is not there", number);
	return NULL;
}

/* When the program had waited for what that call began. */
static uint64_t waited_for(const struct run_event *call)
{
	uint64_t end = UINT64_MAX;

	for (unsigned i = 0; i < run.events[GPUTRACE_EVENT_API]; i++) {
		if (!strcmp(run.calls[i].name, "cuStreamSynchronize") && run.calls[i].time > call->end && run.calls[i].end < end)
			end = run.calls[i].end;
	}
	ck_assert_uint_ne(end, UINT64_MAX);
	return end;
}

/* On the GPU's clock, where only the copies' times have an error; and on the host's. */
START_TEST(copies_lie_between_the_kernels_of_their_stream)
{
	struct run_options chosen = options();
	char number[16];

	chosen.api = true;
	chosen.api_flags = by_agent;
	snprintf(number, sizeof(number), "%d", ORDER);
	run_target(&run, &chosen, "order", number, NULL);
	check_program("order", number);
	check_all_timed(ORDER);
	sort(run.copies, ORDER);
	for (unsigned i = 1; i <= ORDER; i++) {
		const struct run_event *copy = &run.copies[i - 1], *before = kernel_number(i);

		ck_assert_uint_eq(copy->bytes, i * 1024);
		ck_assert_uint_eq(copy->stream, before->stream);
		ck_assert_uint_eq(copy->context, before->context);
		ck_assert_uint_le(before->gpu_end, copy->gpu_start + copy->error);
		ck_assert_uint_le(call_of(copy)->time, copy->time + copy->error);
		ck_assert_uint_le(copy->end, waited_for(call_of(copy)) + copy->error);
		if (i < ORDER) {
			ck_assert_uint_le(copy->gpu_end, kernel_number(i + 1)->gpu_start + copy->error);
			/* Both are placed by the same clock of events, and between them a kernel ran. */
			ck_assert_uint_lt(copy->end, run.copies[i].time + copy->error + run.copies[i].error);
		}
	}
}
END_TEST

/* ---- captures ---- */

/* Which is said, once. */
START_TEST(captured_copies_are_left_alone)
{
	struct run_options chosen = options();

	run_target(&run, &chosen, "captured", NULL);
	check_noted("captured", NULL, "a graph with 3 copies and memsets was made ready to run: those in graphs are no events, and when they run is not known");
	ck_assert_str_eq(run.output, "capturing 1, 4 nodes: 0 1 2 1; copied 9 7\n");
	check_all_timed(1);
	ck_assert_uint_eq(run.copies[0].bytes, 43);
}
END_TEST

START_TEST(a_capture_beside_is_not_disturbed)
{
	record("beside", NULL);
	check_all_timed(1);
	ck_assert_uint_eq(run.copies[0].bytes, 51);
}
END_TEST

/* ---- what the program may ask ---- */

START_TEST(a_stream_is_idle_after_a_function_that_waits)
{
	record("idle", NULL);
	ck_assert_str_eq(run.output, "idle 400\n");
	check_all_timed(400);
}
END_TEST

/* What the driver would not look at is not looked at. */
START_TEST(what_is_refused_is_not_read)
{
	record("refused", NULL);
	ck_assert_str_eq(run.output, "refused 1\n");
	check_all_timed(1);
	ck_assert_uint_eq(run.copies[0].bytes, 61);
}
END_TEST

/* ---- many ---- */

START_TEST(many_are_all_there)
{
	record("many", "4000");
	check_all_timed(4000);
	sort(run.copies, 4000);
	for (unsigned i = 1; i < 4000; i++)
		ck_assert_uint_lt(run.copies[i - 1].launch_id, run.copies[i].launch_id);
}
END_TEST

static void forget(struct run *r, const struct gputrace_event *event)
{
	(void)r;
	(void)event;
}

START_TEST(memory_is_flat)
{
	struct run_options chosen = options();

	/* The events are not kept either. */
	run.watch = forget;
	chosen.agent_ring_bytes = 64 << 20;
	run_target(&run, &chosen, "flat", "200000", NULL);
	check_program("flat", "200000");
	ck_assert_str_eq(run.output, "flat\n");
	ck_assert_uint_eq(copies(), 20000 + 200000);
}
END_TEST

static unsigned of_thread(int tid, uint64_t *ret_bytes)
{
	unsigned count = 0;

	for (unsigned i = 0; i < copies(); i++) {
		if (run.copies[i].tid != tid)
			continue;
		count++;
		*ret_bytes += run.copies[i].bytes;
	}
	return count;
}

/* Thread n sets and copies n bytes each time. */
START_TEST(threads_have_theirs)
{
	unsigned seen = 0;

	record("threads", NULL);
	check_all_timed(8 * 200);
	for (unsigned i = 0; i < copies(); i++) {
		uint64_t bytes = 0, own = run.copies[i].copy_kind == SET ? 1 : run.copies[i].bytes;

		if (own == 1 || seen & 1u << own)
			continue;
		seen |= 1u << own;
		ck_assert_uint_eq(of_thread(run.copies[i].tid, &bytes), 200);
		ck_assert_uint_eq(bytes, 100 * own + 100 * own);
	}
}
END_TEST

/* The last ones of each context are on their way when the program ends it. */
START_TEST(contexts_come_and_go)
{
	unsigned of[64] = { 0 }, whole = 0;

	record("contexts", "40");
	check_all_timed(40 * 20);
	for (unsigned i = 0; i < copies(); i++) {
		ck_assert_uint_lt(run.copies[i].context, 64);
		of[run.copies[i].context]++;
	}
	for (unsigned i = 0; i < 64; i++)
		whole += of[i] == 20;
	ck_assert_uint_eq(whole, 40);
}
END_TEST

/* Copies of which is not known when they ran, and what is said of them. */
static unsigned untimed;

static void count_untimed(struct run *r, const struct gputrace_event *event)
{
	(void)r;
	if (gputrace_event_get_type(event) != GPUTRACE_EVENT_COPY || !gputrace_event_get_text(event))
		return;
	ck_assert_str_eq(gputrace_event_get_text(event), "when it ran is not known: too many copies were on their way");
	ck_assert_uint_eq(gputrace_event_get_time_error(event), UINT64_MAX);
	untimed++;
}

/* There is room for 4,096 at a time, and nobody waits for more. */
START_TEST(too_many_at_a_time_have_no_times)
{
	run.watch = count_untimed;
	record("gate", "1500");
	ck_assert_uint_eq(copies(), 3 * 1500);
	ck_assert_uint_eq(untimed, 3 * 1500 - 4096);
}
END_TEST

/* The program goes on to its end once there is this file. */
static char go_on[64];

static void let_it_go_on(struct run *r)
{
	int fd = open(go_on, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	(void)r;
	ck_assert_int_ge(fd, 0);
	close(fd);
}

/* Copies before it, all of KIB, are there; what the program does when it has gone on is not. */
static void check_detached(struct run_options *chosen, unsigned least)
{
	snprintf(go_on, sizeof(go_on), "tests/e2e/copies-go-on-%d", (int)getpid());
	run_target(&run, chosen, "detached", go_on, NULL);
	check_program("detached", go_on);
	unlink(go_on);
	ck_assert_str_eq(run.output, "wrong 0\n");
	ck_assert_uint_ge(copies(), least);
	for (unsigned i = 0; i < copies() && i < RUN_KEPT; i++) {
		check_timed(&run.copies[i]);
		ck_assert_uint_eq(run.copies[i].bytes, 1024);
	}
}

START_TEST(detaching_ends_it)
{
	struct run_options chosen = options();

	chosen.detach_at = "nothing";
	chosen.detached = let_it_go_on;
	check_detached(&chosen, 2 * 10);
}
END_TEST

/* With copies on their way; the program goes on alone, and is waited for. */
static void detach_target(struct run *r, const struct gputrace_event *event)
{
	struct gputrace_link *link = NULL;

	if (gputrace_event_get_type(event) != GPUTRACE_EVENT_COPY || copies() != 30)
		return;
	/* That has to be done before it runs. */
	ck_assert_int_eq(gputrace_attach_copies(r->target, &link), -EBUSY);
	ck_assert_ptr_null(link);
	ck_assert_int_eq(gputrace_target_detach(r->target, PATIENCE_MS), 0);
	let_it_go_on(r);
	while (!gputrace_target_has_exited(r->target, NULL))
		usleep(1000);
}

START_TEST(letting_go_of_the_program_ends_it)
{
	struct run_options chosen = options();

	run.watch = detach_target;
	check_detached(&chosen, 30);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("copies");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, each_function_is_recorded);
	tcase_add_test(tcase, uprobes_call_them_by_the_same_ids);
	tcase_add_test(tcase, none_is_recorded_unless_asked_for);
	tcase_add_test(tcase, copies_lie_between_the_kernels_of_their_stream);
	tcase_add_test(tcase, captured_copies_are_left_alone);
	tcase_add_test(tcase, a_capture_beside_is_not_disturbed);
	tcase_add_test(tcase, a_stream_is_idle_after_a_function_that_waits);
	tcase_add_test(tcase, what_is_refused_is_not_read);
	tcase_add_test(tcase, many_are_all_there);
	tcase_add_test(tcase, memory_is_flat);
	tcase_add_test(tcase, threads_have_theirs);
	tcase_add_test(tcase, contexts_come_and_go);
	tcase_add_test(tcase, too_many_at_a_time_have_no_times);
	tcase_add_test(tcase, detaching_ends_it);
	tcase_add_test(tcase, letting_go_of_the_program_ends_it);
	return run_case("copies", tcase);
}
