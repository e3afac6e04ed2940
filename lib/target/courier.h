/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of ours in a running process, which calls functions there for us: it
 * may take its time and wait for locks, which a thread of the program's that was
 * stopped somewhere may not.  It ends by itself when it hears nothing for ten
 * seconds.
 */
#ifndef GT_TARGET_COURIER_H
#define GT_TARGET_COURIER_H

#include <errno.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct gt_courier {
	pid_t pid;
	uint64_t page;		/* what we share with it; 0: it is not there */
	uint64_t code;		/* where its code took the place of unused bytes, and stays */
};

/* Where a process keeps the C library's functions. */
extern const char *const gt_courier_libraries[];

/*
 * Send one; copies: see gt_seccomp_check().  With gt_error() text: the errors of gt_hijack_begin() and gt_hijack_run();
 * -ENOEXEC: not a process that libraries can be loaded into (another machine's,
 * statically linked, no threads); -ENOSPC: no place for its code.
 */
int gt_courier_send(pid_t pid, bool copies, struct gt_courier *ret_courier);

/*
 * Have it call a function.  gt_courier_start() and then gt_courier_wait() until it
 * returns other than -EAGAIN, or both in one, at most timeout_ms.  -ESRCH, -ETIMEDOUT with gt_error() text.
 */
int gt_courier_start(struct gt_courier *courier, uint64_t function, const uint64_t args[6]);
int gt_courier_wait(struct gt_courier *courier, int64_t *ret_result);
int gt_courier_call(struct gt_courier *courier, uint64_t function, const uint64_t args[6], int timeout_ms,
		    int64_t *ret_result);

/* Room for what its calls are given: 2048 bytes at this address of the process. */
uint64_t gt_courier_room(const struct gt_courier *courier);
int gt_courier_put(const struct gt_courier *courier, uint64_t address, const void *bytes, size_t size);
int gt_courier_get(const struct gt_courier *courier, uint64_t address, void *bytes, size_t size);

/* An errno that the process tells, as a negative one, whatever it says. */
static inline int gt_courier_error(int64_t told)
{
	return told > 0 && told < 4096 ? -(int)told : -EPROTO;
}

/* It ends. */
void gt_courier_dismiss(struct gt_courier *courier);

#endif
