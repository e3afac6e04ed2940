/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/util/proc_stat.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int gt_proc_stat_read(int pid, char *line, size_t size, const char **ret_rest)
{
	char path[64];
	const char *end;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	n = fread(line, 1, size - 1, f);
	fclose(f);
	line[n] = '\0';
	end = strrchr(line, ')');
	if (!end)
		return -ESRCH;
	*ret_rest = end + 1;
	return 0;
}
