/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/api_kernel.h"

#include <errno.h>
#include <sys/mman.h>

#include "lib/uprobe/api_trace_bpf.h"
#include "lib/uprobe/attach.h"
#include "lib/uprobe/bpf_log.h"
#include "lib/uprobe/permission.h"
#include "lib/util/error.h"

/* ---- the BPF object ---- */

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
	config->stack_frames = opts->stack_frames;
	config->stack_bytes = opts->stack_bytes;
	r = gt_process_filter_configure(&kernel->processes, kernel->object, opts->pid);
	if (r == 0)
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

/* ---- beginning and ending ---- */

static int start(struct gt_api_kernel *kernel, const struct gt_api_trace_opts *opts, ring_buffer_sample_fn fn, void *data)
{
	int r;

	r = load_somehow(kernel, opts);
	if (r == 0)
		r = map_counters(kernel);
	if (r < 0)
		return r;
	kernel->ring = ring_buffer__new(bpf_object__find_map_fd_by_name(kernel->object, "calls"), fn, data, NULL);
	return kernel->ring ? gt_process_filter_start(&kernel->processes, opts->pid, opts->notes) : -errno;
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
	gt_process_filter_stop(&kernel->processes);
	ring_buffer__free(kernel->ring);
	if (kernel->counters)
		munmap(kernel->counters, sizeof(*kernel->counters));
	bpf_object__close(kernel->object);
	gt_bpf_log_end();
}
