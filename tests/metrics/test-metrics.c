/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of the software device, whose values are known (sim/README.md), in the stream. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gputrace/gputrace.h>

#include "tests/suite.h"

#define METRICS_MAX 256
#define MS UINT64_C(1000000)

/* What has come of one metric of one GPU. */
struct seen {
	char name[40], unit[8], text[128];
	unsigned gpu, count;
	int pid;
	double value;
	uint64_t first, last;	/* when the second began, and the last */
	uint64_t end, end_before;	/* when the last ended, and the one before */
};

static struct seen seen[METRICS_MAX];
static unsigned seen_count, notes;
static char note[512], last_note[512];	/* the last that begins with "metrics of GPU", and the last of all */
static uint64_t last_end;
static struct gputrace_target *target;
static struct gputrace_reader *reader;
static int to_program;

/* ---- a program that runs until finish() ---- */

static void begin(const struct gputrace_metrics_opts *opts)
{
	struct gputrace_spawn_opts spawn = { .size = sizeof(spawn), .device = GPUTRACE_DEVICE_SIM };
	char *argv[] = { (char *)(uintptr_t)TARGET_PATH, (char *)(uintptr_t)"live", (char *)(uintptr_t)"1", NULL };
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	close(ends[0]);
	to_program = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
	close(ends[1]);
	ck_assert_msg(!gputrace_target_spawn(NULL, argv, &spawn, &target), "%s", gputrace_last_error());
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	ck_assert_msg(!gputrace_reader_add_metrics(reader, opts), "%s", gputrace_last_error());
	ck_assert_int_eq(gputrace_target_resume(target), 0);
}

static struct seen *find(const char *name, unsigned gpu, int pid)
{
	for (unsigned i = 0; i < seen_count; i++) {
		if (!strcmp(seen[i].name, name) && seen[i].gpu == gpu && seen[i].pid == pid)
			return &seen[i];
	}
	return NULL;
}

static unsigned count_of(const char *name, unsigned gpu)
{
	const struct seen *metric = find(name, gpu, 0);

	return metric ? metric->count : 0;
}

static void check_times(const struct gputrace_event *event, const struct seen *metric)
{
	uint64_t time = gputrace_event_get_time(event), end = gputrace_event_get_end(event);
	double value = gputrace_event_get_metric_value(event);

	ck_assert_uint_le(time, end);
	ck_assert_uint_eq(gputrace_event_get_time_error(event), 0);
	/* The moment of which it is, in ms. */
	if (!strcmp(metric->name, "power.draw")) {
		ck_assert(value * 1000 >= (double)(time / MS % 1000000) - 0.001 || time / MS % 1000000 > end / MS % 1000000);
		ck_assert(value * 1000 <= (double)(end / MS % 1000000) + 0.001 || time / MS % 1000000 > end / MS % 1000000);
	}
	/*
	 * How long it was between the two samples: the first was taken when the one before had ended, the second when
	 * the next begins.
	 */
	if (!strcmp(metric->name, "gpm.nvlink_rx")) {
		ck_assert(value <= (double)(end - time) / 1e6);
		ck_assert_uint_ge(end - time, 100 * MS);
		if (metric->count >= 2)
			ck_assert(metric->value >= (double)time / 1e6 - (double)metric->end_before / 1e6 - 1e-3);
	}
}

static void take_metric(const struct gputrace_event *event)
{
	const struct gputrace_gpu *gpu = gputrace_event_get_gpu(event);
	const char *text = gputrace_event_get_text(event);
	struct seen *metric;

	ck_assert_ptr_nonnull(gpu);
	ck_assert_int_eq(gputrace_event_get_device(event), -1);
	metric = find(gputrace_event_get_name(event), gputrace_gpu_get_index(gpu), gputrace_event_get_pid(event));
	if (!metric) {
		ck_assert_uint_lt(seen_count, METRICS_MAX);
		metric = &seen[seen_count++];
		*metric = (struct seen){ .gpu = gputrace_gpu_get_index(gpu), .pid = gputrace_event_get_pid(event) };
		snprintf(metric->name, sizeof(metric->name), "%s", gputrace_event_get_name(event));
		snprintf(metric->unit, sizeof(metric->unit), "%s", gputrace_event_get_unit(event));
		snprintf(metric->text, sizeof(metric->text), "%s", text ? text : "");
	}
	check_times(event, metric);
	metric->value = gputrace_event_get_metric_value(event);
	metric->count++;
	if (metric->count == 2)
		metric->first = gputrace_event_get_time(event);
	metric->last = gputrace_event_get_time(event);
	metric->end_before = metric->end;
	metric->end = gputrace_event_get_end(event);
}

static void take(const struct gputrace_event *event)
{
	if (!gputrace_event_get_lateness(event)) {
		ck_assert_uint_ge(gputrace_event_get_end(event), last_end);
		last_end = gputrace_event_get_end(event);
	}
	if (gputrace_event_get_type(event) == GPUTRACE_EVENT_METRIC)
		take_metric(event);
	if (gputrace_event_get_type(event) != GPUTRACE_EVENT_NOTE)
		return;
	snprintf(last_note, sizeof(last_note), "%s", gputrace_event_get_text(event));
	if (!strncmp(last_note, "metrics of GPU ", 15)) {
		strcpy(note, last_note);
		notes++;
	}
}

/* Until this metric of this GPU has come so often, of whichever process. */
static void read_until(const char *name, unsigned gpu, int pid, unsigned count)
{
	const struct gputrace_event *event;
	const struct seen *metric;

	while (!(metric = find(name, gpu, pid)) || metric->count < count) {
		ck_assert_int_eq(gputrace_reader_wait(reader, PATIENCE_MS), 1);
		while ((event = gputrace_reader_next(reader)))
			take(event);
	}
}

static void read_to_the_end(void)
{
	const struct gputrace_event *event;
	int r;

	while ((r = gputrace_reader_wait(reader, PATIENCE_MS)) == 1) {
		while ((event = gputrace_reader_next(reader)))
			take(event);
	}
	ck_assert_int_eq(r, -ENODATA);
}

/* The program ends, and so does the stream, for all that is sampled. */
static void finish(void)
{
	ck_assert_int_eq(write(to_program, ".\n", 2), 2);
	read_to_the_end();
	ck_assert_int_eq(gputrace_reader_add_metrics(reader, NULL), -ENODATA);
	/* Nothing comes after the end. */
	ck_assert_int_eq(gputrace_reader_wait(reader, 0), -ENODATA);
	close(to_program);
	gputrace_reader_unref(reader);
	gputrace_target_unref(target);
}

static void expect(const char *name, int pid, double value, const char *unit)
{
	const struct seen *metric = find(name, 0, pid);

	ck_assert_msg(metric != NULL, "%s", name);
	ck_assert_msg(metric->value == value, "%s: %f", name, metric->value);
	ck_assert_str_eq(metric->unit, unit);
}

/* ---- */

START_TEST(every_value)
{
	int pid;

	begin(NULL);
	pid = gputrace_target_get_pid(target);
	read_until("gpm.nvlink_rx", 0, 0, 4);
	read_until("process.utilization.memory", 0, pid, 1);
	finish();
	expect("utilization.gpu", 0, 40, "%");
	expect("utilization.memory", 0, 20, "%");
	expect("memory.used", 0, 1024.0 * 1024 * 1024, "bytes");
	expect("temperature.gpu", 0, 50, "C");
	expect("clocks.sm", 0, 1980, "MHz");
	expect("clocks.mem", 0, 2619, "MHz");
	expect("clocks_event_reasons.active", 0, 0x24, "bits");
	ck_assert_str_eq(find("clocks_event_reasons.active", 0, 0)->text, "sw_power_cap, sw_thermal_slowdown");
	expect("gpm.graphics_util", 0, 1.125, "%");
	expect("gpm.sm_util", 0, 2.125, "%");
	expect("gpm.sm_occupancy", 0, 3.125, "%");
	expect("gpm.any_tensor_util", 0, 5.125, "%");
	expect("gpm.dram_bw_util", 0, 10.125, "%");
	expect("gpm.pcie_tx", 0, 20.125, "MiB/s");
	expect("gpm.pcie_rx", 0, 21.125, "MiB/s");
	expect("process.memory.used", pid, 256.0 * 1024 * 1024, "bytes");
	expect("process.utilization.sm", pid, 30, "%");
	expect("process.utilization.memory", pid, 10, "%");
	ck_assert_str_eq(find("power.draw", 0, 0)->unit, "W");
	ck_assert_str_eq(find("gpm.nvlink_rx", 0, 0)->unit, "MiB/s");
	/* And nothing else. */
	ck_assert_uint_eq(seen_count, 19);
	ck_assert_uint_eq(notes, 1);
	ck_assert_str_eq(note, "metrics of GPU 0 (gputrace software device) that it or its driver does not give: gpm.nvlink_tx (Not Supported)");
}
END_TEST

/* The second device of the machine, the program's first. */
START_TEST(what_a_gpu_does_not_give)
{
	setenv("GPUTRACE_SIM_DEVICES", "2", 1);
	setenv("CUDA_VISIBLE_DEVICES", "1", 1);
	begin(NULL);
	read_until("pcie.rx", 0, 0, 2);
	read_until("process.utilization.memory", 0, gputrace_target_get_pid(target), 1);
	finish();
	expect("utilization.gpu", 0, 41, "%");
	expect("memory.used", 0, 2048.0 * 1024 * 1024, "bytes");
	expect("clocks.sm", 0, 1979, "MHz");
	expect("pcie.tx", 0, 2000, "KB/s");
	expect("pcie.rx", 0, 4000, "KB/s");
	expect("clocks_event_reasons.active", 0, 0, "bits");
	ck_assert_str_eq(find("clocks_event_reasons.active", 0, 0)->text, "none");
	/* Neither power nor counters. */
	ck_assert_uint_eq(seen_count, 12);
	ck_assert_uint_eq(notes, 1);
	ck_assert_str_eq(note, "metrics of GPU 0 (gputrace software device) that it or its driver does not give: gpm.* (Not Supported), power.draw (Not Supported)");
}
END_TEST

START_TEST(what_was_asked_for)
{
	struct gputrace_metrics_opts opts = { .size = sizeof(opts), .period_ms = 7, .select = GPUTRACE_METRICS_POWER };
	const struct seen *power;

	begin(&opts);
	read_until("power.draw", 0, 0, 20);
	finish();
	ck_assert_uint_eq(seen_count, 1);
	ck_assert_uint_eq(notes, 0);
	/* From the second on each lies in a period of its own. */
	power = &seen[0];
	ck_assert_uint_gt(power->last - power->first, (power->count - 3) * 7 * MS);
}
END_TEST

START_TEST(a_machine_that_is_watched)
{
	struct gputrace_metrics_opts opts = { .size = sizeof(opts), .period_ms = 20 };
	const struct gputrace_gpu *gpu = NULL;
	unsigned number = 0;
	pid_t child = fork();

	if (!child) {
		pause();
		_exit(0);
	}
	setenv("GPUTRACE_SIM_DEVICES", "3", 1);
	setenv("LD_LIBRARY_PATH", getenv("GPUTRACE_SIM_DIR"), 1);
	ck_assert_msg(!gputrace_target_watch(NULL, GPUTRACE_EVERY_PROCESS, &target), "%s", gputrace_last_error());
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	ck_assert_ptr_null(gputrace_target_next_gpu(target, NULL));
	ck_assert_msg(!gputrace_reader_add_metrics(reader, &opts), "%s", gputrace_last_error());
	for (; (gpu = gputrace_target_next_gpu(target, gpu)); number++) {
		char address[24];

		ck_assert_uint_eq(gputrace_gpu_get_index(gpu), number);
		ck_assert_mem_eq(gputrace_gpu_get_uuid(gpu), "gputra\x50" "e\x80" "softwa", 15);
		ck_assert_uint_eq(gputrace_gpu_get_uuid(gpu)[15], number);
		snprintf(address, sizeof(address), "0000:%02x:00.0", 0xf0 + number);
		ck_assert_str_eq(gputrace_gpu_get_pci_address(gpu), address);
		ck_assert_uint_eq(gputrace_gpu_get_arch(gpu), 90);
	}
	ck_assert_uint_eq(number, 3);
	for (unsigned i = 0; i < 3; i++)
		read_until("process.memory.used", i, child, 1);
	read_until("temperature.gpu", 2, 0, 1);
	ck_assert(find("temperature.gpu", 0, 0)->value == 50);
	ck_assert(find("temperature.gpu", 2, 0)->value == 52);
	ck_assert(find("process.memory.used", 2, child)->value == 768.0 * 1024 * 1024);
	gputrace_reader_unref(reader);
	gputrace_target_unref(target);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

/*
 * GPU 1 of three is lost at its 31st question.  Four are asked once (twice which it is, counters, old samples), in each
 * round first of processes and their utilization, then of the values in their order, of two values of utilization
 * together: 11 in the first round, then 10, without power.  So the third round comes to the clocks.
 */
START_TEST(a_gpu_that_is_lost)
{
	struct gputrace_metrics_opts opts = { .size = sizeof(opts), .period_ms = 5 };
	const struct gputrace_event *event;

	setenv("GPUTRACE_SIM_DEVICES", "3", 1);
	setenv("GPUTRACE_SIM_NVML", "*:1:31:15", 1);
	setenv("LD_LIBRARY_PATH", getenv("GPUTRACE_SIM_DIR"), 1);
	ck_assert_int_eq(gputrace_target_watch(NULL, GPUTRACE_EVERY_PROCESS, &target), 0);
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	ck_assert_msg(!gputrace_reader_add_metrics(reader, &opts), "%s", gputrace_last_error());
	while (!strstr(note, "lost")) {
		ck_assert_int_eq(gputrace_reader_wait(reader, PATIENCE_MS), 1);
		while ((event = gputrace_reader_next(reader)))
			take(event);
	}
	ck_assert_str_eq(note, "metrics of GPU 1 (gputrace software device) end here: the driver has lost it (nvidia-smi, dmesg)");
	/* The others go on. */
	read_until("temperature.gpu", 0, 0, count_of("temperature.gpu", 0) + 10);
	read_until("temperature.gpu", 2, 0, count_of("temperature.gpu", 2) + 10);
	ck_assert_uint_eq(count_of("temperature.gpu", 1), 3);
	ck_assert_uint_eq(count_of("clocks.sm", 1), 2);
	ck_assert_uint_eq(count_of("pcie.rx", 1), 2);
	/* Of each what it does not give, and the loss. */
	ck_assert_uint_eq(notes, 4);
	gputrace_reader_unref(reader);
	gputrace_target_unref(target);
}
END_TEST

/* One that is lost from the beginning is left out. */
START_TEST(a_gpu_that_was_lost_before)
{
	struct gputrace_metrics_opts opts = { .size = sizeof(opts) };

	setenv("GPUTRACE_SIM_DEVICES", "2", 1);
	setenv("GPUTRACE_SIM_NVML", "*:0:1:15", 1);
	setenv("LD_LIBRARY_PATH", getenv("GPUTRACE_SIM_DIR"), 1);
	ck_assert_int_eq(gputrace_target_watch(NULL, GPUTRACE_EVERY_PROCESS, &target), 0);
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	ck_assert_msg(!gputrace_reader_add_metrics(reader, &opts), "%s", gputrace_last_error());
	read_until("temperature.gpu", 1, 0, 1);
	ck_assert_ptr_null(find("temperature.gpu", 0, 0));
	ck_assert_ptr_null(gputrace_target_next_gpu(target, gputrace_target_next_gpu(target, NULL)));
	gputrace_reader_unref(reader);
	gputrace_target_unref(target);
}
END_TEST

static unsigned count_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	unsigned count = 0;

	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 2;
}

/* The second question for the temperature gets no answer: nobody waits for it for ever, and nothing is lost by that. */
START_TEST(a_driver_that_hangs)
{
	struct gputrace_metrics_opts opts = { .size = sizeof(opts), .period_ms = 5 };
	unsigned threads;
	char rule[64];
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	snprintf(rule, sizeof(rule), "nvmlDeviceGetTemperature:0:2:<%d", ends[0]);
	setenv("GPUTRACE_SIM_NVML", rule, 1);
	begin(&opts);
	read_until("power.draw", 0, 0, 2);
	if (_i) {
		gputrace_reader_unref(reader);
		ck_assert_int_eq(write(to_program, ".\n", 2), 2);
		gputrace_target_unref(target);
	} else {
		finish();
		ck_assert_uint_eq(find("temperature.gpu", 0, 0)->count, 1);
		ck_assert_str_eq(last_note, "metrics end early: the driver's management library does not answer");
	}
	/* The thread that it hung in ends with the answer. */
	threads = count_threads();
	ck_assert_uint_ge(threads, 2);
	ck_assert_int_eq(write(ends[1], "", 1), 1);
	while (count_threads() == threads)
		usleep(1000);
}
END_TEST

START_TEST(a_child_without_the_thread)
{
	int status;
	pid_t pid;

	begin(NULL);
	read_until("temperature.gpu", 0, 0, 1);
	pid = fork();
	if (!pid) {
		gputrace_reader_unref(reader);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	read_until("temperature.gpu", 0, 0, count_of("temperature.gpu", 0) + 2);
	finish();
}
END_TEST

/* Starts the program in a process that ends: as one of another container, it is none that the driver tells us of. */
static int start_orphan(int *ret_out)
{
	int in[2], out[2], pid = 0;
	pid_t parent;

	ck_assert_int_eq(pipe(in) | pipe(out), 0);
	to_program = in[1];
	*ret_out = out[0];
	parent = fork();
	if (parent) {
		close(in[0]);
		close(out[1]);
		ck_assert_int_eq(waitpid(parent, NULL, 0), parent);
		ck_assert_int_eq(read(out[0], &pid, sizeof(pid)), sizeof(pid));
		return pid;
	}
	if (fork())
		_exit(0);
	pid = getpid();
	if (write(out[1], &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	dup2(in[0], STDIN_FILENO);
	dup2(out[1], STDOUT_FILENO);
	close(in[1]);
	setenv("LD_LIBRARY_PATH", getenv("GPUTRACE_SIM_DIR"), 1);
	execl(TARGET_PATH, TARGET_PATH, "live", "1", NULL);
	_exit(1);
}

START_TEST(processes_that_are_not_listed)
{
	struct gputrace_metrics_opts opts = { .size = sizeof(opts), .period_ms = 5 };
	char ready[6] = "";
	int out, pid = start_orphan(&out);

	ck_assert_int_eq(read(out, ready, 5), 5);
	ck_assert_str_eq(ready, "ready");
	ck_assert_msg(!gputrace_target_attach(NULL, pid, NULL, &target), "%s", gputrace_last_error());
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	ck_assert_msg(!gputrace_reader_add_metrics(reader, &opts), "%s", gputrace_last_error());
	ck_assert_msg(!gputrace_target_resume(target), "%s", gputrace_last_error());
	read_until("temperature.gpu", 0, 0, 5);
	ck_assert_ptr_null(find("process.memory.used", 0, pid));
	ck_assert_int_eq(gputrace_target_detach(target, PATIENCE_MS), 0);
	read_to_the_end();
	ck_assert_str_eq(last_note, "metrics of processes: the driver listed none of this target whenever it was asked; in a container it may know them by other numbers");
	gputrace_reader_unref(reader);
	gputrace_target_unref(target);
	close(to_program);
}
END_TEST

static int add(uint32_t period, uint32_t select)
{
	struct gputrace_metrics_opts opts = { .size = sizeof(opts), .period_ms = period, .select = select };

	return gputrace_reader_add_metrics(reader, &opts);
}

START_TEST(what_is_refused)
{
	struct gputrace_metrics_opts small = { .size = 4 };

	begin(NULL);
	ck_assert_int_eq(add(60001, 0), -EINVAL);
	ck_assert_str_eq(gputrace_last_error(), "period_ms is 60001: give 1 to 60000");
	ck_assert_int_eq(add(0, 0x100), -EINVAL);
	ck_assert_int_eq(gputrace_reader_add_metrics(reader, &small), -EINVAL);
	ck_assert_int_eq(add(0, 0), -EALREADY);
	finish();
}
END_TEST

/* Another library by that name. */
START_TEST(a_library_that_is_none)
{
	char folder[] = "/tmp/gt-metrics-XXXXXX", cuda[4096], nvml[64];

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(nvml, sizeof(nvml), "%s/libnvidia-ml.so.1", folder);
	snprintf(cuda, sizeof(cuda), "%s/libcuda.so.1", getenv("GPUTRACE_SIM_DIR"));
	ck_assert_int_eq(symlink(cuda, nvml), 0);
	setenv("LD_LIBRARY_PATH", folder, 1);
	ck_assert_int_eq(gputrace_target_watch(NULL, GPUTRACE_EVERY_PROCESS, &target), 0);
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	ck_assert_int_eq(add(0, 0), -ENOSYS);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "has no function nvmlInit_v2"));
	gputrace_reader_unref(reader);
	gputrace_target_unref(target);
	unlink(nvml);
	rmdir(folder);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("metrics");

	tcase_add_test(tcase, every_value);
	tcase_add_test(tcase, what_a_gpu_does_not_give);
	tcase_add_test(tcase, what_was_asked_for);
	tcase_add_test(tcase, a_machine_that_is_watched);
	tcase_add_test(tcase, a_gpu_that_is_lost);
	tcase_add_test(tcase, a_gpu_that_was_lost_before);
	tcase_add_loop_test(tcase, a_driver_that_hangs, 0, 2);
	tcase_add_test(tcase, a_child_without_the_thread);
	tcase_add_test(tcase, processes_that_are_not_listed);
	tcase_add_test(tcase, what_is_refused);
	tcase_add_test(tcase, a_library_that_is_none);
	return run_case("metrics", tcase);
}
