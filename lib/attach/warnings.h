/* SPDX-License-Identifier: Apache-2.0 */
/* What is likely wrong in a program that is accepted all the same. */
#ifndef GT_ATTACH_WARNINGS_H
#define GT_ATTACH_WARNINGS_H

struct gputrace_program;

/*
 * Adds to the log of a program that was compiled, with its maps as they are to be, the additions that lose counts:
 * those by a load and a store to what threads have in common, which gt_join_additions() has left.  Then hands all
 * warnings to its context's log.  -ENOMEM.
 */
int gt_program_warn(struct gputrace_program *program);

#endif
