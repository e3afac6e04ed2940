/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device's timer.  Like a real one it counts from about the epoch of
 * CLOCK_REALTIME, steps by 32 ns and drifts against CLOCK_MONOTONIC, so that code
 * which correlates the clocks has something to do.  All processes of a boot agree
 * on it: its zero depends on the boot time rounded to a minute only.
 */
#include <stdlib.h>
#include <time.h>

#include "sim/driver.h"

#define NS		1000000000ull
#define STEP		32
#define OFFSET		2500000417ull	/* ns by which the epoch is deliberately wrong */

static uint64_t epoch;
static int64_t drift = 4700;		/* parts per billion */

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS + (uint64_t)ts.tv_nsec;
}

void sim_clock_init(void)
{
	const char *text = getenv("GPUTRACE_SIM_DRIFT_PPM");
	uint64_t boot = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);

	epoch = (boot + 30 * NS) / (60 * NS) * (60 * NS) + OFFSET;
	if (text && *text) {
		double ppm = strtod(text, NULL);

		if (ppm > -1000 && ppm < 1000)
			drift = (int64_t)(ppm * 1000);
	}
}

uint64_t sim_clock(void)
{
	uint64_t ns = now(CLOCK_MONOTONIC);
	int64_t extra = (int64_t)((__int128)ns * drift / (int64_t)NS);

	return (epoch + ns + (uint64_t)extra) / STEP * STEP;
}
