/* SPDX-License-Identifier: Apache-2.0 */
/* What a process may not do by its own choice. */
#ifndef GT_TARGET_SECCOMP_H
#define GT_TARGET_SECCOMP_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Do the seccomp filters of a stopped thread, which we trace, let through all system
 * calls that loading the agent makes?  Some filters end the process that makes
 * another one, so this is asked first.  copies: kernels loaded before are to have
 * copies.  0, or -EPERM with gt_error() text.
 */
int gt_seccomp_check(pid_t tid, bool copies);

#endif
