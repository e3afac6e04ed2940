/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock on a real GPU, checked by itself: for some time, a kernel that stays
 * on the GPU answers with %globaltimer.  Half of the pings are given to the
 * clock as samples; the other half are kept from it and used to check what it
 * says, at once ("live") and at the end ("late"), with the GPU idle, every
 * multiprocessor busy, and copies in both directions.
 *
 * usage: clock [SECONDS [PERIOD_MS]]      default: 60 s, a sample each 50 ms
 *
 * The last line begins with "clock:".  Exit status: 0 good, 1 not, 77 no GPU.
 */
#include <errno.h>
#include <gputrace/gputrace.h>
#include <inttypes.h>
#include <stdbool.h>

#define MORE_FUNCTIONS(X) \
	X(cuDeviceGetName, (char *, int, int)) \
	X(cuDeviceGetAttribute, (int *, int, int)) \
	X(cuMemHostAlloc, (void **, size_t, unsigned)) \
	X(cuStreamCreate, (void **, unsigned)) \
	X(cuStreamSynchronize, (void *)) \
	X(cuStreamQuery, (void *)) \
	X(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *)) \
	X(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *))
#include "programs/driver.h"

#define PINGS 64
#define LAUNCHES 1000
#define COPY_BYTES (32u << 20)
#define PHASES 4

/* What is asked of the clock, ns and percent. */
#define REGISTER_MAX 600
#define STRICT_MAX 850
#define NEAR 150
#define NEAR_PERCENT 95
#define CORE_PERCENT 0.3

#define ATTRIBUTE_SMS 16
#define ATTRIBUTE_BUS 33
#define ATTRIBUTE_DEVICE 34
#define ATTRIBUTE_DOMAIN 50
#define NON_BLOCKING 1
#define PORTABLE_MAPPED 3
#define NOT_READY 600

/*
 * pong: again and again takes what the host's clock shows in *shown and sends it back
 * to *reply with its own time, both in the low half, in one 8-byte store; the whole of
 * its first time to reply[1] before; ends when all ones are shown.  busy: every
 * thread computes until *stop.  stamp: the time at its start and end.
 */
static const char ptx[] =
	".version 6.4\n.target sm_70\n.address_size 64\n"
	".visible .entry pong(.param .u64 shown, .param .u64 reply)\n"
	"{\n"
	"	.reg .pred %p<2>;\n"
	"	.reg .u32 %n<3>;\n"
	"	.reg .u64 %a<3>, %r<4>;\n"
	"	ld.param.u64 %a1, [shown];\n"
	"	ld.param.u64 %a2, [reply];\n"
	"	mov.u64 %r1, %globaltimer;\n"
	"	st.volatile.global.u64 [%a2+8], %r1;\n"
	"again:\n"
	"	ld.volatile.global.u64 %r2, [%a1];\n"
	"	setp.eq.u64 %p1, %r2, 0xffffffffffffffff;\n"
	"	@%p1 bra end;\n"
	"	mov.u64 %r3, %globaltimer;\n"
	"	cvt.u32.u64 %n1, %r2;\n"
	"	cvt.u32.u64 %n2, %r3;\n"
	"	mov.b64 %r3, {%n1, %n2};\n"
	"	st.volatile.global.u64 [%a2], %r3;\n"
	"	bra again;\n"
	"end:\n"
	"	ret;\n"
	"}\n"
	".visible .entry busy(.param .u64 stop)\n"
	"{\n"
	"	.reg .pred %p<3>;\n"
	"	.reg .u64 %a<2>, %r<2>;\n"
	"	.reg .f32 %f<3>;\n"
	"	.reg .u32 %n<2>;\n"
	"	ld.param.u64 %a1, [stop];\n"
	"	mov.f32 %f1, 0f3F800347;\n"
	"	mov.f32 %f2, 0f3F800000;\n"
	"again:\n"
	"	mov.u32 %n1, 0;\n"
	"more:\n"
	"	.pragma \"nounroll\";\n"
	"	fma.rn.f32 %f2, %f2, %f1, %f1;\n"
	"	add.u32 %n1, %n1, 1;\n"
	"	setp.lt.u32 %p1, %n1, 16384;\n"
	"	@%p1 bra more;\n"
	"	ld.volatile.global.u64 %r1, [%a1];\n"
	"	setp.eq.u64 %p2, %r1, 0;\n"
	"	@%p2 bra again;\n"
	"	setp.eq.f32 %p1, %f2, 0f00000000;\n"	/* never, but the compiler does not know */
	"	@%p1 st.volatile.global.u64 [%a1], 2;\n"
	"	ret;\n"
	"}\n"
	".visible .entry stamp(.param .u64 times)\n"
	"{\n"
	"	.reg .u64 %a<2>, %r<3>;\n"
	"	ld.param.u64 %a1, [times];\n"
	"	mov.u64 %r1, %globaltimer;\n"
	"	st.volatile.global.u64 [%a1], %r1;\n"
	"	mov.u64 %r2, %globaltimer;\n"
	"	st.volatile.global.u64 [%a1+8], %r2;\n"
	"	ret;\n"
	"}\n";

/* Fresh evidence: %globaltimer showed gpu between lo and hi (CLOCK_MONOTONIC). */
struct point {
	uint64_t gpu, lo, hi;
};

struct numbers {
	uint64_t *v;
	size_t n, room;
};

static struct gputrace_clock *clock_, *witness;
static volatile uint64_t *request, *reply, *stop, *times;
static void *pong_stream, *busy_stream, *copy_stream[2], *pong, *busy, *stamp;
static void *host_buffer[2];
static uint64_t device_buffer[2];
static int sms;
static struct point *points;
static size_t point_count;
static struct numbers update_cost, live[2], late[2], off_register, off_ping;
static unsigned wrong[2][2];	/* by bound; live, late */

static void nap_until(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void add(struct numbers *numbers, uint64_t value)
{
	if (numbers->n == numbers->room) {
		numbers->room = numbers->room ? numbers->room * 2 : 1024;
		numbers->v = realloc(numbers->v, numbers->room * sizeof(*numbers->v));
		if (!numbers->v)
			abort();
	}
	numbers->v[numbers->n++] = value;
}

static int compare(const void *p, const void *q)
{
	uint64_t a = *(const uint64_t *)p, b = *(const uint64_t *)q;

	return (a > b) - (a < b);
}

static uint64_t percentile(struct numbers *numbers, unsigned percent)
{
	if (!numbers->n)
		return UINT64_MAX;
	qsort(numbers->v, numbers->n, sizeof(*numbers->v), compare);
	return numbers->v[(numbers->n - 1) * percent / 100];
}

static double share_below(const struct numbers *numbers, uint64_t limit)
{
	size_t n = 0;

	for (size_t i = 0; i < numbers->n; i++)
		n += numbers->v[i] <= limit;
	return numbers->n ? 100.0 * (double)n / (double)numbers->n : 0;
}

static void open_driver(void)
{
	char name[96] = "";
	void *module;

	driver_load_or_skip();
	driver_open();
	CHECK(cuDeviceGetName(name, sizeof(name), device));
	CHECK(cuDeviceGetAttribute(&sms, ATTRIBUTE_SMS, device));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&pong, module, "pong"));
	CHECK(cuModuleGetFunction(&busy, module, "busy"));
	CHECK(cuModuleGetFunction(&stamp, module, "stamp"));
	printf("GPU: %s, %d multiprocessors\n", name, sms);
}

static void make_buffers(void)
{
	void *page;

	CHECK(cuMemHostAlloc(&page, 4096, PORTABLE_MAPPED));
	memset(page, 0, 4096);
	request = page;
	reply = request + 64;
	stop = request + 128;
	times = request + 192;
	CHECK(cuStreamCreate(&pong_stream, NON_BLOCKING));
	CHECK(cuStreamCreate(&busy_stream, NON_BLOCKING));
	for (int i = 0; i < 2; i++) {
		CHECK(cuStreamCreate(&copy_stream[i], NON_BLOCKING));
		CHECK(cuMemHostAlloc(&host_buffer[i], COPY_BYTES, PORTABLE_MAPPED));
		CHECK(cuMemAlloc_v2(&device_buffer[i], COPY_BYTES));
	}
}

static int open_clocks(void)
{
	struct gputrace_clock_opts opts = { .size = sizeof(opts), .select = GPUTRACE_CLOCK_BY_PCI };
	int domain, bus, slot;

	CHECK(cuDeviceGetAttribute(&domain, ATTRIBUTE_DOMAIN, device));
	CHECK(cuDeviceGetAttribute(&bus, ATTRIBUTE_BUS, device));
	CHECK(cuDeviceGetAttribute(&slot, ATTRIBUTE_DEVICE, device));
	opts.pci_domain = (uint32_t)domain;
	opts.pci_bus = (uint32_t)bus;
	opts.pci_device = (uint32_t)slot;
	if (gputrace_clock_open(NULL, &opts, &clock_) < 0 || gputrace_clock_open(NULL, &opts, &witness) < 0) {
		printf("clock: FAIL %s\n", gputrace_last_error());
		return 1;
	}
	printf("source: %s\n", gputrace_clock_get_source_text(clock_));
	gputrace_clock_update(clock_);
	if (gputrace_clock_get_source(clock_) != GPUTRACE_CLOCK_SOURCE_REGISTER) {
		printf("clock: FAIL source=%s\n", gputrace_clock_source_name(gputrace_clock_get_source(clock_)));
		return 1;
	}
	return 0;
}

static void launch(void *function, unsigned blocks, unsigned threads, void *stream, void *argument0, void *argument1)
{
	void *arguments[] = { &argument0, &argument1 };

	CHECK(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, NULL));
}

/* The time of which these are the low bits, not long after or before another. */
static uint64_t whole(uint32_t low, uint64_t near)
{
	return near + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)near);
}

/*
 * One exchange; false when the kernel does not answer within a second.  While it is
 * awaited the clock is shown all the time, so that what the kernel takes is new when it
 * takes it: the way there costs what one look at the host's memory takes, and no
 * waiting for the look after that.
 */
static bool ping(struct point *ret_point)
{
	static uint64_t last;
	uint64_t old = *reply, begin = now(), shown, value;

	do {
		shown = now();
		if (shown > begin + 1000000000u)
			return false;
		*request = shown;
		value = *reply;
	} while (value == old);
	__sync_synchronize();
	ret_point->hi = now() + 1;
	if (!last)
		last = reply[1];
	ret_point->lo = whole((uint32_t)value, shown);
	ret_point->gpu = last = whole((uint32_t)(value >> 32), last);
	return true;
}

static void ping_some(struct point *ret_points)
{
	for (int i = 0; i < PINGS; i++) {
		if (ping(&ret_points[i]))
			continue;
		printf("the kernel that answers pings does not\nclock: FAIL\n");
		_Exit(1);
	}
}

/*
 * What PINGS round trips together say about the first one's time.  They take
 * 100 us, or much longer when this thread has to wait for a processor, so a drift
 * of up to 20 ppm is allowed for.
 */
static struct point meet(const struct point *some, uint64_t tick)
{
	struct point point = some[0];
	uint64_t lo, hi, gap, blur;

	for (int i = 1; i < PINGS; i++) {
		gap = some[i].gpu - some[0].gpu;
		blur = tick + gap / 50000 + 1;
		lo = some[i].lo - gap - blur;
		hi = some[i].hi - gap + blur;
		if (lo > point.lo)
			point.lo = lo;
		if (hi < point.hi)
			point.hi = hi;
	}
	return point;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void judge(const struct point *point, int bound, bool is_late)
{
	uint64_t host, error;

	if (gputrace_clock_to_host(clock_, point->gpu, bound, &host, &error) < 0) {
		printf("no answer: %s\n", gputrace_last_error());
		wrong[bound][is_late]++;
		return;
	}
	add(is_late ? &late[bound] : &live[bound], error);
	if (host + error < point->lo || host - error > point->hi)
		wrong[bound][is_late]++;
}

/*
 * How far the estimate is from the middle of evidence that is not its own: of a
 * second clock that was sampled this very moment, and of the pings.
 */
static void compare_middles(const struct point *point)
{
	uint64_t host, error, other;

	if (gputrace_clock_to_host(clock_, point->gpu, GPUTRACE_CLOCK_BOUND_REGISTER, &host, &error) < 0)
		return;
	add(&off_ping, apart(host, point->lo + (point->hi - point->lo) / 2));
	if (gputrace_clock_update(witness) < 0 ||
	    gputrace_clock_to_host(witness, point->gpu, GPUTRACE_CLOCK_BOUND_REGISTER, &other, &error) < 0)
		return;
	add(&off_register, apart(host, other));
}

static void check_point(bool settled)
{
	struct point some[PINGS], point;

	ping_some(some);
	point = meet(some, gputrace_clock_get_tick(clock_));
	if (settled) {
		judge(&point, GPUTRACE_CLOCK_BOUND_REGISTER, false);
		judge(&point, GPUTRACE_CLOCK_BOUND_STRICT, false);
	}
	compare_middles(&point);
	points[point_count++] = point;
}

static void take_samples(void)
{
	struct point some[PINGS];
	uint64_t begin = now();

	if (gputrace_clock_update(clock_) < 0)
		printf("update: %s\n", gputrace_last_error());
	add(&update_cost, now() - begin);
	ping_some(some);
	for (int i = 0; i < PINGS; i++)
		gputrace_clock_add_interval(clock_, some[i].lo, some[i].hi, some[i].gpu, GPUTRACE_CLOCK_SOURCE_PING);
}

/* Keep copies under way in both directions. */
static void copy_more(void)
{
	for (int i = 0; i < 2; i++) {
		if (cuStreamQuery(copy_stream[i]) == NOT_READY)
			continue;
		for (int k = 0; k < 8; k++) {
			if (i)
				CHECK(cuMemcpyDtoHAsync_v2(host_buffer[1], device_buffer[1], COPY_BYTES, copy_stream[1]));
			else
				CHECK(cuMemcpyHtoDAsync_v2(device_buffer[0], host_buffer[0], COPY_BYTES, copy_stream[0]));
		}
	}
}

static void enter_phase(int phase)
{
	static const char *const names[PHASES] = { "idle", "every multiprocessor busy", "copies", "idle" };

	if (phase == 1) {
		*stop = 0;
		launch(busy, (unsigned)sms * 2, 1024, busy_stream, (void *)stop, NULL);
	}
	if (phase == 2) {
		*stop = 1;
		CHECK(cuStreamSynchronize(busy_stream));
	}
	printf("%s\n", names[phase]);
}

/* Samples on the beat, check points at varying places between. */
static void run(unsigned seconds, unsigned period_ms)
{
	uint64_t begin = now(), period = period_ms * UINT64_C(1000000), end = begin + seconds * UINT64_C(1000000000);
	uint64_t rounds = (end - begin) / period;
	int phase = -1, next;

	points = calloc(rounds + 1, sizeof(*points));
	if (!points)
		abort();
	for (uint64_t i = 0; i < rounds; i++) {
		nap_until(begin + i * period);
		next = (int)(i * PHASES / rounds);
		if (next != phase)
			enter_phase(phase = next);
		take_samples();
		if (phase == 2)
			copy_more();
		nap_until(begin + i * period + period * (2 + i % 7) / 10);
		/* the first 3 s, in which the rate is not known yet, count at the end only */
		check_point(i * period > UINT64_C(3000000000));
	}
	for (size_t i = 0; i < point_count; i++) {
		judge(&points[i], GPUTRACE_CLOCK_BOUND_REGISTER, true);
		judge(&points[i], GPUTRACE_CLOCK_BOUND_STRICT, true);
	}
}

/* Ordinary launches must not seem to break causality. */
static void launch_some(void)
{
	uint64_t enter, leave;

	for (int i = 0; i < LAUNCHES; i++) {
		enter = now();
		launch(stamp, 1, 1, busy_stream, (void *)times, NULL);
		CHECK(cuStreamSynchronize(busy_stream));
		leave = now() + 1;
		gputrace_clock_check_start(clock_, enter, times[0]);
		gputrace_clock_check_end(clock_, times[1], leave);
	}
}

static int conclude(unsigned seconds, unsigned period_ms)
{
	struct gputrace_clock_stats stats = { .size = sizeof(stats) };
	uint64_t drift_error = 0, total = 0, median[2], update;
	int64_t drift = 0;
	double core, close;
	bool good;

	gputrace_clock_get_stats(clock_, &stats);
	gputrace_clock_get_drift(clock_, &drift, &drift_error);
	for (size_t i = 0; i < update_cost.n; i++)
		total += update_cost.v[i];
	core = 100.0 * (double)total / (double)update_cost.n / (period_ms * 1e6);
	update = percentile(&update_cost, 50);
	close = share_below(&off_register, NEAR);
	for (int bound = 0; bound < 2; bound++) {
		median[bound] = percentile(&live[bound], 50);
		printf("%s bound: live p50 %" PRIu64 " p99 %" PRIu64 ", late p50 %" PRIu64 " p99 %" PRIu64
		       " ns; wrong live %u of %zu, late %u of %zu\n", bound ? "strict" : "register", median[bound],
		       percentile(&live[bound], 99), percentile(&late[bound], 50), percentile(&late[bound], 99),
		       wrong[bound][0], live[bound].n, wrong[bound][1], late[bound].n);
	}
	printf("estimate from the middle of fresh register reads: p50 %" PRIu64 " p95 %" PRIu64 " ns; of pings: p50 %"
	       PRIu64 " p95 %" PRIu64 " ns, within %d ns %.1f %%\n", percentile(&off_register, 50),
	       percentile(&off_register, 95), percentile(&off_ping, 50), percentile(&off_ping, 95), NEAR,
	       share_below(&off_ping, NEAR));
	printf("drift %" PRId64 " +- %" PRIu64 " ppb, step %u ns, samples %" PRIu64 ", rejects %" PRIu64
	       ", host slews %" PRIu64 ", update p99 %" PRIu64 " ns\n", drift, drift_error,
	       gputrace_clock_get_tick(clock_), stats.samples, stats.rejects, stats.host_slews,
	       percentile(&update_cost, 99));
	good = !wrong[0][0] && !wrong[0][1] && !wrong[1][0] && !wrong[1][1] && median[0] <= REGISTER_MAX &&
	       median[1] <= STRICT_MAX && close >= NEAR_PERCENT && core <= CORE_PERCENT && !stats.violations &&
	       stats.checks == 2 * LAUNCHES && !stats.resets && !stats.rate_breaks && !stats.disagreements;
	printf("clock: %s source=register seconds=%u checks=%zu register_ns=%" PRIu64 " strict_ns=%" PRIu64
	       " register_wrong=%u strict_wrong=%u near_percent=%.1f update_ns=%" PRIu64
	       " core_percent=%.3f causality=%" PRIu64 "/%" PRIu64 " resets=%" PRIu64 " rate_breaks=%" PRIu64
	       " disagreements=%" PRIu64 "\n", good ? "PASS" : "FAIL", seconds, live[0].n + late[0].n, median[0],
	       median[1], wrong[0][0] + wrong[0][1], wrong[1][0] + wrong[1][1], close, update, core,
	       stats.violations, stats.checks, stats.resets, stats.rate_breaks, stats.disagreements);
	return good ? 0 : 1;
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 60;
	unsigned period_ms = argc > 2 ? (unsigned)atoi(argv[2]) : 50;
	int r;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (seconds < 8 || period_ms < 5) {
		printf("usage: clock [SECONDS (8 or more) [PERIOD_MS (5 or more)]]\n");
		return 2;
	}
	open_driver();
	r = open_clocks();
	if (r)
		return r;
	make_buffers();
	/* First, since on a full GPU it would find no place. */
	launch(pong, 1, 1, pong_stream, (void *)request, (void *)reply);
	run(seconds, period_ms);
	launch_some();
	*request = UINT64_MAX;
	CHECK(cuStreamSynchronize(pong_stream));
	for (int i = 0; i < 2; i++)
		CHECK(cuStreamSynchronize(copy_stream[i]));
	r = conclude(seconds, period_ms);
	gputrace_clock_unref(witness);
	gputrace_clock_unref(clock_);
	driver_close();
	return r;
}
