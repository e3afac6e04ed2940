/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A traced program that writes nonsense over everything it shares with the
 * controller, which reads, exports and looks it all up nevertheless, and comes to an
 * end.  What reads or writes out of bounds is for the sanitizers to see.
 * GPUTRACE_TEST_SEEDS=FROM:TO tries others than the few of every day.
 */
#include <check.h>
#include <errno.h>
#include <gputrace/gputrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "run.h"

#define ROUNDS "4000"
#define ENTRIES 64u	/* of each map, as in scribble.bpf.c */
#define SLOTS 2048u

static struct gputrace_object *object;
static struct gputrace_target *target;
static struct gputrace_symbolizer *symbolizer;
static struct gputrace_writer *writers[2];
static uint64_t seen;

static void start(const char *seed)
{
	const char *const argv[] = { TARGET_PATH, seed, ROUNDS, NULL };
	struct gputrace_spawn_opts spawn = { .size = sizeof(spawn), .device = GPUTRACE_DEVICE_SIM,
					     .agent_ring_bytes = 65536, .gpu_ring_bytes = 65536 };
	/* By frame pointers, or found by the reader in copies of stacks. */
	struct gputrace_api_opts api = { .size = sizeof(api), .flags = GPUTRACE_API_AGENT, .stack_frames = 127,
					 .ring_bytes = 1 << 20, .stack_bytes = atoi(seed) & 1 ? 4096 : 0 };
	struct gputrace_link *link;

	ck_assert_int_eq(gputrace_target_spawn(NULL, (char *const *)(uintptr_t)argv, &spawn, &target), 0);
	ck_assert_int_eq(gputrace_attach_timeline(target, &link), 0);
	gputrace_link_unref(link);
	ck_assert_int_eq(gputrace_attach_nvtx(target, &link), 0);
	gputrace_link_unref(link);
	ck_assert_int_eq(gputrace_attach_api(target, &api, &link), 0);
	gputrace_link_unref(link);
	ck_assert_int_eq(gputrace_object_open_file(NULL, "tests/e2e/scribble.bpf.o", &object), 0);
	ck_assert_int_eq(gputrace_attach_object(target, object, &link), 0);
	gputrace_link_unref(link);
}

static void read_map(struct gputrace_map *map, int instance)
{
	static uint64_t keys[ENTRIES], values[ENTRIES * SLOTS];
	uint32_t key = 1, count, slots = gputrace_map_get_slots(map);
	const uint32_t *before = NULL;

	if (!gputrace_map_get_key_size(map))
		return;
	ck_assert_uint_le(slots, SLOTS);
	gputrace_map_lookup(map, instance, &key, sizeof(key), values, slots * sizeof(values[0]));
	ck_assert_int_eq(gputrace_map_read_all(map, instance, keys, values, ENTRIES, &count), 0);
	ck_assert_uint_le(count, ENTRIES);
	for (count = 0; !gputrace_map_next_key(map, instance, before, &key, sizeof(key)); before = &key)
		ck_assert_uint_lt(count++, 100000);
}

static void read_maps(void)
{
	struct gputrace_map *map = NULL;

	while ((map = gputrace_object_next_map(object, map))) {
		int count = gputrace_map_count_instances(map);

		for (int i = 0; i < count && i < 8; i++)
			read_map(map, i);
	}
}

static void take(const struct gputrace_event *event)
{
	char text[256];

	seen++;
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(gputrace_writer_add(writers[i], event), 0);
	if (gputrace_event_get_text(event))
		gputrace_escape(gputrace_event_get_text(event), text, sizeof(text));
}

static void follow(void)
{
	struct gputrace_reader_opts opts = { .size = sizeof(opts), .window_ns = 1000000 };
	const struct gputrace_event *event;
	struct gputrace_reader *reader;
	int r, rounds = 0;

	ck_assert_int_eq(gputrace_reader_new(target, &opts, &reader), 0);
	gputrace_reader_set_symbolizer(reader, symbolizer);
	ck_assert_int_eq(gputrace_target_resume(target), 0);
	while ((r = gputrace_reader_wait(reader, PATIENCE_MS)) == 1) {
		while ((event = gputrace_reader_next(reader)))
			take(event);
		if (rounds++ % 16 == 0)
			read_maps();
	}
	ck_assert_int_eq(r, -ENODATA);
	gputrace_reader_unref(reader);
}

static void scribble(const char *seed)
{
	static const int formats[] = { GPUTRACE_FORMAT_CHROME_JSON, GPUTRACE_FORMAT_FOLDED_STACKS };
	const struct gputrace_kernel *kernel = NULL;
	int status;

	ck_assert_int_eq(gputrace_symbolizer_new(NULL, &symbolizer), 0);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(gputrace_writer_open(NULL, "/dev/null", formats[i], &writers[i]), 0);
		gputrace_writer_set_symbolizer(writers[i], symbolizer);
	}
	start(seed);
	follow();
	ck_assert_int_eq(gputrace_target_has_exited(target, &status), 1);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_gt(seen, 100);
	while ((kernel = gputrace_target_next_kernel(target, kernel)))
		ck_assert_ptr_nonnull(gputrace_kernel_get_name(kernel));
	gputrace_target_unref(target);
	read_maps();
	gputrace_object_unref(object);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(gputrace_writer_close(writers[i]), 0);
	gputrace_symbolizer_unref(symbolizer);
}

START_TEST(scribbled_over)
{
	char seed[16];

	snprintf(seed, sizeof(seed), "%d", _i);
	scribble(seed);
}
END_TEST

int main(void)
{
	const char *seeds = getenv("GPUTRACE_TEST_SEEDS");
	TCase *tcase = tcase_create("scribble");
	int from = 0, to = 4;

	if (seeds)
		sscanf(seeds, "%d:%d", &from, &to);
	tcase_add_loop_test(tcase, scribbled_over, from, to);
	return run_case("a program that scribbles", tcase);
}
