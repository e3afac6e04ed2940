/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is used of the interface between NVIDIA's kernel driver and its user
 * space (the "resource manager").  It is private to NVIDIA but visible in the
 * open kernel modules; these parts are the same from release 535 to 595.  Own
 * declarations; sizes are asserted, since the driver checks them too.
 */
#ifndef GT_CLOCK_RM_ABI_H
#define GT_CLOCK_RM_ABI_H

#include <stdint.h>

#define GT_RM_OLDEST 535		/* major release */
#define GT_RM_CARDS 32

enum {				/* ioctl numbers, magic 'F' */
	GT_RM_ESC_FREE = 0x29,
	GT_RM_ESC_CONTROL = 0x2a,
	GT_RM_ESC_ALLOC = 0x2b,
	GT_RM_ESC_MAP = 0x4e,
	GT_RM_ESC_UNMAP = 0x4f,
	GT_RM_ESC_CARDS = 200,
	GT_RM_ESC_VERSION = 210,
};

enum {				/* object classes */
	GT_RM_CLASS_CLIENT = 0x41,
	GT_RM_CLASS_DEVICE = 0x80,
	GT_RM_CLASS_SUBDEVICE = 0x2080,
	/* "user mode" pages, Volta to Blackwell: doorbell and time, one page layout */
	GT_RM_CLASS_USERMODE_VOLTA = 0xc361,
	GT_RM_CLASS_USERMODE_TURING = 0xc461,
	GT_RM_CLASS_USERMODE_AMPERE = 0xc561,
	GT_RM_CLASS_USERMODE_HOPPER = 0xc661,
	GT_RM_CLASS_USERMODE_BLACKWELL = 0xc761,
};

#define GT_RM_USERMODE_SIZE 0x10000u
#define GT_RM_TIME_LOW 0x80u		/* byte offsets in such a page */
#define GT_RM_TIME_HIGH 0x84u

enum {				/* control commands */
	GT_RM_CTRL_ID_INFO = 0x205,		/* of a client */
	GT_RM_CTRL_GET_TIME = 0x20800403,	/* of a subdevice */
	GT_RM_CTRL_ARCH_INFO = 0x20801701,
};

#define GT_RM_ARCH_HOPPER 0x180u	/* Ada is 0x190 */
#define GT_RM_ARCH_ADA 0x190u

struct gt_rm_alloc {
	uint32_t root, parent, handle, cls;
	uint64_t params;
	uint32_t size, status;
};

struct gt_rm_control {
	uint32_t client, object, cmd, flags;
	uint64_t params;
	uint32_t size, status;
};

struct gt_rm_free {
	uint32_t root, parent, handle, status;
};

struct gt_rm_map_memory {
	uint32_t client, device, memory, pad;
	uint64_t offset, length, linear;
	uint32_t status, flags;
	int32_t fd, pad2;
};
#define GT_RM_MAP_READ_ONLY 1u

struct gt_rm_unmap_memory {
	uint32_t client, device, memory, pad;
	uint64_t linear;
	uint32_t status, flags;
};

struct gt_rm_card {
	uint8_t valid, pad[3];
	uint32_t domain;
	uint8_t bus, slot, function, pad2;
	uint16_t vendor, device;
	uint32_t gpu_id;
	uint16_t irq, pad3;
	uint64_t reg, reg_size, fb, fb_size;
	uint32_t minor;
	char name[10];
	uint8_t pad4[2];
};

struct gt_rm_version {
	uint32_t cmd, reply;
	char text[64];
};
#define GT_RM_VERSION_QUERY '2'

struct gt_rm_device_params {
	uint32_t instance, client_share, target_client, target_device, flags, pad;
	uint64_t va_size, va_start, va_limit;
	uint32_t va_mode, pad2;
};
#define GT_RM_VA_MODE_MULTIPLE 2u

struct gt_rm_id_info {
	uint32_t gpu_id, flags, device_instance, subdevice_instance, sli, board, gpu_instance;
	int32_t numa;
};

struct gt_rm_arch_info {
	uint32_t architecture, implementation, revision;
	uint8_t subrevision, pad[3];
};

_Static_assert(sizeof(struct gt_rm_alloc) == 32, "layout");
_Static_assert(sizeof(struct gt_rm_control) == 32, "layout");
_Static_assert(sizeof(struct gt_rm_free) == 16, "layout");
_Static_assert(sizeof(struct gt_rm_map_memory) == 56, "layout");
_Static_assert(sizeof(struct gt_rm_unmap_memory) == 32, "layout");
_Static_assert(sizeof(struct gt_rm_card) == 72, "layout");
_Static_assert(sizeof(struct gt_rm_version) == 72, "layout");
_Static_assert(sizeof(struct gt_rm_device_params) == 56, "layout");
_Static_assert(sizeof(struct gt_rm_id_info) == 32, "layout");
_Static_assert(sizeof(struct gt_rm_arch_info) == 16, "layout");

#endif
