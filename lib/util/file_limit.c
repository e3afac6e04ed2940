/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/util/file_limit.h"

#include <errno.h>
#include <time.h>

static void make_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGXFSZ);
}

void gt_file_limit_hold(sigset_t *ret_before)
{
	sigset_t set;

	make_set(&set);
	pthread_sigmask(SIG_BLOCK, &set, ret_before);
}

void gt_file_limit_release(const sigset_t *before)
{
	static const struct timespec now = { 0, 0 };
	int error = errno;
	sigset_t set;

	make_set(&set);
	/* Who had blocked it before waits for it himself. */
	if (!sigismember(before, SIGXFSZ))
		sigtimedwait(&set, NULL, &now);
	pthread_sigmask(SIG_SETMASK, before, NULL);
	errno = error;
}
