/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small client of NVIDIA's kernel driver that maps the page of a GPU holding
 * its time, read-only.  No CUDA, no context, no /dev/nvidia-uvm; only
 * /dev/nvidiactl and /dev/nvidiaN, which any user may open.  Nothing is written
 * to the page, and no setting is changed.  While a client is open the GPU stays
 * initialised, and tools that reset it see it in use.
 */
#ifndef GT_CLOCK_RM_H
#define GT_CLOCK_RM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/clock/rm_abi.h"

/* The system calls used; tests put a driver of their own here. */
struct gt_rm_sys {
	int (*open)(const char *path, int flags);	/* fd or -errno */
	void (*close)(int fd);
	int (*ioctl)(int fd, unsigned long request, void *arg);	/* 0 or -errno */
	void *(*map)(int fd, size_t size);	/* read-only; NULL on failure, with errno */
	void (*unmap)(void *address, size_t size);
	uint32_t (*read)(const volatile uint32_t *address);	/* in such a mapping */
	const char *proc;			/* directory of a directory for each GPU */
};
extern const struct gt_rm_sys gt_rm_sys_kernel;

struct gt_rm_select {
	int by;			/* enum gputrace_clock_select: ordinal, PCI or UUID */
	uint32_t ordinal;
	uint32_t domain, bus, device;
	uint8_t uuid[16];
};

struct gt_rm {
	const struct gt_rm_sys *sys;
	int ctl, node, map_fd;		/* -1: not open */
	uint32_t client, device, subdevice, page;	/* handles, 0: none */
	struct gt_rm_card card;
	char version[64];		/* of the driver; empty when it does not say */
	uint32_t arch;			/* 0: unknown */
	uint64_t linear;
	const void *map;		/* NULL: not mapped */
	const volatile uint32_t *low, *high;
};

/*
 * Become a client for one GPU.  Each step is checked; a failure says which step
 * and why in gt_error_text(), with the driver's status as the vendor's code.
 * -ENOENT: no driver; -ENODEV: no such GPU; -EACCES, ...; -EOPNOTSUPP: the
 * driver's release is older than what is known; -EPROTO: the driver refused.
 */
int gt_rm_open(struct gt_rm *rm, const struct gt_rm_sys *sys, const struct gt_rm_select *select);

/* Map the time page.  Errors likewise. */
int gt_rm_map_time(struct gt_rm *rm);

/* Ask the driver for the GPU's time, ns: 8 us. */
int gt_rm_call_time(struct gt_rm *rm, uint64_t *ret_ns);

/*
 * Give everything back.  ours: false in a child of the process that opened it,
 * where the driver's objects are still the parent's and only fds are closed.
 */
void gt_rm_close(struct gt_rm *rm, bool ours);

/* Among the cards of /dev/nvidiactl; -ENODEV. */
int gt_rm_find(const struct gt_rm_sys *sys, const struct gt_rm_card *cards, size_t n,
	       const struct gt_rm_select *select, struct gt_rm_card *ret_card);

#endif
