/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_TARGET_CONFIG_H
#define GT_TARGET_CONFIG_H

#include <stdint.h>

struct gputrace_target;

/* The config descriptor (see wire/proto.h) from the target's links; a sealed memfd, or -errno. */
int gt_config_make(const struct gputrace_target *target);

/* GT_CONFIG_NO_GRAFT and the like, which GPUTRACE_ROUTE in the environment asks for.  -EINVAL: it asks for nothing known. */
int gt_config_route(uint32_t *ret_flags);

/* What the agents are to record for the target's links: GT_CONFIG_CALLS and the like. */
uint32_t gt_config_recording(const struct gputrace_target *target);

/* A sealed memfd for one process, laid out and filled with initial values, or -errno. */
int gt_shm_make(const struct gputrace_target *target);

#endif
