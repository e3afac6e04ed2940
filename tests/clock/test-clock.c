/* SPDX-License-Identifier: Apache-2.0 */
/* The public clock over a make-believe driver, with this host's real clocks. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake-driver.h"
#include "lib/clock/clock.h"
#include "lib/clock/hostpair.h"
#include "lib/clock/timer.h"
#include "lib/util/error.h"
#include "tests/suite.h"

#define REGISTER GPUTRACE_CLOCK_BOUND_REGISTER
#define STRICT GPUTRACE_CLOCK_BOUND_STRICT
#define OPTS(...) (&(struct gputrace_clock_opts){ .size = sizeof(struct gputrace_clock_opts), __VA_ARGS__ })

static struct gputrace_clock *open_fake(const struct gputrace_clock_opts *opts)
{
	struct gputrace_clock *clock = NULL;

	ck_assert_int_eq(gt_clock_open(&fake_sys, opts, &clock), 0);
	ck_assert_ptr_nonnull(clock);
	return clock;
}

static void expect_nothing_left(void)
{
	ck_assert_int_eq(fake.fds, 0);
	ck_assert_int_eq(fake.objects, 0);
	ck_assert_int_eq(fake.maps, 0);
}

static struct gputrace_clock_stats stats_of(struct gputrace_clock *clock)
{
	struct gputrace_clock_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(gputrace_clock_get_stats(clock, &stats), 0);
	return stats;
}

static void nap(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

/* The GPU's time now, and CLOCK_MONOTONIC just before and after. */
static struct gt_host_pair now(void)
{
	struct gt_host_pair pair;

	gt_host_pair_read(NULL, &pair);
	return pair;
}

/* 1 when the stated bound misses the truth. */
static int misses(struct gputrace_clock *clock, const struct gt_host_pair *pair, int bound)
{
	uint64_t host = 0, error = 0;

	ck_assert_int_eq(gputrace_clock_to_host(clock, (uint64_t)fake_gpu(pair->raw), bound, &host, &error), 0);
	return host + error < (uint64_t)pair->mono_before || host - error > (uint64_t)pair->mono_after + 1;
}

START_TEST(register_source)
{
	struct gputrace_clock *clock;
	struct gt_host_pair seen[200];
	uint64_t gpu, error;
	int64_t drift;
	int wrong = 0;

	fake_reset();
	clock = open_fake(NULL);
	ck_assert_str_eq(gputrace_clock_get_source_text(clock),
			 "timer register of GPU 0000:06:00, step 32 ns, NVIDIA driver 580.159.04");
	ck_assert_int_eq(gputrace_clock_get_source(clock), GPUTRACE_CLOCK_SOURCE_NONE);
	ck_assert_int_eq(gputrace_clock_to_host(clock, 1, REGISTER, &gpu, &error), -ENODATA);
	ck_assert_int_eq(gputrace_clock_get_drift(clock, &drift, &error), -ENODATA);
	ck_assert_uint_eq(gputrace_clock_get_tick(clock), 32);
	for (int i = 0; i < 200; i++) {
		ck_assert_int_eq(gputrace_clock_update(clock), 0);
		nap(2000);
		seen[i] = now();
		wrong += misses(clock, &seen[i], REGISTER) + misses(clock, &seen[i], STRICT);
		ck_assert_int_eq(gputrace_clock_from_host(clock, (uint64_t)seen[i].mono_before, REGISTER, &gpu, &error), 0);
		wrong += gpu - error > (uint64_t)fake_gpu(seen[i].raw);
		ck_assert_int_eq(gputrace_clock_from_host(clock, (uint64_t)seen[i].mono_after, REGISTER, &gpu, &error), 0);
		wrong += gpu + error < (uint64_t)fake_gpu(seen[i].raw);
	}
	for (int i = 0; i < 200; i++)
		wrong += misses(clock, &seen[i], REGISTER) + misses(clock, &seen[i], STRICT);
	ck_assert_int_eq(wrong, 0);
	ck_assert_int_eq(gputrace_clock_get_source(clock), GPUTRACE_CLOCK_SOURCE_REGISTER);
	ck_assert_uint_ge(stats_of(clock).samples, 200);
	ck_assert_uint_eq(stats_of(clock).resets, 0);
	ck_assert_int_eq(gputrace_clock_get_drift(clock, &drift, &error), 0);
	ck_assert_uint_le(error, 100000);
	ck_assert_ptr_null(gputrace_clock_unref(clock));
	expect_nothing_left();
}
END_TEST

START_TEST(step_of_globaltimer)
{
	static const struct {
		uint32_t arch, tick;
	} known[] = { { 0x160, 1024 }, { 0x170, 1024 }, { 0x190, 1024 }, { 0x180, 32 }, { 0x1a0, 32 }, { 0, 1024 } };
	struct gputrace_clock *clock;

	fake_reset();
	fake.arch = known[_i].arch;
	clock = open_fake(NULL);
	ck_assert_uint_eq(gputrace_clock_get_tick(clock), known[_i].tick);
	ck_assert_int_eq(gputrace_clock_set_tick(clock, 64), 0);
	ck_assert_uint_eq(gputrace_clock_get_tick(clock), 64);
	ck_assert_int_eq(gputrace_clock_set_tick(clock, 0), -EINVAL);
	gputrace_clock_unref(clock);
	clock = open_fake(OPTS(.tick_ns = 2048));
	ck_assert_uint_eq(gputrace_clock_get_tick(clock), 2048);
	gputrace_clock_unref(clock);
}
END_TEST

static void write_information(char *dir, const char *card, const char *uuid)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, card);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	strcat(path, "/information");
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "Model: \t\t NVIDIA H200\nGPU UUID: \t %s\n", uuid);
	fclose(file);
}

static void remove_information(const char *dir, const char *card)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s/information", dir, card);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

static void expect_text(const struct gputrace_clock_opts *opts, const char *part)
{
	struct gputrace_clock *clock = open_fake(opts);

	ck_assert_msg(strstr(gputrace_clock_get_source_text(clock), part), "'%s' lacks '%s'",
		      gputrace_clock_get_source_text(clock), part);
	gputrace_clock_unref(clock);
	expect_nothing_left();
}

START_TEST(which_gpu)
{
	char dir[] = "/tmp/gputrace-clock-XXXXXX";
	uint8_t uuid[16] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5, 6, 7, 8 };
	struct gputrace_clock_opts by_uuid = { .size = sizeof(by_uuid), .select = GPUTRACE_CLOCK_BY_UUID };

	fake_reset();
	expect_text(OPTS(.ordinal = 0), "GPU 0000:06:00");
	expect_text(OPTS(.ordinal = 1), "GPU 0000:2a:00");
	expect_text(OPTS(.ordinal = 2), "there is no GPU 2: the driver has 2");
	expect_text(OPTS(.select = GPUTRACE_CLOCK_BY_PCI, .pci_bus = 0x2a), "GPU 0000:2a:00");
	expect_text(OPTS(.select = GPUTRACE_CLOCK_BY_PCI, .pci_bus = 0x2b), "is at PCI address 0000:2b:00");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	fake_sys.proc = dir;
	memcpy(by_uuid.uuid, uuid, sizeof(uuid));
	expect_text(&by_uuid, "has this UUID");
	write_information(dir, "0000:06:00.0", "GPU-ffffffff-89ab-cdef-0102-030405060708");
	write_information(dir, "0000:2a:00.0", "GPU-01234567-89ab-cdef-0102-030405060708");
	expect_text(&by_uuid, "GPU 0000:2a:00");
	remove_information(dir, "0000:2a:00.0");
	write_information(dir, "0000:2a:00.0", "GPU-01234567-89ab-cdef-0102-03");
	expect_text(&by_uuid, "has this UUID");
	remove_information(dir, "0000:06:00.0");
	remove_information(dir, "0000:2a:00.0");
	rmdir(dir);
}
END_TEST

/* Every step refused in turn: the clock opens all the same, says why, and leaves nothing behind. */
START_TEST(refusals)
{
	struct gputrace_clock *clock;

	fake_reset();
	fake.no_path = "/dev/nvidiactl";
	expect_text(NULL, "cannot open /dev/nvidiactl: Permission denied");
	fake_reset();
	fake.no_path = "/dev/nvidia1";
	expect_text(NULL, "cannot open /dev/nvidia1: Permission denied");
	fake_reset();
	fake.no_ioctl = GT_RM_ESC_CARDS;
	expect_text(NULL, "listing the GPUs failed: Operation not permitted");
	fake_reset();
	fake.no_class = GT_RM_CLASS_CLIENT;
	expect_text(NULL, "becoming a client was refused with status 0x1b");
	ck_assert_int_eq(gt_error_vendor_code(), 0x1b);
	fake_reset();
	fake.no_control = GT_RM_CTRL_ID_INFO;
	expect_text(NULL, "asking for the GPU's instance was refused");
	fake_reset();
	fake.no_class = GT_RM_CLASS_DEVICE;
	expect_text(NULL, "making a device object was refused");
	fake_reset();
	fake.no_class = GT_RM_CLASS_SUBDEVICE;
	expect_text(NULL, "making a subdevice object was refused");
	fake_reset();
	fake.version = "470.82.01";
	expect_text(NULL, "NVIDIA driver 470.82.01: its time page is known from release 535 on only");
	/* not knowing the release or the architecture is no reason */
	fake_reset();
	fake.version = NULL;
	fake.no_control = GT_RM_CTRL_ARCH_INFO;
	expect_text(NULL, "timer register of GPU 0000:06:00, step 32 ns, NVIDIA driver of unknown release");
	/* a page of another generation is the same page */
	fake_reset();
	fake.time_class = GT_RM_CLASS_USERMODE_BLACKWELL;
	expect_text(NULL, "timer register of GPU");
	/* without a source the clock says -ENODATA, not nonsense; sampling is no error */
	fake_reset();
	fake.no_path = "/dev/nvidiactl";
	clock = open_fake(NULL);
	ck_assert_int_eq(gputrace_clock_update(clock), 0);
	ck_assert_int_eq(gputrace_clock_get_source(clock), GPUTRACE_CLOCK_SOURCE_NONE);
	gputrace_clock_unref(clock);
}
END_TEST

/* The page cannot be had, or does not hold a clock: then by calls. */
START_TEST(falls_back_to_calls)
{
	struct gputrace_clock *clock;
	struct gt_host_pair pair;
	uint64_t host, error;
	int wrong = 0;

	fake_reset();
	fake.no_ioctl = GT_RM_ESC_MAP;
	expect_text(NULL, "since NVIDIA driver 580.159.04: preparing the mapping of the time page failed");
	fake_reset();
	fake.no_map = true;
	expect_text(NULL, "mapping the time page failed: Operation not permitted");
	fake_reset();
	fake.frozen = true;
	expect_text(NULL, "since what should be the GPU's timer advanced by 0 while");
	fake_reset();
	fake.no_class = fake.time_class;
	clock = open_fake(NULL);
	ck_assert_ptr_nonnull(strstr(gputrace_clock_get_source_text(clock),
				     "by calls to the NVIDIA driver 580.159.04, since"));
	for (int i = 0; i < 50; i++) {
		ck_assert_int_eq(gputrace_clock_update(clock), 0);
		nap(2000);
		pair = now();
		wrong += misses(clock, &pair, REGISTER);
	}
	ck_assert_int_eq(wrong, 0);
	ck_assert_int_eq(gputrace_clock_get_source(clock), GPUTRACE_CLOCK_SOURCE_CALL);
	ck_assert_str_eq(gputrace_clock_source_name(GPUTRACE_CLOCK_SOURCE_CALL), "call");
	ck_assert_int_eq(gputrace_clock_to_host(clock, (uint64_t)fake_gpu(pair.raw), 7, &host, &error), -EINVAL);
	gputrace_clock_unref(clock);
	expect_nothing_left();
	/* and when calls do not work either, nothing */
	fake_reset();
	fake.no_map = true;
	fake.no_control = GT_RM_CTRL_GET_TIME;
	expect_text(NULL, "asking for the GPU's time was refused");
}
END_TEST

START_TEST(gpu_lost)
{
	struct gputrace_clock *clock;

	fake_reset();
	clock = open_fake(NULL);
	ck_assert_int_eq(gputrace_clock_update(clock), 0);
	fake.lost = true;
	nap(2000);
	ck_assert_int_eq(gputrace_clock_update(clock), -EIO);
	ck_assert_ptr_nonnull(strstr(gt_error_text(), "no longer answers"));
	fake.lost = false;
	nap(2000);
	ck_assert_int_eq(gputrace_clock_update(clock), 0);
	gputrace_clock_unref(clock);
}
END_TEST

/* The driver sets the timer back by an hour: noticed by the very next sample. */
START_TEST(gpu_reset)
{
	struct gputrace_clock *clock;
	struct gt_host_pair before, after;

	fake_reset();
	clock = open_fake(NULL);
	ck_assert_int_eq(gputrace_clock_update(clock), 0);
	nap(2000);
	before = now();
	ck_assert_int_eq(misses(clock, &before, REGISTER), 0);
	nap(2000);
	ck_assert_int_eq(gputrace_clock_update(clock), 0);
	fake.jump = INT64_C(-3600000000000);
	nap(2000);
	ck_assert_int_eq(gputrace_clock_update(clock), 0);
	ck_assert_uint_eq(stats_of(clock).resets, 1);
	nap(1000);
	after = now();
	ck_assert_int_eq(misses(clock, &after, REGISTER), 0);
	fake.jump = 0;
	ck_assert_int_eq(misses(clock, &before, REGISTER), 0);
	gputrace_clock_unref(clock);
}
END_TEST

START_TEST(one_reader_for_all)
{
	struct gputrace_clock *a, *b, *c;

	fake_reset();
	a = open_fake(NULL);
	b = open_fake(OPTS(.select = GPUTRACE_CLOCK_BY_PCI, .pci_bus = 6));
	ck_assert_int_eq(fake.maps_made, 1);
	c = open_fake(OPTS(.ordinal = 1));
	ck_assert_int_eq(fake.maps_made, 2);
	gputrace_clock_unref(a);
	ck_assert_int_eq(fake.maps, 2);
	ck_assert_int_eq(gputrace_clock_update(b), 0);
	gputrace_clock_unref(b);
	gputrace_clock_unref(c);
	ck_assert_int_eq(fake.fds, 0);
	ck_assert_int_eq(fake.maps, 0);
}
END_TEST

START_TEST(bad_options)
{
	struct {
		struct gputrace_clock_opts opts;
		uint64_t later;
	} longer = { .opts = { .size = sizeof(longer) } };
	struct gputrace_clock *clock = (struct gputrace_clock *)&longer, *untouched = clock;

	fake_reset();
	ck_assert_int_eq(gt_clock_open(&fake_sys, &(struct gputrace_clock_opts){ .size = 8 }, &clock), -EINVAL);
	ck_assert_int_eq(gt_clock_open(&fake_sys, OPTS(.select = 9), &clock), -EINVAL);
	ck_assert_int_eq(gt_clock_open(&fake_sys, OPTS(.reads = 65), &clock), -EINVAL);
	ck_assert_int_eq(gt_clock_open(&fake_sys, OPTS(.tick_ns = 1048577), &clock), -EINVAL);
	ck_assert_int_eq(gt_clock_open(&fake_sys, OPTS(.rate_uncertainty_ppb = 100001), &clock), -EINVAL);
	ck_assert_int_eq(gt_clock_open(&fake_sys, OPTS(.reserved = 1), &clock), -E2BIG);
	longer.later = 1;
	ck_assert_int_eq(gt_clock_open(&fake_sys, &longer.opts, &clock), -E2BIG);
	ck_assert_ptr_eq(clock, untouched);
	ck_assert_ptr_null(gputrace_clock_unref(NULL));
	longer.later = 0;
	ck_assert_int_eq(gt_clock_open(&fake_sys, &longer.opts, &clock), 0);
	gputrace_clock_unref(clock);
}
END_TEST

START_TEST(intervals)
{
	struct gputrace_clock *clock = open_fake(OPTS(.select = GPUTRACE_CLOCK_OFFLINE, .tick_ns = 32));
	uint64_t host = 1, error = 1, gpu = UINT64_C(1795958394912347424);
	const uint64_t too_late = (UINT64_C(1) << 61) + 1;

	ck_assert_int_eq(gputrace_clock_add_interval(clock, 2000, 1999, gpu, GPUTRACE_CLOCK_SOURCE_PING), -EINVAL);
	ck_assert_int_eq(gputrace_clock_add_interval(clock, 0, 1999, gpu, GPUTRACE_CLOCK_SOURCE_PING), -EINVAL);
	ck_assert_int_eq(gputrace_clock_add_interval(clock, 1, UINT64_C(10000000002), gpu, GPUTRACE_CLOCK_SOURCE_PING), -EINVAL);
	ck_assert_int_eq(gputrace_clock_add_interval(clock, too_late, too_late, gpu, GPUTRACE_CLOCK_SOURCE_PING), -EINVAL);
	ck_assert_int_eq(gputrace_clock_add_interval(clock, 1000, 2000, UINT64_MAX, GPUTRACE_CLOCK_SOURCE_PING), -EINVAL);
	ck_assert_int_eq(gputrace_clock_add_interval(clock, 1000, 2000, gpu, 0), -EINVAL);
	ck_assert_int_eq(gputrace_clock_add_interval(clock, 1000, 2000, gpu, 4), -EINVAL);
	ck_assert_int_eq(gputrace_clock_to_host(clock, gpu, STRICT, &host, &error), -ENODATA);
	ck_assert_uint_eq(host, 1);
	ck_assert_uint_eq(error, 1);
	/* 1 s to 1 s + 1 us: the middle, and half of 1000 + 1 + 32 + 32 and roundings */
	ck_assert_int_eq(gputrace_clock_add_interval(clock, 1000000000, 1000001000, gpu, GPUTRACE_CLOCK_SOURCE_PING), 0);
	ck_assert_int_eq(gputrace_clock_to_host(clock, gpu, STRICT, &host, &error), 0);
	ck_assert_uint_ge(host, 1000000498);
	ck_assert_uint_le(host, 1000000502);
	ck_assert_uint_ge(error, 533);
	ck_assert_uint_le(error, 536);
	ck_assert_int_eq(gputrace_clock_to_host(clock, UINT64_MAX, STRICT, &host, &error), -ERANGE);
	ck_assert_int_eq(gputrace_clock_get_source(clock), GPUTRACE_CLOCK_SOURCE_PING);
	/* offline nothing is sampled */
	ck_assert_int_eq(gputrace_clock_update(clock), 0);
	ck_assert_uint_eq(stats_of(clock).samples, 1);
	gputrace_clock_unref(clock);
}
END_TEST

/* What a hostile process might send: no answer may overflow, hang, or grow without bound (sanitizers watch). */
START_TEST(hostile_intervals)
{
	struct gputrace_clock *clock = open_fake(OPTS(.select = GPUTRACE_CLOCK_OFFLINE));
	uint64_t before, after, gpu, ns, error, seed = 88172645463325252u + (uint64_t)_i;
	unsigned taken = 0;

	for (int i = 0; i < 20000; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		before = _i == 0 ? seed >> (seed & 63) : UINT64_C(1000000000000) + (uint64_t)i * 1000000 + (seed & 0xffff);
		after = before + (seed >> 20) % 10000000000;
		gpu = _i == 2 ? UINT64_C(1) << 60 : seed * 0x9e3779b97f4a7c15u >> (seed >> 58);
		taken += gputrace_clock_add_interval(clock, before, after, gpu, 1 + (int)(seed % 3)) == 0;
		for (int bound = 0; bound < 2; bound++) {
			gputrace_clock_to_host(clock, gpu + (seed & 0xfffff), bound, &ns, &error);
			gputrace_clock_from_host(clock, before, bound, &ns, &error);
		}
		gputrace_clock_check_start(clock, before, gpu);
	}
	ck_assert_uint_gt(taken, 1000);
	ck_assert_uint_ge(stats_of(clock).samples + stats_of(clock).rejects, taken);
	gputrace_clock_unref(clock);
}
END_TEST

START_TEST(checks_count)
{
	struct gputrace_clock *clock = open_fake(OPTS(.select = GPUTRACE_CLOCK_OFFLINE, .tick_ns = 32));
	struct gputrace_clock_stats stats, part = { .size = 16, .resets = 77 };

	ck_assert_int_eq(gputrace_clock_check_start(clock, 1, 5000000000), -ENODATA);
	gputrace_clock_add_interval(clock, 1000000000, 1000001000, 5000000000, GPUTRACE_CLOCK_SOURCE_PING);
	ck_assert_int_eq(gputrace_clock_check_start(clock, 999999000, 5000000000), 0);
	ck_assert_int_eq(gputrace_clock_check_start(clock, 1000002000, 5000000000), 1);
	ck_assert_int_eq(gputrace_clock_check_end(clock, 5000000000, 1000002000), 0);
	ck_assert_int_eq(gputrace_clock_check_end(clock, 5000000000, 999999000), 1);
	stats = stats_of(clock);
	ck_assert_uint_eq(stats.checks, 4);
	ck_assert_uint_eq(stats.violations, 2);
	ck_assert_int_eq(gputrace_clock_get_stats(clock, &part), 0);
	ck_assert_uint_eq(part.samples, 1);
	ck_assert_uint_eq(part.resets, 77);
	part.size = 8;
	ck_assert_int_eq(gputrace_clock_get_stats(clock, &part), -EINVAL);
	gputrace_clock_unref(clock);
}
END_TEST

static atomic_int threads_wrong;
static atomic_bool threads_stop;

static void *sample_thread(void *data)
{
	struct gputrace_clock *clock = gputrace_clock_ref(data);

	while (!atomic_load(&threads_stop)) {
		if (gputrace_clock_update(clock) < 0)
			atomic_fetch_add(&threads_wrong, 1);
		nap(1500);
	}
	gputrace_clock_unref(clock);
	return NULL;
}

static void *ask_thread(void *data)
{
	struct gputrace_clock *clock = gputrace_clock_ref(data);
	struct gt_host_pair pair;

	while (!atomic_load(&threads_stop)) {
		pair = now();
		atomic_fetch_add(&threads_wrong, misses(clock, &pair, STRICT));
		gputrace_clock_add_interval(clock, (uint64_t)pair.mono_before, (uint64_t)pair.mono_after,
					    (uint64_t)fake_gpu(pair.raw), GPUTRACE_CLOCK_SOURCE_PING);
	}
	gputrace_clock_unref(clock);
	return NULL;
}

START_TEST(threads)
{
	struct gputrace_clock *clock;
	pthread_t thread[4];

	fake_reset();
	clock = open_fake(NULL);
	ck_assert_int_eq(gputrace_clock_update(clock), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, i < 2 ? sample_thread : ask_thread, clock), 0);
	while (stats_of(clock).samples < 100)
		nap(1500);
	atomic_store(&threads_stop, true);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	ck_assert_int_eq(atomic_load(&threads_wrong), 0);
	ck_assert_uint_eq(stats_of(clock).resets, 0);
	gputrace_clock_unref(clock);
	expect_nothing_left();
}
END_TEST

/* A child may not sample with what its parent opened, nor free the parent's objects. */
START_TEST(after_fork)
{
	struct gputrace_clock *clock, *own;
	int status, frees;
	pid_t pid;

	fake_reset();
	clock = open_fake(NULL);
	frees = fake.frees;
	pid = fork();
	if (pid == 0) {
		if (gputrace_clock_update(clock) != -ECHILD)
			_exit(1);
		if (gt_clock_open(&fake_sys, NULL, &own) < 0 || gputrace_clock_update(own) < 0)
			_exit(2);
		frees = fake.frees;
		gputrace_clock_unref(clock);
		_exit(fake.frees == frees ? 0 : 3);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	ck_assert_int_eq(gputrace_clock_update(clock), 0);
	gputrace_clock_unref(clock);
	ck_assert_int_gt(fake.frees, frees);
}
END_TEST

START_TEST(host_pairs)
{
	static const int ids[] = { CLOCK_REALTIME, CLOCK_TAI, CLOCK_BOOTTIME, CLOCK_MONOTONIC_RAW };
	uint64_t mono = 5, other = 5, error = 5;
	struct timespec before, after;
	int64_t lo, hi;

	clock_gettime(ids[_i], &before);
	ck_assert_int_eq(gputrace_clock_host_pair(ids[_i], &mono, &other, &error), 0);
	clock_gettime(ids[_i], &after);
	lo = before.tv_sec * 1000000000ll + before.tv_nsec;
	hi = after.tv_sec * 1000000000ll + after.tv_nsec;
	ck_assert_int_ge((int64_t)other, lo);
	ck_assert_int_le((int64_t)other, hi);
	ck_assert_int_le((int64_t)error, hi - lo + 1000);
	ck_assert_int_eq(gputrace_clock_host_pair(9999, &mono, &other, &error), -EINVAL);
}
END_TEST

/* The real driver, or its absence: either way an open clock and a sentence. */
START_TEST(real_driver)
{
	struct gputrace_clock *clock = NULL;

	ck_assert_int_eq(gputrace_clock_open(NULL, NULL, &clock), 0);
	ck_assert_uint_gt(strlen(gputrace_clock_get_source_text(clock)), 20);
	if (access("/dev/nvidiactl", F_OK) != 0)
		ck_assert_ptr_nonnull(strstr(gputrace_clock_get_source_text(clock), "there is no /dev/nvidiactl"));
	gputrace_clock_unref(clock);
}
END_TEST

START_TEST(names)
{
	ck_assert_str_eq(gputrace_clock_source_name(0), "none");
	ck_assert_str_eq(gputrace_clock_source_name(1), "register");
	ck_assert_str_eq(gputrace_clock_source_name(2), "ping");
	ck_assert_ptr_null(gputrace_clock_source_name(4));
	ck_assert_ptr_null(gputrace_clock_source_name(-1));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("clock");

	tcase_add_test(tc, register_source);
	tcase_add_loop_test(tc, step_of_globaltimer, 0, 6);
	tcase_add_test(tc, which_gpu);
	tcase_add_test(tc, refusals);
	tcase_add_test(tc, falls_back_to_calls);
	tcase_add_test(tc, gpu_lost);
	tcase_add_test(tc, gpu_reset);
	tcase_add_test(tc, one_reader_for_all);
	tcase_add_test(tc, bad_options);
	tcase_add_test(tc, intervals);
	tcase_add_loop_test(tc, hostile_intervals, 0, 3);
	tcase_add_test(tc, checks_count);
	tcase_add_test(tc, threads);
	tcase_add_test(tc, after_fork);
	tcase_add_loop_test(tc, host_pairs, 0, 4);
	tcase_add_test(tc, real_driver);
	tcase_add_test(tc, names);
	return run_case("clock", tc);
}
