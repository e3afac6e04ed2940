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
#define ENOTSUPP 524	/* the kernel's own: it knows no way around the instruction that would be replaced */
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

/* What a multi-uprobe link is made of, for all functions that are wanted. */
struct multi {
	int prog_fd;
	const char *path;
	bool at_return;
	uint64_t *offsets, *cookies;
};

static int create_multi(const struct multi *multi, unsigned first, unsigned count)
{
	struct multi_attr attr = {
		.prog_fd = multi->prog_fd,
		.attach_type = GT_BPF_TRACE_UPROBE_MULTI,
		.path = (uintptr_t)multi->path,
		.offsets = (uintptr_t)(multi->offsets + first),
		.cookies = (uintptr_t)(multi->cookies + first),
		.count = count,
		.multi_flags = multi->at_return ? BPF_F_UPROBE_MULTI_RETURN_ : 0,
	};

	return link_create(&attr, sizeof(attr));
}

static int keep(struct gt_uprobe_links *links, int fd)
{
	int *fds = reallocarray(links->fds, links->count + 1, sizeof(*fds));

	if (!fds) {
		close(fd);
		return -ENOMEM;
	}
	links->fds = fds;
	fds[links->count++] = fd;
	return 0;
}

/* One link, or where the kernel refuses one of its functions, one for each half. */
static int attach_range(const struct multi *multi, unsigned first, unsigned count, struct gt_uprobe_links *links)
{
	int r = create_multi(multi, first, count);

	if (r >= 0)
		return keep(links, r);
	if (r != -ENOTSUPP)
		return r;
	if (count == 1) {
		links->refused++;
		return 0;
	}
	r = attach_range(multi, first, count / 2, links);
	return r ? r : attach_range(multi, first + count / 2, count - count / 2, links);
}

/* What no kernel that knows them takes: a place in a folder. */
bool gt_uprobe_knows_multi(int prog_fd)
{
	uint64_t offset = 0, cookie = 0;
	const struct multi multi = { prog_fd, "/", false, &offset, &cookie };
	int r = create_multi(&multi, 0, 1);

	return r != -EINVAL && r != -EOPNOTSUPP;
}

int gt_uprobe_attach_multi(int prog_fd, const char *path, bool at_return,
			   const struct gt_uprobe_site *sites, unsigned count,
			   struct gt_uprobe_links *ret_links)
{
	uint64_t *offsets = calloc(2 * (size_t)count, sizeof(*offsets));
	struct multi multi = { prog_fd, path, at_return, offsets, offsets + count };
	struct gt_uprobe_links links = { 0 };
	int r;

	if (!offsets)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		multi.offsets[i] = sites[i].offset;
		multi.cookies[i] = sites[i].cookie;
	}
	r = attach_range(&multi, 0, count, &links);
	free(offsets);
	if (r) {
		gt_uprobe_detach(&links);
		return r;
	}
	*ret_links = links;
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
		else if (fd == -ENOTSUPP)
			links.refused++;
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
	*links = (struct gt_uprobe_links){ 0 };
}
