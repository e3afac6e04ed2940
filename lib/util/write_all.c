/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/util/write_all.h"

#include <errno.h>
#include <unistd.h>

#include "lib/util/file_limit.h"

int gt_write_all(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;
	sigset_t signals;
	int r = 0;

	gt_file_limit_hold(&signals);
	while (size && !r) {
		ssize_t n = write(fd, at, size);

		if (n > 0) {
			at += n;
			size -= (size_t)n;
		} else if (!n || errno != EINTR) {
			r = n ? -errno : -EIO;
		}
	}
	gt_file_limit_release(&signals);
	return r;
}
