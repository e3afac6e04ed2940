/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/process_filter.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/uprobe/process_filter_config.h"
#include "lib/uprobe/process_tree.h"
#include "lib/util/notes.h"
#include "lib/util/proc_stat.h"

#define INITIAL_PID_NAMESPACE 0xeffffffcu	/* the kernel's PROC_PID_INIT_INO */

static uint32_t pid_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || (uint32_t)st.st_ino == INITIAL_PID_NAMESPACE)
		return 0;
	return st.st_ino;
}

int gt_process_filter_configure(struct gt_process_filter *filter, struct bpf_object *object, pid_t pid)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata.which");
	size_t size = 0;
	struct gt_process_filter_config *config = map ? (void *)bpf_map__initial_value(map, &size) : NULL;

	if (size < sizeof(*config))
		return -EINVAL;
	*filter = (struct gt_process_filter){ .object = object, .everybody = pid == -1 };
	config->pid_ns = pid_namespace();
	config->everybody = filter->everybody;
	return 0;
}

static int processes_fd(const struct gt_process_filter *filter)
{
	return bpf_object__find_map_fd_by_name(filter->object, "processes");
}

/* With its last thread's memory, whether or not its parent knows; /proc may hide processes of others. */
static bool has_ended(pid_t pid)
{
	struct gt_proc_stat stat;

	if (gt_proc_stat_read(pid, &stat))
		return kill(pid, 0) && errno == ESRCH;
	return !gt_proc_has_memory(pid);
}

/* One that has memory after it was added has not come to gt_task_exit yet, which takes it out again. */
static int add_process(void *data, pid_t pid)
{
	const struct gt_process_filter *filter = data;
	uint32_t key = pid, value = 0;
	int r = bpf_map_update_elem(processes_fd(filter), &key, &value, BPF_NOEXIST);

	if (r)
		return r == -EEXIST ? 0 : r;
	if (!has_ended(pid))
		return 1;
	bpf_map_delete_elem(processes_fd(filter), &key);
	return 0;
}

static struct bpf_link *attach(const struct gt_process_filter *filter, const char *program)
{
	return bpf_program__attach(bpf_object__find_program_by_name(filter->object, program));
}

/* Who forks after this is followed by the kernel side, so the order matters: first this, then the walk. */
static void follow_processes(struct gt_process_filter *filter, struct gt_notes *notes)
{
	filter->on_fork = attach(filter, "gt_task_fork");
	filter->on_exit = attach(filter, "gt_task_exit");
	if (!filter->on_fork || !filter->on_exit)
		gt_notes_add(notes, "the kernel does not let this process watch forks and exits: calls of processes started from now on are not seen, nor calls that never return");
}

int gt_process_filter_start(struct gt_process_filter *filter, pid_t pid, struct gt_notes *notes)
{
	int fd = bpf_object__find_map_fd_by_name(filter->object, ".data.unfollowed"), r;
	void *memory = mmap(NULL, sizeof(*filter->unfollowed), PROT_READ, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	filter->unfollowed = memory;
	follow_processes(filter, notes);
	if (filter->everybody)
		return 0;
	r = gt_process_tree_walk(pid, add_process, filter);
	return r < 0 ? r : 0;
}

void gt_process_filter_stop(struct gt_process_filter *filter)
{
	bpf_link__destroy(filter->on_fork);
	bpf_link__destroy(filter->on_exit);
	if (filter->unfollowed)
		munmap((void *)(uintptr_t)filter->unfollowed, sizeof(*filter->unfollowed));
	*filter = (struct gt_process_filter){ .object = NULL };
}

bool gt_process_filter_has(const struct gt_process_filter *filter, int pid)
{
	uint32_t key = (uint32_t)pid, value;

	return filter->everybody || !bpf_map_lookup_elem(processes_fd(filter), &key, &value);
}

bool gt_process_filter_has_any(const struct gt_process_filter *filter)
{
	uint32_t key;

	return filter->on_exit && !bpf_map_get_next_key(processes_fd(filter), NULL, &key);
}

void gt_process_filter_check(struct gt_process_filter *filter, struct gt_notes *notes)
{
	if (filter->said_unfollowed || !__atomic_load_n(filter->unfollowed, __ATOMIC_RELAXED))
		return;
	filter->said_unfollowed = true;
	gt_notes_add(notes, "more processes than can be followed: calls of the newest ones are not seen");
}
