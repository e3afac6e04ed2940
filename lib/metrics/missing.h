/* SPDX-License-Identifier: Apache-2.0 */
/* What a GPU does not give: said once, and not asked for again where that is of no use. */
#ifndef GT_METRICS_MISSING_H
#define GT_METRICS_MISSING_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/metrics/nvml.h"
#include "lib/metrics/outbox.h"

/* Each thing that can be missing is a bit; see readings of device.c, gpm.c and usage.c. */
enum gt_missing_bit { GT_MISSING_READINGS = 0, GT_MISSING_GPM = 16, GT_MISSING_USAGE = 32 };

struct gt_missing {
	uint64_t said, never;
	bool lost;			/* the GPU as a whole: it has fallen off the bus */
	char text[1024];		/* what is new, "power.draw (Not Supported), ..." */
};

/* Need it not be asked for? */
static inline bool gt_missing_is(const struct gt_missing *missing, unsigned bit)
{
	return missing->lost || missing->never >> bit & 1;
}

void gt_missing_add(struct gt_missing *missing, unsigned bit, const char *name, const struct gt_nvml *nvml,
		    enum gt_nvml_return result);

/* Say what is new. */
void gt_missing_tell(struct gt_missing *missing, const struct gputrace_gpu *gpu, struct gt_outbox *outbox);

#endif
