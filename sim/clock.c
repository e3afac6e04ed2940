/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices' timers.  Like a real one each counts from about the epoch of
 * CLOCK_REALTIME, steps by 32 ns and drifts against CLOCK_MONOTONIC, so that code
 * which correlates the clocks has something to do.  No two devices agree, but all
 * processes of a boot do: a timer's zero depends on the boot time rounded to a minute
 * and on the device's number only.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/driver.h"

#define NS		1000000000ull
#define STEP		32
#define OFFSET		2500000417ull	/* ns by which the epoch is deliberately wrong */
#define APART		1234567890ull	/* ns between the timers of two devices */
#define DRIFT		4700		/* parts per billion */

static uint64_t epoch;

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS + (uint64_t)ts.tv_nsec;
}

void sim_clock_init(void)
{
	uint64_t boot = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);

	epoch = (boot + 30 * NS) / (60 * NS) * (60 * NS) + OFFSET;
}

/* The number of the list that is the device's, or the last one. */
void sim_clock_init_gpu(struct sim_gpu *gpu)
{
	const char *text = getenv("GPUTRACE_SIM_DRIFT_PPM");

	gpu->drift = DRIFT;
	for (unsigned i = 0; text && *text && i <= gpu->number; i++) {
		double ppm = strtod(text, NULL);

		if (ppm >= -SIM_DRIFT_MAX && ppm <= SIM_DRIFT_MAX)
			gpu->drift = (int64_t)(ppm * 1000);
		text = strchr(text, ',');
		text = text ? text + 1 : NULL;
	}
}

uint64_t sim_now(void)
{
	return now(CLOCK_MONOTONIC);
}

uint64_t sim_clock(const struct sim_gpu *gpu)
{
	uint64_t ns = sim_now();
	int64_t extra = (int64_t)((__int128)ns * gpu->drift / (int64_t)NS);

	return (epoch + gpu->number * APART + ns + (uint64_t)extra) / STEP * STEP;
}
