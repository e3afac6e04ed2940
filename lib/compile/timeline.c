/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline's probes with the numbers of a session. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/compile/compile.h"
#include "lib/wire/wire.h"

/* timeline.ptx knows these. */
_Static_assert(GT_LAUNCH_SLOTS == 4096 && GT_SLOT_CLASSES == 64, "slots");
_Static_assert(offsetof(struct gt_launch_slots, start) == 0 && offsetof(struct gt_launch_slots, classes_done) == 32768 &&
	       offsetof(struct gt_launch_slots, threads) == 65536, "their rows");
_Static_assert(offsetof(struct gt_ring_ctl, credits) == 128 && offsetof(struct gt_ring_ctl, tail_seen) == 136 &&
	       offsetof(struct gt_ring_ctl, lost) == 144, "a ring's control block");
_Static_assert(GT_LAUNCH_ID_MASK == 281474976710655ull && GT_REC_KERNEL == 3 &&
	       sizeof(struct gt_rec_kernel) == 32 && sizeof(struct gt_record) == 16, "a kernel's record");
_Static_assert(137438953475ull == (GT_REC_KERNEL | (uint64_t)sizeof(struct gt_rec_kernel) << 32), "its second word");

static const char text[] =
#include "lib/compile/timeline.inc"
;

#define PREFIX "GT_TIMELINE_"

struct number {
	const char *name;
	uint64_t value;
};

const char *gt_timeline_text(void)
{
	return text;
}

/* Replaces the token at `at`; returns what follows it. */
static const char *put_number(FILE *out, const char *at, const struct number *numbers)
{
	for (; numbers->name; numbers++) {
		if (strncmp(at, numbers->name, strlen(numbers->name)))
			continue;
		fprintf(out, "%llu", (unsigned long long)numbers->value);
		return at + strlen(numbers->name);
	}
	return at;
}

char *gt_timeline_link(uint64_t slots, uint64_t ring_data, uint64_t ring_size)
{
	const struct number numbers[] = {
		{ "SLOTS", slots },
		{ "TAIL", offsetof(struct gt_host_arena, ring_tail) },
		{ "DONE", offsetof(struct gt_host_arena, slot_done) },
		{ "DATA", ring_data },
		{ "SIZE", ring_size },
		{ "MASK", ring_size - 1 },
		{ NULL, 0 },
	};
	const char *at = text, *next;
	char *linked = NULL;
	size_t size;
	FILE *out = open_memstream(&linked, &size);

	if (!out)
		return NULL;
	while ((next = strstr(at, PREFIX))) {
		fwrite(at, 1, (size_t)(next - at), out);
		at = put_number(out, next + strlen(PREFIX), numbers);
	}
	fputs(at, out);
	if (fclose(out)) {
		free(linked);
		return NULL;
	}
	return linked;
}
