/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/clock/rm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/util/error.h"

/* ---- the kernel ---- */

static int kernel_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void kernel_close(int fd)
{
	close(fd);
}

static int kernel_ioctl(int fd, unsigned long request, void *arg)
{
	int r;

	do
		r = ioctl(fd, request, arg);
	while (r < 0 && (errno == EINTR || errno == EAGAIN));
	return r < 0 ? -errno : 0;
}

static void *kernel_map(int fd, size_t size)
{
	void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	return map == MAP_FAILED ? NULL : map;
}

static void kernel_unmap(void *address, size_t size)
{
	munmap(address, size);
}

static uint32_t kernel_read(const volatile uint32_t *address)
{
	return *address;
}

const struct gt_rm_sys gt_rm_sys_kernel = {
	.open = kernel_open,
	.close = kernel_close,
	.ioctl = kernel_ioctl,
	.map = kernel_map,
	.unmap = kernel_unmap,
	.read = kernel_read,
	.proc = "/proc/driver/nvidia/gpus",
};

/* ---- the three calls of the resource manager; status: the driver's, valid when 0 is returned ---- */

static int rm_ioctl(struct gt_rm *rm, unsigned number, void *arg, size_t size)
{
	return rm->sys->ioctl(rm->ctl, _IOC(_IOC_READ | _IOC_WRITE, 'F', number, size), arg);
}

static int rm_alloc(struct gt_rm *rm, uint32_t parent, uint32_t cls, void *params, uint32_t size,
		    uint32_t *ret_handle, uint32_t *ret_status)
{
	struct gt_rm_alloc arg = {
		.root = rm->client, .parent = parent, .cls = cls,
		.params = (uint64_t)(uintptr_t)params, .size = size,
	};
	int r = rm_ioctl(rm, GT_RM_ESC_ALLOC, &arg, sizeof(arg));

	if (r < 0)
		return r;
	*ret_status = arg.status;
	if (arg.status == 0)
		*ret_handle = arg.handle;
	return 0;
}

static int rm_control(struct gt_rm *rm, uint32_t object, uint32_t cmd, void *params, uint32_t size,
		      uint32_t *ret_status)
{
	struct gt_rm_control arg = {
		.client = rm->client, .object = object, .cmd = cmd,
		.params = (uint64_t)(uintptr_t)params, .size = size,
	};
	int r = rm_ioctl(rm, GT_RM_ESC_CONTROL, &arg, sizeof(arg));

	if (r < 0)
		return r;
	*ret_status = arg.status;
	return 0;
}

static void rm_free(struct gt_rm *rm, uint32_t parent, uint32_t handle)
{
	struct gt_rm_free arg = { .root = rm->client, .parent = parent, .handle = handle };

	rm_ioctl(rm, GT_RM_ESC_FREE, &arg, sizeof(arg));
}

/* One step failed, by errno or by the driver's status: say which. */
static int failed(const struct gt_rm *rm, const char *step, int r, uint32_t status)
{
	const char *version = rm->version[0] ? rm->version : "of unknown release";

	if (r < 0)
		return gt_error(r, "NVIDIA driver %s: %s failed: %s", version, step, strerror(-r));
	return gt_error_vendor(-EPROTO, (int)status, "NVIDIA driver %s: %s was refused with status 0x%x", version,
			       step, status);
}

/* ---- opening, step by step ---- */

static int open_control(struct gt_rm *rm)
{
	rm->ctl = rm->sys->open("/dev/nvidiactl", O_RDWR);
	if (rm->ctl == -ENOENT || rm->ctl == -ENXIO)
		return gt_error(-ENOENT, "there is no /dev/nvidiactl: the NVIDIA driver is not loaded or not visible here");
	if (rm->ctl < 0)
		return gt_error(rm->ctl, "cannot open /dev/nvidiactl: %s", strerror(-rm->ctl));
	return 0;
}

/* An unknown release is tried, since every further step is checked; a known old one is not. */
static int check_version(struct gt_rm *rm)
{
	struct gt_rm_version arg = { .cmd = GT_RM_VERSION_QUERY };
	long major;

	if (rm_ioctl(rm, GT_RM_ESC_VERSION, &arg, sizeof(arg)) < 0)
		return 0;
	snprintf(rm->version, sizeof(rm->version), "%.*s", (int)sizeof(arg.text) - 1, arg.text);
	major = strtol(rm->version, NULL, 10);
	if (major > 0 && major < GT_RM_OLDEST)
		return gt_error(-EOPNOTSUPP, "NVIDIA driver %s: its time page is known from release %d on only",
				rm->version, GT_RM_OLDEST);
	return 0;
}

static int find_card(struct gt_rm *rm, const struct gt_rm_select *select)
{
	struct gt_rm_card cards[GT_RM_CARDS] = { 0 };
	int r = rm_ioctl(rm, GT_RM_ESC_CARDS, cards, sizeof(cards));

	if (r < 0)
		return failed(rm, "listing the GPUs", r, 0);
	return gt_rm_find(rm->sys, cards, GT_RM_CARDS, select, &rm->card);
}

/* Read-only: the kernel then refuses every writable mapping through this fd, even to root. */
static int open_node(const struct gt_rm *rm)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/nvidia%u", rm->card.minor);
	fd = rm->sys->open(path, O_RDONLY);
	if (fd < 0)
		return gt_error(fd, "cannot open %s: %s", path, strerror(-fd));
	return fd;
}

static int become_client(struct gt_rm *rm)
{
	struct gt_rm_id_info id = { .gpu_id = rm->card.gpu_id };
	struct gt_rm_device_params device = { .va_mode = GT_RM_VA_MODE_MULTIPLE };
	uint32_t status = 0, subdevice;
	int r;

	r = rm_alloc(rm, 0, GT_RM_CLASS_CLIENT, NULL, 0, &rm->client, &status);
	if (r < 0 || status)
		return failed(rm, "becoming a client", r, status);
	r = rm_control(rm, rm->client, GT_RM_CTRL_ID_INFO, &id, sizeof(id), &status);
	if (r < 0 || status)
		return failed(rm, "asking for the GPU's instance", r, status);
	device.instance = id.device_instance;
	device.client_share = rm->client;
	r = rm_alloc(rm, rm->client, GT_RM_CLASS_DEVICE, &device, sizeof(device), &rm->device, &status);
	if (r < 0 || status)
		return failed(rm, "making a device object", r, status);
	subdevice = id.subdevice_instance;
	r = rm_alloc(rm, rm->device, GT_RM_CLASS_SUBDEVICE, &subdevice, sizeof(subdevice), &rm->subdevice, &status);
	if (r < 0 || status)
		return failed(rm, "making a subdevice object", r, status);
	return 0;
}

/* For the step of %globaltimer only; not knowing it costs precision, nothing else. */
static void ask_arch(struct gt_rm *rm)
{
	struct gt_rm_arch_info info = { 0 };
	uint32_t status = 0;

	if (rm_control(rm, rm->subdevice, GT_RM_CTRL_ARCH_INFO, &info, sizeof(info), &status) == 0 && status == 0)
		rm->arch = info.architecture;
}

int gt_rm_open(struct gt_rm *rm, const struct gt_rm_sys *sys, const struct gt_rm_select *select)
{
	int r;

	*rm = (struct gt_rm){ .sys = sys, .ctl = -1, .node = -1, .map_fd = -1 };
	r = open_control(rm);
	if (r == 0)
		r = check_version(rm);
	if (r == 0)
		r = find_card(rm, select);
	if (r == 0) {
		rm->node = open_node(rm);
		r = rm->node < 0 ? rm->node : become_client(rm);
	}
	if (r < 0) {
		gt_rm_close(rm, true);
		return r;
	}
	ask_arch(rm);
	return 0;
}

/* ---- the time page ---- */

static int make_page(struct gt_rm *rm)
{
	static const uint32_t classes[] = {
		GT_RM_CLASS_USERMODE_VOLTA, GT_RM_CLASS_USERMODE_TURING, GT_RM_CLASS_USERMODE_AMPERE,
		GT_RM_CLASS_USERMODE_HOPPER, GT_RM_CLASS_USERMODE_BLACKWELL,
	};
	uint32_t status = 0;
	int r;

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		r = rm_alloc(rm, rm->subdevice, classes[i], NULL, 0, &rm->page, &status);
		if (r < 0)
			return failed(rm, "making the time page's object", r, 0);
		if (status == 0)
			return 0;
	}
	return failed(rm, "making the time page's object", 0, status);
}

static int map_page(struct gt_rm *rm)
{
	struct gt_rm_map_memory arg = {
		.client = rm->client, .device = rm->subdevice, .memory = rm->page,
		.length = GT_RM_USERMODE_SIZE, .flags = GT_RM_MAP_READ_ONLY,
	};
	int r;

	rm->map_fd = open_node(rm);	/* an fd carries one mapping */
	if (rm->map_fd < 0)
		return rm->map_fd;
	arg.fd = rm->map_fd;
	r = rm_ioctl(rm, GT_RM_ESC_MAP, &arg, sizeof(arg));
	if (r < 0 || arg.status)
		return failed(rm, "preparing the mapping of the time page", r, arg.status);
	rm->linear = arg.linear;
	rm->map = rm->sys->map(rm->map_fd, GT_RM_USERMODE_SIZE);
	if (!rm->map)
		return failed(rm, "mapping the time page", -errno, 0);
	return 0;
}

static void drop_page(struct gt_rm *rm, bool ours)
{
	struct gt_rm_unmap_memory arg = {
		.client = rm->client, .device = rm->subdevice, .memory = rm->page, .linear = rm->linear,
	};

	/* A child does not inherit the mapping, and something else may live at its address. */
	if (ours && rm->map)
		rm->sys->unmap((void *)rm->map, GT_RM_USERMODE_SIZE);
	if (ours && rm->linear)
		rm_ioctl(rm, GT_RM_ESC_UNMAP, &arg, sizeof(arg));
	if (ours && rm->page)
		rm_free(rm, rm->subdevice, rm->page);
	if (rm->map_fd >= 0)
		rm->sys->close(rm->map_fd);
	rm->map = NULL;
	rm->low = rm->high = NULL;
	rm->linear = 0;
	rm->page = 0;
	rm->map_fd = -1;
}

int gt_rm_map_time(struct gt_rm *rm)
{
	int r = make_page(rm);

	if (r == 0)
		r = map_page(rm);
	if (r < 0) {
		drop_page(rm, true);
		return r;
	}
	rm->low = (const volatile uint32_t *)((const char *)rm->map + GT_RM_TIME_LOW);
	rm->high = (const volatile uint32_t *)((const char *)rm->map + GT_RM_TIME_HIGH);
	return 0;
}

int gt_rm_call_time(struct gt_rm *rm, uint64_t *ret_ns)
{
	uint64_t ns = 0;
	uint32_t status = 0;
	int r = rm_control(rm, rm->subdevice, GT_RM_CTRL_GET_TIME, &ns, sizeof(ns), &status);

	if (r < 0 || status)
		return failed(rm, "asking for the GPU's time", r, status);
	*ret_ns = ns;
	return 0;
}

void gt_rm_close(struct gt_rm *rm, bool ours)
{
	if (rm->ctl >= 0)
		drop_page(rm, ours);
	if (ours && rm->client)
		rm_free(rm, 0, rm->client);	/* and with it all that belongs to it */
	if (rm->node >= 0)
		rm->sys->close(rm->node);
	if (rm->ctl >= 0)
		rm->sys->close(rm->ctl);
	rm->client = 0;
	rm->ctl = rm->node = -1;
}
