/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/symbol/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "lib/util/mapping_file.h"
#include "lib/util/proc_stat.h"
#include "lib/util/regular_file.h"

#define UPROBES_PAGE "[uprobes]"	/* as /proc/PID/maps has it */

/* ---- which process it is ---- */

int gt_identity_read(int pid, struct gt_identity *identity)
{
	struct gt_proc_stat stat;
	int r = gt_proc_stat_read(pid, &stat);

	if (r)
		return r;
	identity->start_ticks = stat.start_ticks;
	if (!stat.code)
		r = gt_proc_stat_read(gt_proc_thread(pid), &stat);
	if (r)
		return r;
	identity->code = stat.code;
	identity->stack = stat.stack;
	/* It has no memory any more, and waits to be waited for. */
	return stat.code ? 0 : -ESRCH;
}

bool gt_identity_same(const struct gt_identity *a, const struct gt_identity *b)
{
	return a->start_ticks == b->start_ticks && a->code == b->code && a->stack == b->stack;
}

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t gt_symbol_now(void)
{
	return now(CLOCK_MONOTONIC);
}

uint64_t gt_identity_start(const struct gt_identity *identity)
{
	uint64_t start = identity->start_ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	/* In this order: what passes between the two must not make it negative. */
	uint64_t awake = now(CLOCK_MONOTONIC), slept = now(CLOCK_BOOTTIME) - awake;

	return start > slept ? start - slept : 0;
}

/* ---- what it has mapped ---- */

static void read_status(struct gt_symbol_process *process)
{
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", process->pid);
	f = fopen(path, "re");
	process->inner_pid = process->pid;
	process->owner = (uid_t)-1;
	while (f && fgets(line, sizeof(line), f)) {
		const char *last = strrchr(line, '\t');

		if (!strncmp(line, "NSpid:", 6) && last)
			process->inner_pid = atoi(last + 1);
		if (!strncmp(line, "Uid:", 4))
			process->owner = (uid_t)strtoul(line + 4, NULL, 10);
	}
	if (f)
		fclose(f);
}

static const char had_ended[] = "the process had ended before it could be seen where it has its code";

/*
 * Libraries may have been loaded since; on failure what was known stays.  How long it takes to look counts by what the
 * processor did: on a busy machine one that had to wait for its turn would keep from looking until a short program has ended.
 */
static int read_mappings(struct gt_symbol_process *process)
{
	struct gt_mappings mappings = { 0 };
	uint64_t start = gt_symbol_now(), spent = now(CLOCK_THREAD_CPUTIME_ID), end;
	int r = gt_mappings_of_process(&mappings, process->pid);

	end = gt_symbol_now();
	spent = now(CLOCK_THREAD_CPUTIME_ID) - spent;
	process->look_after = end + (end - start) + 16 * spent;
	if (r == 0 && mappings.count) {
		gt_mappings_free(&process->mappings);
		process->mappings = mappings;
		process->reason = NULL;
		return 0;
	}
	gt_mappings_free(&mappings);
	if (!process->mappings.count)
		process->reason = r == -EACCES || r == -EPERM ?
				  "not allowed to see where this process has its code (it takes the same user or CAP_SYS_PTRACE)" :
				  had_ended;
	return r == -ENOMEM ? r : 0;
}

static bool has_our_root(int pid)
{
	char path[64], own[64], its[64];
	struct stat ours, theirs;
	int thread = gt_proc_thread(pid);
	ssize_t n, m;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", thread);
	n = readlink("/proc/self/ns/mnt", own, sizeof(own));
	m = readlink(path, its, sizeof(its));
	snprintf(path, sizeof(path), "/proc/%d/root/", thread);
	return n > 0 && n == m && !memcmp(own, its, (size_t)n) && !stat("/", &ours) && !stat(path, &theirs) &&
	       ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/* Is it still the program whose mappings we have? */
static bool still_there(const struct gt_symbol_process *process)
{
	struct gt_identity identity;

	return !process->gone && !gt_identity_read(process->pid, &identity) &&
	       gt_identity_same(&identity, &process->identity);
}

/* ---- files ---- */

/*
 * A path of the process's own: its symbolic links, too, lead no further than to its
 * root.  That is not held open, which would keep a container's file systems busy.
 */
static int open_inside(const struct gt_symbol_process *process, const char *path, uint64_t flags)
{
	char link[64] = "/";
	int root, fd;

	if (process->gone && !process->our_root)
		return -1;
	if (!process->our_root)
		snprintf(link, sizeof(link), "/proc/%d/root", gt_proc_thread(process->pid));
	root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	fd = gt_open_regular(root, path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	close(root);
	return fd;
}

static bool is_of(const struct gt_mapping *mapping, int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return gt_mapping_is_file(mapping, path);
}

/* The file that is mapped, even when it has been deleted or another one has its name; -1 and why not. */
static int open_mapped(const struct gt_symbol_process *process, const struct gt_mapping *mapping,
		       const char **ret_reason)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, gt_proc_thread(process->pid),
		 mapping->start, mapping->end);
	fd = process->gone ? -1 : gt_open_regular(AT_FDCWD, path, 0, 0);
	if (fd >= 0 && is_of(mapping, fd))
		return fd;
	if (fd >= 0)
		close(fd);
	fd = open_inside(process, mapping->path, 0);
	if (fd < 0) {
		*ret_reason = "its file has been deleted, or cannot be read from here";
		return -1;
	}
	if (is_of(mapping, fd))
		return fd;
	close(fd);
	*ret_reason = "its file has been replaced by another one of the same name";
	return -1;
}

/* Code that the process made, or that the kernel gave it. */
static bool is_generated(const struct gt_mapping *mapping)
{
	return !mapping->inode || mapping->path[0] != '/' || !strncmp(mapping->path, "/memfd:", 7);
}

/* missing: that of a file that could not be opened for this reason; another process's might. */
static struct gt_module *known_module(struct gt_module *modules, const struct gt_mapping *mapping, const char *path,
				      const char *missing)
{
	struct gt_module *module = modules;

	while (module && (module->inode != mapping->inode || module->device != mapping->device ||
			  strcmp(module->path, path) || module->missing != missing))
		module = module->next;
	return module;
}

static struct gt_module *find_module(const struct gt_symbol_process *process,
				     const struct gt_mapping *mapping, struct gt_module **modules)
{
	bool generated = is_generated(mapping);
	const char *path = mapping->path[0] ? mapping->path : "[memory]", *missing = NULL;
	struct gt_module *module = known_module(*modules, mapping, path, NULL);
	int fd;

	if (module)
		return module;
	fd = generated ? -1 : open_mapped(process, mapping, &missing);
	if (missing)
		module = known_module(*modules, mapping, path, missing);
	if (module)
		return module;
	module = gt_module_new(mapping, fd, missing);
	if (!module)
		return NULL;
	module->generated = generated;
	module->next = *modules;
	*modules = module;
	return module;
}

/*
 * Whoever may write there could give names to another user's code: perf, too, asks whose
 * file it is.  A link could lead to what only we may read, or what is gone once it is read.
 */
static int open_perf_map(const struct gt_symbol_process *process)
{
	struct stat status;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", process->inner_pid);
	fd = open_inside(process, path, O_NOFOLLOW);
	if (fd < 0 || (!fstat(fd, &status) && (status.st_uid == process->owner || !status.st_uid)))
		return fd;
	close(fd);
	return -1;
}

static int read_perf_map(struct gt_symbol_process *process)
{
	int fd = open_perf_map(process), r;

	if (fd < 0)
		return 0;
	r = gt_perf_map_read(&process->perf, fd);
	close(fd);
	if (!process->gone && !process->trampoline.size)
		gt_trampoline_learn(&process->trampoline, &process->perf, process->pid);
	return r == -ENOMEM ? r : 0;
}

static int find_in_perf_map(struct gt_symbol_process *process, uint64_t address,
			    const struct gt_perf_entry **ret_entry)
{
	int r;

	*ret_entry = gt_perf_map_find(&process->perf, address);
	if (*ret_entry)
		return 0;
	r = read_perf_map(process);
	*ret_entry = gt_perf_map_find(&process->perf, address);
	return r;
}

/* ---- beginning and ending ---- */

struct gt_symbol_process *gt_symbol_process_new(int pid, const struct gt_identity *identity, bool gone)
{
	struct gt_symbol_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->pid = pid;
	process->identity = *identity;
	process->gone = gone;
	if (gone) {
		process->reason = had_ended;
		return process;
	}
	process->our_root = has_our_root(pid);
	read_status(process);
	/* What code is made of is known while it runs, or never. */
	if (read_mappings(process) || read_perf_map(process)) {
		gt_symbol_process_free(process);
		return NULL;
	}
	return process;
}

void gt_symbol_process_free(struct gt_symbol_process *process)
{
	for (unsigned i = 0; i < process->place_room; i++) {
		gt_frame_free(process->places[i].frame);
		gt_way_free(process->places[i].way);
	}
	free(process->places);
	gt_frame_free(process->spare.frame);
	gt_way_free(process->spare.way);
	gt_way_free(process->spare_way);
	gt_mappings_free(&process->mappings);
	gt_perf_map_free(&process->perf);
	free(process);
}

/* ---- places ---- */

static struct gt_place *slot(struct gt_place *places, unsigned room, uint64_t address)
{
	unsigned i = (unsigned)((address * 0x9e3779b97f4a7c15ull) >> 32) & (room - 1);

	while (places[i].address && places[i].address != address)
		i = (i + 1) & (room - 1);
	return &places[i];
}

static int grow(struct gt_symbol_process *process)
{
	unsigned room = process->place_room ? 2 * process->place_room : 256;
	struct gt_place *places = calloc(room, sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (unsigned i = 0; i < process->place_room; i++) {
		if (process->places[i].address)
			*slot(places, room, process->places[i].address) = process->places[i];
	}
	free(process->places);
	process->places = places;
	process->place_room = room;
	return 0;
}

static const struct gt_mapping *find_mapping(struct gt_symbol_process *process, uint64_t address)
{
	const struct gt_mapping *mapping = gt_mappings_find(&process->mappings, address);

	if (mapping || gt_symbol_now() < process->look_after || !still_there(process) ||
	    read_mappings(process))
		return mapping;
	return gt_mappings_find(&process->mappings, address);
}

/*
 * The address of the kernel's that a function returns to whose return is watched by a
 * uprobe begins a page, so that the place before it is in nothing.
 */
static const struct gt_mapping *find_uprobes_page(struct gt_symbol_process *process, uint64_t address)
{
	const struct gt_mapping *mapping = (address + 1) % 4096 ? NULL : find_mapping(process, address + 1);

	return mapping && !strcmp(mapping->path, UPROBES_PAGE) ? mapping : NULL;
}

/* The place as it is known so far, blank when it is not. */
static struct gt_place *find_place(struct gt_symbol_process *process, uint64_t address)
{
	struct gt_place *place;

	if (2 * process->place_count >= process->place_room && process->place_count < GT_PLACES_MAX &&
	    grow(process))
		return NULL;
	place = slot(process->places, process->place_room, address);
	if (place->address)
		return place;
	if (process->place_count < GT_PLACES_MAX) {
		process->place_count++;
	} else {
		place = &process->spare;
		process->text_bytes -= gt_frame_text_bytes(place->frame);
		gt_frame_free(place->frame);
		gt_way_free(place->way);
	}
	*place = (struct gt_place){ .address = address };
	return place;
}

/*
 * Code may have been made after we last looked at the mappings, by a process that has ended
 * since.  Its names are there for longer than it.
 */
static const struct gt_mapping *made_unseen(struct gt_symbol_process *process, uint64_t address)
{
	static const struct gt_mapping memory = { .path = (char *)"" };

	if (process->gone && process->perf.count && !process->perf_is_final) {
		read_perf_map(process);
		process->perf_is_final = true;
	}
	return gt_perf_map_find(&process->perf, address) ? &memory : NULL;
}

struct gt_place *gt_symbol_process_place(struct gt_symbol_process *process, uint64_t address,
					 struct gt_module **modules)
{
	struct gt_place *place = find_place(process, address);
	const struct gt_perf_entry *entry;
	const struct gt_mapping *mapping;

	if (!place || place->module || place->frame)
		return place;
	mapping = find_mapping(process, address);
	if (!mapping)
		mapping = find_uprobes_page(process, address);
	if (!mapping)
		mapping = made_unseen(process, address);
	if (!mapping)
		return place;
	place->module = find_module(process, mapping, modules);
	if (!place->module)
		return NULL;
	place->offset = address - mapping->start + (place->module->generated ? 0 : mapping->offset);
	if (address < mapping->start)
		place->offset = 0;
	/* Now, since the file may go with the process. */
	if (place->module->generated && find_in_perf_map(process, address, &entry))
		return NULL;
	return place;
}

/* ---- names ---- */

static void leave_nameless(const struct gt_place *place, struct gputrace_frame *frame)
{
	frame->module = place->module->path;
	frame->offset = place->offset;
	frame->reason = "the names of this process's code are so long that no more of them are kept";
}

static int name_generated_code(struct gt_symbol_process *process, const struct gt_place *place,
			       struct gputrace_frame *frame)
{
	const struct gt_perf_entry *entry;
	int r = find_in_perf_map(process, place->address, &entry);

	if (r)
		return r;
	frame->module = place->module->path;
	frame->offset = place->offset;
	if (!entry) {
		frame->reason = !strncmp(frame->module, "[v", 2) ? "code that the kernel provides" :
				!strcmp(frame->module, UPROBES_PAGE) ?
				"the kernel's, in place of a caller that is not known: the function's return is watched by a uprobe" :
				process->perf.full ? "code made at run time, and its /tmp/perf-PID.map is too large to be read to its end" :
				"code made at run time, and no /tmp/perf-PID.map names it";
		return 0;
	}
	frame->offset = place->address - entry->start;
	frame->name = strdup(entry->name);
	return frame->name ? 0 : -ENOMEM;
}

int gt_symbol_process_resolve(struct gt_symbol_process *process, struct gt_place *place)
{
	struct gputrace_frame *frame = gt_frame_new(place->address);
	int r = 0;

	if (!frame)
		return -ENOMEM;
	if (!place->module)
		frame->reason = process->reason ? process->reason : "the process has no code there";
	else if (process->text_bytes > GT_TEXT_MAX)
		leave_nameless(place, frame);
	else if (place->module->generated)
		r = name_generated_code(process, place, frame);
	else
		r = gt_module_resolve(place->module, place->offset, frame);
	if (r) {
		gt_frame_free(frame);
		return r;
	}
	process->text_bytes += gt_frame_text_bytes(frame);
	place->frame = frame;
	return 0;
}

/* ---- ways ---- */

/* How the code goes on after the call; 0: that cannot be seen (any more). */
static size_t read_code(struct gt_symbol_process *process, uint64_t address, uint8_t *code)
{
	struct iovec local = { .iov_base = code, .iov_len = GT_WAY_CODE };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = GT_WAY_CODE };
	ssize_t n = process->gone ? -1 : process_vm_readv(process->pid, &local, 1, &remote, 1, 0);

	if (n > 0)
		return (size_t)n;
	return gt_trampoline_read(&process->trampoline, gt_perf_map_find(&process->perf, address), address, code,
				  GT_WAY_CODE);
}

static struct gt_way *find_way(struct gt_symbol_process *process, const struct gt_place *place)
{
	struct gt_way *way = place->module->generated ? NULL : gt_way_by_rules(place->module, place->offset);
	uint8_t code[GT_WAY_CODE];

	return way ? way : gt_way_by_code(code, read_code(process, place->address + 1, code));
}

const struct gt_way *gt_symbol_process_way(struct gt_symbol_process *process, struct gt_place *place)
{
	if (place->way)
		return place->way;
	if (process->way_count < GT_WAYS_MAX) {
		place->way = find_way(process, place);
		process->way_count += place->way != NULL;
		return place->way;
	}
	gt_way_free(process->spare_way);
	process->spare_way = find_way(process, place);
	return process->spare_way;
}
