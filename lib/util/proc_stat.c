/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/util/proc_stat.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int gt_proc_stat_read(int pid, struct gt_proc_stat *stat)
{
	char path[64], line[1024];
	const char *rest;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = '\0';
	/* Behind the command, which may hold anything, comes the state. */
	rest = strrchr(line, ')');
	if (!rest ||
	    sscanf(rest + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%" SCNu64 " %*u %*d %*u %" SCNu64 " %*u %" SCNu64,
		   &stat->parent, &stat->start_ticks, &stat->code, &stat->stack) != 4)
		return -ESRCH;
	return 0;
}

int gt_proc_thread(int pid)
{
	struct gt_proc_stat stat;
	struct dirent *entry;
	char path[64];
	int found = 0;
	DIR *dir;

	if (gt_proc_stat_read(pid, &stat) || stat.code)
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		int thread = atoi(entry->d_name);

		if (thread > 0 && !gt_proc_stat_read(thread, &stat) && stat.code)
			found = thread;
	}
	if (dir)
		closedir(dir);
	return found ? found : pid;
}
