/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the environment sets.  It is read at cuInit, so every test is a program of
 * its own: a child that checks by CHECK() and ends with the line that failed.
 */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/sim-api/common.h"

#define CHECK(condition)				\
	do {						\
		if (!(condition))			\
			return __LINE__;		\
	} while (0)

static void run_child(int (*body)(void))
{
	int fds[2], line = -1, status;
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		line = body();
		_exit(write(fds[1], &line, sizeof(line)) == sizeof(line) ? 0 : 1);
	}
	close(fds[1]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(read(fds[0], &line, sizeof(line)), sizeof(line));
	close(fds[0]);
	ck_assert_msg(line == 0, "the check in line %d failed", line);
}

static int three_devices(void)
{
	static const int sms[] = { 2, 7, 7 }, majors[] = { 8, 12, 12 };
	CUuuid a, b;
	int n;

	setenv("GPUTRACE_SIM_DEVICES", "3", 1);
	setenv("GPUTRACE_SIM_SMS", "2,7", 1);
	setenv("GPUTRACE_SIM_ARCH", "80,120", 1);
	CHECK(cuInit(0) == CUDA_SUCCESS);
	CHECK(cuDeviceGetCount(&n) == CUDA_SUCCESS && n == 3);
	for (int i = 0; i < 3; i++) {
		CHECK(!cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, i));
		CHECK(n == sms[i]);
		CHECK(!cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, i));
		CHECK(n == majors[i]);
		CHECK(!cuDeviceGetUuid_v2(&a, i) && !cuDeviceGetUuid_v2(&b, (i + 1) % 3));
		CHECK(memcmp(&a, &b, sizeof(a)) != 0);
	}
	CHECK(cuDeviceGetName((char[4]){ 0 }, 4, 3) == CUDA_ERROR_INVALID_DEVICE);
	return 0;
}

START_TEST(devices)
{
	run_child(three_devices);
}
END_TEST

/* The number of a device in the machine, which its UUID ends with. */
static int number_of(CUdevice dev)
{
	CUuuid uuid;

	return cuDeviceGetUuid_v2(&uuid, dev) ? -1 : uuid.bytes[15];
}

/* Four devices, of which the program is to see `expected`, a digit each. */
static int sees(const char *visible, const char *expected)
{
	int n, bus, sms;

	setenv("GPUTRACE_SIM_DEVICES", "4", 1);
	setenv("GPUTRACE_SIM_SMS", "10,11,12,13", 1);
	setenv("CUDA_VISIBLE_DEVICES", visible, 1);
	CHECK(cuInit(0) == (*expected ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE));
	if (!*expected)
		return 0;
	CHECK(!cuDeviceGetCount(&n) && n == (int)strlen(expected));
	for (int i = 0; i < n; i++) {
		CHECK(number_of(i) == expected[i] - '0');
		CHECK(!cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i));
		CHECK(bus == 0xf0 + expected[i] - '0');
		CHECK(!cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, i));
		CHECK(sms == 10 + expected[i] - '0');
	}
	return 0;
}

#define SEES(name, visible, expected) \
	static int name(void) \
	{ \
		return sees(visible, expected); \
	}
SEES(sees_turned, "3,1", "31")
SEES(sees_up_to_a_bad_one, "2,9,0", "2")
SEES(sees_up_to_a_double, "1,0,1,2", "10")
SEES(sees_none, "", "")
SEES(sees_none_either, "-1,0", "")
SEES(sees_by_uuid, "GPU-67707574-7261-5065-8073-6f6674776102,0", "20")
SEES(sees_up_to_an_ambiguous, "0,GPU-6770,1", "0")

START_TEST(visible)
{
	run_child(sees_turned);
	run_child(sees_up_to_a_bad_one);
	run_child(sees_up_to_a_double);
	run_child(sees_none);
	run_child(sees_none_either);
	run_child(sees_by_uuid);
	run_child(sees_up_to_an_ambiguous);
}
END_TEST

static int out_of_range(void)
{
	int n;

	setenv("GPUTRACE_SIM_DEVICES", "17", 1);
	setenv("GPUTRACE_SIM_SMS", "many", 1);
	setenv("GPUTRACE_SIM_ARCH", "", 1);
	CHECK(cuInit(0) == CUDA_SUCCESS);
	CHECK(cuDeviceGetCount(&n) == CUDA_SUCCESS && n == 1);
	CHECK(!cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0) && n == 4);
	CHECK(!cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) && n == 9);
	return 0;
}

/* What cuInit() says on standard error. */
static const char *said_at_init(void)
{
	static char text[2048];
	int pipes[2], old = dup(2);
	ssize_t length;

	if (old < 0 || pipe(pipes) || dup2(pipes[1], 2) < 0 || cuInit(0) != CUDA_SUCCESS || dup2(old, 2) < 0)
		return "";
	close(pipes[1]);
	length = read(pipes[0], text, sizeof(text) - 1);
	text[length > 0 ? length : 0] = 0;
	return text;
}

static int nonsense_is_said(void)
{
	setenv("GPUTRACE_SIM_DEVICES", "17", 1);
	setenv("GPUTRACE_SIM_SMS", "8,many", 1);
	setenv("GPUTRACE_SIM_ARCH", "90,49", 1);
	setenv("GPUTRACE_SIM_DRIFT_PPM", "2000", 1);
	CHECK(!strcmp(said_at_init(),
		      "gputrace software device: GPUTRACE_SIM_DEVICES=17 is not a number from 1 to 16\n"
		      "gputrace software device: GPUTRACE_SIM_SMS=8,many is not a list of numbers from 1 to 1024\n"
		      "gputrace software device: GPUTRACE_SIM_ARCH=90,49 is not a list of numbers from 50 to 129\n"
		      "gputrace software device: GPUTRACE_SIM_DRIFT_PPM=2000 is not a list of numbers from -1000 to 1000\n"));
	return 0;
}

static int sense_is_silent(void)
{
	setenv("GPUTRACE_SIM_DEVICES", "16", 1);
	setenv("GPUTRACE_SIM_SMS", "1,1024", 1);
	setenv("GPUTRACE_SIM_ARCH", "50,129", 1);
	setenv("GPUTRACE_SIM_DRIFT_PPM", "-1000,4.7,1e3", 1);
	CHECK(!*said_at_init());
	return 0;
}

START_TEST(nonsense)
{
	run_child(out_of_range);
	run_child(nonsense_is_said);
	run_child(sense_is_silent);
}
END_TEST

static CUresult store(CUmodule module, CUdeviceptr p, uint32_t value)
{
	void *params[] = { &p, &value };
	CUfunction f;
	CUresult r = cuModuleGetFunction(&f, module, "store");

	r = r ? r : cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
	return r ? r : cuCtxSynchronize();
}

/* A kernel of device 1 writes to memory of device 0: an error, unless access is enabled. */
static int peers(void)
{
	CUdeviceptr p, copy;
	CUcontext ctx[2];
	CUmodule module;
	uint32_t value;
	int can;

	setenv("GPUTRACE_SIM_DEVICES", "2", 1);
	CHECK(cuInit(0) == CUDA_SUCCESS);
	CHECK(cuDeviceCanAccessPeer(&can, 1, 0) == CUDA_SUCCESS && can == 1);
	for (int i = 0; i < 2; i++)
		CHECK(cuDevicePrimaryCtxRetain(&ctx[i], i) == CUDA_SUCCESS);
	CHECK(ctx[0] != ctx[1]);
	CHECK(cuCtxSetCurrent(ctx[0]) == CUDA_SUCCESS && cuMemAlloc_v2(&p, 4) == CUDA_SUCCESS);
	CHECK(cuCtxSetCurrent(ctx[1]) == CUDA_SUCCESS);
	CHECK(cuModuleLoadData(&module, test_ptx) == CUDA_SUCCESS);
	CHECK(cuCtxDisablePeerAccess(ctx[0]) == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	CHECK(cuCtxEnablePeerAccess(ctx[0], 0) == CUDA_SUCCESS);
	CHECK(cuCtxEnablePeerAccess(ctx[0], 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	CHECK(store(module, p, 77) == CUDA_SUCCESS);
	CHECK(cuMemAlloc_v2(&copy, 4) == CUDA_SUCCESS);
	CHECK(cuMemcpyPeer(copy, ctx[1], p, ctx[0], 4) == CUDA_SUCCESS);
	CHECK(cuMemcpyDtoH_v2(&value, copy, 4) == CUDA_SUCCESS && value == 77);
	CHECK(cuCtxDisablePeerAccess(ctx[0]) == CUDA_SUCCESS);
	CHECK(store(module, p, 78) == CUDA_ERROR_ILLEGAL_ADDRESS);
	/* Only the context that failed has failed. */
	CHECK(cuCtxSetCurrent(ctx[0]) == CUDA_SUCCESS);
	CHECK(cuMemcpyDtoH_v2(&value, p, 4) == CUDA_SUCCESS && value == 77);
	return 0;
}

START_TEST(peer_access)
{
	run_child(peers);
}
END_TEST

static const char timer_ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry timer(.param .u64 p)\n"
	"{\n"
	"	.reg .b64 %rd<3>;\n"
	"	ld.param.u64 %rd1, [p];\n"
	"	mov.u64 %rd2, %globaltimer;\n"
	"	st.global.u64 [%rd1], %rd2;\n"
	"	ret;\n"
	"}\n";

static uint64_t host_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

struct reading {
	uint64_t before, gpu, after;
};

/* The narrowest of 60 readings between two of the host's clock. */
static int read_timer(CUfunction f, uint64_t *memory, struct reading *ret)
{
	CUdeviceptr p = (uintptr_t)memory;
	void *params[] = { &p };

	ret->before = 0;
	ret->after = UINT64_MAX;
	for (int i = 0; i < 60; i++) {
		struct reading r;

		r.before = host_ns(CLOCK_MONOTONIC);
		CHECK(!cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
		CHECK(!cuCtxSynchronize());
		r.after = host_ns(CLOCK_MONOTONIC);
		r.gpu = *memory;
		CHECK(r.gpu % 32 == 0);
		if (r.after - r.before < ret->after - ret->before)
			*ret = r;
	}
	return 0;
}

static int drift(void)
{
	struct timespec pause = { .tv_nsec = 400000000 };
	struct reading a, b;
	CUcontext ctx;
	CUmodule module;
	CUfunction f;
	void *memory;
	int64_t off;

	setenv("GPUTRACE_SIM_DRIFT_PPM", "900", 1);
	CHECK(!cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx));
	CHECK(!cuModuleLoadData(&module, timer_ptx) && !cuModuleGetFunction(&f, module, "timer"));
	CHECK(!cuMemHostAlloc(&memory, 8, 0));
	CHECK(!read_timer(f, memory, &a));
	/* Until the readings are unsure of less than the drift. */
	do {
		nanosleep(&pause, NULL);
		CHECK(!read_timer(f, memory, &b));
	} while ((a.after - a.before + b.after - b.before) * 2 > (b.before - a.after) / 1000);
	CHECK(b.gpu - a.gpu > b.after - a.before);
	CHECK((double)(b.gpu - a.gpu) + 64 > (double)(b.before - a.after) * 1.0009);
	CHECK((double)(b.gpu - a.gpu) - 64 < (double)(b.after - a.before) * 1.0009);
	/* About the epoch of the realtime clock, but not it; the drift counts from boot. */
	off = (int64_t)(b.gpu - host_ns(CLOCK_REALTIME)) - (int64_t)((double)b.after * 0.0009);
	CHECK(off > -40000000000 && off < 40000000000);
	return 0;
}

START_TEST(timer_drifts)
{
	run_child(drift);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim-settings");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, devices);
	tcase_add_test(tc, visible);
	tcase_add_test(tc, nonsense);
	tcase_add_test(tc, peer_access);
	tcase_add_test(tc, timer_drifts);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
