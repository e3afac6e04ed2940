/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/metrics/reasons.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* By bit, as nvidia-smi calls them. */
static const char *const names[] = {
	"gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal_slowdown",
	"hw_thermal_slowdown", "hw_power_brake_slowdown", "display_clocks_setting",
};
#define NAMES (sizeof(names) / sizeof(names[0]))

bool gt_reasons_are(const char *name)
{
	return !strcmp(name, "clocks_event_reasons.active");
}

const char *gt_reasons_text(uint64_t reasons, char *buffer)
{
	size_t used = 0;

	for (unsigned i = 0; i < NAMES; i++) {
		if (reasons >> i & 1)
			used += (size_t)sprintf(buffer + used, "%s%s", used ? ", " : "", names[i]);
	}
	if (reasons >> NAMES)
		used += (size_t)sprintf(buffer + used, "%s%#" PRIx64, used ? ", " : "", reasons >> NAMES << NAMES);
	if (!used)
		strcpy(buffer, "none");
	return buffer;
}
