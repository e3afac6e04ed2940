/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring buffers: the GPU writes records of one size from every thread while a
 * thread here reads.  Delivered + lost = produced, and what is delivered is whole.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/bpf-device.h"
#include "tests/gpu/bpf-session.h"
#include "tests/gpu/bpf.h"
#include "tests/gpu/programs/bpf-probes.h"

static const unsigned sizes[] = {
	1,   2,   3,   4,   5,	 6,   7,   8,	9,   10,  11,	12,   13,   14,	  15,	16,   17,   20,	  23,	24,
	25,  31,  32,  33,  40,	 48,  63,  64,	65,  96,  100,	127,  128,  129,  200,	255,  256,  257,  333,	511,
	512, 513, 777, 999, 1000, 1001, 1023, 1024, 1025, 1500, 2000, 2047, 2048, 2049, 3000, 3333, 3999, 4000,
};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))
/* What time goes into is bytes, of which 4,000 sizes have very many: those not listed get fewer threads. */
#define LISTED_FOR_EACH_OTHER 8u

struct fixed {
	const char *program;
	unsigned size;
	bool reserve;		/* which always succeeds; room is taken at submit, and the loss counted then */
};

static const struct fixed fixed[] = {
	{ "ring_output_5", 5, false },	  { "ring_output_8", 8, false },    { "ring_output_17", 17, false },
	{ "ring_output_24", 24, false },  { "ring_output_99", 99, false },  { "ring_output_300", 300, false },
	{ "ring_reserve_13", 13, true },  { "ring_reserve_32", 32, true },  { "ring_reserve_301", 301, true },
};
#define FIXED (sizeof(fixed) / sizeof(fixed[0]))

struct storm {
	struct session session;
	struct gputrace_map *map, *tally;
	struct gt_ring ring;		/* the consumer's */
	uint32_t *pattern;
	unsigned threads;
	uint64_t lost;			/* so far */
	/* The round at hand. */
	unsigned size;
	bool by_pattern;
	bool reserve;
	bool late;			/* nobody reads while the producers write */
	bool over;			/* the producers have ended */
	uint32_t *seen;			/* by thread number, or by place in the pattern */
	uint64_t delivered, broken;
	bool failed;			/* what is in the ring is no record */
};

/* The low 12 bits are the place, so that a short record tells where it comes from. */
static uint32_t *make_pattern(void)
{
	uint32_t *pattern = malloc(PATTERN_BYTES);
	unsigned i;

	if (!pattern)
		stop("no memory");
	for (i = 0; i < PATTERN_BYTES / 4; i++)
		pattern[i] = i % PATTERNS | (i * 2654435761u >> 12) << 12;
	return pattern;
}

/* Where a record's thread is counted: 12 bits of it at most. */
static unsigned place_of(unsigned size, const uint8_t *payload)
{
	return size == 1 ? payload[0] : (payload[0] | payload[1] << 8) % PATTERNS;
}

static bool piece_of_pattern(const struct storm *storm, const uint8_t *payload)
{
	unsigned place = place_of(storm->size, payload);

	storm->seen[place]++;
	return !memcmp(payload, storm->pattern + place, storm->size);
}

static bool number_and_fill(const struct storm *storm, const uint8_t *payload)
{
	uint32_t number;
	unsigned i;

	memcpy(&number, payload, sizeof(number));
	if (number >= storm->threads)
		return false;
	storm->seen[number]++;
	for (i = sizeof(number); i < storm->size; i++)
		if (payload[i] != RECORD_FILL)
			return false;
	return true;
}

static void take_record(struct storm *storm, const struct gt_record *record, const uint8_t *payload)
{
	uint32_t padded = (record->size + 7) / 8 * 8;

	storm->delivered += record->more + 1u;
	if (record->type != GT_REC_DATA || record->source != storm->map->place.source ||
	    record->size != storm->size || record->len != 16 + padded * (record->more + 1u)) {
		storm->broken++;
		return;
	}
	for (unsigned i = 0; i <= record->more; i++, payload += padded)
		if (!(storm->by_pattern ? piece_of_pattern(storm, payload) : number_and_fill(storm, payload)))
			storm->broken++;
}

static void *consume(void *data)
{
	static uint8_t payload[GT_RECORD_MAX_PAYLOAD];
	struct storm *storm = data;
	struct gt_record record;
	bool over;
	int r;

	do {
		/* Before the ring is looked at: then nothing can come after it was found empty. */
		over = __atomic_load_n(&storm->over, __ATOMIC_ACQUIRE);
		while ((r = gt_ring_take(&storm->ring, &record, payload)) == 1)
			take_record(storm, &record, payload);
	} while (!over && r == 0);
	storm->failed = r < 0;
	return NULL;
}

static uint64_t tallied(struct storm *storm, uint32_t kind)
{
	uint64_t *memory = session_read(&storm->session, storm->tally), value = 0;
	uint32_t key = kind * FEW_KEYS;

	if (gt_map_memory_lookup(&storm->tally->layout, memory, &key, &value))
		stop("the tally cannot be read");
	free(memory);
	return value;
}

/* How many places records of the round at hand can come from. */
static unsigned count_places(const struct storm *storm)
{
	if (!storm->by_pattern)
		return storm->threads;
	return storm->size == 1 ? 256 : PATTERNS;
}

/* Nobody is there more often than was produced. */
static bool nobody_twice(const struct storm *storm)
{
	unsigned places = count_places(storm), i;
	unsigned most = storm->by_pattern ? (storm->threads + places - 1) / places : 1;

	for (i = 0; i < places; i++)
		if (storm->seen[i] > most)
			return false;
	return true;
}

struct sum {
	unsigned rounds, good;
	uint64_t produced, delivered, lost;
};

static void check_round(struct storm *storm, const char *program, struct sum *sum)
{
	struct gt_ring_ctl ctl = session_ctl(&storm->session, storm->map);
	uint64_t lost = ctl.lost - storm->lost, taken = tallied(storm, TALLY_INSERTED);
	uint64_t refused = tallied(storm, TALLY_REFUSED);
	bool good = !storm->failed && !storm->broken && storm->delivered + lost == storm->threads &&
		    taken == (storm->reserve ? storm->threads : storm->delivered) &&
		    refused == (storm->reserve ? 0 : lost) && nobody_twice(storm);

	storm->lost = ctl.lost;
	if (!good)
		printf("# %s, %u bytes: %llu delivered + %llu lost of %u; programs say %llu and %llu; %llu broken%s\n", program,
		       storm->size, (unsigned long long)storm->delivered, (unsigned long long)lost, storm->threads,
		       (unsigned long long)taken, (unsigned long long)refused, (unsigned long long)storm->broken,
		       storm->failed ? "; the ring is damaged" : "");
	sum->rounds++;
	sum->good += good;
	sum->produced += storm->threads;
	sum->delivered += storm->delivered;
	sum->lost += lost;
}

static void run_round(struct storm *storm, void *function, const char *program, unsigned size, struct sum *sum)
{
	pthread_t consumer;

	storm->size = size;
	storm->delivered = storm->broken = 0;
	storm->over = false;
	memset(storm->seen, 0, count_places(storm) * sizeof(*storm->seen));
	session_clear(&storm->session, storm->tally);
	if (!storm->late && pthread_create(&consumer, NULL, consume, storm))
		stop("no thread");
	session_launch(&storm->session, function, storm->threads, 0, size);
	must(cuCtxSynchronize(), program);
	if (storm->late && pthread_create(&consumer, NULL, consume, storm))
		stop("no thread");
	__atomic_store_n(&storm->over, true, __ATOMIC_RELEASE);
	pthread_join(consumer, NULL);
	check_round(storm, program, sum);
	if (storm->failed)
		stop("the ring is damaged after %u bytes", size);
}

static bool report(const char *what, const struct sum *sum)
{
	bool passed = sum->good == sum->rounds && sum->delivered;

	end_part(passed, "%u of %u %s right; %llu delivered + %llu lost of %llu", sum->good, sum->rounds, what,
		 (unsigned long long)sum->delivered, (unsigned long long)sum->lost, (unsigned long long)sum->produced);
	return passed;
}

static bool is_listed(unsigned size)
{
	unsigned i;

	for (i = 0; i < SIZES && sizes[i] != size; i++)
		;
	return i < SIZES;
}

static void run_other_sizes(struct storm *storm, void *function, struct sum *sum)
{
	unsigned threads = storm->threads, size;

	storm->threads = threads / LISTED_FOR_EACH_OTHER;
	for (size = 1; size <= RECORD_MOST; size++)
		if (!is_listed(size))
			run_round(storm, function, "ring_any", size, sum);
	storm->threads = threads;
}

static bool test_any_size(struct storm *storm, bool every)
{
	static const char *const programs[] = { "ring_any", NULL };
	void *module = session_module(&storm->session, programs), *function = find_function(module, "ring_any");
	struct sum sum = {};
	unsigned i;

	begin_part("ring, sizes");
	storm->by_pattern = true;
	for (i = 0; i < SIZES; i++)
		run_round(storm, function, "ring_any", sizes[i], &sum);
	if (every)
		run_other_sizes(storm, function, &sum);
	CU(cuModuleUnload(module));
	return report("sizes from 1 to 4000 bytes", &sum);
}

/* Records that the ring has no room for: those that have are delivered, the others counted. */
static bool test_full(struct storm *storm)
{
	static const char *const programs[] = { "ring_any", NULL };
	static const unsigned full[] = { 999, 1000, 2001, 4000 };
	void *module = session_module(&storm->session, programs), *function = find_function(module, "ring_any");
	struct sum sum = {};

	begin_part("ring, full");
	storm->by_pattern = storm->late = true;
	for (unsigned i = 0; i < sizeof(full) / sizeof(full[0]); i++)
		run_round(storm, function, "ring_any", full[i], &sum);
	storm->late = false;
	CU(cuModuleUnload(module));
	if (!sum.lost)
		stop("no record was lost, so nothing was tried");
	return report("sizes with a reader that comes late", &sum);
}

static bool test_fixed_size(struct storm *storm)
{
	const char *programs[FIXED + 1] = { NULL };
	struct sum sum = {};
	void *module;
	unsigned i;

	begin_part("ring, programs");
	storm->by_pattern = false;
	for (i = 0; i < FIXED; i++)
		programs[i] = fixed[i].program;
	module = session_module(&storm->session, programs);
	for (i = 0; i < FIXED; i++) {
		storm->reserve = fixed[i].reserve;
		run_round(storm, find_function(module, fixed[i].program), fixed[i].program, fixed[i].size, &sum);
	}
	CU(cuModuleUnload(module));
	return report("programs with sizes known to the compiler", &sum);
}

bool test_ring(const struct options *options)
{
	static struct storm storm;
	bool passed;

	begin_part("ring");
	session_open(&storm.session);
	storm.threads = options->threads;
	storm.map = session_map(&storm.session, "ring");
	storm.tally = session_map(&storm.session, "tally");
	storm.ring = session_ring(&storm.session, storm.map);
	storm.pattern = make_pattern();
	storm.seen = calloc(storm.threads, sizeof(*storm.seen));
	if (!storm.seen)
		stop("no memory");
	session_write(&storm.session, session_map(&storm.session, "pattern"), storm.pattern, PATTERN_BYTES);
	passed = test_any_size(&storm, options->every);
	passed &= test_full(&storm);
	passed &= test_fixed_size(&storm);
	free(storm.seen);
	free(storm.pattern);
	session_close(&storm.session);
	return passed;
}
