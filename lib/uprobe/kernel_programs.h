/* SPDX-License-Identifier: Apache-2.0 */
/* A user's programs for the operating system's kernel, loaded and attached by libbpf. */
#ifndef GT_UPROBE_KERNEL_PROGRAMS_H
#define GT_UPROBE_KERNEL_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/uprobe/program_links.h"

struct gt_kernel_programs;

/* What a map is to be in the kernel, where that is not what the object says. */
struct gt_kernel_map {
	const char *name;
	bool array;		/* an array with these flags, whatever its type */
	bool optional;		/* but not if it is to be pinned, as others may have it then */
	uint32_t flags;
	int fd;			/* of an array made before, which takes its place; else -1 */
	const void *initial;	/* global variables: their contents, NULL: the object's */
	size_t initial_size;
};

/*
 * Load the programs named in `names` out of a BPF object; the others, which are
 * for the GPU, are left out together with maps that only they use.
 * Errors with gt_error() text.
 */
int gt_kernel_programs_load(const void *elf, size_t size, const char *const *names, unsigned count,
			    const struct gt_kernel_map *maps, unsigned map_count,
			    struct gt_kernel_programs **ret_programs);

/* Attach them.  Errors of gt_program_links_open(), with gt_error() text: none is attached then. */
int gt_kernel_programs_attach(struct gt_kernel_programs *programs, const struct gt_program_links_opts *opts);

/* Attach them to files that were loaded since, too. */
void gt_kernel_programs_look(struct gt_kernel_programs *programs);

/* Is any of the processes running that their uprobes are for?  false also when that is not known. */
bool gt_kernel_programs_have_processes(const struct gt_kernel_programs *programs);

/* Detach and unload; NULL is fine. */
void gt_kernel_programs_detach(struct gt_kernel_programs *programs);

/* File descriptor of one of the object's loaded maps, -ENOENT. */
int gt_kernel_programs_map_fd(const struct gt_kernel_programs *programs, const char *name);

#endif
