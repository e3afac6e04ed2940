/* SPDX-License-Identifier: Apache-2.0 */
#include "fake-driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "lib/clock/timer.h"

#define CLIENT 0xc1d00001u
#define STATUS_INVALID_CLASS 0x22u
#define STATUS_REFUSED 0x1bu
#define STEP 32

struct fake_driver fake;
static uint32_t page[GT_RM_USERMODE_SIZE / 4];

void fake_reset(void)
{
	fake = (struct fake_driver){
		.version = "580.159.04", .arch = GT_RM_ARCH_HOPPER, .time_class = GT_RM_CLASS_USERMODE_VOLTA,
	};
	fake_sys.proc = "/nonexistent";
}

int64_t fake_gpu(int64_t raw)
{
	int64_t gpu = INT64_C(1795958394912347424) + raw + (int64_t)((__int128)raw * 47 / 10000000) + fake.jump;

	return gpu - gpu % STEP;
}

static int fake_open(const char *path, int flags)
{
	(void)flags;
	if (fake.no_path && strcmp(fake.no_path, path) == 0)
		return -EACCES;
	if (strcmp(path, "/dev/nvidiactl") == 0 || strcmp(path, "/dev/nvidia0") == 0 ||
	    strcmp(path, "/dev/nvidia1") == 0)
		return 1000 + fake.fds++;
	return -ENOENT;
}

static void fake_close(int fd)
{
	if (fd < 1000)
		abort();
	fake.fds--;
}

static void list_cards(struct gt_rm_card *cards)
{
	cards[0] = (struct gt_rm_card){ .valid = 1, .bus = 0x2a, .gpu_id = 0x2a00, .minor = 0 };
	cards[3] = (struct gt_rm_card){ .valid = 1, .bus = 0x06, .gpu_id = 0x600, .minor = 1 };
}

static bool is_time_class(uint32_t cls)
{
	return (cls & 0xff) == 0x61;
}

static void alloc_object(struct gt_rm_alloc *arg)
{
	bool known = arg->cls == GT_RM_CLASS_CLIENT || arg->cls == GT_RM_CLASS_DEVICE ||
		     arg->cls == GT_RM_CLASS_SUBDEVICE || arg->cls == fake.time_class;

	if (!known || arg->cls == fake.no_class || (is_time_class(arg->cls) && fake.no_class == fake.time_class)) {
		arg->status = known ? STATUS_REFUSED : STATUS_INVALID_CLASS;
		return;
	}
	arg->handle = CLIENT + (uint32_t)fake.objects;
	fake.objects++;
}

static void free_object(const struct gt_rm_free *arg)
{
	fake.frees++;
	if (arg->handle == arg->root)
		fake.objects = 0;	/* a client takes everything along */
	else
		fake.objects--;
}

static void control(struct gt_rm_control *arg)
{
	void *params = (void *)(uintptr_t)arg->params;

	if (arg->cmd == fake.no_control) {
		arg->status = STATUS_REFUSED;
		return;
	}
	switch (arg->cmd) {
	case GT_RM_CTRL_ID_INFO:
		((struct gt_rm_id_info *)params)->device_instance = 1;
		break;
	case GT_RM_CTRL_ARCH_INFO:
		((struct gt_rm_arch_info *)params)->architecture = fake.arch;
		break;
	case GT_RM_CTRL_GET_TIME:
		*(uint64_t *)params = (uint64_t)fake_gpu(gt_timer_now());
		break;
	default:
		arg->status = STATUS_REFUSED;
	}
}

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	struct gt_rm_version *version = arg;

	if (fd < 1000 || _IOC_TYPE(request) != 'F')
		abort();
	if (_IOC_NR(request) == fake.no_ioctl)
		return -EPERM;
	switch (_IOC_NR(request)) {
	case GT_RM_ESC_VERSION:
		if (!fake.version)
			return -EINVAL;
		strcpy(version->text, fake.version);
		return 0;
	case GT_RM_ESC_CARDS:
		list_cards(arg);
		return 0;
	case GT_RM_ESC_ALLOC:
		alloc_object(arg);
		return 0;
	case GT_RM_ESC_FREE:
		free_object(arg);
		return 0;
	case GT_RM_ESC_CONTROL:
		control(arg);
		return 0;
	case GT_RM_ESC_MAP:
		((struct gt_rm_map_memory *)arg)->linear = 0x7000;
		fake.maps++;
		fake.maps_made++;
		return 0;
	case GT_RM_ESC_UNMAP:
		fake.maps--;
		return 0;
	default:
		return -EINVAL;
	}
}

static void *fake_map(int fd, size_t size)
{
	if (fd < 1000 || size != sizeof(page))
		abort();
	errno = EPERM;
	return fake.no_map ? NULL : page;
}

static void fake_unmap(void *address, size_t size)
{
	if (address != page || size != sizeof(page))
		abort();
}

static uint32_t fake_read(const volatile uint32_t *address)
{
	static const int64_t standing = INT64_C(1795958394912347424);
	int64_t gpu = fake.frozen ? standing : fake_gpu(gt_timer_now());

	if (fake.lost)
		return UINT32_MAX;
	if (address == page + GT_RM_TIME_LOW / 4)
		return (uint32_t)gpu;
	if (address == page + GT_RM_TIME_HIGH / 4)
		return (uint32_t)(gpu >> 32);
	abort();
}

struct gt_rm_sys fake_sys = {
	.open = fake_open,
	.close = fake_close,
	.ioctl = fake_ioctl,
	.map = fake_map,
	.unmap = fake_unmap,
	.read = fake_read,
};
