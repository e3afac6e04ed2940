/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/children.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

/* Of one thread. */
static unsigned add_of_thread(int pid, const char *tid, int *pids, unsigned count, unsigned room)
{
	char path[320];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/children", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return count;
	while (count < room && fscanf(file, "%d", &pids[count]) == 1)
		count++;
	fclose(file);
	return count;
}

static unsigned add(int pid, int *pids, unsigned count, unsigned room)
{
	char path[64];
	struct dirent *entry;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	while (threads && (entry = readdir(threads)))
		count = add_of_thread(pid, entry->d_name, pids, count, room);
	if (threads)
		closedir(threads);
	return count;
}

unsigned sim_children(int *pids, unsigned room)
{
	unsigned count = 1;

	pids[0] = getpid();
	for (unsigned i = 0; i < count; i++)
		count = add(pids[i], pids, count, room);
	return count;
}
