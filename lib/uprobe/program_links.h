/* SPDX-License-Identifier: Apache-2.0 */
/* A user's programs for the kernel, at the places that their sections name. */
#ifndef GT_UPROBE_PROGRAM_LINKS_H
#define GT_UPROBE_PROGRAM_LINKS_H

#include <stdbool.h>
#include <sys/types.h>

struct bpf_object;
struct gt_bpf_log;
struct gt_notes;
struct gt_program_links;

struct gt_program_links_opts {
	const char *libcuda;	/* the file for sections that mean libcuda; NULL: there is none */
	pid_t pid;		/* uprobes are for this process and those it has started and will start; -1: for all */
	bool translated;	/* it runs under valgrind, where a uprobe would end it */
	bool follow;		/* libraries without a path: every file that these processes have or load later */
	struct gt_notes *notes;	/* gets what does not work as it should, also later; has to live as long as the links */
};

/*
 * Attach the object's programs that are loaded.  -ENOENT: no such library or function; -EBUSY: a program
 * under valgrind has the file; -EINVAL: a section's; the errors of gt_uprobe_error(); with gt_error() text.
 * Between gt_bpf_log_begin() and gt_bpf_log_end(), as the others.
 */
int gt_program_links_open(struct bpf_object *object, const struct gt_program_links_opts *opts, struct gt_bpf_log *log,
			  struct gt_program_links **ret_links);

/* Attach to files that were loaded since. */
void gt_program_links_look(struct gt_program_links *links, struct gt_bpf_log *log);

/* Is any of the processes running?  false also when that is not known. */
bool gt_program_links_has_processes(const struct gt_program_links *links);

/* NULL is fine. */
void gt_program_links_close(struct gt_program_links *links);

#endif
