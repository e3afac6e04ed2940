/* SPDX-License-Identifier: Apache-2.0 */
/* Can a kernel with probes, which needs more registers, be launched as the program's own can? */
#ifndef GT_AGENT_LAUNCH_FIT_H
#define GT_AGENT_LAUNCH_FIT_H

#include <stdbool.h>

#include "lib/agent/launch/launch.h"

bool gt_launch_fits(const struct gt_launch *launch, const void *copy);

/* Say why launches of a kernel run without its programs, once for each kernel. */
void gt_launch_misses(struct gt_kernel *kernel, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
