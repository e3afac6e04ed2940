/* SPDX-License-Identifier: Apache-2.0 */
/* Hash maps under full contention: what the threads say happened is what the memory holds afterwards. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/gpu/bpf-device.h"
#include "tests/gpu/bpf-session.h"
#include "tests/gpu/bpf.h"
#include "tests/gpu/programs/bpf-probes.h"

struct storm {
	struct session session;
	void *module;
	unsigned threads;
	uint64_t tally[TALLY_KINDS][FEW_KEYS];
	uint64_t total[TALLY_KINDS];
	double ms;			/* from launch to end */
	const struct gt_map_layout *layout;
	void *memory;			/* of the map, afterwards */
};

/* The bus to host memory takes far fewer atomics. */
#define HOST_THREADS 65536u

static const char *const programs[] = { "few_add",     "few_toss",   "few_toss_on_host", "many_keys",
					"full_insert", "full_churn", "recent_put",	 NULL };

static void read_tally(struct storm *storm)
{
	struct gputrace_map *map = session_map(&storm->session, "tally");
	void *memory = session_read(&storm->session, map);
	uint32_t key;

	memset(storm->total, 0, sizeof(storm->total));
	for (key = 0; key < TALLY_KINDS * FEW_KEYS; key++) {
		uint64_t *count = &storm->tally[key / FEW_KEYS][key % FEW_KEYS];

		if (gt_map_memory_lookup(&map->layout, memory, &key, count))
			stop("the tally cannot be read");
		storm->total[key / FEW_KEYS] += *count;
	}
	free(memory);
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static void run_storm(struct storm *storm, const char *program, const char *map_name)
{
	struct gputrace_map *map = session_map(&storm->session, map_name);

	session_clear(&storm->session, session_map(&storm->session, "tally"));
	storm->ms = now_ms();
	session_launch(&storm->session, find_function(storm->module, program), storm->threads, 0, 0);
	must(cuCtxSynchronize(), program);
	storm->ms = now_ms() - storm->ms;
	read_tally(storm);
	free(storm->memory);
	storm->memory = session_read(&storm->session, map);
	storm->layout = &map->layout;
}

static int look_up(const struct storm *storm, const void *key, void *value)
{
	return gt_map_memory_lookup(storm->layout, storm->memory, key, value);
}

/* Elements as a walk finds them; the table's own count must be the same, with no place left reserved. */
static uint64_t elements(const struct storm *storm)
{
	const struct gt_hash_header *header = storm->memory;
	uint8_t key[GT_MAP_MAX_KEY];
	uint64_t count = 0;
	int r;

	for (r = gt_map_memory_next_key(storm->layout, storm->memory, NULL, key); !r && count <= MANY_ENTRIES;
	     r = gt_map_memory_next_key(storm->layout, storm->memory, key, key))
		count++;
	return header->counts == (count << 32 | count) ? count : UINT64_MAX;
}

static bool test_few_add(struct storm *storm)
{
	unsigned each = storm->threads / FEW_KEYS, right = 0;
	struct pair value;
	uint32_t key;

	begin_part("hash, few keys");
	run_storm(storm, "few_add", "few");
	for (key = 0; key < FEW_KEYS; key++)
		right += !look_up(storm, &key, &value) && value.a == each && !value.b &&
			 storm->tally[TALLY_INSERTED][key] == 1 && storm->tally[TALLY_EXISTED][key] == each - 1;
	right = elements(storm) == FEW_KEYS ? right : 0;
	end_part(right == FEW_KEYS, "%u threads in %.1f ms, %u of %u keys inserted once and counted %u times; %llu refused, %llu missed, "
		 "%llu wrong", storm->threads, storm->ms, right, FEW_KEYS, each, (unsigned long long)storm->total[TALLY_REFUSED],
		 (unsigned long long)storm->total[TALLY_MISSED], (unsigned long long)storm->total[TALLY_WRONG]);
	return right == FEW_KEYS;
}

static bool test_toss(struct storm *storm, const char *part, const char *program, const char *map)
{
	uint64_t inserted, deleted, left;
	unsigned right = 0;
	struct pair value;
	uint32_t key;

	begin_part(part);
	session_clear(&storm->session, session_map(&storm->session, map));
	run_storm(storm, program, map);
	for (key = 0; key < FEW_KEYS; key++) {
		bool present = !look_up(storm, &key, &value);

		right += storm->tally[TALLY_INSERTED][key] - storm->tally[TALLY_DELETED][key] == present &&
			 (!present || (value.a == ~value.b && value.a % FEW_KEYS == key));
	}
	inserted = storm->total[TALLY_INSERTED];
	deleted = storm->total[TALLY_DELETED];
	left = elements(storm);
	if (left != inserted - deleted || storm->total[TALLY_REFUSED] || storm->total[TALLY_WRONG])
		right = 0;
	end_part(right == FEW_KEYS, "%u threads x %u in %.1f ms, %u of %u keys right; %llu inserted - %llu deleted = %llu; "
		 "%llu updated, %llu refused, %llu wrong", storm->threads, TOSSES, storm->ms, right, FEW_KEYS,
		 (unsigned long long)inserted, (unsigned long long)deleted, (unsigned long long)left,
		 (unsigned long long)storm->total[TALLY_UPDATED], (unsigned long long)storm->total[TALLY_REFUSED],
		 (unsigned long long)storm->total[TALLY_WRONG]);
	return right == FEW_KEYS;
}

static bool many_right(const struct storm *storm, uint32_t thread)
{
	uint64_t key = thread * 0x9e3779b97f4a7c15ull;
	struct pair value;

	if (thread % 4 == 2)
		return look_up(storm, &key, &value) == -ENOENT;
	return !look_up(storm, &key, &value) && value.a == thread + (thread & 1 ? UPDATED : 0) &&
	       value.b == ~(uint64_t)thread;
}

static bool test_many(struct storm *storm)
{
	uint64_t left, threads = storm->threads;
	uint32_t thread, right = 0;
	bool passed;

	begin_part("hash, many keys");
	run_storm(storm, "many_keys", "many");
	for (thread = 0; thread < threads; thread++)
		right += many_right(storm, thread);
	left = elements(storm);
	passed = right == threads && left == threads / 4 * 3 && storm->total[TALLY_INSERTED] == threads &&
		 storm->total[TALLY_UPDATED] == threads / 2 && storm->total[TALLY_DELETED] == threads / 4 &&
		 !storm->total[TALLY_WRONG];
	end_part(passed, "%u threads in %.1f ms: %llu inserted, %llu updated, %llu deleted, %llu left; %u of %u keys right",
		 storm->threads, storm->ms, (unsigned long long)storm->total[TALLY_INSERTED],
		 (unsigned long long)storm->total[TALLY_UPDATED], (unsigned long long)storm->total[TALLY_DELETED],
		 (unsigned long long)left, right, storm->threads);
	return passed;
}

/* Every element that is there has its own value; how many. */
static uint64_t whole_elements(const struct storm *storm)
{
	struct odd_value value;
	struct odd_key key;
	uint64_t whole = 0;
	unsigned i, same;

	for (int r = gt_map_memory_next_key(storm->layout, storm->memory, NULL, &key); !r && whole <= FULL_ENTRIES;
	     r = gt_map_memory_next_key(storm->layout, storm->memory, &key, &key)) {
		if (look_up(storm, &key, &value))
			return UINT64_MAX;
		for (i = 0, same = 0; i < 5; i++)
			same += value.words[i] == key.words[0] * (i + 1);
		whole += same == 5 && key.words[1] == key.words[0] + 1 && key.words[2] == key.words[0] + 2;
	}
	return whole;
}

static bool test_full(struct storm *storm)
{
	uint64_t inserted, refused, left, whole;
	bool passed;

	begin_part("hash, full");
	run_storm(storm, "full_insert", "full");
	inserted = storm->total[TALLY_INSERTED];
	refused = storm->total[TALLY_REFUSED];
	left = elements(storm);
	whole = whole_elements(storm);
	passed = inserted == FULL_ENTRIES && inserted + refused == storm->threads && left == FULL_ENTRIES &&
		 whole == left;
	end_part(passed, "%u threads in %.1f ms: %llu inserted, %llu refused, %llu wrong; %llu there, %llu whole", storm->threads, storm->ms,
		 (unsigned long long)inserted, (unsigned long long)refused,
		 (unsigned long long)storm->total[TALLY_WRONG], (unsigned long long)left, (unsigned long long)whole);
	return passed;
}

static bool test_churn(struct storm *storm)
{
	uint64_t before = elements(storm), inserted, deleted, left, whole, answers;
	bool passed;

	begin_part("hash, full and changing");
	run_storm(storm, "full_churn", "full");
	inserted = storm->total[TALLY_INSERTED];
	deleted = storm->total[TALLY_DELETED];
	answers = inserted + storm->total[TALLY_EXISTED] + storm->total[TALLY_REFUSED];
	left = elements(storm);
	whole = whole_elements(storm);
	passed = left == before + inserted - deleted && left <= FULL_ENTRIES && whole == left &&
		 answers == storm->threads && deleted + storm->total[TALLY_ABSENT] == storm->threads;
	end_part(passed, "%u threads in %.1f ms: %llu before + %llu inserted - %llu deleted = %llu, %llu whole; %llu refused, %llu wrong",
		 storm->threads, storm->ms, (unsigned long long)before, (unsigned long long)inserted, (unsigned long long)deleted,
		 (unsigned long long)left, (unsigned long long)whole, (unsigned long long)storm->total[TALLY_REFUSED],
		 (unsigned long long)storm->total[TALLY_WRONG]);
	return passed;
}

/* Nobody is refused, and what is there in the end is whole. */
static bool test_recent(struct storm *storm)
{
	uint32_t key, *previous = NULL;
	uint64_t there, whole = 0;
	struct pair value;
	bool passed;

	begin_part("hash, least recently used");
	run_storm(storm, "recent_put", "recent");
	there = elements(storm);
	for (; !gt_map_memory_next_key(storm->layout, storm->memory, previous, &key) && whole <= FULL_ENTRIES; previous = &key)
		whole += !look_up(storm, &key, &value) && value.a == key && value.b == ~(uint64_t)key;
	passed = storm->total[TALLY_INSERTED] == storm->threads && there && there <= FULL_ENTRIES && whole == there;
	end_part(passed, "%u threads in %.1f ms: %llu inserted, %llu refused, %llu wrong; %llu there, %llu whole", storm->threads,
		 storm->ms, (unsigned long long)storm->total[TALLY_INSERTED], (unsigned long long)storm->total[TALLY_REFUSED],
		 (unsigned long long)storm->total[TALLY_WRONG], (unsigned long long)there, (unsigned long long)whole);
	return passed;
}

bool test_hash(const struct options *options)
{
	static struct storm storm;
	bool passed;

	begin_part("hash");
	storm.threads = options->threads;
	session_open(&storm.session);
	storm.module = session_module(&storm.session, programs);
	passed = test_few_add(&storm);
	passed &= test_toss(&storm, "hash, insert and delete", "few_toss", "few");
	passed &= test_many(&storm);
	passed &= test_full(&storm);
	passed &= test_churn(&storm);
	passed &= test_recent(&storm);
	if (storm.threads > HOST_THREADS)
		storm.threads = HOST_THREADS;
	passed &= test_toss(&storm, "hash in host memory", "few_toss_on_host", "few_on_host");
	free(storm.memory);
	CU(cuModuleUnload(storm.module));
	session_close(&storm.session);
	return passed;
}
