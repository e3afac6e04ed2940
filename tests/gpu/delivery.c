/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How soon, and how fast, what programs on the GPU write reaches a reader that polls.
 *
 * usage: delivery [--device=sim] RECORDS.bpf.o [SECONDS [warps|threads]]
 *
 * Runs itself as the traced program.  First a kernel of one warp each millisecond: how
 * long after the GPU wrote its record the reader has it.  Then kernels of 8192 warps,
 * one behind another for SECONDS: how many bytes of records of 32 bytes, one of each warp
 * or of each thread, the reader gets, beside what a kernel by itself writes to the same
 * kind of memory in the same run: as many structures of four words, as compilers store them.  Who held whom back is seen by how often the reader
 * looked and found nothing (the GPU), and by the most it found at once (the reader, where
 * that is what the ring holds).  The last line begins with "delivery:".  Exit
 * status: 0 every record was delivered or counted as lost, 1 not, 77 no GPU.
 */
#include <gputrace/gputrace.h>
#include <inttypes.h>
#include <stdbool.h>

#define MORE_FUNCTIONS(X) X(cuMemHostAlloc, (void **, size_t, unsigned))
#include "programs/driver.h"

#define PULSES 1000u
#define BLOCKS 1024u
#define BLOCK 256u
#define THREADS (BLOCKS * BLOCK)
#define AT_ONCE 8u			/* launches between two waits */
#define RECORD_BYTES 32u
#define BARE_BYTES ((size_t)1 << 26)	/* written around and around */
#define PORTABLE_MAPPED 3
#define CLOCK_NS 20000000u

/* Every 2^shift-th thread writes its record, where `first` and its number among them say. */
#define BARE(name, shift)                                             \
	".visible .entry " name "(.param .u64 memory, .param .u32 first)\n" \
	"{\n"                                                         \
	"	.reg .pred %p;\n"                                     \
	"	.reg .u32 %thread, %block, %first;\n"                 \
	"	.reg .u64 %memory, %at, %now;\n"                      \
	"	mov.u32 %thread, %tid.x;\n"                           \
	"	and.b32 %first, %thread, (1 << " shift ") - 1;\n"     \
	"	setp.ne.u32 %p, %first, 0;\n"                         \
	"	@%p bra end;\n"                                       \
	"	ld.param.u64 %memory, [memory];\n"                    \
	"	ld.param.u32 %first, [first];\n"                      \
	"	mov.u32 %block, %ctaid.x;\n"                          \
	"	mad.lo.u32 %thread, %block, 256, %thread;\n"          \
	"	shr.u32 %thread, %thread, " shift ";\n"               \
	"	add.u32 %thread, %thread, %first;\n"                  \
	"	and.b32 %thread, %thread, 2097151;\n"                 \
	"	mul.wide.u32 %at, %thread, 32;\n"                     \
	"	add.u64 %at, %memory, %at;\n"                         \
	"	mov.u64 %now, %globaltimer;\n"                        \
	"	st.global.u64 [%at], %now;\n"                         \
	"	st.global.u64 [%at+8], %now;\n"                       \
	"	st.global.u64 [%at+16], %now;\n"                      \
	"	st.global.u64 [%at+24], %now;\n"                      \
	"end:\n"                                                      \
	"	ret;\n"                                               \
	"}\n"

static const char ptx[] =
	".version 6.4\n.target sm_70\n.address_size 64\n"
	".visible .entry pulse() { ret; }\n"
	".visible .entry flood_warps() { ret; }\n"
	".visible .entry flood_threads() { ret; }\n"
	BARE("bare_warps", "5") BARE("bare_threads", "0");

/* Who writes a record: the kernels, and the records of a launch. */
static const struct flood {
	const char *who, *bare, *traced;
	uint32_t records;
} floods[] = {
	{ "warps", "bare_warps", "flood_warps", THREADS / 32 },
	{ "threads", "bare_threads", "flood_threads", THREADS },
};

/* ---- the traced program ---- */

static void *find_kernel(void *module, const char *name)
{
	void *function;

	CHECK(cuModuleGetFunction(&function, module, name));
	return function;
}

/* Launches for so long; says how many records they write, and in what time. */
static void launch(const char *what, void *kernel, uint32_t records, void *memory, uint64_t length)
{
	uint64_t begin = now(), launches = 0;
	uint32_t first = 0;
	void *parameters[] = { &memory, &first };

	do {
		for (unsigned i = 0; i < AT_ONCE; i++, launches++, first += records)
			CHECK(cuLaunchKernel(kernel, BLOCKS, 1, 1, BLOCK, 1, 1, 0, NULL, memory ? parameters : NULL, NULL));
		CHECK(cuCtxSynchronize());
	} while (now() - begin < length);
	printf("%s %" PRIu64 " %" PRIu64 "\n", what, launches * records, now() - begin);
}

static int run_program(const struct flood *flood, uint64_t length)
{
	struct timespec nap = { 0, 1000000 };
	void *module, *memory, *pulse;

	driver_load_or_skip();
	driver_open();
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuMemHostAlloc(&memory, BARE_BYTES, PORTABLE_MAPPED));
	pulse = find_kernel(module, "pulse");
	for (unsigned i = 0; i < PULSES; i++) {
		CHECK(cuLaunchKernel(pulse, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
		CHECK(cuCtxSynchronize());
		nanosleep(&nap, NULL);
	}
	launch("bare", find_kernel(module, flood->bare), flood->records, memory, length);
	launch("flood", find_kernel(module, flood->traced), flood->records, NULL, length);
	return 0;
}

/* ---- the reader ---- */

struct looks {
	uint64_t count, empty, empty_ns;
};

struct seen {
	struct gputrace_clock *clock;
	uint64_t next_update;
	int64_t latency[PULSES];
	unsigned pulses;
	uint64_t floods, begin, end;	/* records, and when the first batch and the last of them came */
	uint64_t lost;
	struct looks looks, late;	/* until the last of them came; after it, which may be between two */
	uint64_t most;			/* records found at once */
};

static void take_pulse(struct seen *seen, const struct gputrace_event *event)
{
	uint64_t gpu_ns, host_ns, error_ns, time = now();
	size_t size;
	const void *data = gputrace_event_get_data(event, &size);

	if (seen->pulses == PULSES || size != RECORD_BYTES)
		return;
	memcpy(&gpu_ns, data, sizeof(gpu_ns));
	/* The software device has no clock that could be opened. */
	if (gputrace_clock_to_host(seen->clock, gpu_ns, GPUTRACE_CLOCK_BOUND_REGISTER, &host_ns, &error_ns))
		host_ns = time + 1;
	seen->latency[seen->pulses++] = (int64_t)(time - host_ns);
}

static void take_floods(void *data, const struct gputrace_records *records)
{
	struct seen *seen = data;
	uint64_t time = now();

	if (!seen->floods)
		seen->begin = time;
	seen->end = time;
	seen->floods += records->count;
}

/* What it did between the first of the records and the last. */
static void count_look(struct seen *seen, uint64_t found, uint64_t ns)
{
	struct looks *late = &seen->late;

	if (!seen->floods)
		return;
	late->count++;
	late->empty += !found;
	late->empty_ns += found ? 0 : ns;
	if (!found)
		return;
	seen->looks.count += late->count;
	seen->looks.empty += late->empty;
	seen->looks.empty_ns += late->empty_ns;
	*late = (struct looks){ 0 };
	seen->most = found > seen->most ? found : seen->most;
}

/* Take in what has come; false: the program has ended. */
static bool look(struct seen *seen, struct gputrace_reader *reader)
{
	uint64_t before = seen->floods, begin = now();
	bool more = gputrace_reader_wait(reader, 0) >= 0;

	count_look(seen, seen->floods - before, now() - begin);
	return more;
}

static void follow(struct seen *seen, struct gputrace_reader *reader)
{
	const struct gputrace_event *event;

	while (look(seen, reader)) {
		while ((event = gputrace_reader_next(reader))) {
			if (gputrace_event_get_type(event) == GPUTRACE_EVENT_DATA)
				take_pulse(seen, event);
			else if (gputrace_event_get_type(event) == GPUTRACE_EVENT_NOTE)
				printf("note: %s\n", gputrace_event_get_text(event));
		}
		if (now() >= seen->next_update) {
			CHECK(gputrace_clock_update(seen->clock));
			seen->next_update = now() + CLOCK_NS;
		}
	}
	seen->lost = gputrace_reader_get_lost(reader);
}

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, gputrace_last_error());
	exit(1);
}
#define NEED(call) do { if (call) fail(#call); } while (0)

/* The program's output comes through a pipe in place of its standard output. */
static FILE *spawn(char *const argv[], uint32_t device, struct gputrace_target **ret_target)
{
	struct gputrace_spawn_opts opts = { .size = sizeof(opts), .device = device };
	int ends[2], own = dup(STDOUT_FILENO);

	fflush(stdout);
	CHECK(pipe(ends));
	dup2(ends[1], STDOUT_FILENO);
	NEED(gputrace_target_spawn(NULL, argv, &opts, ret_target));
	dup2(own, STDOUT_FILENO);
	close(own);
	close(ends[1]);
	return fdopen(ends[0], "r");
}

static FILE *trace(struct seen *seen, char *const argv[], uint32_t device, const char *path)
{
	/* Events of different rings are not put in order: what is there is delivered at once. */
	struct gputrace_reader_opts reader_opts = { .size = sizeof(reader_opts), .window_ns = 1 };
	struct gputrace_clock_opts clock_opts = { .size = sizeof(clock_opts) };
	struct gputrace_object *object;
	struct gputrace_target *target;
	struct gputrace_reader *reader;
	struct gputrace_link *link;
	FILE *said;

	NEED(gputrace_clock_open(NULL, &clock_opts, &seen->clock));
	NEED(gputrace_object_open_file(NULL, path, &object));
	said = spawn(argv, device, &target);
	NEED(gputrace_attach_object(target, object, &link));
	NEED(gputrace_reader_new(target, &reader_opts, &reader));
	NEED(gputrace_reader_set_records(reader, gputrace_object_find_map(object, "floods"), take_floods, seen));
	NEED(gputrace_target_resume(target));
	follow(seen, reader);
	gputrace_reader_unref(reader);
	gputrace_link_unref(link);
	gputrace_target_unref(target);
	gputrace_object_unref(object);
	gputrace_clock_unref(seen->clock);
	return said;
}

static int compare(const void *p, const void *q)
{
	int64_t a = *(const int64_t *)p, b = *(const int64_t *)q;

	return (a > b) - (a < b);
}

static double rate(uint64_t records, uint64_t ns)
{
	return ns ? 1e3 * (double)(records * RECORD_BYTES) / (double)ns : 0;
}

static int conclude(struct seen *seen, const char *who, FILE *said)
{
	uint64_t bare, bare_ns, made, made_ns;
	double by_itself, delivered;
	bool all;

	if (fscanf(said, "bare %" SCNu64 " %" SCNu64 " flood %" SCNu64 " %" SCNu64, &bare, &bare_ns, &made, &made_ns) != 4) {
		printf("delivery: the program did not come to its end\n");
		return 1;
	}
	printf("looks: %" PRIu64 ", %.1f %% of them found nothing, in %.0f ns each; %" PRIu64 " records at once at most\n",
	       seen->looks.count, seen->looks.count ? 100.0 * (double)seen->looks.empty / (double)seen->looks.count : 0,
	       seen->looks.empty ? (double)seen->looks.empty_ns / (double)seen->looks.empty : 0, seen->most);
	qsort(seen->latency, seen->pulses, sizeof(seen->latency[0]), compare);
	by_itself = rate(bare, bare_ns);
	delivered = rate(seen->floods, seen->end - seen->begin);
	all = seen->pulses == PULSES && seen->floods + seen->lost == made;
	printf("delivery: %s by=%s pulses=%u latency_ns=%" PRId64 " latency_p99_ns=%" PRId64 " records=%" PRIu64 " lost=%" PRIu64
	       " produced=%" PRIu64 " delivered_mb_s=%.0f produced_mb_s=%.0f bare_mb_s=%.0f part_of_bare=%.3f\n",
	       all ? "PASS" : "FAIL", who, seen->pulses, seen->pulses ? seen->latency[seen->pulses / 2] : 0,
	       seen->pulses ? seen->latency[seen->pulses * 99 / 100] : 0, seen->floods, seen->lost, made, delivered,
	       rate(made, made_ns), by_itself, by_itself > 0 ? delivered / by_itself : 0);
	return all ? 0 : 1;
}

/* NULL: there is none of that name. */
static const struct flood *find_flood(const char *who)
{
	for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++)
		if (!strcmp(who, floods[i].who))
			return &floods[i];
	return NULL;
}

int main(int argc, char **argv)
{
	static struct seen seen;
	bool sim = argc > 1 && strcmp(argv[1], "--device=sim") == 0;
	char **words = argv + (sim ? 2 : 1), two[] = "2", warps[] = "warps";
	char *seconds = words[0] && words[1] ? words[1] : two, *who = seconds != two && words[2] ? words[2] : warps;
	char *program[] = { argv[0], "--program", seconds, who, NULL };
	const struct flood *flood = find_flood(who);

	if (!words[0] || !flood) {
		fprintf(stderr, "usage: %s [--device=sim] RECORDS.bpf.o [SECONDS [warps|threads]]\n", argv[0]);
		return 2;
	}
	if (strcmp(words[0], "--program") == 0)
		return run_program(flood, strtoull(seconds, NULL, 0) * 1000000000u);
	return conclude(&seen, who, trace(&seen, program, sim ? GPUTRACE_DEVICE_SIM : GPUTRACE_DEVICE_REAL, words[0]));
}
