/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By system calls rather than by libbpf: old libbpf knows no multi-uprobe links,
 * and for single ones it keeps two descriptors each where one is enough.
 */
#include "lib/uprobe/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BPF_F_UPROBE_MULTI_RETURN_ 1u
#define DESCRIPTORS_SPARED 64	/* left to the program that uses this library */

/* The part of union bpf_attr that BPF_LINK_CREATE reads for a multi-uprobe link. */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, reserved;
};

static int link_create(const void *attr, size_t size)
{
	/* The kernel sets close-on-exec on every BPF descriptor. */
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, attr, size);

	return fd < 0 ? -errno : fd;
}

static int create_multi(int prog_fd, const char *path, bool at_return,
			const uint64_t *offsets, const uint64_t *cookies, unsigned count)
{
	struct multi_attr attr = {
		.prog_fd = prog_fd,
		.attach_type = GT_BPF_TRACE_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.count = count,
		.multi_flags = at_return ? BPF_F_UPROBE_MULTI_RETURN_ : 0,
	};

	return link_create(&attr, sizeof(attr));
}

int gt_uprobe_attach_multi(int prog_fd, const char *path, bool at_return,
			   const struct gt_uprobe_site *sites, unsigned count,
			   struct gt_uprobe_links *ret_links)
{
	uint64_t *offsets = calloc(2 * (size_t)count, sizeof(*offsets));
	uint64_t *cookies = offsets + count;
	int *fds = malloc(sizeof(*fds));
	int fd = -ENOMEM;

	if (offsets && fds) {
		for (unsigned i = 0; i < count; i++) {
			offsets[i] = sites[i].offset;
			cookies[i] = sites[i].cookie;
		}
		fd = create_multi(prog_fd, path, at_return, offsets, cookies, count);
	}
	free(offsets);
	if (fd < 0) {
		free(fds);
		return fd;
	}
	fds[0] = fd;
	ret_links->fds = fds;
	ret_links->count = 1;
	return 0;
}

/* A number in a file of the uprobe event source, e.g. "6" or "config:0". */
static int read_event_source(const char *name, const char *format, unsigned *ret_value)
{
	char path[128];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/uprobe/%s", name);
	f = fopen(path, "re");
	if (!f)
		return -EOPNOTSUPP;
	n = fscanf(f, format, ret_value);
	fclose(f);
	return n == 1 && *ret_value < 64 * 1024 ? 0 : -EOPNOTSUPP;
}

static int attach_one(int prog_fd, struct perf_event_attr *event, const struct gt_uprobe_site *site)
{
	union bpf_attr attr;
	int event_fd, fd;

	event->probe_offset = site->offset;
	event_fd = syscall(SYS_perf_event_open, event, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event_fd < 0)
		return -errno;
	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = prog_fd;
	attr.link_create.target_fd = event_fd;
	attr.link_create.attach_type = BPF_PERF_EVENT;
	attr.link_create.perf_event.bpf_cookie = site->cookie;
	fd = link_create(&attr, sizeof(attr));
	/* The link keeps the event alive. */
	close(event_fd);
	/* Before 5.15 the kernel does not know links of this kind. */
	return fd == -EINVAL ? -EOPNOTSUPP : fd;
}

unsigned gt_uprobe_each_limit(int any_fd)
{
	int lowest = fcntl(any_fd, F_DUPFD_CLOEXEC, 0);
	struct rlimit limit;

	if (lowest < 0)
		return 0;
	close(lowest);
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > 1 << 20)
		limit.rlim_cur = 1 << 20;
	if ((rlim_t)lowest + DESCRIPTORS_SPARED >= limit.rlim_cur)
		return 0;
	return limit.rlim_cur - lowest - DESCRIPTORS_SPARED;
}

int gt_uprobe_attach_each(int prog_fd, const char *path, bool at_return,
			  const struct gt_uprobe_site *sites, unsigned count,
			  struct gt_uprobe_links *ret_links)
{
	struct gt_uprobe_links links = { .fds = calloc(count, sizeof(*links.fds)) };
	struct perf_event_attr event = {
		.size = sizeof(event),
		.uprobe_path = (uintptr_t)path,
	};
	unsigned type, return_bit;
	int r;

	if (!links.fds)
		return -ENOMEM;
	r = read_event_source("type", "%u", &type);
	if (r == 0)
		r = read_event_source("format/retprobe", "config:%u", &return_bit);
	event.type = r ? 0 : type;
	event.config = !r && at_return ? 1ull << (return_bit & 63) : 0;
	for (unsigned i = 0; r == 0 && i < count; i++) {
		int fd = attach_one(prog_fd, &event, &sites[i]);

		if (fd >= 0)
			links.fds[links.count++] = fd;
		else
			r = fd;
	}
	if (r < 0) {
		gt_uprobe_detach(&links);
		return r;
	}
	*ret_links = links;
	return 0;
}

void gt_uprobe_detach(struct gt_uprobe_links *links)
{
	for (unsigned i = 0; i < links->count; i++)
		close(links->fds[i]);
	free(links->fds);
	links->fds = NULL;
	links->count = 0;
}
