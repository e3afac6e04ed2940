/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/program_links.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/uprobe/bpf_log.h"
#include "lib/uprobe/find_library.h"
#include "lib/uprobe/library_files.h"
#include "lib/uprobe/permission.h"
#include "lib/uprobe/process_gate.h"
#include "lib/uprobe/program_place.h"
#include "lib/uprobe/translated.h"
#include "lib/util/error.h"
#include "lib/util/notes.h"

#define NO_GATE (-1)

struct entry {
	const struct bpf_program *program;
	struct gt_program_place place;
	int number;		/* of the gate's programs, or NO_GATE: it is attached itself */
};

/* All entries whose place is in one library. */
struct library {
	struct gt_program_links *links;
	const char *name;	/* of the first one's place */
	struct gt_library_files *files;	/* NULL: it is one file */
};

struct gt_program_links {
	struct gt_program_links_opts opts;
	struct gt_bpf_log *log;
	struct gt_process_gate gate;
	struct entry *entries;
	unsigned entry_count;
	struct library *libraries;
	unsigned library_count;
	struct bpf_link **list;
	unsigned count;
};

/* ---- one program at one place ---- */

static int attach_failed(const struct gt_program_links *links, int error, const struct entry *entry, const char *path)
{
	char what[1024];

	if (error == -ENOENT && path)
		return gt_error(error, "program %s: %s has no function %s, or is not there",
				bpf_program__name(entry->program), path, entry->place.function);
	snprintf(what, sizeof(what), "attach program %s (section \"%s\")", bpf_program__name(entry->program),
		 bpf_program__section_name(entry->program));
	return gt_uprobe_error(error, what, gt_bpf_log_last(links->log));
}

static int keep(struct gt_program_links *links, struct bpf_link *link)
{
	struct bpf_link **list = reallocarray(links->list, links->count + 1, sizeof(*list));

	if (!list) {
		bpf_link__destroy(link);
		return gt_error(-ENOMEM, "no memory for a link");
	}
	links->list = list;
	list[links->count++] = link;
	return 0;
}

/* Whoever has the file mapped under valgrind; 0: nobody. */
static int translated_user(const char *path)
{
	struct stat status;

	return stat(path, &status) ? 0 : gt_translated_user(status.st_dev, status.st_ino);
}

static int attach_at(struct gt_program_links *links, const struct entry *entry, const char *path)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts,
		    .retprobe = entry->place.at_return,
		    .func_name = entry->place.function);
	bool gated = entry->number != NO_GATE;
	/* Through the gate go all who have the file; without, the kernel leaves others alone. */
	pid_t pid = gated ? -1 : links->opts.pid;
	int user = pid == -1 ? translated_user(path) : 0;
	struct bpf_link *link;

	if (user)
		return gt_error(-EBUSY, "program %s: process %d runs under valgrind with %s, and a breakpoint in it would end the process: "
				"wait until it has ended, or do without this program",
				bpf_program__name(entry->program), user, path);
	if (gated)
		opts.bpf_cookie = (uint64_t)entry->number;
	link = bpf_program__attach_uprobe_opts(gated ? links->gate.program : entry->program, pid, path,
					       entry->place.offset, &opts);
	return link ? keep(links, link) : attach_failed(links, -errno, entry, path);
}

/* ---- all programs of a library ---- */

static bool is_wanted(void *data, int pid)
{
	const struct library *library = data;
	const struct gt_program_links *links = library->links;

	if (links->opts.pid == -1)
		return true;
	return links->gate.object ? gt_process_filter_has(&links->gate.processes, pid) : pid == links->opts.pid;
}

/* As many as can be; the first error. */
static int attach_library(void *data, const char *path)
{
	const struct library *library = data;
	struct gt_program_links *links = library->links;
	int first = 0;

	for (unsigned i = 0; i < links->entry_count; i++) {
		const struct entry *entry = &links->entries[i];
		int r = entry->place.is_uprobe && !strcmp(entry->place.library, library->name) ?
			attach_at(links, entry, path) : 0;

		first = first ? first : r;
	}
	return first;
}

/* The file that programs started from here load, and all others. */
static int follow_library(struct library *library)
{
	static const struct gt_library_files_ops ops = { .is_wanted = is_wanted, .attach = attach_library };
	char *path = NULL;
	int r = 0;

	if (!gt_find_library_in(library->name, getenv("LD_LIBRARY_PATH"), &path))
		r = attach_library(library, path);
	/* It is one of several. */
	if (r == -EBUSY) {
		gt_notes_add(library->links->opts.notes, "%s", gt_error_text());
		r = 0;
	}
	if (!r)
		r = gt_library_files_open(library->name, path, &ops, library, library->links->opts.notes, &library->files);
	free(path);
	return r;
}

static int begin_library(struct library *library)
{
	const struct gt_program_links_opts *opts = &library->links->opts;

	if (opts->translated)
		return gt_error(-EBUSY, "a uprobe's breakpoint would end a program under valgrind");
	if (opts->follow && !strchr(library->name, '/'))
		return follow_library(library);
	if (strcmp(library->name, GT_LIBCUDA))
		return attach_library(library, library->name);
	if (!opts->libcuda)
		return gt_error(-ENOENT, "a program's section needs libcuda.so.1, which was not found");
	return attach_library(library, opts->libcuda);
}

static int begin_libraries(struct gt_program_links *links)
{
	int r = 0;

	for (unsigned i = 0; !r && i < links->entry_count; i++) {
		const struct gt_program_place *place = &links->entries[i].place;
		unsigned known = 0;

		while (known < links->library_count && strcmp(links->libraries[known].name, place->library))
			known++;
		if (!place->is_uprobe || known < links->library_count)
			continue;
		links->libraries[links->library_count++] = (struct library){ .links = links, .name = place->library };
		r = begin_library(&links->libraries[known]);
	}
	return r;
}

/* ---- beginning and ending ---- */

static int add_entry(struct gt_program_links *links, const struct bpf_program *program)
{
	struct entry *entry = &links->entries[links->entry_count++];

	entry->program = program;
	entry->number = NO_GATE;
	return gt_program_place_parse(bpf_program__section_name(program), &entry->place);
}

static int read_places(struct gt_program_links *links, struct bpf_object *object)
{
	struct bpf_program *program;
	unsigned count = 0;
	int r = 0;

	bpf_object__for_each_program(program, object)
		count += bpf_program__autoload(program);
	links->entries = calloc(count + 1, sizeof(*links->entries));
	links->libraries = calloc(count + 1, sizeof(*links->libraries));
	if (!links->entries || !links->libraries)
		return gt_error(-ENOMEM, "no memory for %u programs", count);
	bpf_object__for_each_program(program, object) {
		if (r == 0 && bpf_program__autoload(program))
			r = add_entry(links, program);
	}
	return r;
}

/* What runs where it may sleep cannot be called from where it may not. */
static void put_behind_gate(struct gt_program_links *links, struct entry *entry)
{
	const char *why = "it may sleep";
	int r = -EINVAL;

	if (!entry->place.sleepable) {
		r = gt_process_gate_add(&links->gate, entry->program);
		why = strerror(-r);
	}
	if (r >= 0)
		entry->number = r;
	else
		gt_notes_add(links->opts.notes, "program %s runs for process %d only, not for those that it starts: %s",
			     bpf_program__name(entry->program), (int)links->opts.pid, why);
}

static void open_gate(struct gt_program_links *links)
{
	unsigned uprobes = 0;
	int r;

	for (unsigned i = 0; i < links->entry_count; i++)
		uprobes += links->entries[i].place.is_uprobe;
	if (!uprobes || links->opts.pid == -1)
		return;
	r = gt_process_gate_open(&links->gate, uprobes, links->opts.pid, links->opts.notes);
	if (r < 0) {
		gt_notes_add(links->opts.notes, "programs at uprobes run for process %d only, not for those that it starts: %s",
			     (int)links->opts.pid, strerror(-r));
		return;
	}
	for (unsigned i = 0; i < links->entry_count; i++) {
		if (links->entries[i].place.is_uprobe)
			put_behind_gate(links, &links->entries[i]);
	}
}

/* What is no uprobe sees the whole system. */
static int attach_others(struct gt_program_links *links)
{
	int r = 0;

	for (unsigned i = 0; !r && i < links->entry_count; i++) {
		const struct entry *entry = &links->entries[i];
		struct bpf_link *link;

		if (entry->place.is_uprobe)
			continue;
		link = bpf_program__attach(entry->program);
		r = link ? keep(links, link) : attach_failed(links, -errno, entry, NULL);
	}
	return r;
}

int gt_program_links_open(struct bpf_object *object, const struct gt_program_links_opts *opts, struct gt_bpf_log *log,
			  struct gt_program_links **ret_links)
{
	struct gt_program_links *links = calloc(1, sizeof(*links));
	int r;

	if (!links)
		return gt_error(-ENOMEM, "no memory for links");
	links->opts = *opts;
	links->log = log;
	r = read_places(links, object);
	if (!r) {
		open_gate(links);
		r = begin_libraries(links);
	}
	if (!r)
		r = attach_others(links);
	if (r) {
		gt_program_links_close(links);
		return r;
	}
	*ret_links = links;
	return 0;
}

void gt_program_links_look(struct gt_program_links *links, struct gt_bpf_log *log)
{
	links->log = log;
	for (unsigned i = 0; i < links->library_count; i++) {
		if (links->libraries[i].files)
			gt_library_files_look(links->libraries[i].files);
	}
}

bool gt_program_links_has_processes(const struct gt_program_links *links)
{
	return gt_process_filter_has_any(&links->gate.processes);
}

void gt_program_links_close(struct gt_program_links *links)
{
	if (!links)
		return;
	for (unsigned i = 0; i < links->library_count; i++)
		gt_library_files_close(links->libraries[i].files);
	for (unsigned i = 0; i < links->count; i++)
		bpf_link__destroy(links->list[i]);
	gt_process_gate_close(&links->gate);
	free(links->entries);
	free(links->libraries);
	free(links->list);
	free(links);
}
