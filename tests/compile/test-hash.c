/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash tables when thousands of threads want the same few keys.  The threads are
 * coroutines: after every access to the table's memory one is drawn that goes on,
 * so that each run is a different order of all their steps, and can be had again by
 * its seed.  Lanes of a warp vote as on the GPU.
 */
#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "lib/wire/map.h"

#define LANES 32u
#define THREADS 1024u
#define STACK_BYTES 16384u
#define KEYS 16u
#define KEYS_MOST 64u
#define OPERATIONS 8u
#define TRIES_MOST 128u		/* of GT_HASH_TRIES */

struct warp {
	uint32_t size, arrived, round;
	int votes, result;
};

struct thread {
	ucontext_t context;
	struct warp *warp;
	uint32_t number;
	uint32_t waits_for;		/* a round of the warp's votes, if `waits` */
	int waits, ended;
	uint64_t steps;
	uint64_t random, turn;		/* states of draw(): the thread's own, and its warp's */
};

static struct thread threads[THREADS], *current;
static struct warp warps[THREADS];
static uint32_t live[THREADS], live_count;	/* who has not ended */
static ucontext_t scheduler;
static char *stacks;
static void (*body)(struct thread *);
static uint64_t seed, most_tries;

/* What the threads were told, by key and in all. */
static struct tally {
	uint64_t inserted, existed, updated, deleted, absent;
} tallies[KEYS_MOST];
static uint64_t refused, gave_up;

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void step(void)
{
	swapcontext(&current->context, &scheduler);
}

static int vote(int condition)
{
	struct warp *warp = current->warp;

	warp->votes |= condition;
	if (++warp->arrived == warp->size) {
		warp->result = warp->votes;
		warp->votes = 0;
		warp->arrived = 0;
		warp->round++;
	} else {
		current->waits = 1;
		current->waits_for = warp->round + 1;
		step();
	}
	return warp->result;
}

static uint64_t load(uint64_t *p)
{
	step();
	return *p;
}

static void store(uint64_t *p, uint64_t v)
{
	step();
	*p = v;
}

static uint64_t cas(uint64_t *p, uint64_t expected, uint64_t v)
{
	uint64_t old;

	step();
	old = *p;
	if (old == expected)
		*p = v;
	return old;
}

static uint64_t add(uint64_t *p, uint64_t v)
{
	uint64_t old;

	step();
	old = *p;
	*p += v;
	return old;
}

static uint64_t or_with(uint64_t *p, uint64_t v)
{
	uint64_t old;

	step();
	old = *p;
	*p |= v;
	return old;
}

static void copy(void *to, const void *from, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes / 8; i++)
		store((uint64_t *)to + i, ((const uint64_t *)from)[i]);
}

static void pause_try(uint32_t tries)
{
	if (tries > most_tries)
		most_tries = tries;
	step();
}

#define GT_HASH_MEM
#define GT_HASH_FN static
#define gt_hash_load(t, p) load(p)
#define gt_hash_load_plain(t, p) load(p)
#define gt_hash_store(t, p, v) store(p, v)
#define gt_hash_cas(t, p, e, v) cas(p, e, v)
#define gt_hash_add(t, p, v) ((void)(t), add(p, v))
#define gt_hash_or(t, p, v) or_with(p, v)
#define gt_hash_fence(t) step()
#define gt_hash_copy(t, to, from, n) copy(to, from, n)
#define gt_hash_group() 0
#define gt_hash_any(group, condition) ((void)(group), vote(condition))
#define gt_hash_pause(tries) pause_try(tries)

#include "lib/wire/hash.h"
#include "tests/suite.h"

/* ---- the table ---- */

static struct gt_hash_table table;
static void *memory;
static uint8_t present[KEYS_MOST];
static uint64_t values[KEYS_MOST];

static void make_table(uint32_t max_entries, int lru)
{
	struct gt_map_shape shape = { .kind = GT_KIND_HASH, .key_size = 8, .value_size = 16, .max_entries = max_entries };
	struct gt_map_layout l;

	ck_assert_int_eq(gt_map_layout(&shape, &l), 0);
	free(memory);
	memory = calloc(1, l.bytes);
	ck_assert_ptr_nonnull(memory);
	table = (struct gt_hash_table){
		.memory = memory, .key_bytes = l.key_bytes, .value_size = l.value_size, .node_bytes = l.node_bytes,
		.buckets = l.buckets, .nodes = l.nodes, .max_entries = l.max_entries, .nodes_offset = l.nodes_offset, .lru = lru,
	};
}

static void see_node(struct gt_hash_node *node)
{
	const uint64_t *value = (void *)gt_hash_value(&table, node);
	uint64_t key = *gt_hash_key(node);

	ck_assert_uint_lt(key, KEYS_MOST);
	ck_assert_uint_eq(present[key], 0);
	ck_assert_uint_eq(value[0] % KEYS_MOST, key);
	ck_assert_uint_eq(value[1], ~value[0]);
	ck_assert_uint_eq(node->ref & GT_HASH_INDEX, 1);
	present[key] = 1;
	values[key] = value[0];
}

/* How many elements there are when all is over; each is whole, and the header agrees. */
static uint32_t see_table(void)
{
	uint32_t count = 0, bucket, number;
	struct gt_hash_node *node;

	memset(present, 0, sizeof(present));
	for (bucket = 0; bucket < table.buckets; bucket++) {
		number = (uint32_t)(*gt_hash_head(&table, bucket) & GT_HASH_INDEX);
		for (; number; number = (uint32_t)(node->next & GT_HASH_INDEX)) {
			node = gt_hash_node(&table, number);
			if (node->next & GT_HASH_MARK)
				continue;
			see_node(node);
			count++;
		}
	}
	ck_assert_uint_eq(*(uint64_t *)memory, (uint64_t)count << 32 | count);
	return count;
}

/* ---- the threads ---- */

static void enter(void)
{
	body(current);
	current->ended = 1;
	step();
}

static void start_thread(uint32_t number, uint32_t lanes)
{
	struct thread *thread = &threads[number];

	*thread = (struct thread){
		.number = number,
		.warp = &warps[number / lanes],
		.random = (seed + 1) * 0x9e3779b97f4a7c15ull + number,
		.turn = (seed + 1) * 0xbf58476d1ce4e5b9ull + number / lanes,
	};
	thread->warp->size = lanes;
	getcontext(&thread->context);
	thread->context.uc_stack.ss_sp = stacks + (size_t)number * STACK_BYTES;
	thread->context.uc_stack.ss_size = STACK_BYTES;
	makecontext(&thread->context, enter, 0);
	live[number] = number;
}

/* Let a thread that was drawn make its next step; the `halt`th step is its last one. */
static void run_one(uint32_t place, uint64_t halt)
{
	struct thread *thread = &threads[live[place]];

	if (thread->waits && thread->warp->round < thread->waits_for)
		return;
	thread->waits = 0;
	if (thread->number % 8 || ++thread->steps != halt) {
		current = thread;
		swapcontext(&scheduler, &thread->context);
		if (!thread->ended)
			return;
	}
	live[place] = live[--live_count];
}

/* halt: every eighth thread stops for ever after its so manieth step; 0: none does. */
static void run(void (*function)(struct thread *), uint32_t lanes, uint64_t halt)
{
	uint64_t order = (seed + 1) * 0xd1342543de82ef95ull;

	memset(warps, 0, sizeof(warps));
	memset(tallies, 0, sizeof(tallies));
	refused = gave_up = most_tries = 0;
	body = function;
	for (uint32_t i = 0; i < THREADS; i++)
		start_thread(i, lanes);
	for (live_count = THREADS; live_count;)
		run_one((uint32_t)(draw(&order) % live_count), halt);
	ck_assert_uint_lt(most_tries, TRIES_MOST);
}

static void count(uint64_t key, int result, uint64_t *good)
{
	struct tally *tally = &tallies[key];

	if (!result)
		++*good;
	else if (result == -EEXIST)
		tally->existed++;
	else if (result == -ENOENT)
		tally->absent++;
	else if (result == -E2BIG)
		refused++;
	else
		gave_up++;
}

static void insert(struct thread *thread, uint64_t key, uint64_t flags)
{
	uint64_t value[2] = { key + KEYS_MOST * thread->number };

	value[1] = ~value[0];
	count(key, gt_hash_update(&table, &key, value, flags),
	      flags == GT_HASH_EXIST ? &tallies[key].updated : &tallies[key].inserted);
}

static void delete(uint64_t key)
{
	count(key, gt_hash_delete(&table, &key), &tallies[key].deleted);
}

/* ---- storms ---- */

/* Insert if it is not there, then count in the value. */
static void add_to_few(struct thread *thread)
{
	uint64_t key = thread->number % KEYS, zero[2] = { key, ~key }, *value;

	count(key, gt_hash_update(&table, &key, zero, GT_HASH_NOEXIST), &tallies[key].inserted);
	value = (void *)gt_hash_lookup(&table, &key);
	ck_assert_ptr_nonnull(value);
	add(&value[0], KEYS_MOST);
	add(&value[1], -(uint64_t)KEYS_MOST);
}

/* A warp does the same, each lane with a key of its own. */
static void toss(struct thread *thread, uint64_t keys)
{
	uint64_t key = draw(&thread->random) % keys;

	switch (draw(&thread->turn) & 3) {
	case 0:
		insert(thread, key, GT_HASH_NOEXIST);
		break;
	case 1:
		insert(thread, key, GT_HASH_EXIST);
		break;
	case 2:
		delete(key);
		break;
	default:
		gt_hash_lookup(&table, &key);
		break;
	}
}

static void toss_few(struct thread *thread)
{
	for (unsigned i = 0; i < OPERATIONS; i++)
		toss(thread, KEYS);
}

static void toss_many(struct thread *thread)
{
	for (unsigned i = 0; i < OPERATIONS; i++)
		toss(thread, KEYS_MOST);
}

static void put_any(struct thread *thread)
{
	for (unsigned i = 0; i < OPERATIONS; i++)
		insert(thread, draw(&thread->random) % KEYS_MOST, 0);
}

/* What is there is what came and has not gone. */
static void check_balance(void)
{
	see_table();
	for (uint32_t key = 0; key < KEYS_MOST; key++)
		ck_assert_uint_eq(tallies[key].inserted - tallies[key].deleted, present[key]);
	ck_assert_uint_eq(gave_up, 0);
}

START_TEST(few_keys)
{
	seed = (uint64_t)_i;
	make_table(KEYS, 0);
	run(add_to_few, LANES, 0);
	check_balance();
	for (uint64_t key = 0; key < KEYS; key++) {
		ck_assert_uint_eq(values[key], key + KEYS_MOST * (uint64_t)(THREADS / KEYS));
		ck_assert_uint_eq(tallies[key].inserted, 1);
		ck_assert_uint_eq(tallies[key].existed, THREADS / KEYS - 1);
	}
}
END_TEST

/* As many places as keys: nobody may be refused. */
START_TEST(insert_and_delete)
{
	seed = (uint64_t)_i;
	make_table(KEYS, 0);
	run(toss_few, LANES, 0);
	check_balance();
	ck_assert_uint_eq(refused, 0);
}
END_TEST

START_TEST(full)
{
	seed = (uint64_t)_i;
	make_table(KEYS, 0);
	run(toss_many, LANES, 0);
	check_balance();
	ck_assert_uint_gt(refused, 0);
}
END_TEST

/* Those that go on are not held up by others that never take their next step. */
START_TEST(some_stand_still)
{
	seed = (uint64_t)_i;
	make_table(1024, 0);
	run(toss_many, 1, 20 + (uint64_t)_i);
	ck_assert_uint_eq(gave_up, 0);
	ck_assert_uint_eq(refused, 0);
}
END_TEST

START_TEST(least_recently_used)
{
	uint32_t there;

	seed = (uint64_t)_i;
	make_table(KEYS, 1);
	run(put_any, LANES, 0);
	there = see_table();
	ck_assert_uint_gt(there, 0);
	ck_assert_uint_le(there, KEYS);
	ck_assert_uint_eq(gave_up, 0);
	ck_assert_uint_eq(refused, 0);
}
END_TEST

/* One thread, which looks one key up all the time. */
static void keep_one(struct thread *thread)
{
	uint64_t kept = 0;

	if (thread->number)
		return;
	insert(thread, kept, 0);
	for (uint64_t key = 1; key < KEYS_MOST; key++) {
		ck_assert_ptr_nonnull(gt_hash_lookup(&table, &kept));
		insert(thread, key, GT_HASH_NOEXIST);
	}
}

START_TEST(used_ones_stay)
{
	make_table(KEYS, 1);
	run(keep_one, 1, 0);
	ck_assert_uint_eq(see_table(), KEYS);
	ck_assert_uint_eq(present[0], 1);
	ck_assert_uint_eq(present[KEYS_MOST - 1], 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("storms");
	int status;

	stacks = malloc((size_t)THREADS * STACK_BYTES);
	if (!stacks)
		return 1;
	tcase_add_loop_test(tcase, few_keys, 0, 4);
	tcase_add_loop_test(tcase, insert_and_delete, 0, 4);
	tcase_add_loop_test(tcase, full, 0, 4);
	tcase_add_loop_test(tcase, some_stand_still, 0, 20);
	tcase_add_loop_test(tcase, least_recently_used, 0, 2);
	tcase_add_test(tcase, used_ones_stay);
	status = run_case("hash", tcase);
	free(memory);
	free(stacks);
	return status;
}
