/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/api_kernel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/uprobe/api_trace_bpf.h"
#include "lib/uprobe/attach.h"
#include "lib/uprobe/bpf_log.h"
#include "lib/uprobe/permission.h"
#include "lib/uprobe/process_tree.h"
#include "lib/util/error.h"
#include "lib/util/notes.h"

#define INITIAL_PID_NAMESPACE 0xeffffffcu	/* the kernel's PROC_PID_INIT_INO */

/* ---- the BPF object ---- */

static uint32_t pid_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || (uint32_t)st.st_ino == INITIAL_PID_NAMESPACE)
		return 0;
	return st.st_ino;
}

static struct gt_api_config *initial_config(struct bpf_object *object)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata.config");
	size_t size = 0;
	void *memory = map ? (void *)bpf_map__initial_value(map, &size) : NULL;

	return size >= sizeof(struct gt_api_config) ? memory : NULL;
}

static int map_counters(struct gt_api_kernel *kernel)
{
	int fd = bpf_object__find_map_fd_by_name(kernel->object, ".data.counters");
	void *memory = mmap(NULL, sizeof(*kernel->counters), PROT_READ, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	kernel->counters = memory;
	return 0;
}

static struct bpf_program *program(const struct gt_api_kernel *kernel, const char *name)
{
	return bpf_object__find_program_by_name(kernel->object, name);
}

static int configure(struct gt_api_kernel *kernel, const struct gt_api_trace_opts *opts)
{
	struct gt_api_config *config = initial_config(kernel->object);
	int type = kernel->multi ? GT_BPF_TRACE_UPROBE_MULTI : 0;
	int r;

	if (!config)
		return -EINVAL;
	config->pid_ns = pid_namespace();
	config->everybody = kernel->everybody;
	config->stack_frames = opts->stack_frames;
	config->stack_bytes = opts->stack_bytes;
	r = bpf_map__set_max_entries(bpf_object__find_map_by_name(kernel->object, "calls"),
				     opts->ring_bytes);
	if (r == 0)
		r = bpf_program__set_expected_attach_type(program(kernel, "gt_api_enter"), type);
	if (r == 0)
		r = bpf_program__set_expected_attach_type(program(kernel, "gt_api_leave"), type);
	return r;
}

static int load(struct gt_api_kernel *kernel, const struct gt_api_trace_opts *opts, bool multi)
{
	LIBBPF_OPTS(bpf_object_open_opts, open_opts, .object_name = "gt_api_trace");
	int r;

	kernel->multi = multi;
	kernel->object = bpf_object__open_mem(gt_api_trace_bpf, sizeof(gt_api_trace_bpf), &open_opts);
	if (!kernel->object)
		return -errno;
	r = configure(kernel, opts);
	if (r == 0)
		r = bpf_object__load(kernel->object);
	if (r == 0) {
		kernel->enter_fd = bpf_program__fd(program(kernel, "gt_api_enter"));
		kernel->leave_fd = bpf_program__fd(program(kernel, "gt_api_leave"));
	}
	/* What libbpf answers when it finds no type information of the kernel. */
	return r == -ESRCH ? -EOPNOTSUPP : r;
}

/* For links to many places, unless the kernel does not know them. */
static int load_somehow(struct gt_api_kernel *kernel, const struct gt_api_trace_opts *opts)
{
	int r;

	if (opts->flags & GT_API_TRACE_SINGLE)
		return load(kernel, opts, false);
	r = load(kernel, opts, true);
	if (r == 0 && !gt_uprobe_knows_multi(kernel->enter_fd))
		r = -EOPNOTSUPP;
	if (r != -EINVAL && r != -EOPNOTSUPP)
		return r;
	bpf_object__close(kernel->object);
	return load(kernel, opts, false);
}

/* ---- which processes ---- */

static int processes_fd(const struct gt_api_kernel *kernel)
{
	return bpf_object__find_map_fd_by_name(kernel->object, "processes");
}

static int watch_process(void *data, pid_t pid)
{
	const struct gt_api_kernel *kernel = data;
	uint32_t key = pid, value = 0;
	int r = bpf_map_update_elem(processes_fd(kernel), &key, &value, BPF_NOEXIST);

	return r == 0 ? 1 : r == -EEXIST ? 0 : r;
}

/* Who forks after this is followed by the kernel side, so the order matters: first this, then the walk. */
static void follow_processes(struct gt_api_kernel *kernel, struct gt_notes *notes)
{
	kernel->on_fork = bpf_program__attach(program(kernel, "gt_task_fork"));
	kernel->on_exit = bpf_program__attach(program(kernel, "gt_task_exit"));
	if (!kernel->on_fork || !kernel->on_exit)
		gt_notes_add(notes, "the kernel does not let this process watch forks and exits: calls of processes started from now on are not seen, nor calls that never return");
}

static int watch_processes(struct gt_api_kernel *kernel, const struct gt_api_trace_opts *opts)
{
	int r;

	follow_processes(kernel, opts->notes);
	if (kernel->everybody)
		return 0;
	r = gt_process_tree_walk(opts->pid, watch_process, kernel);
	return r < 0 ? r : 0;
}

bool gt_api_kernel_watches(const struct gt_api_kernel *kernel, int pid)
{
	uint32_t key = (uint32_t)pid, value;

	return kernel->everybody || !bpf_map_lookup_elem(processes_fd(kernel), &key, &value);
}

bool gt_api_kernel_has_processes(const struct gt_api_kernel *kernel)
{
	uint32_t key;

	return kernel->on_exit && !bpf_map_get_next_key(processes_fd(kernel), NULL, &key);
}

/* ---- beginning and ending ---- */

static int start(struct gt_api_kernel *kernel, const struct gt_api_trace_opts *opts, ring_buffer_sample_fn fn, void *data)
{
	int r;

	kernel->everybody = opts->pid == -1;
	r = load_somehow(kernel, opts);
	if (r == 0)
		r = map_counters(kernel);
	if (r < 0)
		return r;
	kernel->ring = ring_buffer__new(bpf_object__find_map_fd_by_name(kernel->object, "calls"), fn, data, NULL);
	return kernel->ring ? watch_processes(kernel, opts) : -errno;
}

int gt_api_kernel_start(struct gt_api_kernel *kernel, const struct gt_api_trace_opts *opts, ring_buffer_sample_fn fn,
			void *data)
{
	struct gt_bpf_log log;
	int r;

	gt_bpf_log_begin(&log);
	r = start(kernel, opts, fn, data);
	gt_bpf_log_end();
	if (r == -ESRCH)
		return gt_error(r, "there is no process %d", (int)opts->pid);
	return r < 0 ? gt_uprobe_error(r, "watch calls", gt_bpf_log_last(&log)) : 0;
}

void gt_api_kernel_stop(struct gt_api_kernel *kernel)
{
	struct gt_bpf_log log;

	gt_bpf_log_begin(&log);
	bpf_link__destroy(kernel->on_fork);
	bpf_link__destroy(kernel->on_exit);
	ring_buffer__free(kernel->ring);
	if (kernel->counters)
		munmap(kernel->counters, sizeof(*kernel->counters));
	bpf_object__close(kernel->object);
	gt_bpf_log_end();
}
