/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long kernels take with programs woven in as the agent does it, with the same
 * written into their source by hand, and without: times of events on the GPU, all in
 * one run and in turns.  The counts must be right as well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/agent/instrument/instrument.h"
#include "tests/gpu/bpf-device.h"
#include "tests/gpu/bpf-session.h"
#include "tests/gpu/bpf.h"
#include "tests/gpu/programs/bpf-probes.h"

#define GOAL 1.05
#define BLOCK 256u
#define VECADD_BLOCKS 4096u		/* 2^20 threads */
#define COMPUTE_US 100.0
#define CALIBRATION_ROUNDS 2000u
#define ORDERS 2u			/* by hand before ours, and after */
#define REPEATS 21u			/* of each order */
#define LAUNCHES 20u			/* between two events */
#define SPIN_NS 300000ull		/* longer than it takes to queue them */
#define RECORD_BYTES (sizeof(struct gt_record) + sizeof(struct warp_record))
#define FUNCTION_REGISTERS 4
#define HAND_CREDITS 128

_Static_assert(LAUNCHES * (VECADD_BLOCKS * BLOCK / 32) * RECORD_BYTES <= SPEED_RING_BYTES, "no record is lost");

enum check { CHECK_THREADS, CHECK_WARPS, CHECK_TIMES, CHECK_RING };

struct probe {
	const char *name;	/* program; kernels by hand are called vecadd_NAME and compute_NAME */
	const char *map;
	uint32_t point, granularity;
	enum check check;
};

static const struct probe probes[] = {
	{ "count_thread", "counter", GT_POINT_ENTRY, GT_PER_THREAD, CHECK_THREADS },
	{ "count_warp", "counter", GT_POINT_ENTRY, GT_PER_WARP, CHECK_WARPS },
	{ "count_own", "counters", GT_POINT_ENTRY, GT_PER_THREAD, CHECK_THREADS },
	{ "exit_time", "times", GT_POINT_EXIT, GT_PER_BLOCK, CHECK_TIMES },
	{ "histogram", "buckets", GT_POINT_ENTRY, GT_PER_THREAD, CHECK_THREADS },
	{ "warp_ring", "speed_ring", GT_POINT_EXIT, GT_PER_WARP, CHECK_RING },
};
#define PROBES (sizeof(probes) / sizeof(probes[0]))

static const char *const kernels[] = { "vecadd", "compute" };
#define KERNELS (sizeof(kernels) / sizeof(kernels[0]))

/* The last parameter of kernels with probes by hand; as in bpf-hand.cu. */
struct hand {
	uint64_t counter, counters, times, buckets;
	uint64_t ring_head, ring_lost, ring_credits;
	uint64_t ring, ring_bytes;
	uint64_t launch;
};

enum { BARE, HAND, OURS, VARIANTS };

struct speed {
	struct session session;
	char *ptx;
	void *module;			/* of everything in bpf-hand.cu */
	void *spin, *begin, *end;	/* kernel; events */
	uint64_t a, b, c;
	struct hand hand;
	uint64_t hand_ctl;		/* the head, then records lost; HAND_CREDITS behind it credits */
	unsigned blocks[KERNELS];
	uint32_t n[KERNELS];		/* elements; rounds */
	unsigned repeats, launches;
};

/* One kernel with one probe, in turns. */
struct contest {
	struct speed *speed;
	const struct probe *probe;
	struct gputrace_map *map;
	unsigned kernel;
	void *functions[VARIANTS];
	double us[VARIANTS][ORDERS][REPEATS];
	uint64_t launched;		/* each variant so often */
};

/* ---- the kernels ---- */

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *data = NULL;
	long size;

	if (!file)
		return NULL;
	if (!fseek(file, 0, SEEK_END) && (size = ftell(file)) >= 0) {
		rewind(file);
		data = calloc(1, (size_t)size + 1);
		if (data && fread(data, 1, (size_t)size, file) != (size_t)size) {
			free(data);
			data = NULL;
		}
	}
	fclose(file);
	return data;
}

static char *compile(const char *source, const char *kind)
{
	const char *nvcc = getenv("NVCC") ? getenv("NVCC") : "nvcc";
	char command[8192], path[] = "/tmp/gputrace-bpf-XXXXXX", *data = NULL;
	int fd = mkstemp(path);

	if (fd < 0)
		return NULL;
	close(fd);
	snprintf(command, sizeof(command), "%s -%s -arch=sm_%u '%s' -o %s", nvcc, kind, device.arch, source, path);
	if (!system(command))
		data = read_file(path);
	unlink(path);
	return data;
}

static char *get_code(const char *hand, const char *kind)
{
	size_t length = strlen(hand);
	char path[4096];

	if (length > 3 && !strcmp(hand + length - 3, ".cu"))
		return compile(hand, kind);
	snprintf(path, sizeof(path), "%s.%s", hand, kind);
	return read_file(path);
}

static bool open_kernels(struct speed *speed, const char *hand)
{
	char *code = NULL;

	speed->ptx = get_code(hand, "ptx");
	if (speed->ptx)
		code = device.software ? speed->ptx : get_code(hand, "cubin");
	if (!code) {
		free(speed->ptx);
		return false;
	}
	speed->module = load_module(code);
	if (code != speed->ptx)
		free(code);
	return true;
}

/* The module with the program in the kernels that have no probe by hand. */
static void *weave(struct speed *speed, const struct probe *p)
{
	struct gt_probe probe = { .point = p->point, .granularity = p->granularity, .kernel = "*" };
	struct gt_ptx_plan plans[64] = {};
	const unsigned first[] = { 0 };
	struct gt_ptx_error error = {};
	char *text, *function, *woven;
	struct gt_ptx *ptx;
	size_t length;
	void *code, *module;
	unsigned i, k;

	text = session_link(&speed->session, p->name, &function);
	probe.function = function;
	if (gt_ptx_parse(speed->ptx, strlen(speed->ptx), &ptx, &error) || gt_ptx_kernel_count(ptx) > 64)
		stop("the kernels' PTX: %s", error.text);
	for (i = 0; i < gt_ptx_kernel_count(ptx); i++)
		for (k = 0; k < KERNELS; k++)
			if (!strcmp(gt_ptx_kernel(ptx, i)->name, kernels[k]))
				plans[i] = (struct gt_ptx_plan){ .kernel_id = 1 + k, .probes = first, .probe_count = 1 };
	if (gt_ptx_instrument(ptx, text, &probe, 1, plans, &woven, &length, &error))
		stop("%s: %s", p->name, error.text);
	code = link_ptx(woven, &length);
	if (!code)
		stop("%s: the driver does not compile it", p->name);
	module = load_module(code);
	gt_ptx_free(ptx);
	free(code);
	free(woven);
	free(text);
	free(function);
	return module;
}

/* ---- times ---- */

static void launch_one(struct speed *speed, unsigned kernel, unsigned variant, void *function)
{
	struct gt_launch_param hidden = session_param(&speed->session);
	void *params[] = { &speed->a, &speed->b, &speed->c, &speed->n[kernel], NULL };

	if (variant == HAND)
		params[4] = &speed->hand;
	else if (variant == OURS)
		params[4] = &hidden;
	launch(function, speed->blocks[kernel], BLOCK, params);
}

/* Microseconds a launch, with the launches queued before the first begins. */
static double time_launches(struct speed *speed, unsigned kernel, unsigned variant, void *function)
{
	uint64_t ns = device.software ? 1000 : SPIN_NS;
	void *params[] = { &ns };
	float ms;

	launch(speed->spin, 1, 1, params);
	CU(cuEventRecord(speed->begin, NULL));
	for (unsigned i = 0; i < speed->launches; i++)
		launch_one(speed, kernel, variant, function);
	CU(cuEventRecord(speed->end, NULL));
	CU(cuEventSynchronize(speed->end));
	CU(cuEventElapsedTime(&ms, speed->begin, speed->end));
	return 1e3 * ms / speed->launches;
}

/* Both rings empty. */
static void empty_rings(const struct contest *contest)
{
	struct gt_ring_ctl ctl = { .credits = SPEED_RING_BYTES };

	if (contest->probe->check != CHECK_RING)
		return;
	session_set_ctl(&contest->speed->session, contest->map, &ctl);
	CU(cuMemsetD8_v2(contest->speed->hand_ctl, 0, 2 * sizeof(uint64_t)));
	CU(cuMemcpyHtoD_v2(contest->speed->hand_ctl + HAND_CREDITS, &ctl.credits, sizeof(ctl.credits)));
}

static int compare_times(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static double median(double *times, unsigned count)
{
	qsort(times, count, sizeof(*times), compare_times);
	return times[count / 2];
}

/* What one variant leaves in the host's caches the next one finds: so each goes before and after the other. */
static void take_turns(struct contest *contest)
{
	struct speed *speed = contest->speed;

	for (unsigned v = 0; v < VARIANTS; v++)
		launch_one(speed, contest->kernel, v, contest->functions[v]);
	CU(cuCtxSynchronize());
	for (unsigned i = 0; i < speed->repeats * ORDERS; i++) {
		empty_rings(contest);
		for (unsigned turn = 0; turn < VARIANTS; turn++) {
			unsigned order = i % ORDERS, v = order ? VARIANTS - 1 - turn : turn;

			contest->us[v][order][i / ORDERS] = time_launches(speed, contest->kernel, v, contest->functions[v]);
		}
	}
	contest->launched = 1 + (uint64_t)speed->repeats * ORDERS * speed->launches;
}

/* ---- what the probes wrote ---- */

static bool right_sum(const struct contest *contest, const uint64_t *words, size_t bytes)
{
	uint64_t threads = (uint64_t)contest->speed->blocks[contest->kernel] * BLOCK, sum = 0;

	for (size_t i = 0; i < bytes / sizeof(*words); i++)
		sum += words[i];
	return sum == contest->launched * (contest->probe->check == CHECK_WARPS ? threads / 32 : threads);
}

static bool right_times(const struct contest *contest, const uint64_t *words)
{
	unsigned blocks = contest->speed->blocks[contest->kernel];

	for (unsigned i = 0; i < blocks; i++)
		if (!words[i])
			return false;
	return !words[blocks];
}

static bool right_ring(const struct contest *contest, uint64_t head, uint64_t lost)
{
	uint64_t warps = (uint64_t)contest->speed->blocks[contest->kernel] * (BLOCK / 32);

	return head == contest->speed->launches * warps * RECORD_BYTES && !lost;
}

static bool right_words(const struct contest *contest, const uint64_t *words, size_t bytes)
{
	return contest->probe->check == CHECK_TIMES ? right_times(contest, words) : right_sum(contest, words, bytes);
}

static bool ours_right(const struct contest *contest)
{
	struct gt_ring_ctl ctl;
	uint64_t *words;
	bool right;

	if (contest->probe->check == CHECK_RING) {
		ctl = session_ctl(&contest->speed->session, contest->map);
		return right_ring(contest, ctl.head, ctl.lost);
	}
	words = session_read(&contest->speed->session, contest->map);
	right = right_words(contest, words, gt_map_bytes(contest->map));
	free(words);
	return right;
}

/* Which of the hand's memories stands for a map. */
static uint64_t memory_of(const struct hand *hand, const char *map)
{
	return !strcmp(map, "counter") ? hand->counter :
	       !strcmp(map, "counters") ? hand->counters :
	       !strcmp(map, "times") ? hand->times : hand->buckets;
}

static bool hand_right(const struct contest *contest)
{
	const struct speed *speed = contest->speed;
	size_t bytes = gt_map_bytes(contest->map);
	uint64_t ctl[2], *words;
	bool right;

	if (contest->probe->check == CHECK_RING) {
		CU(cuMemcpyDtoH_v2(ctl, speed->hand_ctl, sizeof(ctl)));
		return right_ring(contest, ctl[0], ctl[1]);
	}
	words = malloc(bytes);
	if (!words)
		stop("no memory");
	CU(cuMemcpyDtoH_v2(words, memory_of(&speed->hand, contest->probe->map), bytes));
	right = right_words(contest, words, bytes);
	free(words);
	return right;
}

static void clear_memories(const struct contest *contest)
{
	if (contest->probe->check == CHECK_RING)
		return;
	session_clear(&contest->speed->session, contest->map);
	CU(cuMemsetD8_v2(memory_of(&contest->speed->hand, contest->probe->map), 0, gt_map_bytes(contest->map)));
}

/* ---- all ---- */

static bool report(struct contest *contest)
{
	bool right = hand_right(contest) && ours_right(contest), passed;
	int registers[VARIANTS] = {};
	double us[VARIANTS], before[VARIANTS], after[VARIANTS];

	for (unsigned v = 0; v < VARIANTS; v++) {
		before[v] = median(contest->us[v][0], contest->speed->repeats);
		after[v] = median(contest->us[v][1], contest->speed->repeats);
		us[v] = (before[v] + after[v]) / 2;
		CU(cuFuncGetAttribute(&registers[v], FUNCTION_REGISTERS, contest->functions[v]));
	}
	if (device.software) {
		end_part(right, "%s; no times on the software device", right ? "counts right" : "counts wrong");
		return right;
	}
	passed = right && us[OURS] <= GOAL * us[HAND];
	end_part(passed, "ours/hand %.3f, ours/bare %.3f, hand/bare %.3f; bare %.2f us, by hand %.2f us "
		 "(%.2f before ours, %.2f after), ours %.2f us (%.2f after by hand, %.2f before); "
		 "registers %d, %d, %d; counts %s", us[OURS] / us[HAND], us[OURS] / us[BARE], us[HAND] / us[BARE], us[BARE],
		 us[HAND], before[HAND], after[HAND], us[OURS], before[OURS], after[OURS],
		 registers[BARE], registers[HAND], registers[OURS], right ? "right" : "wrong");
	return passed;
}

static bool compare(struct speed *speed, const struct probe *probe, unsigned kernel, void *woven)
{
	static struct contest contest;
	char name[64], line[96];

	snprintf(line, sizeof(line), "speed %s %s", kernels[kernel], probe->name);
	begin_part(line);
	snprintf(name, sizeof(name), "%s_%s", kernels[kernel], probe->name);
	contest = (struct contest){
		.speed = speed, .probe = probe, .kernel = kernel, .map = session_map(&speed->session, probe->map),
	};
	contest.functions[BARE] = find_function(speed->module, kernels[kernel]);
	contest.functions[HAND] = find_function(speed->module, name);
	contest.functions[OURS] = find_function(woven, kernels[kernel]);
	clear_memories(&contest);
	take_turns(&contest);
	return report(&contest);
}

static void make_memories(struct speed *speed)
{
	struct gputrace_map *ring = session_map(&speed->session, "speed_ring");
	size_t bytes = (size_t)VECADD_BLOCKS * BLOCK * sizeof(float);

	speed->a = device_memory(bytes);
	speed->b = device_memory(bytes);
	speed->c = device_memory(bytes);
	speed->hand_ctl = device_memory(256);
	speed->hand = (struct hand){
		.counter = device_memory(gt_map_bytes(session_map(&speed->session, "counter"))),
		.counters = device_memory(gt_map_bytes(session_map(&speed->session, "counters"))),
		.times = device_memory(gt_map_bytes(session_map(&speed->session, "times"))),
		.buckets = device_memory(gt_map_bytes(session_map(&speed->session, "buckets"))),
		.ring_head = speed->hand_ctl,
		.ring_lost = speed->hand_ctl + sizeof(uint64_t),
		.ring_credits = speed->hand_ctl + HAND_CREDITS,
		.ring = speed->session.host_gpu + ring->place.offset,
		.ring_bytes = SPEED_RING_BYTES,
		.launch = 1,
	};
}

static void choose_sizes(struct speed *speed)
{
	double us;

	speed->repeats = device.software ? 1 : REPEATS;
	speed->launches = device.software ? 2 : LAUNCHES;
	speed->blocks[0] = device.software ? 8 : VECADD_BLOCKS;
	speed->blocks[1] = device.software ? 8 : 8 * device.sms;
	speed->n[0] = speed->blocks[0] * BLOCK;
	speed->n[1] = device.software ? 10 : CALIBRATION_ROUNDS;
	if (speed->blocks[1] > VECADD_BLOCKS)
		speed->blocks[1] = VECADD_BLOCKS;
	if (device.software)
		return;
	for (unsigned i = 0; i < 3; i++) {
		us = time_launches(speed, 1, BARE, find_function(speed->module, "compute"));
		speed->n[1] = (uint32_t)(speed->n[1] * COMPUTE_US / us);
	}
}

static struct speed speed;

bool prepare_speed(const struct options *options)
{
	begin_part("speed");
	if (open_kernels(&speed, options->hand))
		return true;
	printf("SKIP speed: %s cannot be read or compiled\n", options->hand);
	return false;
}

bool test_speed(void)
{
	bool passed = true;

	session_open(&speed.session);
	make_memories(&speed);
	CU(cuEventCreate(&speed.begin, 0));
	CU(cuEventCreate(&speed.end, 0));
	speed.spin = find_function(speed.module, "spin");
	choose_sizes(&speed);
	for (unsigned i = 0; i < PROBES; i++) {
		void *woven = weave(&speed, &probes[i]);

		for (unsigned k = 0; k < KERNELS; k++)
			passed &= compare(&speed, &probes[i], k, woven);
		CU(cuModuleUnload(woven));
	}
	session_close(&speed.session);
	free(speed.ptx);
	return passed;
}
