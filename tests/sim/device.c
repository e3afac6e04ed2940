/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

struct test_piece {
	struct test_piece *next;
	void *addr;
	size_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* for every device's pieces and text */

static int check(void *data, uint64_t addr, uint64_t size, uint64_t *ret_base, uint64_t *ret_size)
{
	struct test_device *device = data;
	struct test_piece *piece;
	int found = -1;

	pthread_mutex_lock(&lock);
	for (piece = device->pieces; piece; piece = piece->next) {
		uint64_t base = (uintptr_t)piece->addr;

		if (addr >= base && addr - base <= piece->size && size <= piece->size - (addr - base)) {
			*ret_base = base;
			*ret_size = piece->size;
			found = 0;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static void *take(void *data, size_t size)
{
	struct test_device *device = data;
	struct test_piece *piece = NULL;
	void *addr = NULL;

	pthread_mutex_lock(&lock);
	if (size <= device->limit - device->allocated && !posix_memalign(&addr, 256, size ? size : 1)) {
		piece = malloc(sizeof(*piece));
		memset(addr, 0, size);
		piece->addr = addr;
		piece->size = size;
		piece->next = device->pieces;
		device->pieces = piece;
		device->allocated += size;
	}
	pthread_mutex_unlock(&lock);
	return addr;
}

static void give(void *data, void *addr)
{
	struct test_device *device = data;
	struct test_piece **link, *piece;

	pthread_mutex_lock(&lock);
	for (link = &device->pieces; (piece = *link); link = &piece->next)
		if (piece->addr == addr) {
			*link = piece->next;
			device->allocated -= piece->size;
			free(piece->addr);
			free(piece);
			break;
		}
	pthread_mutex_unlock(&lock);
}

static uint64_t globaltimer(void *data)
{
	struct test_device *device = data;

	return __atomic_add_fetch(&device->timer, 32, __ATOMIC_RELAXED);
}

static void print(void *data, const char *text, size_t length)
{
	struct test_device *device = data;

	pthread_mutex_lock(&lock);
	if (length < sizeof(device->printed) - device->printed_length) {
		memcpy(device->printed + device->printed_length, text, length);
		device->printed_length += length;
		device->printed[device->printed_length] = 0;
	}
	pthread_mutex_unlock(&lock);
}

void test_device_init(struct test_device *device)
{
	memset(device, 0, sizeof(*device));
	device->limit = (size_t)1 << 30;
	device->dev.arch = 90;
	device->dev.sm_count = 16;
	device->dev.max_shared_per_block = 227 << 10;
	device->dev.check = check;
	device->dev.alloc = take;
	device->dev.release = give;
	device->dev.globaltimer = globaltimer;
	device->dev.print = print;
	device->dev.data = device;
}

void test_device_done(struct test_device *device)
{
	while (device->pieces)
		give(device, device->pieces->addr);
}

void *test_alloc(struct test_device *device, size_t size)
{
	return take(device, size);
}

void test_release(struct test_device *device, void *addr)
{
	give(device, addr);
}
