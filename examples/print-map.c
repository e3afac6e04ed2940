/* SPDX-License-Identifier: Apache-2.0 */
#include "print-map.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRINT_BYTES_MAX 256
#define DIGITS_19 10000000000000000000ull	/* a one and 19 zeros, the most that 64 bits hold */

static int all_zero(const unsigned char *bytes, size_t size)
{
	while (size && !bytes[size - 1])
		size--;
	return size == 0;
}

/* An integer of 1, 2, 4 or 8 bytes. */
static uint64_t integer(const void *data, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, data, size);
	return value;
}

void print_bytes(const void *data, size_t size)
{
	const unsigned char *bytes = data;
	size_t shown = size < PRINT_BYTES_MAX ? size : PRINT_BYTES_MAX;

	if (size == 1 || size == 2 || size == 4 || (size && size % 8 == 0)) {
		size_t step = size < 8 ? size : 8;

		for (size_t i = 0; i + step <= shown; i += step)
			printf("%s%" PRIu64, i ? " " : "", integer(bytes + i, step));
	} else {
		for (size_t i = 0; i < shown; i++)
			printf("%s%02x", i ? " " : "", bytes[i]);
	}
	if (shown < size)
		printf(" ... (%zu bytes)", size);
}

/* Of at most 2^32 values: what is before the last 19 digits has 64 bits as well. */
static void print_sum(unsigned __int128 sum)
{
	if (sum < DIGITS_19)
		printf("sum %" PRIu64, (uint64_t)sum);
	else
		printf("sum %" PRIu64 "%019" PRIu64, (uint64_t)(sum / DIGITS_19), (uint64_t)(sum % DIGITS_19));
}

/* Values kept per thread, warp, block or SM: what they add up to, and how they are spread. */
static void print_slots(const unsigned char *values, size_t value_size, uint32_t slots)
{
	uint64_t least = UINT64_MAX, most = 0;
	unsigned __int128 sum = 0;
	uint32_t used = 0;

	for (uint32_t i = 0; i < slots; i++) {
		uint64_t value = integer(values + i * value_size, value_size);

		sum += value;
		used += value != 0;
		least = value < least ? value : least;
		most = value > most ? value : most;
	}
	print_sum(sum);
	printf(", %" PRIu32 " of %" PRIu32 " not zero, least %" PRIu64 ", most %" PRIu64,
	       used, slots, least, most);
}

static void print_value(const unsigned char *value, size_t value_size, uint32_t slots)
{
	if (slots > 1 && value_size <= 8 && (value_size & (value_size - 1)) == 0) {
		print_slots(value, value_size, slots);
		return;
	}
	for (uint32_t i = 0; i < slots; i++) {
		if (slots > 1)
			printf("%s[%" PRIu32 "] ", i ? " " : "", i);
		print_bytes(value + i * value_size, value_size);
	}
}

/* All elements of one instance; key and value are buffers. */
static void print_elements(struct gputrace_map *map, int instance, void *key, void *value, int all)
{
	size_t key_size = gputrace_map_get_key_size(map), value_size = gputrace_map_get_value_size(map);
	uint32_t slots = gputrace_map_get_slots(map);
	size_t zeros = 0;
	int more = gputrace_map_next_key(map, instance, NULL, key, key_size);

	while (!more) {
		int error = gputrace_map_lookup(map, instance, key, key_size, value, value_size * slots);

		if (error) {
			printf("  %s\n", gputrace_last_error());
		} else if (!all && all_zero(value, value_size * slots)) {
			zeros++;
		} else {
			printf("  [");
			print_bytes(key, key_size);
			printf("] ");
			print_value(value, value_size, slots);
			putchar('\n');
		}
		more = gputrace_map_next_key(map, instance, key, key, key_size);
	}
	if (more != -ENOENT)
		printf("  %s\n", gputrace_last_error());
	if (zeros)
		printf("  (%zu more, zero)\n", zeros);
}

static int has_elements(const struct gputrace_map *map)
{
	uint32_t type = gputrace_map_get_type(map);

	return type != BPF_MAP_TYPE_RINGBUF && type != BPF_MAP_TYPE_USER_RINGBUF &&
	       type != BPF_MAP_TYPE_PERF_EVENT_ARRAY && !strstr(gputrace_map_get_name(map), ".rodata");
}

static void print_instance(const struct gputrace_map *map, int instance)
{
	struct gputrace_instance_info info = { .size = sizeof(info) };

	if (!gputrace_map_get_instance_info(map, instance, &info))
		printf(", instance %d (process %" PRId32 ", context %" PRIu32 ", GPU %" PRIu32 ")", instance, info.pid,
		       info.context, info.gpu);
}

/* Or one that cannot be looked into. */
static void print_unused(struct gputrace_map *map, void *key)
{
	int error = gputrace_map_next_key(map, GPUTRACE_INSTANCE_INITIAL, NULL, key, gputrace_map_get_key_size(map));

	if (error && error != -ENOENT)
		printf("%s\n", gputrace_last_error());
	else
		printf("map %s: empty, no program used it\n", gputrace_map_get_name(map));
}

void print_map(struct gputrace_map *map, int all)
{
	int instances = gputrace_map_count_instances(map);
	void *key, *value;

	if (!has_elements(map))
		return;
	key = calloc(1, gputrace_map_get_key_size(map) + 1);
	if (!instances && key)
		print_unused(map, key);
	value = calloc(gputrace_map_get_slots(map), gputrace_map_get_value_size(map) + 1);
	for (int i = 0; i < instances && key && value; i++) {
		printf("map %s", gputrace_map_get_name(map));
		if (instances > 1)
			print_instance(map, i);
		printf(":\n");
		print_elements(map, i, key, value, all);
	}
	free(key);
	free(value);
}
