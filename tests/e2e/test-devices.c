/* SPDX-License-Identifier: Apache-2.0 */
/* One program on several software devices of different kinds. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/e2e/run.h"
#include "tests/suite.h"

#define GPUS 3
#define WIDTH 64	/* threads of a block of the program's */

/* The machine: what each device is, by its number. */
static const uint32_t sms[GPUS] = { 2, 7, 5 }, archs[GPUS] = { 80, 90, 120 };

/* What was seen of each device, by its number in the machine. */
static struct {
	unsigned kernels, misplaced;
	uint64_t threads;
	int device;		/* as the program calls it */
} seen[GPUS];

static struct run run;
static struct run plain;

/* The software device's number is the last byte of its UUID. */
static unsigned number_of(const struct gputrace_gpu *gpu)
{
	unsigned number = gputrace_gpu_get_uuid(gpu)[15];

	ck_assert_uint_lt(number, GPUS);
	return number;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_misplaced(const struct gputrace_event *event)
{
	uint64_t time = gputrace_event_get_time(event), error = gputrace_event_get_time_error(event);

	return time + error + 1000000000 < run.launches[0].time || time > now() + error;
}

static void watch(struct run *unused, const struct gputrace_event *event)
{
	const struct gputrace_gpu *gpu = gputrace_event_get_gpu(event);
	const uint32_t *grid, *block;
	unsigned number;

	(void)unused;
	if (gputrace_event_get_type(event) != GPUTRACE_EVENT_KERNEL)
		return;
	ck_assert_ptr_nonnull(gpu);
	number = number_of(gpu);
	grid = gputrace_event_get_grid(event);
	block = gputrace_event_get_block(event);
	seen[number].kernels++;
	seen[number].threads += (uint64_t)grid[0] * block[0];
	seen[number].device = gputrace_event_get_device(event);
	/* By another device's clock it would be more than a second away, of which its error would know nothing. */
	if (gputrace_event_get_time_error(event) != UINT64_MAX)
		seen[number].misplaced += is_misplaced(event);
}

static void set_up(void)
{
	setenv("GPUTRACE_SIM_DEVICES", "3", 1);
	setenv("GPUTRACE_SIM_SMS", "2,7,5", 1);
	setenv("GPUTRACE_SIM_ARCH", "80,90,120", 1);
	setenv("GPUTRACE_SIM_DRIFT_PPM", "5,-20,300", 1);
	unsetenv("CUDA_VISIBLE_DEVICES");
	memset(&run, 0, sizeof(run));
	memset(&plain, 0, sizeof(plain));
	memset(seen, 0, sizeof(seen));
}

static void tear_down(void)
{
	run_free(&run);
}

static struct run_options counting(void)
{
	return (struct run_options){ .object = "examples/bpf/threads.bpf.o", .timeline = true };
}

/* The program's line "gpu ORDINAL PCI-ADDRESS launches N threads N". */
static void stated(int ordinal, unsigned *ret_launches, uint64_t *ret_threads)
{
	unsigned long launches, threads;
	char start[16];
	const char *line;

	snprintf(start, sizeof(start), "gpu %d ", ordinal);
	line = strstr(run.output, start);
	ck_assert_ptr_nonnull(line);
	ck_assert_int_eq(sscanf(line, "gpu %*d %*s launches %lu threads %lu", &launches, &threads), 2);
	*ret_launches = (unsigned)launches;
	*ret_threads = threads;
}

/* What a map's instances on a device add up to. */
static uint64_t counted(const char *name, unsigned number)
{
	struct gputrace_map *map = gputrace_object_find_map(run.object, name);
	struct gputrace_instance_info info = { .size = sizeof(info) };
	uint64_t sum = 0;

	for (int i = 0; i < gputrace_map_count_instances(map); i++) {
		ck_assert_int_eq(gputrace_map_get_instance_info(map, i, &info), 0);
		ck_assert_int_gt(info.pid, 0);
		if (info.uuid[15] == number)
			sum += run_map_value(&run, name, i, 0);
	}
	return sum;
}

/* numbers: of the devices that the program calls 0, 1, ... */
static void assert_exact(const char *numbers)
{
	uint64_t threads;
	unsigned launches;

	ck_assert_str_eq(run.output, plain.output);
	ck_assert_uint_eq(run.lost, 0);
	for (int i = 0; numbers[i]; i++) {
		unsigned number = (unsigned)(numbers[i] - '0');

		stated(i, &launches, &threads);
		ck_assert_uint_eq(seen[number].kernels, launches);
		ck_assert_uint_eq(seen[number].threads, threads);
		ck_assert_uint_eq(seen[number].misplaced, 0);
		ck_assert_int_eq(seen[number].device, i);
		ck_assert_uint_eq(counted("entered", number), threads);
		ck_assert_uint_eq(counted("left", number), threads);
	}
}

static void check_mode(const char *mode, const char *rounds, const char *numbers)
{
	struct run_options options = counting();

	run.watch = watch;
	run_plain(&plain, false, mode, rounds, NULL);
	run_target(&run, &options, mode, rounds, NULL);
	assert_exact(numbers);
}

START_TEST(threads_launch_on_all)
{
	check_mode("threads", "40", "012");
}
END_TEST

START_TEST(one_library_serves_all)
{
	check_mode("switch", "40", "012");
}
END_TEST

/* Which program's code ran shows in the results; the kernel is listed for each architecture. */
START_TEST(a_library_has_code_for_each)
{
	const struct gputrace_kernel *kernel = NULL;
	unsigned probed = 0;

	check_mode("variants", "30", "012");
	while ((kernel = gputrace_target_next_kernel(run.target, kernel))) {
		ck_assert_str_eq(gputrace_kernel_get_name(kernel), "variant");
		ck_assert_int_eq(gputrace_kernel_get_route(kernel), GPUTRACE_ROUTE_PTX);
		ck_assert_uint_eq(gputrace_kernel_get_launches(kernel), 30);
		probed++;
	}
	ck_assert_uint_eq(probed, GPUS);
}
END_TEST

START_TEST(values_travel)
{
	check_mode("peer", "20", "012");
}
END_TEST

START_TEST(kernels_wait_for_each_other)
{
	check_mode("pair", "50", "01");
}
END_TEST

START_TEST(contexts_come_and_go)
{
	check_mode("contexts", "1000", "012");
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_CONTEXT], 1000);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_NOTE], 0);
}
END_TEST

START_TEST(threads_make_contexts)
{
	check_mode("makers", "50", "012");
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_CONTEXT], 2 * GPUS * 50);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_NOTE], 0);
}
END_TEST

/* 32 at a time; the others run without programs, which is said once.  Later ones are seen again. */
START_TEST(too_many_contexts)
{
	struct run_options options = counting();
	unsigned kernels = 0;

	run.watch = watch;
	run_plain(&plain, false, "crowd", "40", NULL);
	run_target(&run, &options, "crowd", "40", NULL);
	ck_assert_str_eq(run.output, plain.output);
	for (unsigned i = 0; i < GPUS; i++)
		kernels += seen[i].kernels;
	ck_assert_uint_eq(kernels, 33);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_CONTEXT], 33);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 41);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_NOTE], 1);
	ck_assert_ptr_nonnull(strstr(run.notes, "more than 32 CUDA contexts at a time"));
}
END_TEST

/* The program's 0 is the machine's 2, and its 1 the machine's 0. */
START_TEST(renumbered)
{
	setenv("CUDA_VISIBLE_DEVICES", "2,0", 1);
	check_mode("switch", "20", "20");
}
END_TEST

START_TEST(gpus_are_described)
{
	const struct gputrace_gpu *gpu = NULL;
	char address[16];
	unsigned count = 0;

	check_mode("switch", "2", "012");
	while ((gpu = gputrace_target_next_gpu(run.target, gpu))) {
		unsigned number = number_of(gpu);

		ck_assert_uint_eq(gputrace_gpu_get_index(gpu), number);
		ck_assert_uint_eq(gputrace_gpu_get_sm_count(gpu), sms[number]);
		ck_assert_uint_eq(gputrace_gpu_get_arch(gpu), archs[number]);
		ck_assert_str_eq(gputrace_gpu_get_name(gpu), "gputrace software device");
		snprintf(address, sizeof(address), "0000:f%u:00.0", number);
		ck_assert_str_eq(gputrace_gpu_get_pci_address(gpu), address);
		count++;
	}
	ck_assert_uint_eq(count, GPUS);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("software");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, threads_launch_on_all);
	tcase_add_test(tcase, one_library_serves_all);
	tcase_add_test(tcase, a_library_has_code_for_each);
	tcase_add_test(tcase, values_travel);
	tcase_add_test(tcase, kernels_wait_for_each_other);
	tcase_add_test(tcase, contexts_come_and_go);
	tcase_add_test(tcase, threads_make_contexts);
	tcase_add_test(tcase, too_many_contexts);
	tcase_add_test(tcase, renumbered);
	tcase_add_test(tcase, gpus_are_described);
	return run_case("devices", tcase);
}
