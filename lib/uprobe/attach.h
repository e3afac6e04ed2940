/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching one BPF program to many places of one file. */
#ifndef GT_UPROBE_ATTACH_H
#define GT_UPROBE_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

/* A place in the file and the cookie that the program finds there. */
struct gt_uprobe_site {
	uint64_t offset;
	uint64_t cookie;
};

/* What was attached; closing the descriptors detaches. */
struct gt_uprobe_links {
	int *fds;
	unsigned count;
	unsigned refused;	/* functions that begin with an instruction that the kernel cannot replace */
};

/* The bpf_attach_type a program must be loaded for before gt_uprobe_attach_multi(). */
#define GT_BPF_TRACE_UPROBE_MULTI 48

/* Does the kernel know links to many places (Linux 6.6)?  prog_fd: a program loaded for them. */
bool gt_uprobe_knows_multi(int prog_fd);

/*
 * All places by one link, or some where the kernel refuses a place.  Errors of bpf(2), without gt_error() text.
 */
int gt_uprobe_attach_multi(int prog_fd, const char *path, bool at_return,
			   const struct gt_uprobe_site *sites, unsigned count,
			   struct gt_uprobe_links *ret_links);

/*
 * One link and so one descriptor for each place (Linux 5.15).  -EOPNOTSUPP: the
 * kernel has no uprobes or no cookies; errors of perf_event_open(2) and bpf(2).
 */
int gt_uprobe_attach_each(int prog_fd, const char *path, bool at_return,
			  const struct gt_uprobe_site *sites, unsigned count,
			  struct gt_uprobe_links *ret_links);

/* How many links gt_uprobe_attach_each() could make and leave some descriptors to others; any_fd: an open one. */
unsigned gt_uprobe_each_limit(int any_fd);

void gt_uprobe_detach(struct gt_uprobe_links *links);

#endif
