/* SPDX-License-Identifier: Apache-2.0 */
/* A user's programs for the operating system's kernel, loaded and attached by libbpf. */
#ifndef GT_UPROBE_KERNEL_PROGRAMS_H
#define GT_UPROBE_KERNEL_PROGRAMS_H

#include <stddef.h>
#include <sys/types.h>

struct gt_kernel_programs;

/*
 * Load the programs named in `names` out of a BPF object (the others, which are
 * for the GPU, are left out together with maps that only they use) and attach
 * them; uprobe sections without a path or whose library is "libcuda.so.1" get
 * `libcuda`.  pid: for uprobes, the process they are for, -1 for all.
 * Errors with gt_error() text; all or nothing.
 */
int gt_kernel_programs_attach(const void *elf, size_t size, const char *const *names, unsigned count,
			      const char *libcuda, pid_t pid, struct gt_kernel_programs **ret_programs);
void gt_kernel_programs_detach(struct gt_kernel_programs *programs);

/* File descriptor of one of the object's loaded maps, -ENOENT. */
int gt_kernel_programs_map_fd(const struct gt_kernel_programs *programs, const char *name);

#endif
