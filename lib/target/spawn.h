/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a program with the agent in it. */
#ifndef GT_TARGET_SPAWN_H
#define GT_TARGET_SPAWN_H

#include <stdint.h>

struct gputrace_target;
struct gputrace_spawn_opts;

/* What is taken where the caller says nothing; a ring's size is checked.  -EINVAL with gt_error() text. */
const char *gt_spawn_default_agent(void);
const char *gt_spawn_sim_directory(void);
int gt_spawn_check_ring(const char *what, uint64_t *bytes);
int gt_spawn_check_agent(const char *path);

/* Check arguments and fill in defaults; errors as gputrace_target_spawn(). */
int gt_spawn_check(char *const argv[], struct gputrace_spawn_opts *opts);

/* Make socket and child; the child waits. */
int gt_spawn(struct gputrace_target *target, char *const argv[], const struct gputrace_spawn_opts *opts);

/* Have the target's descriptor become readable when it has ended. */
void gt_spawn_watch(struct gputrace_target *target);

/* Let the child run; its exec's error, or 0. */
int gt_spawn_go(struct gputrace_target *target);

/* A child that still waits is ended. */
void gt_spawn_abandon(struct gputrace_target *target);
void gt_spawn_close(struct gputrace_target *target);

#endif
