/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/clock/hostpair.h"

#include <errno.h>
#include <gputrace/gputrace.h>
#include <string.h>
#include <time.h>

#include "lib/clock/slope.h"
#include "lib/util/error.h"

/* Each takes three calls of 20 to 30 ns; only an interrupt makes one bad. */
#define TRIES 4
#define TRIES_FOR_EXPORT 16

static int read_clock(clockid_t id, int64_t *ret_ns)
{
	struct timespec now;

	if (clock_gettime(id, &now) < 0)
		return -errno;
	*ret_ns = now.tv_sec * GT_NS_PER_S + now.tv_nsec;
	return 0;
}

static int read_between(clockid_t id, int tries, struct gt_host_pair *ret_pair)
{
	struct gt_host_pair best = { .mono_after = INT64_MAX }, pair = { 0 };
	int r;

	for (int i = 0; i < tries; i++) {
		r = read_clock(CLOCK_MONOTONIC, &pair.mono_before);
		if (r == 0)
			r = read_clock(id, &pair.raw);
		if (r == 0)
			r = read_clock(CLOCK_MONOTONIC, &pair.mono_after);
		if (r < 0)
			return r;
		if (pair.mono_after - pair.mono_before < best.mono_after - best.mono_before)
			best = pair;
	}
	*ret_pair = best;
	return 0;
}

int gt_host_pair_read(void *data, struct gt_host_pair *ret_pair)
{
	(void)data;
	return read_between(CLOCK_MONOTONIC_RAW, TRIES, ret_pair);
}

int gputrace_clock_host_pair(int clock_id, uint64_t *ret_monotonic_ns, uint64_t *ret_other_ns,
			     uint64_t *ret_error_ns)
{
	struct gt_host_pair pair;
	int64_t width;
	int r = read_between(clock_id, TRIES_FOR_EXPORT, &pair);

	if (r < 0)
		return gt_error(r, "host clock %d cannot be read: %s", clock_id, strerror(-r));
	/* All three are rounded down to 1 ns. */
	width = pair.mono_after - pair.mono_before;
	*ret_monotonic_ns = (uint64_t)(pair.mono_before + width / 2);
	*ret_other_ns = (uint64_t)pair.raw;
	*ret_error_ns = (uint64_t)(width - width / 2 + 1);
	return 0;
}
