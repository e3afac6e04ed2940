/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of two GPUs against each other: a kernel on the first raises a flag in
 * the memory of the second, which answers with its time, and notes its own time
 * before and after.  However long the way was, the answer was given between the two.
 * Each time is taken to the host by its GPU's clock: the intervals of their errors
 * must allow for that order, round after round.
 *
 * usage: peer-clock [ROUNDS]		default: 10000, one each 300 us
 *
 * The last line begins with "peer-clock:".  Exit status: 0 good, 1 not, 77 no two GPUs.
 */
#include <gputrace/gputrace.h>
#include <inttypes.h>

#define MORE_FUNCTIONS(X) \
	X(cuDeviceGetCount, (int *)) \
	X(cuDeviceGetAttribute, (int *, int, int)) \
	X(cuDeviceCanAccessPeer, (int *, int, int)) \
	X(cuCtxEnablePeerAccess, (void *, unsigned)) \
	X(cuMemHostAlloc, (void **, size_t, unsigned)) \
	X(cuStreamCreate, (void **, unsigned)) \
	X(cuStreamQuery, (void *))
#include "programs/driver.h"

#define ATTRIBUTE_BUS 33
#define ATTRIBUTE_DEVICE 34
#define ATTRIBUTE_DOMAIN 50
#define NON_BLOCKING 1
#define PORTABLE_MAPPED 3
#define NOT_READY 600
#define UPDATE_NS 20000000

/*
 * ask, a round each 300 us: before[i] = its time; raise the flag; wait for the
 * answer, a time; after[i] = its time.  answer: waits for each flag, gives its time
 * in one store.  Both give up after 20 s.
 */
static const char ptx[] =
	".version 6.4\n.target sm_70\n.address_size 64\n"
	".visible .entry ask(.param .u64 flag, .param .u64 reply, .param .u64 log, .param .u64 rounds)\n"
	"{\n"
	"	.reg .pred %p;\n"
	"	.reg .u64 %flag, %reply, %log, %rounds, %i, %begin, %before, %after, %last, %seen, %gone;\n"
	"	ld.param.u64 %flag, [flag];\n"
	"	ld.param.u64 %reply, [reply];\n"
	"	ld.param.u64 %log, [log];\n"
	"	ld.param.u64 %rounds, [rounds];\n"
	"	mov.u64 %begin, %globaltimer;\n"
	"	mov.u64 %after, %begin;\n"
	"	mov.u64 %last, 0;\n"
	"	mov.u64 %i, 0;\n"
	"again:\n"
	"	add.u64 %i, %i, 1;\n"
	"pause:\n"
	"	mov.u64 %before, %globaltimer;\n"
	"	sub.u64 %gone, %before, %after;\n"
	"	setp.lt.u64 %p, %gone, 300000;\n"
	"	@%p bra pause;\n"
	"	mov.u64 %before, %globaltimer;\n"
	"	membar.sys;\n"
	"	st.volatile.global.u64 [%flag], %i;\n"
	"wait:\n"
	"	mov.u64 %after, %globaltimer;\n"
	"	sub.u64 %gone, %after, %begin;\n"
	"	setp.gt.u64 %p, %gone, 20000000000;\n"
	"	@%p bra end;\n"
	"	ld.volatile.global.u64 %seen, [%reply];\n"
	"	setp.eq.u64 %p, %seen, %last;\n"
	"	@%p bra wait;\n"
	"	membar.sys;\n"
	"	mov.u64 %after, %globaltimer;\n"
	"	mov.u64 %last, %seen;\n"
	"	st.volatile.global.u64 [%log], %before;\n"
	"	st.volatile.global.u64 [%log+8], %seen;\n"
	"	st.volatile.global.u64 [%log+16], %after;\n"
	"	add.u64 %log, %log, 24;\n"
	"	setp.lt.u64 %p, %i, %rounds;\n"
	"	@%p bra again;\n"
	"end:\n"
	"	ret;\n"
	"}\n"
	".visible .entry answer(.param .u64 flag, .param .u64 reply, .param .u64 rounds)\n"
	"{\n"
	"	.reg .pred %p;\n"
	"	.reg .u64 %flag, %reply, %rounds, %i, %begin, %now, %seen, %gone;\n"
	"	ld.param.u64 %flag, [flag];\n"
	"	ld.param.u64 %reply, [reply];\n"
	"	ld.param.u64 %rounds, [rounds];\n"
	"	mov.u64 %begin, %globaltimer;\n"
	"	mov.u64 %i, 0;\n"
	"again:\n"
	"	add.u64 %i, %i, 1;\n"
	"wait:\n"
	"	mov.u64 %now, %globaltimer;\n"
	"	sub.u64 %gone, %now, %begin;\n"
	"	setp.gt.u64 %p, %gone, 20000000000;\n"
	"	@%p bra end;\n"
	"	ld.volatile.global.u64 %seen, [%flag];\n"
	"	setp.lt.u64 %p, %seen, %i;\n"
	"	@%p bra wait;\n"
	"	membar.sys;\n"
	"	mov.u64 %now, %globaltimer;\n"
	"	membar.sys;\n"
	"	st.volatile.global.u64 [%reply], %now;\n"
	"	setp.lt.u64 %p, %i, %rounds;\n"
	"	@%p bra again;\n"
	"end:\n"
	"	ret;\n"
	"}\n";

struct round {
	uint64_t before, answer, after;
};

struct gpu {
	void *context, *stream;
	uint64_t memory;	/* what the other one writes */
	struct gputrace_clock *clock;
};

static struct gpu gpus[2];

static void find_two(void)
{
	int count = 0, can = 0;

	driver_load_or_skip();
	if (cuDeviceGetCount(&count) || count < 2 || cuDeviceCanAccessPeer(&can, 0, 1) || !can) {
		printf("two GPUs are needed that can use each other's memory\n");
		exit(77);
	}
}

static uint32_t attribute(int gpu, int which)
{
	int value;

	CHECK(cuDeviceGetAttribute(&value, which, gpu));
	return (uint32_t)value;
}

static void open_gpu(int i)
{
	struct gputrace_clock_opts opts = { .size = sizeof(opts), .select = GPUTRACE_CLOCK_BY_PCI };

	CHECK(cuDevicePrimaryCtxRetain(&gpus[i].context, i));
	CHECK(cuCtxSetCurrent(gpus[i].context));
	CHECK(cuStreamCreate(&gpus[i].stream, NON_BLOCKING));
	CHECK(cuMemAlloc_v2(&gpus[i].memory, 4096));
	CHECK(cuMemsetD32_v2(gpus[i].memory, 0, 1024));
	opts.pci_domain = attribute(i, ATTRIBUTE_DOMAIN);
	opts.pci_bus = attribute(i, ATTRIBUTE_BUS);
	opts.pci_device = attribute(i, ATTRIBUTE_DEVICE);
	CHECK(gputrace_clock_open(NULL, &opts, &gpus[i].clock));
	printf("GPU %d: %s\n", i, gputrace_clock_get_source_text(gpus[i].clock));
}

static void launch(int i, const char *name, void **parameters)
{
	void *module, *function;

	CHECK(cuCtxSetCurrent(gpus[i].context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, name));
	CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, gpus[i].stream, parameters, NULL));
}

static void update_clocks(void)
{
	CHECK(gputrace_clock_update(gpus[0].clock));
	CHECK(gputrace_clock_update(gpus[1].clock));
}

static struct round *play(uint64_t rounds)
{
	struct round *log;
	struct timespec nap = { 0, UPDATE_NS };
	void *to_ask[] = { &gpus[1].memory, &gpus[0].memory, &log, &rounds };
	void *to_answer[] = { &gpus[1].memory, &gpus[0].memory, &rounds };
	uint64_t deadline = now() + 30000000000;

	CHECK(cuMemHostAlloc((void **)&log, rounds * sizeof(*log), PORTABLE_MAPPED));
	memset(log, 0, rounds * sizeof(*log));
	for (int i = 0; i < 2; i++) {
		CHECK(cuCtxSetCurrent(gpus[i].context));
		CHECK(cuCtxEnablePeerAccess(gpus[1 - i].context, 0));
	}
	update_clocks();
	launch(1, "answer", to_answer);
	launch(0, "ask", to_ask);
	CHECK(cuCtxSetCurrent(gpus[0].context));
	while (cuStreamQuery(gpus[0].stream) == NOT_READY && now() < deadline) {
		update_clocks();
		nanosleep(&nap, NULL);
	}
	update_clocks();
	return log;
}

struct span {
	int64_t lo, hi;
};

static struct span on_host(int i, uint64_t gpu_ns, int bound)
{
	uint64_t host, error;

	CHECK(gputrace_clock_to_host(gpus[i].clock, gpu_ns, bound, &host, &error));
	return (struct span){ (int64_t)(host - error), (int64_t)(host + error) };
}

static int compare(const void *p, const void *q)
{
	int64_t a = *(const int64_t *)p, b = *(const int64_t *)q;

	return (a > b) - (a < b);
}

static int64_t median(int64_t *values, uint64_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}

/* Rounds whose order the clocks rule out. */
static uint64_t judge(const struct round *log, uint64_t rounds, int bound, const char *name)
{
	int64_t *trips = calloc(rounds, sizeof(*trips)), *widths = calloc(rounds, sizeof(*widths));
	uint64_t violations = 0;

	for (uint64_t i = 0; i < rounds; i++) {
		struct span before = on_host(0, log[i].before, bound), after = on_host(0, log[i].after, bound);
		struct span answer = on_host(1, log[i].answer, bound);

		violations += answer.hi < before.lo || answer.lo > after.hi;
		trips[i] = (int64_t)(log[i].after - log[i].before);
		/* How well the clocks know where the two GPUs' times lie to each other. */
		widths[i] = (answer.hi - answer.lo + before.hi - before.lo) / 2;
	}
	printf("%s bound: %" PRIu64 " of %" PRIu64 " rounds violated; the two clocks' bounds together +- %" PRId64
	       " ns (median), a round trip %" PRId64 " ns\n", name, violations, rounds, median(widths, rounds),
	       median(trips, rounds));
	free(trips);
	free(widths);
	return violations;
}

/* The offset between two lines through both clocks that all rounds allow, over a short stretch. */
static void print_offset(const struct round *log, uint64_t rounds)
{
	int64_t lo = INT64_MIN, hi = INT64_MAX;
	uint64_t count = rounds < 200 ? rounds : 200;

	for (uint64_t i = 0; i < count; i++) {
		int64_t before = (int64_t)(log[i].answer - log[i].after), after = (int64_t)(log[i].answer - log[i].before);

		lo = before > lo ? before : lo;
		hi = after < hi ? after : hi;
	}
	printf("offset of the timers by the first %" PRIu64 " rounds: between %" PRId64 " and %" PRId64 " ns, %" PRId64
	       " wide\n", count, lo, hi, hi - lo);
}

static void print_drift(int i)
{
	uint64_t error;
	int64_t ppb;

	CHECK(gputrace_clock_get_drift(gpus[i].clock, &ppb, &error));
	printf("GPU %d: drift %" PRId64 " +- %" PRIu64 " ppb\n", i, ppb, error);
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000, violations;
	struct round *log;

	setvbuf(stdout, NULL, _IOLBF, 0);
	find_two();
	open_gpu(0);
	open_gpu(1);
	log = play(rounds);
	if (!log[rounds - 1].after) {
		printf("peer-clock: the kernels did not come to the end of %" PRIu64 " rounds\n", rounds);
		return 1;
	}
	print_drift(0);
	print_drift(1);
	print_offset(log, rounds);
	violations = judge(log, rounds, GPUTRACE_CLOCK_BOUND_REGISTER, "register");
	violations += judge(log, rounds, GPUTRACE_CLOCK_BOUND_STRICT, "strict");
	printf("peer-clock: %" PRIu64 " violations in %" PRIu64 " rounds\n", violations, rounds);
	return violations ? 1 : 0;
}
