/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/util/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As a name alone. */
static int find(int folder, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_PATH | O_CLOEXEC, .resolve = resolve };

	/* Old kernels have the one that can do less. */
	if (!resolve)
		return openat(folder, path, (int)how.flags);
	return (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

int gt_open_regular(int folder, const char *path, uint64_t flags, uint64_t resolve)
{
	int found = find(folder, path, flags, resolve), fd;
	struct stat status;
	char link[32];

	if (found < 0)
		return -errno;
	if (fstat(found, &status) || !S_ISREG(status.st_mode)) {
		close(found);
		return -ENODEV;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	/* Another process may have a lease on it. */
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		fd = -errno;
	close(found);
	return fd;
}
