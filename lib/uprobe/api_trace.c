/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/api_trace.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/uprobe/api_record.h"
#include "lib/uprobe/api_trace_bpf.h"
#include "lib/uprobe/bpf_log.h"
#include "lib/uprobe/library_watch.h"
#include "lib/uprobe/permission.h"
#include "lib/uprobe/probed_file.h"
#include "lib/uprobe/process_tree.h"
#include "lib/uprobe/translated.h"
#include "lib/util/error.h"
#include "lib/util/mappings.h"
#include "lib/util/notes.h"
#include "lib/wire/stack.h"

_Static_assert(GT_API_CALL_ARGS == GT_API_ARGS_MAX, "both count the same arguments");

#define INITIAL_PID_NAMESPACE 0xeffffffcu	/* the kernel's PROC_PID_INIT_INO */

struct gt_api_trace {
	struct bpf_object *object;
	struct ring_buffer *ring;
	struct bpf_link *on_fork, *on_exit;
	struct gt_api_counters *counters;
	struct gt_api_trace_opts opts;		/* pattern and soname are malloc'd, library is not kept */
	bool multi;				/* attached by links to many places */
	struct gt_probed_file **files;		/* by the number that is in their cookies */
	unsigned file_count;
	bool too_many_files, too_many_processes;	/* said */
	struct gt_library_watch *libraries;	/* NULL: files are not looked for */
	/* While consuming: */
	void (*fn)(void *data, const struct gt_api_call *call);
	void *data;
	int taken;
	int64_t budget;		/* bytes to take before the others get their turn */
};

/* ---- the BPF object ---- */

static int check_opts(const struct gt_api_trace_opts *opts)
{
	uint64_t ring = opts->ring_bytes;

	if (ring < (uint64_t)sysconf(_SC_PAGESIZE) || ring > 1ull << 30 || ring & (ring - 1))
		return gt_error(-EINVAL, "ring size %llu: it must be a power of two, a page to 1 GiB",
				(unsigned long long)ring);
	if (!opts->library && !opts->soname)
		return gt_error(-EINVAL, "no library to watch");
	if (opts->flags & ~(GT_API_TRACE_QUERIES | GT_API_TRACE_SINGLE))
		return gt_error(-EINVAL, "unknown flags %#x", opts->flags);
	if (opts->pid == 0 || opts->pid < -1)
		return gt_error(-EINVAL, "process id %d", (int)opts->pid);
	if (!opts->stack_bytes && opts->stack_frames > GT_API_STACK_MAX)
		return gt_error(-EINVAL, "%u frames of the stack: at most %d can be taken", opts->stack_frames,
				GT_API_STACK_MAX);
	if (opts->stack_bytes && libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_ringbuf_reserve_dynptr, NULL) != 1)
		return gt_error(-EOPNOTSUPP, "uprobes cannot copy stacks on this kernel (Linux 5.19 and newer can)");
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

static int configure(struct gt_api_trace *trace)
{
	const struct gt_api_trace_opts *opts = &trace->opts;
	struct gt_api_config *config = initial_config(trace->object);
	int type = trace->multi ? GT_BPF_TRACE_UPROBE_MULTI : 0;
	int r;

	if (!config)
		return -EINVAL;
	config->pid_ns = pid_namespace();
	config->everybody = opts->pid == -1;
	config->stack_frames = opts->stack_frames;
	config->stack_bytes = opts->stack_bytes;
	r = bpf_map__set_max_entries(bpf_object__find_map_by_name(trace->object, "calls"),
				     opts->ring_bytes);
	if (r == 0)
		r = bpf_program__set_expected_attach_type(program(trace, "gt_api_enter"), type);
	if (r == 0)
		r = bpf_program__set_expected_attach_type(program(trace, "gt_api_leave"), type);
	return r;
}

static int load(struct gt_api_trace *trace)
{
	LIBBPF_OPTS(bpf_object_open_opts, open_opts, .object_name = "gt_api_trace");
	int r;

	trace->object = bpf_object__open_mem(gt_api_trace_bpf, sizeof(gt_api_trace_bpf), &open_opts);
	if (!trace->object)
		return -errno;
	r = configure(trace);
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
		gt_notes_add(trace->opts.notes, "the kernel does not let this process watch forks and exits: calls of processes started from now on are not seen, nor calls that never return");
}

static int watch_processes(struct gt_api_trace *trace)
{
	int r;

	follow_processes(trace);
	if (trace->opts.pid == -1)
		return 0;
	r = gt_process_tree_walk(trace->opts.pid, watch_process, trace);
	return r < 0 ? r : 0;
}

static bool is_watched(void *data, int pid)
{
	const struct gt_api_trace *trace = data;
	uint32_t key = (uint32_t)pid, value;

	return trace->opts.pid == -1 ||
	       !bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(trace->object, "processes"), &key, &value);
}

/* ---- beginning and ending ---- */

void gt_api_trace_detach(struct gt_api_trace *trace)
{
	gt_library_watch_close(trace->libraries);
	trace->libraries = NULL;
	for (unsigned i = 0; i < trace->file_count; i++)
		gt_probed_file_detach(trace->files[i]);
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

static int start(struct gt_api_trace *trace, bool multi)
{
	int r;

	trace->multi = multi;
	r = load(trace);
	if (r < 0)
		return r;
	trace->ring = ring_buffer__new(bpf_object__find_map_fd_by_name(trace->object, "calls"),
				       take_record, trace, NULL);
	return trace->ring ? watch_processes(trace) : -errno;
}

/* Of a kind of link that the kernel does not know: begin again with one that it does. */
static bool start_again(struct gt_api_trace *trace, int *r)
{
	if (!trace->multi || (*r != -EINVAL && *r != -EOPNOTSUPP))
		return false;
	stop(trace);
	*r = start(trace, false);
	return true;
}

static int start_somehow(struct gt_api_trace *trace)
{
	struct gt_bpf_log log;
	int r;

	gt_bpf_log_begin(&log);
	r = start(trace, !(trace->opts.flags & GT_API_TRACE_SINGLE));
	start_again(trace, &r);
	gt_bpf_log_end();
	if (r == -ESRCH)
		return gt_error(r, "there is no process %d", (int)trace->opts.pid);
	return r < 0 ? gt_uprobe_error(r, "watch calls", gt_bpf_log_last(&log)) : 0;
}

/* ---- files ---- */

static int attach(struct gt_api_trace *trace, struct gt_probed_file *file)
{
	return gt_probed_file_attach(file, program_fd(trace, "gt_api_enter"), program_fd(trace, "gt_api_leave"),
				     trace->multi, trace->opts.notes);
}

static int attach_somehow(struct gt_api_trace *trace, struct gt_probed_file *file)
{
	/* A breakpoint is there for all who have the file. */
	int user = gt_translated_user(file->device, file->inode);
	struct gt_bpf_log log;
	int r;

	if (user)
		return gt_error(-EBUSY, "process %d runs under valgrind with that file, and a breakpoint in it would end the process",
				user);
	gt_bpf_log_begin(&log);
	r = attach(trace, file);
	/* Only the first tells what the kernel knows. */
	if (!gt_api_trace_watched(trace) && start_again(trace, &r) && !r)
		r = attach(trace, file);
	gt_bpf_log_end();
	if (r == -ENOEXEC)
		return gt_error(r, "%s: what is to be watched begins with an instruction that the kernel cannot replace by a breakpoint",
				file->path);
	return r ? gt_uprobe_error(r, "watch calls", gt_bpf_log_last(&log)) : 0;
}

/* One in which there is nothing to watch is kept too, so that it is not looked at again. */
static int find_functions(struct gt_api_trace *trace, const char *path, struct gt_probed_file **ret_file)
{
	struct gt_probed_file **files = reallocarray(trace->files, trace->file_count + 1, sizeof(*files));
	int r;

	if (!files)
		return gt_error(-ENOMEM, "no memory to watch %s", path);
	trace->files = files;
	r = gt_probed_file_new(path, trace->file_count, ret_file);
	if (r)
		return r;
	files[trace->file_count++] = *ret_file;
	return gt_probed_file_find(*ret_file, trace->opts.pattern, trace->opts.flags & GT_API_TRACE_QUERIES);
}

static bool is_known(const struct gt_api_trace *trace, dev_t device, ino_t inode)
{
	for (unsigned i = 0; i < trace->file_count; i++) {
		if (trace->files[i]->device == device && trace->files[i]->inode == inode)
			return true;
	}
	return false;
}

/* The process may have ended; then by its name, if that leads to the same file here. */
static bool find_file(int pid, const struct gt_mapping *mapping, char *path, size_t size, struct stat *ret_status)
{
	if (gt_mapping_find_file(pid, mapping, path, size) && !stat(path, ret_status))
		return true;
	return snprintf(path, size, "%s", mapping->path) < (int)size && !stat(path, ret_status) &&
	       ret_status->st_ino == mapping->inode;
}

static void add_file(struct gt_api_trace *trace, int pid, const char *name, const char *path, bool later)
{
	struct gt_notes *notes = trace->opts.notes;
	struct gt_probed_file *file;

	if (trace->file_count == GT_API_FILES_MAX) {
		if (!trace->too_many_files)
			gt_notes_add(notes, "more than %u files of %s: calls of the others, such as %s of process %d, are not seen",
				     GT_API_FILES_MAX, trace->opts.soname, name, pid);
		trace->too_many_files = true;
	} else if (find_functions(trace, path, &file) || attach_somehow(trace, file)) {
		gt_notes_add(notes, "calls of %s, which process %d has loaded, are not seen: %s", name, pid,
			     gt_error_text());
	} else if (later) {
		gt_notes_add(notes, "%s, which process %d has loaded, was not watched before: calls of it are seen from now on",
			     name, pid);
	}
}

static void found_library(void *data, int pid, const struct gt_mapping *mapping, bool later)
{
	struct gt_api_trace *trace = data;
	char path[PATH_MAX];
	struct stat status;

	if (is_known(trace, makedev(mapping->device >> 32, (uint32_t)mapping->device), mapping->inode))
		return;
	if (find_file(pid, mapping, path, sizeof(path), &status)) {
		if (!is_known(trace, status.st_dev, status.st_ino))
			add_file(trace, pid, mapping->path, path, later);
	} else if (later) {
		gt_notes_add(trace->opts.notes, "process %d ended before calls of its %s could be watched", pid, mapping->path);
	}
}

static void missed_libraries(void *data)
{
	struct gt_api_trace *trace = data;

	gt_notes_add(trace->opts.notes, "programs began faster than they could be looked at: calls of some that have ended, and that had loaded a %s which was not watched, may not have been seen",
		     trace->opts.soname);
}

/* All files that processes have by this name, and those that they load later. */
static int follow_libraries(struct gt_api_trace *trace)
{
	static const struct gt_library_watch_ops ops = { .is_wanted = is_watched, .found = found_library,
						       .missed = missed_libraries };
	const char *soname = trace->opts.soname;

	if (gt_library_watch_open(soname, &ops, trace, &trace->libraries))
		return gt_error(-ENOMEM, "no memory to look for %s", soname);
	if (gt_library_watch_error(trace->libraries))
		gt_notes_add(trace->opts.notes, "programs that load a %s other than those loaded by now are not seen: perf_event_open: %s",
			     soname, strerror(-gt_library_watch_error(trace->libraries)));
	if (!trace->file_count)
		gt_notes_add(trace->opts.notes, "no program has loaded %s so far: waiting for one that does", soname);
	return 0;
}

static struct gt_api_trace *new_trace(const struct gt_api_trace_opts *opts)
{
	struct gt_api_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return NULL;
	trace->opts = *opts;
	trace->opts.pattern = opts->pattern ? strdup(opts->pattern) : NULL;
	trace->opts.soname = opts->soname ? strdup(opts->soname) : NULL;
	if (!trace->opts.pattern != !opts->pattern || !trace->opts.soname != !opts->soname) {
		gt_api_trace_close(trace);
		return NULL;
	}
	return trace;
}

int gt_api_trace_open(const struct gt_api_trace_opts *opts, struct gt_api_trace **ret_trace)
{
	struct gt_probed_file *file = NULL;
	struct gt_api_trace *trace;
	int r = check_opts(opts);

	if (r < 0)
		return r;
	trace = new_trace(opts);
	if (!trace)
		return gt_error(-ENOMEM, "no memory to watch calls");
	if (opts->library)
		r = find_functions(trace, opts->library, &file);
	if (r == 0)
		r = start_somehow(trace);
	if (r == 0 && file)
		r = attach_somehow(trace, file);
	/* It is one of several, then. */
	if (r == -EBUSY && opts->soname) {
		gt_notes_add(opts->notes, "calls of %s are not seen: %s", opts->library, gt_error_text());
		r = 0;
	}
	if (r == 0 && opts->soname)
		r = follow_libraries(trace);
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
	for (unsigned i = 0; i < trace->file_count; i++)
		gt_probed_file_free(trace->files[i]);
	free(trace->files);
	free((char *)(uintptr_t)trace->opts.pattern);
	free((char *)(uintptr_t)trace->opts.soname);
	free(trace);
}

/* ---- reading ---- */

/* What a record takes up in the ring. */
#define RECORD_BYTES(size) (((int64_t)(size) + BPF_RINGBUF_HDR_SZ + 7) & ~7ll)

static void fill_call(const struct gt_sites *sites, const struct gt_api_record *record, struct gt_api_call *call)
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
	if (sites->names) {
		call->name = sites->names[call->function];
		return;
	}
	call->name = gt_api_name(call->function);
	for (unsigned i = 0; i < call->arg_count; i++)
		call->args[i] = gt_api_widen(call->function, i, call->args[i]);
}

static bool known_function(const struct gt_api_trace *trace, const struct gt_api_record *record)
{
	const struct gt_sites *sites;

	if (record->library >= trace->file_count)
		return false;
	sites = &trace->files[record->library]->sites;
	return sites->names ? record->function < sites->count : gt_api_name(record->function) != NULL;
}

/* What follows the arguments; the ring keeps records at multiples of eight bytes. */
static void fill_stack(const struct gt_api_trace_opts *opts, const uint8_t *bytes, size_t size,
		       struct gt_api_call *call)
{
	const struct gt_stack_registers *registers = (const void *)bytes;
	size_t before;

	if (!opts->stack_bytes) {
		call->stack = (const void *)bytes;
		call->stack_count = (uint32_t)(size / sizeof(*call->stack));
		return;
	}
	/* A call that never returned has none. */
	if (size < sizeof(*registers))
		return;
	before = registers->sp % GT_API_PAGE;
	size -= sizeof(*registers);
	call->registers = registers;
	call->stack_frames = opts->stack_frames;
	if (size <= before)
		return;
	size -= before;
	call->copy = bytes + sizeof(*registers) + before;
	call->copy_bytes = size < opts->stack_bytes ? (uint32_t)size : opts->stack_bytes;
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
	if (record.arg_count > GT_API_ARGS_MAX || size < args || !known_function(trace, &record))
		return -EBADMSG;
	fill_call(&trace->files[record.library]->sites, &record, &call);
	fill_stack(&trace->opts, (const uint8_t *)bytes + args, size - args, &call);
	trace->fn(trace->data, &call);
	trace->taken++;
	trace->budget -= RECORD_BYTES(size);
	return trace->budget > 0 ? 0 : -ECANCELED;
}

static void say_unfollowed(struct gt_api_trace *trace)
{
	if (trace->too_many_processes || !__atomic_load_n(&trace->counters->unfollowed, __ATOMIC_RELAXED))
		return;
	trace->too_many_processes = true;
	gt_notes_add(trace->opts.notes, "more processes than can be followed: calls of the newest ones are not seen");
}

int gt_api_trace_consume(struct gt_api_trace *trace,
			 void (*fn)(void *data, const struct gt_api_call *call), void *data)
{
	int r;

	if (trace->libraries)
		gt_library_watch_look(trace->libraries);
	say_unfollowed(trace);
	trace->fn = fn;
	trace->data = data;
	trace->taken = 0;
	/* All that is there now, but no endless race with those who add to it. */
	trace->budget = (int64_t)trace->opts.ring_bytes;
	r = ring_buffer__consume(trace->ring);
	return r < 0 && r != -ECANCELED ? r : trace->taken;
}

uint64_t gt_api_trace_lost(const struct gt_api_trace *trace)
{
	return __atomic_load_n(&trace->counters->lost, __ATOMIC_RELAXED);
}

unsigned gt_api_trace_watched(const struct gt_api_trace *trace)
{
	unsigned watched = 0;

	for (unsigned i = 0; i < trace->file_count; i++)
		watched += trace->files[i]->watched;
	return watched;
}

bool gt_api_trace_has_processes(const struct gt_api_trace *trace)
{
	int fd = bpf_object__find_map_fd_by_name(trace->object, "processes");
	uint32_t key;

	return trace->on_exit && !bpf_map_get_next_key(fd, NULL, &key);
}
