/* SPDX-License-Identifier: Apache-2.0 */
/* The Chrome JSON writer, fed with events made by hand and read back with json-c. */
#include <check.h>
#include <errno.h>
#include <gputrace/gputrace.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/reader/event.h"
#include "lib/target/gpu.h"
#include "lib/uprobe/api_trace.h"
#include "lib/util/error.h"
#include "tests/suite.h"

#define PID 4711
#define TID 4712

static char path[] = "/tmp/gputrace-chrome-XXXXXX";
static struct gputrace_writer *writer;
static struct json_object *trace;

static void set_up(void)
{
	int fd;

	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	trace = NULL;
	ck_assert_int_eq(gputrace_writer_open(NULL, path, GPUTRACE_FORMAT_CHROME_JSON, &writer), 0);
}

static void tear_down(void)
{
	json_object_put(trace);
	unlink(path);
}

static void add(const struct gputrace_event *event)
{
	ck_assert_int_eq(gputrace_writer_add(writer, event), 0);
}

/* Close the writer and parse the file. */
static void finish(void)
{
	ck_assert_int_eq(gputrace_writer_close(writer), 0);
	trace = json_object_from_file(path);
	ck_assert_msg(trace != NULL, "%s", json_util_get_last_err());
}

/* The n-th element with this phase and category (NULL: any); NULL past the last. */
static struct json_object *element(const char *phase, const char *category, unsigned n)
{
	struct json_object *events = json_object_object_get(trace, "traceEvents");

	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *object = json_object_array_get_idx(events, i);
		const char *cat = json_object_get_string(json_object_object_get(object, "cat"));

		if (strcmp(json_object_get_string(json_object_object_get(object, "ph")), phase))
			continue;
		if (category && (!cat || strcmp(cat, category)))
			continue;
		if (!n--)
			return object;
	}
	return NULL;
}

/* The member as it stands in the file. */
static const char *text(struct json_object *object, const char *key)
{
	ck_assert_ptr_nonnull(object);
	return json_object_get_string(json_object_object_get(object, key));
}

static const char *arg(struct json_object *object, const char *key)
{
	return text(json_object_object_get(object, "args"), key);
}

static struct gputrace_event call_event(uint64_t id, uint64_t time, uint64_t end)
{
	return (struct gputrace_event){ .type = GPUTRACE_EVENT_API, .time = time, .end = end, .pid = PID,
		.tid = TID, .name = "cuLaunchKernel", .launch_id = id, .args = { 81, 7 }, .arg_count = 2 };
}

static struct gputrace_event launch_event(uint64_t id, uint64_t time, uint64_t end)
{
	return (struct gputrace_event){ .type = GPUTRACE_EVENT_LAUNCH, .time = time, .end = end, .pid = PID,
		.tid = TID, .name = "vecadd", .launch_id = id, .kernel_id = 1, .stream = 7 };
}

static struct gputrace_event kernel_event(uint64_t id, uint64_t time, uint64_t end)
{
	return (struct gputrace_event){ .type = GPUTRACE_EVENT_KERNEL, .time = time, .end = end, .pid = PID,
		.time_error = 512, .name = "vecadd", .launch_id = id, .kernel_id = 1, .context = 2,
		.device = 0, .stream = 7, .grid = { 40, 1, 1 }, .block = { 256, 1, 1 }, .shared_bytes = 1024 };
}

static struct gputrace_event copy_event(uint64_t id, uint64_t time, uint64_t end)
{
	return (struct gputrace_event){ .type = GPUTRACE_EVENT_COPY, .time = time, .end = end, .pid = PID,
		.time_error = 640, .name = "memcpy HtoD", .copy_kind = GPUTRACE_COPY_HOST_TO_DEVICE, .copy_bytes = 4096,
		.launch_id = id, .context = 2, .device = 0, .stream = 7, .tid = TID };
}

/* The name of the row that a slice is in. */
static const char *row_of(struct json_object *slice)
{
	struct json_object *row;

	for (unsigned i = 0; (row = element("M", NULL, i)); i++) {
		if (!strcmp(text(row, "name"), "thread_name") && !strcmp(text(row, "pid"), text(slice, "pid")) &&
		    !strcmp(text(row, "tid"), text(slice, "tid")))
			return arg(row, "name");
	}
	return NULL;
}

/* In a row beside the kernels of its stream, with an arrow from the call: 4096 bytes in 2048 ns are 2 GB/s. */
static void check_copy(void)
{
	struct json_object *slice, *from, *to;

	finish();
	slice = element("X", "gpu_memcpy", 0);
	ck_assert_str_eq(text(slice, "name"), "memcpy HtoD");
	ck_assert_str_eq(text(slice, "ts"), "3.000");
	ck_assert_str_eq(text(slice, "dur"), "2.048");
	ck_assert_str_eq(arg(slice, "bytes"), "4096");
	ck_assert_str_eq(arg(slice, "memory bandwidth (GB/s)"), "2.0");
	ck_assert_str_eq(arg(slice, "stream"), "7");
	ck_assert_str_eq(arg(slice, "context"), "2");
	ck_assert_str_eq(arg(slice, "est. error ns"), "640");
	ck_assert_str_eq(row_of(slice), "stream 7 copies (process 4711, context 2)");
	ck_assert_str_eq(row_of(element("X", "kernel", 0)), "stream 7 (process 4711, context 2)");
	from = element("s", "ac2g", 0);
	to = element("f", "ac2g", 0);
	ck_assert_str_eq(text(from, "id"), text(to, "id"));
	ck_assert_str_eq(text(from, "ts"), "1.000");
	ck_assert_str_eq(text(from, "tid"), "4712");
	ck_assert_str_eq(text(to, "ts"), "3.000");
	ck_assert_str_eq(text(to, "tid"), text(slice, "tid"));
	ck_assert_ptr_null(element("s", "ac2g", 1));
	ck_assert_str_eq(arg(element("X", "cuda_driver", 0), "launch"), arg(slice, "launch"));
}

static uint32_t function_index(const char *name)
{
	uint32_t i = 0;

	while (strcmp(gt_api_name(i), name))
		i++;
	return i;
}

static void add_copy(bool call_first)
{
	struct gputrace_event kernel = kernel_event(0, 6000, 7000), copy = copy_event(5 << 12, 3000, 5048);
	struct gputrace_event call = call_event(5 << 12, 1000, 2000);

	call.name = "cuMemcpyHtoDAsync_v2";
	call.api_function = (int)function_index(call.name);
	add(&kernel);
	if (call_first)
		add(&call);
	add(&copy);
	if (!call_first)
		add(&call);
}

START_TEST(copies_have_rows_and_arrows)
{
	add_copy(true);
	check_copy();
}
END_TEST

START_TEST(a_copy_may_come_before_its_call)
{
	add_copy(false);
	check_copy();
}
END_TEST

START_TEST(memsets_and_copies_without_times)
{
	struct gputrace_event set = copy_event(1 << 12, 1000, 2000), untimed = copy_event(2 << 12, 3000, 4000);

	set.name = "memset";
	set.copy_kind = GPUTRACE_COPY_MEMSET;
	untimed.time_error = UINT64_MAX;
	untimed.text = "nobody knows";
	add(&set);
	add(&untimed);
	finish();
	ck_assert_str_eq(text(element("X", "gpu_memset", 0), "name"), "memset");
	ck_assert_ptr_null(element("X", "gpu_memcpy", 0));
	ck_assert_str_eq(arg(element("i", "untimed", 0), "text"), "nobody knows");
	ck_assert_str_eq(text(element("i", "untimed", 0), "tid"), "4712");
	ck_assert_str_eq(arg(element("i", "untimed", 0), "bytes"), "4096");
}
END_TEST

/* Ids as the agent gives them: a kernel may come when many more have been launched. */
START_TEST(many_launches_are_told_apart)
{
	enum { COUNT = 1000 };
	struct gputrace_event event;

	for (uint64_t i = 1; i <= COUNT; i++) {
		event = launch_event(i << 12, 1000 * i, 1000 * i + 500);
		add(&event);
	}
	for (uint64_t i = 1; i <= COUNT; i++) {
		event = kernel_event(i << 12, 10000000 + 1000 * i, 10000000 + 1000 * i + 500);
		add(&event);
	}
	finish();
	ck_assert_ptr_nonnull(element("f", "ac2g", COUNT - 1));
	ck_assert_ptr_null(element("f", "ac2g", COUNT));
}
END_TEST

/* Two processes that see one GPU each call it 0: the rows go by the GPU. */
START_TEST(gpus_are_told_apart)
{
	static const struct gputrace_gpu gpus[] = {
		{ .index = 0, .uuid = { 1 }, .pci_address = "0000:1b:00.0", .arch = 90, .sm_count = 132 },
		{ .index = 1, .uuid = { [15] = 2 }, .pci_address = "0000:5d:00.0", .arch = 120, .sm_count = 188 },
	};
	struct gputrace_event context = { .type = GPUTRACE_EVENT_CONTEXT, .pid = PID, .name = "A GPU" };
	struct gputrace_event kernel = kernel_event(1, 1000, 2000);
	struct json_object *devices;

	for (int i = 0; i < 2; i++) {
		context.gpu = kernel.gpu = &gpus[i];
		add(&context);
		add(&kernel);
	}
	finish();
	ck_assert_str_eq(text(element("X", "kernel", 0), "pid"), "0");
	ck_assert_str_eq(arg(element("X", "kernel", 0), "device"), "0");
	ck_assert_str_eq(text(element("X", "kernel", 1), "pid"), "1");
	ck_assert_str_eq(arg(element("X", "kernel", 1), "device"), "1");
	devices = json_object_object_get(trace, "deviceProperties");
	ck_assert_uint_eq(json_object_array_length(devices), 2);
	for (size_t i = 0; i < 2; i++) {
		struct json_object *device = json_object_array_get_idx(devices, i);
		int second = json_object_get_int(json_object_object_get(device, "id"));

		ck_assert_str_eq(text(device, "name"), "A GPU");
		ck_assert_str_eq(text(device, "computeMajor"), second ? "12" : "9");
		ck_assert_str_eq(text(device, "computeMinor"), "0");
		ck_assert_str_eq(text(device, "numSms"), second ? "188" : "132");
		ck_assert_str_eq(text(device, "pciAddress"), second ? "0000:5d:00.0" : "0000:1b:00.0");
		ck_assert_str_eq(text(device, "uuid"), second ? "GPU-00000000-0000-0000-0000-000000000002" :
								"GPU-01000000-0000-0000-0000-000000000000");
	}
}
END_TEST

START_TEST(empty_trace_is_valid)
{
	finish();
	ck_assert_str_eq(text(trace, "schemaVersion"), "1");
	ck_assert_uint_eq(json_object_array_length(json_object_object_get(trace, "traceEvents")), 0);
	ck_assert_uint_eq(json_object_array_length(json_object_object_get(trace, "deviceProperties")), 0);
}
END_TEST

START_TEST(base_time_gives_the_time_of_day)
{
	struct timespec monotonic;
	int64_t base, now;

	finish();
	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	base = json_object_get_int64(json_object_object_get(trace, "baseTimeNanoseconds"));
	now = base / 1000000000 + monotonic.tv_sec;
	ck_assert_int_le(labs(now - time(NULL)), 2);
}
END_TEST

/* Counters of the GPU and of a process, from where their time begins; what is no number is left out. */
START_TEST(metrics_are_counters)
{
	struct gputrace_gpu gpu = { .index = 3, .name = "H200", .pci_address = "0000:1b:00.0", .sm_count = 132, .arch = 90 };
	struct gputrace_event metric = { .type = GPUTRACE_EVENT_METRIC, .time = 5001, .end = 9000, .device = -1, .gpu = &gpu,
					 .name = "power.draw", .unit = "W", .metric_value = 71.5 };
	struct json_object *counter, *name = NULL;

	add(&metric);
	metric.metric_value = NAN;
	add(&metric);
	metric.pid = PID;
	metric.name = "process.memory.used";
	metric.unit = "bytes";
	metric.metric_value = 268435456;
	add(&metric);
	finish();
	counter = element("C", "metric", 0);
	ck_assert_str_eq(text(counter, "name"), "power.draw");
	ck_assert_str_eq(text(counter, "ts"), "5.001");
	ck_assert_str_eq(text(counter, "pid"), "3");
	ck_assert_str_eq(arg(counter, "W"), "71.5");
	counter = element("C", "metric", 1);
	ck_assert_str_eq(text(counter, "name"), "process.memory.used (GPU 3)");
	ck_assert_int_eq(json_object_get_int(json_object_object_get(counter, "pid")), PID);
	ck_assert_str_eq(arg(counter, "bytes"), "268435456.0");
	ck_assert_ptr_null(element("C", "metric", 2));
	for (unsigned i = 0; !name || strcmp(text(name, "pid"), "3") || strcmp(text(name, "name"), "process_name"); i++)
		name = element("M", NULL, i);
	ck_assert_str_eq(arg(name, "name"), "GPU 3: H200");
}
END_TEST

START_TEST(nanoseconds_survive)
{
	/* 400 days of uptime: as a double this would lose the last digits. */
	struct gputrace_event call = call_event(0, 34560000123456789, 34560000123458790);

	call.name = "cuMemAlloc_v2";
	add(&call);
	finish();
	ck_assert_str_eq(text(element("X", NULL, 0), "ts"), "34560000123456.789");
	ck_assert_str_eq(text(element("X", NULL, 0), "dur"), "2.001");
}
END_TEST

START_TEST(launch_inside_call)
{
	struct gputrace_event call = call_event(31, 1000000, 1005000),
			      launch = launch_event(31, 1001000, 1004000),
			      kernel = kernel_event(31, 1010007, 1012345);
	/* In order of their ends, as the reader has it, and in every other. */
	const struct gputrace_event *orders[][3] = {
		{ &launch, &call, &kernel }, { &launch, &kernel, &call }, { &kernel, &launch, &call },
		{ &call, &launch, &kernel }, { &call, &kernel, &launch }, { &kernel, &call, &launch },
	};
	struct json_object *slice;

	for (unsigned i = 0; i < 3; i++)
		add(orders[_i][i]);
	finish();

	slice = element("X", "cuda_driver", 0);
	ck_assert_str_eq(text(slice, "name"), "cuLaunchKernel");
	ck_assert_str_eq(text(slice, "pid"), "4711");
	ck_assert_str_eq(text(slice, "tid"), "4712");
	ck_assert_str_eq(text(slice, "ts"), "1000.000");
	ck_assert_str_eq(text(slice, "dur"), "5.000");
	ck_assert_str_eq(arg(slice, "f"), "81");
	ck_assert_str_eq(arg(slice, "hStream"), "7");
	ck_assert_str_eq(arg(slice, "result"), "0");
	ck_assert_str_eq(arg(slice, "correlation"), "1");
	ck_assert_str_eq(arg(slice, "launch"), "31");
	/* A call that comes first cannot know what the launch's kernel is called. */
	if (_i < 3)
		ck_assert_str_eq(arg(slice, "kernel"), "vecadd");
	ck_assert_ptr_null(element("X", "cuda_driver", 1));

	slice = element("X", "kernel", 0);
	ck_assert_str_eq(text(slice, "name"), "vecadd");
	ck_assert_str_eq(text(slice, "pid"), "0");
	ck_assert_str_eq(text(slice, "tid"), "7");
	ck_assert_str_eq(text(slice, "ts"), "1010.007");
	ck_assert_str_eq(text(slice, "dur"), "2.338");
	ck_assert_str_eq(arg(slice, "device"), "0");
	ck_assert_str_eq(arg(slice, "context"), "2");
	ck_assert_str_eq(arg(slice, "stream"), "7");
	ck_assert_str_eq(arg(slice, "correlation"), "1");
	ck_assert_str_eq(arg(slice, "grid"), "[ 40, 1, 1 ]");
	ck_assert_str_eq(arg(slice, "block"), "[ 256, 1, 1 ]");
	ck_assert_str_eq(arg(slice, "shared memory"), "1024");
	ck_assert_str_eq(arg(slice, "est. error ns"), "512");

	ck_assert_str_eq(text(element("s", "ac2g", 0), "id"), "1");
	ck_assert_str_eq(text(element("s", "ac2g", 0), "ts"), "1001.000");
	ck_assert_str_eq(text(element("s", "ac2g", 0), "tid"), "4712");
	ck_assert_str_eq(text(element("f", "ac2g", 0), "id"), "1");
	ck_assert_str_eq(text(element("f", "ac2g", 0), "bp"), "e");
	ck_assert_str_eq(text(element("f", "ac2g", 0), "ts"), "1010.007");
	ck_assert_str_eq(text(element("f", "ac2g", 0), "pid"), "0");
	ck_assert_ptr_null(element("s", "ac2g", 1));
	ck_assert_ptr_null(element("f", "ac2g", 1));
}
END_TEST

START_TEST(launch_without_call_is_a_slice)
{
	struct gputrace_event launch = launch_event(1, 2000, 3000), kernel = kernel_event(1, 4000, 5000);

	launch.result = 719;
	add(&launch);
	add(&kernel);
	finish();
	ck_assert_str_eq(text(element("X", "cuda_driver", 0), "name"), "launch");
	ck_assert_str_eq(text(element("X", "cuda_driver", 0), "ts"), "2.000");
	ck_assert_str_eq(arg(element("X", "cuda_driver", 0), "kernel"), "vecadd");
	ck_assert_str_eq(arg(element("X", "cuda_driver", 0), "result"), "719");
	ck_assert_str_eq(text(element("s", "ac2g", 0), "ts"), "2.000");
}
END_TEST

START_TEST(call_of_another_launch_is_not_taken)
{
	struct gputrace_event launch = launch_event(1, 1500, 2001), call = call_event(0, 1000, 2500);

	add(&launch);
	add(&call);
	finish();
	ck_assert_str_eq(text(element("X", "cuda_driver", 0), "name"), "cuLaunchKernel");
	ck_assert_ptr_null(arg(element("X", "cuda_driver", 0), "correlation"));
	ck_assert_str_eq(text(element("X", "cuda_driver", 1), "name"), "launch");
	ck_assert_str_eq(arg(element("X", "cuda_driver", 1), "correlation"), "1");
}
END_TEST

/* A call that launches twice stands for the last; the other is a slice in it. */
START_TEST(call_of_two_launches)
{
	struct gputrace_event first = launch_event(1, 1100, 1200), second = launch_event(2, 1300, 1400),
			      call = call_event(2, 1000, 1500);

	add(&first);
	add(&second);
	add(&call);
	finish();
	ck_assert_str_eq(text(element("X", "cuda_driver", 0), "name"), "launch");
	ck_assert_str_eq(arg(element("X", "cuda_driver", 0), "correlation"), "1");
	ck_assert_str_eq(text(element("X", "cuda_driver", 1), "name"), "cuLaunchKernel");
	ck_assert_str_eq(arg(element("X", "cuda_driver", 1), "correlation"), "2");
	ck_assert_ptr_null(element("X", "cuda_driver", 2));
}
END_TEST

START_TEST(call_after_its_launch_was_written)
{
	struct gputrace_event first = launch_event(1, 1100, 1200), second = launch_event(2, 1300, 1400),
			      call = call_event(1, 1000, 1250);

	add(&first);
	add(&second);
	add(&call);
	finish();
	ck_assert_str_eq(arg(element("X", "cuda_driver", 0), "correlation"), "1");
	ck_assert_str_eq(text(element("X", "cuda_driver", 1), "name"), "cuLaunchKernel");
	ck_assert_ptr_null(arg(element("X", "cuda_driver", 1), "correlation"));
	ck_assert_str_eq(arg(element("X", "cuda_driver", 2), "correlation"), "2");
}
END_TEST

START_TEST(replayed_kernel_has_one_arrow)
{
	struct gputrace_event launch = launch_event(5, 1000, 2000), kernel = kernel_event(5, 3000, 4000);

	add(&launch);
	add(&kernel);
	kernel.time = 5000;
	kernel.end = 6000;
	add(&kernel);
	finish();
	ck_assert_ptr_nonnull(element("X", "kernel", 1));
	ck_assert_str_eq(arg(element("X", "kernel", 1), "correlation"), "1");
	ck_assert_ptr_null(element("s", "ac2g", 1));
	ck_assert_ptr_null(element("f", "ac2g", 1));
}
END_TEST

START_TEST(kernel_without_launch_has_no_arrow)
{
	struct gputrace_event kernel = kernel_event(5, 3000, 4000);

	add(&kernel);
	finish();
	ck_assert_ptr_nonnull(element("X", "kernel", 0));
	ck_assert_ptr_null(element("s", "ac2g", 0));
	ck_assert_ptr_null(element("f", "ac2g", 0));
}
END_TEST

/* Kernels of a graph whose launch is long forgotten push no other launch out. */
START_TEST(replays_of_forgotten_launches)
{
	struct gputrace_event launch = launch_event(65536 + 9, 1000, 2000), old = kernel_event(9, 2500, 2600),
			      kernel = kernel_event(65536 + 9, 3000, 4000);

	add(&launch);
	add(&old);
	add(&old);
	add(&kernel);
	finish();
	ck_assert_str_eq(arg(element("X", "kernel", 0), "correlation"), "2");
	ck_assert_str_eq(arg(element("X", "kernel", 1), "correlation"), "2");
	ck_assert_str_eq(text(element("f", "ac2g", 0), "id"), "1");
	ck_assert_str_eq(text(element("f", "ac2g", 0), "ts"), "3.000");
	ck_assert_ptr_null(element("f", "ac2g", 1));
}
END_TEST

START_TEST(overlapping_kernels_get_lanes)
{
	struct gputrace_event kernel = kernel_event(1, 1000, 5000);

	add(&kernel);
	kernel.time = 4999;
	kernel.end = 6000;
	add(&kernel);
	kernel.time = 5000;
	kernel.end = 7000;
	add(&kernel);
	finish();
	ck_assert_str_eq(text(element("X", "kernel", 0), "tid"), "7");
	ck_assert_str_eq(text(element("X", "kernel", 1), "tid"), "1048576");
	ck_assert_str_eq(text(element("X", "kernel", 2), "tid"), "7");
}
END_TEST

START_TEST(equal_streams_of_two_programs_are_two_rows)
{
	struct gputrace_event launch = launch_event(1, 500, 600), kernel = kernel_event(1, 1000, 2000);

	add(&launch);
	launch.pid = PID + 100;
	add(&launch);
	add(&kernel);
	kernel.pid = PID + 100;
	add(&kernel);
	finish();
	ck_assert_str_eq(text(element("X", "kernel", 0), "tid"), "7");
	ck_assert_str_eq(text(element("X", "kernel", 1), "tid"), "1048576");
	ck_assert_str_eq(text(element("f", "ac2g", 0), "id"), "1");
	ck_assert_str_eq(text(element("f", "ac2g", 1), "id"), "2");
	ck_assert_str_eq(text(element("s", "ac2g", 1), "pid"), "4811");
}
END_TEST

START_TEST(rows_have_names)
{
	struct gputrace_event process = { .type = GPUTRACE_EVENT_PROCESS, .pid = PID, .name = "vecadd" },
			      context = { .type = GPUTRACE_EVENT_CONTEXT, .pid = PID, .name = "NVIDIA H200" },
			      call = call_event(0, 1, 2), kernel = kernel_event(1, 3, 4);
	unsigned found = 0;
	struct json_object *object;

	add(&process);
	add(&context);
	add(&call);
	add(&kernel);
	finish();
	for (unsigned i = 0; (object = element("M", NULL, i)); i++) {
		const char *what = text(object, "name"), *pid = text(object, "pid"), *tid = text(object, "tid");

		if (!strcmp(what, "process_name") && !strcmp(pid, "4711"))
			found += !strcmp(arg(object, "name"), "vecadd");
		if (!strcmp(what, "process_name") && !strcmp(pid, "0"))
			found += !strcmp(arg(object, "name"), "GPU 0: NVIDIA H200");
		if (!strcmp(what, "thread_name") && !strcmp(tid, "4712"))
			found += !strcmp(arg(object, "name"), "thread 4712");
		if (!strcmp(what, "thread_name") && !strcmp(tid, "7"))
			found += !strcmp(arg(object, "name"), "stream 7 (process 4711, context 2)");
	}
	ck_assert_uint_eq(found, 4);
	object = json_object_array_get_idx(json_object_object_get(trace, "deviceProperties"), 0);
	ck_assert_str_eq(text(object, "id"), "0");
	ck_assert_str_eq(text(object, "name"), "NVIDIA H200");
}
END_TEST

START_TEST(losses_notes_and_prints_are_instants)
{
	struct gputrace_event lost = { .type = GPUTRACE_EVENT_LOST, .time = 1500, .count = 12, .name = "timeline" },
			      note = { .type = GPUTRACE_EVENT_NOTE, .time = 2500, .text = "no permission" },
			      print = { .type = GPUTRACE_EVENT_PRINT, .time = 3500, .pid = PID, .text = "x=3" },
			      data = { .type = GPUTRACE_EVENT_DATA, .time = 4500, .pid = PID, .name = "events",
				       .data = "\x01\xff", .data_size = 2 };

	add(&lost);
	add(&note);
	add(&print);
	add(&data);
	finish();
	ck_assert_str_eq(text(element("i", "lost", 0), "name"), "12 records lost");
	ck_assert_str_eq(text(element("i", "lost", 0), "s"), "g");
	ck_assert_str_eq(arg(element("i", "lost", 0), "count"), "12");
	ck_assert_str_eq(arg(element("i", "lost", 0), "where"), "timeline");
	ck_assert_str_eq(text(element("i", "note", 0), "name"), "no permission");
	ck_assert_str_eq(text(element("i", "gpu_program", 0), "name"), "x=3");
	ck_assert_str_eq(arg(element("i", "gpu_program", 1), "bytes"), "2");
	ck_assert_str_eq(arg(element("i", "gpu_program", 1), "data"), "01ff");
}
END_TEST

/* What is known of such a function is its name; its arguments are registers. */
START_TEST(annotations)
{
	struct gputrace_event range = { .type = GPUTRACE_EVENT_RANGE, .time = 1000, .end = 5000, .pid = PID,
		.tid = TID, .name = "step", .domain = "library", .range_id = 9 };
	struct gputrace_event mark = { .type = GPUTRACE_EVENT_MARK, .time = 2000, .end = 2000, .pid = PID,
		.tid = TID, .name = "here", .domain = "" };
	struct gputrace_event thread = { .type = GPUTRACE_EVENT_THREAD, .pid = PID, .tid = TID, .name = "loader" };
	struct gputrace_event kernel = kernel_event(4096, 3000, 4000);

	add(&range);
	range.spans = true;
	range.name = "request";
	range.range_id = 10;
	add(&range);
	add(&mark);
	add(&thread);
	kernel.range_id = 9;
	kernel.external_id = 1234567890123ull;
	add(&kernel);
	finish();
	ck_assert_str_eq(text(element("X", "user_annotation", 0), "name"), "step");
	ck_assert_str_eq(text(element("X", "user_annotation", 0), "dur"), "4.000");
	ck_assert_str_eq(arg(element("X", "user_annotation", 0), "domain"), "library");
	ck_assert_str_eq(arg(element("X", "user_annotation", 0), "range"), "9");
	ck_assert_ptr_null(element("X", "user_annotation", 1));
	/* One that need not nest: a pair of ends with one id. */
	ck_assert_str_eq(text(element("b", "user_annotation", 0), "ts"), "1.000");
	ck_assert_str_eq(text(element("e", "user_annotation", 0), "ts"), "5.000");
	ck_assert_str_eq(text(element("b", "user_annotation", 0), "id"), "10");
	ck_assert_str_eq(text(element("e", "user_annotation", 0), "id"), "10");
	ck_assert_str_eq(text(element("e", "user_annotation", 0), "name"), "request");
	ck_assert_str_eq(text(element("i", "user_annotation", 0), "name"), "here");
	ck_assert_str_eq(arg(element("X", "kernel", 0), "range"), "9");
	ck_assert_str_eq(arg(element("X", "kernel", 0), "External id"), "1234567890123");
	for (unsigned i = 0; ; i++) {
		struct json_object *object = element("M", NULL, i);

		if (strcmp(text(object, "name"), "thread_name") || atoi(text(object, "pid")) != PID)
			continue;
		ck_assert_ptr_nonnull(strstr(arg(object, "name"), ": loader"));
		break;
	}
}
END_TEST

START_TEST(other_functions)
{
	struct gputrace_event call = { .type = GPUTRACE_EVENT_CALL, .time = 1000, .end = 3000, .pid = PID,
		.tid = TID, .name = "ncclAllReduce", .args = { 81, 1ull << 63 }, .arg_count = 2,
		.value = UINT64_MAX };

	add(&call);
	call.name = "cudaMalloc";
	add(&call);
	finish();
	ck_assert_str_eq(text(element("X", "function", 0), "name"), "ncclAllReduce");
	ck_assert_str_eq(text(element("X", "function", 0), "dur"), "2.000");
	ck_assert_str_eq(arg(element("X", "function", 0), "arg0"), "81");
	ck_assert_str_eq(arg(element("X", "function", 0), "arg1"), "9223372036854775808");
	ck_assert_str_eq(arg(element("X", "function", 0), "result"), "18446744073709551615");
	ck_assert_str_eq(text(element("X", "cuda_runtime", 0), "name"), "cudaMalloc");
}
END_TEST

START_TEST(hostile_names)
{
	struct gputrace_event kernel = kernel_event(1, 1000, 2000);

	kernel.name = "a\xff\"\\\n\x01</script>\xed\xa0\x80";
	add(&kernel);
	finish();
	ck_assert_str_eq(text(element("X", "kernel", 0), "name"),
			 "a\xef\xbf\xbd\"\\\n\x01</script>\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}
END_TEST

START_TEST(reversed_and_nameless)
{
	struct gputrace_event call = { .type = GPUTRACE_EVENT_API, .time = 5000, .end = 4000, .pid = PID };

	add(&call);
	finish();
	ck_assert_str_eq(text(element("X", NULL, 0), "dur"), "0.000");
	ck_assert_str_eq(text(element("X", NULL, 0), "name"), "");
}
END_TEST

/* Seventy thousand launches that never run, more than are remembered, must not hide one that does. */
START_TEST(many_unprobed_launches)
{
	struct gputrace_event launch, kernel = kernel_event(70000, 300000000, 300001000);

	for (uint64_t i = 1; i <= 70000; i++) {
		launch = launch_event(i, i * 1000, i * 1000 + 500);
		add(&launch);
	}
	add(&kernel);
	finish();
	ck_assert_str_eq(text(element("f", "ac2g", 0), "id"), "70000");
}
END_TEST

START_TEST(full_disk)
{
	struct gputrace_writer *full;
	struct gputrace_event launch;
	int error = 0;

	ck_assert_int_eq(gputrace_writer_open(NULL, "/dev/full", GPUTRACE_FORMAT_CHROME_JSON, &full), 0);
	for (uint64_t i = 1; i <= 1000 && !error; i++) {
		launch = launch_event(i, i * 1000, i * 1000 + 500);
		error = gputrace_writer_add(full, &launch);
	}
	ck_assert_int_eq(error, -ENOSPC);
	ck_assert_ptr_nonnull(strstr(gt_error_text(), "/dev/full"));
	ck_assert_int_eq(gputrace_writer_add(full, &launch), -ENOSPC);
	ck_assert_int_eq(gputrace_writer_close(full), -ENOSPC);
	finish();
}
END_TEST

START_TEST(full_disk_at_close)
{
	struct gputrace_writer *full;

	ck_assert_int_eq(gputrace_writer_open(NULL, "/dev/full", GPUTRACE_FORMAT_CHROME_JSON, &full), 0);
	ck_assert_int_eq(gputrace_writer_close(full), -ENOSPC);
	finish();
}
END_TEST

/* A child that ends by exit() while its parent writes must leave nothing in the file. */
START_TEST(forked_while_writing)
{
	struct gputrace_event call = { .type = GPUTRACE_EVENT_API, .time = 4000, .end = 5000, .pid = PID };
	pid_t child;

	add(&call);
	child = fork();
	if (!child)
		exit(0);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	call.time = call.end = 6000;
	add(&call);
	finish();
	ck_assert_ptr_nonnull(element("X", NULL, 1));
}
END_TEST

START_TEST(bad_arguments)
{
	struct gputrace_writer *none = NULL;

	ck_assert_int_eq(gputrace_writer_open(NULL, "/nonexistent/file", GPUTRACE_FORMAT_CHROME_JSON, &none),
			 -ENOENT);
	ck_assert_ptr_nonnull(strstr(gt_error_text(), "/nonexistent/file"));
	ck_assert_int_eq(gputrace_writer_open(NULL, path, 99, &none), -EINVAL);
	ck_assert_int_eq(gputrace_writer_open(NULL, NULL, GPUTRACE_FORMAT_CHROME_JSON, &none), -EINVAL);
	ck_assert_ptr_null(none);
	ck_assert_int_eq(gputrace_writer_close(NULL), 0);
	finish();
}
END_TEST

int main(void)
{
	TCase *group = tcase_create("chrome");

	tcase_add_checked_fixture(group, set_up, tear_down);
	tcase_add_test(group, empty_trace_is_valid);
	tcase_add_test(group, base_time_gives_the_time_of_day);
	tcase_add_test(group, gpus_are_told_apart);
	tcase_add_test(group, many_launches_are_told_apart);
	tcase_add_test(group, copies_have_rows_and_arrows);
	tcase_add_test(group, a_copy_may_come_before_its_call);
	tcase_add_test(group, memsets_and_copies_without_times);
	tcase_add_test(group, metrics_are_counters);
	tcase_add_test(group, nanoseconds_survive);
	tcase_add_loop_test(group, launch_inside_call, 0, 6);
	tcase_add_test(group, launch_without_call_is_a_slice);
	tcase_add_test(group, call_of_another_launch_is_not_taken);
	tcase_add_test(group, call_of_two_launches);
	tcase_add_test(group, call_after_its_launch_was_written);
	tcase_add_test(group, replayed_kernel_has_one_arrow);
	tcase_add_test(group, kernel_without_launch_has_no_arrow);
	tcase_add_test(group, replays_of_forgotten_launches);
	tcase_add_test(group, overlapping_kernels_get_lanes);
	tcase_add_test(group, equal_streams_of_two_programs_are_two_rows);
	tcase_add_test(group, rows_have_names);
	tcase_add_test(group, losses_notes_and_prints_are_instants);
	tcase_add_test(group, annotations);
	tcase_add_test(group, other_functions);
	tcase_add_test(group, hostile_names);
	tcase_add_test(group, reversed_and_nameless);
	tcase_add_test(group, many_unprobed_launches);
	tcase_add_test(group, full_disk);
	tcase_add_test(group, full_disk_at_close);
	tcase_add_test(group, forked_while_writing);
	tcase_add_test(group, bad_arguments);
	return run_case("chrome", group);
}
