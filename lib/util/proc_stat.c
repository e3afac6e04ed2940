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
	    sscanf(rest + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%" SCNu64 " %*u %*d %*u %" SCNu64 " %*u %" SCNu64,
		   &stat->state, &stat->parent, &stat->start_ticks, &stat->code, &stat->stack) != 5)
		return -ESRCH;
	return 0;
}

static int each_number(const char *path, int (*fn)(void *data, int number), void *data)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir))) {
		int number = atoi(entry->d_name);

		if (number > 0)
			r = fn(data, number);
	}
	closedir(dir);
	return r;
}

int gt_proc_each(int (*fn)(void *data, int pid), void *data)
{
	return each_number("/proc", fn, data);
}

int gt_proc_each_thread(int pid, int (*fn)(void *data, int tid), void *data)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return each_number(path, fn, data);
}

static int if_alive(void *unused, int thread)
{
	struct gt_proc_stat stat;

	(void)unused;
	return !gt_proc_stat_read(thread, &stat) && stat.code ? thread : 0;
}

bool gt_proc_has_memory(int pid)
{
	return gt_proc_each_thread(pid, if_alive, NULL) > 0;
}

int gt_proc_thread(int pid)
{
	struct gt_proc_stat stat;
	int found;

	if (gt_proc_stat_read(pid, &stat) || stat.code)
		return pid;
	found = gt_proc_each_thread(pid, if_alive, NULL);
	return found > 0 ? found : pid;
}
