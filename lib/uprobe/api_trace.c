/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/api_trace.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/uprobe/api_record.h"
#include "lib/uprobe/api_trace_bpf.h"
#include "lib/uprobe/attach.h"
#include "lib/uprobe/bpf_log.h"
#include "lib/uprobe/permission.h"
#include "lib/uprobe/process_tree.h"
#include "lib/uprobe/sites.h"
#include "lib/util/error.h"

_Static_assert(GT_API_CALL_ARGS == GT_API_ARGS_MAX, "both count the same arguments");

#define INITIAL_PID_NAMESPACE 0xeffffffcu	/* the kernel's PROC_PID_INIT_INO */

struct gt_api_trace {
	struct bpf_object *object;
	struct ring_buffer *ring;
	struct bpf_link *on_fork, *on_exit;
	struct gt_uprobe_links enter, leave;
	struct gt_api_counters *counters;
	struct gt_sites sites;
	unsigned watched;	/* how many of them */
	const char *note;
	uint64_t ring_bytes;
	/* While consuming: */
	void (*fn)(void *data, const struct gt_api_call *call);
	void *data;
	int taken;
	int64_t budget;		/* bytes to take before the others get their turn */
};

static int failed(int error, struct gt_bpf_log *log)
{
	return gt_uprobe_error(error, "watch the driver's calls", log ? gt_bpf_log_last(log) : "");
}

/* ---- which functions, and where they are ---- */

static int find_sites(struct gt_api_trace *trace, const struct gt_api_trace_opts *opts)
{
	if (opts->pattern)
		return gt_sites_matching(&trace->sites, opts->library, opts->pattern);
	return gt_sites_of_driver(&trace->sites, opts->library, opts->flags & GT_API_TRACE_QUERIES);
}

/* ---- the BPF object ---- */

static int check_opts(const struct gt_api_trace_opts *opts)
{
	uint64_t ring = opts->ring_bytes;

	if (ring < (uint64_t)sysconf(_SC_PAGESIZE) || ring > 1ull << 30 || ring & (ring - 1))
		return gt_error(-EINVAL, "ring size %llu: it must be a power of two, a page to 1 GiB",
				(unsigned long long)ring);
	if (opts->flags & ~(GT_API_TRACE_QUERIES | GT_API_TRACE_SINGLE))
		return gt_error(-EINVAL, "unknown flags %#x", opts->flags);
	if (opts->pid == 0 || opts->pid < -1)
		return gt_error(-EINVAL, "process id %d", (int)opts->pid);
	if (opts->stack_frames > GT_API_STACK_MAX)
		return gt_error(-EINVAL, "%u frames of the stack: at most %d can be taken", opts->stack_frames,
				GT_API_STACK_MAX);
	return 0;
}

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

static int map_counters(struct gt_api_trace *trace)
{
	int fd = bpf_object__find_map_fd_by_name(trace->object, ".data.counters");
	void *memory = mmap(NULL, sizeof(*trace->counters), PROT_READ, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	trace->counters = memory;
	return 0;
}

static void unmap_counters(struct gt_api_trace *trace)
{
	if (trace->counters)
		munmap(trace->counters, sizeof(*trace->counters));
	trace->counters = NULL;
}

static struct bpf_program *program(const struct gt_api_trace *trace, const char *name)
{
	return bpf_object__find_program_by_name(trace->object, name);
}

static int program_fd(const struct gt_api_trace *trace, const char *name)
{
	return bpf_program__fd(program(trace, name));
}

static int configure(struct gt_api_trace *trace, const struct gt_api_trace_opts *opts, bool multi)
{
	struct gt_api_config *config = initial_config(trace->object);
	int type = multi ? GT_BPF_TRACE_UPROBE_MULTI : 0;
	int r;

	if (!config)
		return -EINVAL;
	config->pid_ns = pid_namespace();
	config->everybody = opts->pid == -1;
	config->stack_frames = opts->stack_frames;
	r = bpf_map__set_max_entries(bpf_object__find_map_by_name(trace->object, "calls"),
				     opts->ring_bytes);
	if (r == 0)
		r = bpf_program__set_expected_attach_type(program(trace, "gt_api_enter"), type);
	if (r == 0)
		r = bpf_program__set_expected_attach_type(program(trace, "gt_api_leave"), type);
	return r;
}

static int load(struct gt_api_trace *trace, const struct gt_api_trace_opts *opts, bool multi)
{
	LIBBPF_OPTS(bpf_object_open_opts, open_opts, .object_name = "gt_api_trace");
	int r;

	trace->object = bpf_object__open_mem(gt_api_trace_bpf, sizeof(gt_api_trace_bpf), &open_opts);
	if (!trace->object)
		return -errno;
	r = configure(trace, opts, multi);
	if (r == 0)
		r = bpf_object__load(trace->object);
	if (r == 0)
		r = map_counters(trace);
	/* What libbpf answers when it finds no type information of the kernel. */
	return r == -ESRCH ? -EOPNOTSUPP : r;
}

/* ---- which processes ---- */

static int watch_process(void *data, pid_t pid)
{
	struct gt_api_trace *trace = data;
	int fd = bpf_object__find_map_fd_by_name(trace->object, "processes");
	uint32_t key = pid, value = 0;
	int r = bpf_map_update_elem(fd, &key, &value, BPF_NOEXIST);

	return r == 0 ? 1 : r == -EEXIST ? 0 : r;
}

/* Who forks after this is followed by the kernel side, so the order matters: first this, then the walk. */
static void follow_processes(struct gt_api_trace *trace)
{
	trace->on_fork = bpf_program__attach(program(trace, "gt_task_fork"));
	trace->on_exit = bpf_program__attach(program(trace, "gt_task_exit"));
	if (!trace->on_fork || !trace->on_exit)
		trace->note = "the kernel does not let this process watch forks and exits: calls of "
			      "processes started from now on are not seen, nor calls that never return";
}

static int watch_processes(struct gt_api_trace *trace, pid_t pid)
{
	int r;

	follow_processes(trace);
	if (pid == -1)
		return 0;
	r = gt_process_tree_walk(pid, watch_process, trace);
	return r < 0 ? r : 0;
}

/* ---- attaching ---- */

/*
 * Returns first: a function whose entry is seen then has its return watched,
 * while a return without an entry is ignored.  Detaching goes the other way.
 */
static int attach(struct gt_api_trace *trace, const char *library, bool multi)
{
	int (*attach_sites)(int, const char *, bool, const struct gt_uprobe_site *, unsigned,
			    struct gt_uprobe_links *) =
		multi ? gt_uprobe_attach_multi : gt_uprobe_attach_each;
	int leave = program_fd(trace, "gt_api_leave"), enter = program_fd(trace, "gt_api_enter");
	unsigned limit = gt_uprobe_each_limit(enter) / 2;
	int r;

	trace->watched = trace->sites.count;
	if (!multi && trace->watched > limit) {
		trace->watched = limit;
		trace->note = "the limit on open files (ulimit -n) is too low for all functions: "
			      "the less important ones are not watched";
	}
	if (!trace->watched)
		return -EMFILE;
	r = attach_sites(leave, library, true, trace->sites.list, trace->watched, &trace->leave);
	if (r == 0)
		r = attach_sites(enter, library, false, trace->sites.list, trace->watched,
				 &trace->enter);
	if (r)
		return r;
	/* The same ones at entry and at return. */
	trace->watched -= trace->enter.refused;
	if (!trace->watched)
		return -ENOEXEC;
	if (trace->enter.refused)
		trace->note = "some of the functions begin with an instruction that the kernel cannot replace by a "
			      "breakpoint: calls of them are not seen";
	return 0;
}

void gt_api_trace_detach(struct gt_api_trace *trace)
{
	gt_uprobe_detach(&trace->enter);
	gt_uprobe_detach(&trace->leave);
}

static void stop(struct gt_api_trace *trace)
{
	gt_api_trace_detach(trace);
	bpf_link__destroy(trace->on_fork);
	bpf_link__destroy(trace->on_exit);
	ring_buffer__free(trace->ring);
	unmap_counters(trace);
	bpf_object__close(trace->object);
	trace->on_fork = trace->on_exit = NULL;
	trace->ring = NULL;
	trace->object = NULL;
}

static int take_record(void *data, void *bytes, size_t size);

static int start(struct gt_api_trace *trace, const struct gt_api_trace_opts *opts, bool multi)
{
	int r = load(trace, opts, multi);

	if (r < 0)
		return r;
	trace->ring = ring_buffer__new(bpf_object__find_map_fd_by_name(trace->object, "calls"),
				       take_record, trace, NULL);
	if (!trace->ring)
		return -errno;
	r = watch_processes(trace, opts->pid);
	return r < 0 ? r : attach(trace, opts->library, multi);
}

/* The kernel's answer to a kind of link that it does not know. */
static bool unknown_kind(int r)
{
	return r == -EINVAL || r == -EOPNOTSUPP;
}

static int start_somehow(struct gt_api_trace *trace, const struct gt_api_trace_opts *opts)
{
	struct gt_bpf_log log;
	int r = -EOPNOTSUPP;

	gt_bpf_log_begin(&log);
	if (!(opts->flags & GT_API_TRACE_SINGLE))
		r = start(trace, opts, true);
	if (unknown_kind(r)) {
		stop(trace);
		r = start(trace, opts, false);
	}
	gt_bpf_log_end();
	if (r == -ESRCH)
		return gt_error(r, "there is no process %d", (int)opts->pid);
	if (r == -ENOEXEC)
		return gt_error(r, "%s: what is to be watched begins with an instruction that the kernel cannot replace by a breakpoint",
				opts->library);
	return r < 0 ? failed(r, &log) : 0;
}

int gt_api_trace_open(const struct gt_api_trace_opts *opts, struct gt_api_trace **ret_trace)
{
	struct gt_api_trace *trace;
	int r = check_opts(opts);

	if (r < 0)
		return r;
	trace = calloc(1, sizeof(*trace));
	if (!trace)
		return gt_error(-ENOMEM, "no memory to watch the driver's calls");
	trace->ring_bytes = opts->ring_bytes;
	r = find_sites(trace, opts);
	if (r == 0)
		r = start_somehow(trace, opts);
	if (r < 0) {
		gt_api_trace_close(trace);
		return r;
	}
	*ret_trace = trace;
	return 0;
}

void gt_api_trace_close(struct gt_api_trace *trace)
{
	struct gt_bpf_log log;

	if (!trace)
		return;
	gt_bpf_log_begin(&log);
	stop(trace);
	gt_bpf_log_end();
	gt_sites_free(&trace->sites);
	free(trace);
}

/* ---- reading ---- */

/* What a record takes up in the ring. */
#define RECORD_BYTES(size) (((int64_t)(size) + BPF_RINGBUF_HDR_SZ + 7) & ~7ll)

static void fill_call(const struct gt_api_trace *trace, const struct gt_api_record *record,
		      struct gt_api_call *call)
{
	call->enter = record->enter;
	call->leave = record->leave;
	call->pid = record->pid;
	call->tid = record->tid;
	call->function = record->function;
	call->value = record->result;
	call->result = (int32_t)record->result;
	call->depth = record->depth;
	call->flags = record->flags;
	memcpy(call->comm, record->comm, sizeof(call->comm));
	call->comm[sizeof(call->comm) - 1] = '\0';
	call->arg_count = record->arg_count;
	memcpy(call->args, record->args, record->arg_count * sizeof(*call->args));
	if (trace->sites.names) {
		call->name = trace->sites.names[call->function];
		return;
	}
	call->name = gt_api_name(call->function);
	for (unsigned i = 0; i < call->arg_count; i++)
		call->args[i] = gt_api_widen(call->function, i, call->args[i]);
}

static bool known_function(const struct gt_api_trace *trace, uint32_t function)
{
	return trace->sites.names ? function < trace->sites.count : gt_api_name(function) != NULL;
}

static int take_record(void *data, void *bytes, size_t size)
{
	const size_t head = offsetof(struct gt_api_record, args);
	struct gt_api_trace *trace = data;
	struct gt_api_record record = { 0 };
	struct gt_api_call call = { 0 };
	size_t args;

	if (size < head)
		return -EBADMSG;
	memcpy(&record, bytes, size < sizeof(record) ? size : sizeof(record));
	args = head + record.arg_count * sizeof(record.args[0]);
	if (record.arg_count > GT_API_ARGS_MAX || size < args || !known_function(trace, record.function))
		return -EBADMSG;
	fill_call(trace, &record, &call);
	/* The ring keeps records at multiples of eight bytes. */
	call.stack = (const uint64_t *)((const char *)bytes + args);
	call.stack_count = (uint32_t)((size - args) / sizeof(*call.stack));
	trace->fn(trace->data, &call);
	trace->taken++;
	trace->budget -= RECORD_BYTES(size);
	return trace->budget > 0 ? 0 : -ECANCELED;
}

int gt_api_trace_consume(struct gt_api_trace *trace,
			 void (*fn)(void *data, const struct gt_api_call *call), void *data)
{
	int r;

	trace->fn = fn;
	trace->data = data;
	trace->taken = 0;
	/* All that is there now, but no endless race with those who add to it. */
	trace->budget = trace->ring_bytes;
	r = ring_buffer__consume(trace->ring);
	return r < 0 && r != -ECANCELED ? r : trace->taken;
}

uint64_t gt_api_trace_lost(const struct gt_api_trace *trace)
{
	return __atomic_load_n(&trace->counters->lost, __ATOMIC_RELAXED);
}

unsigned gt_api_trace_watched(const struct gt_api_trace *trace)
{
	return trace->watched;
}

bool gt_api_trace_has_processes(const struct gt_api_trace *trace)
{
	int fd = bpf_object__find_map_fd_by_name(trace->object, "processes");
	uint32_t key;

	return trace->on_exit && !bpf_map_get_next_key(fd, NULL, &key);
}

const char *gt_api_trace_note(const struct gt_api_trace *trace)
{
	if (__atomic_load_n(&trace->counters->unfollowed, __ATOMIC_RELAXED))
		return "more processes than can be followed: calls of the newest ones are not seen";
	return trace->note;
}
