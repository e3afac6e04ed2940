/* SPDX-License-Identifier: Apache-2.0 */
/* Images found in the memory of the process itself, and what only looks like one. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/agent/build/build.h"
#include "lib/agent/module/embedded.h"
#include "tests/image/common.h"

/* A device of one kind. */
static unsigned arch = 90;

unsigned gt_device_archs(unsigned archs[GT_ARCHS_MAX])
{
	archs[0] = arch;
	return 1;
}

#define WRAPPERS 8
static struct {
	uint32_t magic, version;
	const void *image;
	void *second;
} wrappers[WRAPPERS] __attribute__((section(".nvFatBinSegment"))) = { { .magic = 0 } };

static void carry(unsigned i, uint32_t version, const void *image)
{
	wrappers[i].magic = 0x466243b1;
	wrappers[i].version = version;
	wrappers[i].image = image;
}

static void set_up(void)
{
	memset(wrappers, 0, sizeof(wrappers));
	gt_embedded_forget();
	arch = 90;
}

static unsigned count_named(const char *name)
{
	unsigned at = 0;

	while (gt_embedded_next(name, arch, &at))
		;
	return at;
}

/* Each way that nvcc compresses; a second wrapper for the same image counts once. */
START_TEST(found)
{
	static const char *const modes[] = { "none.fatbin", "speed.fatbin", "balance.fatbin", "size.fatbin" };
	struct gt_source whole, part;
	unsigned at = 0;
	size_t size;
	void *image = load(modes[_i], &size), *copy;

	carry(3, 1, image);
	carry(5, 2, image);
	gt_embedded_find();
	ck_assert_uint_eq(gt_embedded_count(), 1);
	ck_assert_uint_eq(count_named("scale"), 1);
	ck_assert_uint_eq(count_named("missing"), 0);
	ck_assert_uint_eq(gt_embedded_next("scale", 90, &at), (uintptr_t)image);
	/* What the driver would choose from is all there. */
	copy = gt_embedded_copy((uintptr_t)image, 90);
	ck_assert_ptr_nonnull(copy);
	ck_assert(gt_source_open(image, 90, &whole));
	ck_assert(gt_source_open(copy, 90, &part));
	ck_assert(!memcmp(whole.hash, part.hash, sizeof(whole.hash)));
	ck_assert_ptr_nonnull(gt_source_cubin(&part));
	ck_assert_ptr_nonnull(gt_source_ptx(&part));
	ck_assert_ptr_nonnull(gt_source_cubin(&whole));
	ck_assert_uint_eq(part.cubin_size, whole.cubin_size);
	ck_assert(!memcmp(part.cubin, whole.cubin, whole.cubin_size));
	gt_source_close(&whole);
	gt_source_close(&part);
	free(copy);
	free(image);
}
END_TEST

/* PTX, where no machine code is for the device; nothing at all for an old one. */
START_TEST(other_devices)
{
	size_t size;
	void *image = load("balance.fatbin", &size);

	carry(0, 1, image);
	arch = 120;
	gt_embedded_find();
	ck_assert_uint_eq(count_named("scale"), 1);
	arch = 50;
	gt_embedded_find();
	ck_assert_uint_eq(gt_embedded_count(), 1);
	ck_assert_uint_eq(count_named("scale"), 0);
	free(image);
}
END_TEST

/* Two images with a kernel of the same name; one goes away between the looking and the use. */
START_TEST(several)
{
	size_t size, room;
	void *image = load("none.fatbin", &size), *other;

	room = (size + 4095) & ~(size_t)4095;
	other = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(other, image, size);
	carry(0, 1, image);
	carry(1, 1, other);
	gt_embedded_find();
	ck_assert_uint_eq(gt_embedded_count(), 2);
	ck_assert_uint_eq(count_named("scale"), 2);
	munmap(other, room);
	ck_assert_ptr_null(gt_embedded_copy((uintptr_t)other, 90));
	gt_embedded_find();
	ck_assert_uint_eq(gt_embedded_count(), 1);
	free(image);
}
END_TEST

static void put64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

/* What leads nowhere or has impossible sizes is left out, and the good one is still found. */
START_TEST(damaged)
{
	size_t size;
	uint8_t *image = load("none.fatbin", &size), *bad = load("none.fatbin", &size);
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	carry(0, 1, image);
	carry(1, 1, NULL);
	carry(2, 1, (void *)16);
	carry(3, 9, image);
	carry(4, 1, &wrappers[4]);
	carry(5, 1, bad);
	/* Its first bytes are the last that can be read. */
	mprotect(page + 4096, 4096, PROT_NONE);
	memcpy(page + 4096 - 80, image, 80);
	carry(6, 1, page + 4096 - 80);
	switch (_i) {
	case 0:		/* a member of no size, over and over again */
		memset(bad + 16, 0, 64);
		break;
	case 1:		/* larger than the image */
		put64(bad + 16 + 8, UINT64_MAX - 64);
		break;
	case 2:		/* an image that says that it is huge: no more memory is touched than is there */
		put64(bad + 8, UINT64_C(7) << 30);
		break;
	case 3:		/* compressed to more than it takes, and of no kind that is known */
		bad[16 + 48] |= 0x20, bad[16 + 49] |= 0x20;
		break;
	default:
		memset(bad, 0xff, size);
	}
	gt_embedded_find();
	ck_assert_uint_ge(count_named("scale"), 1);
	ck_assert_ptr_null(gt_embedded_copy((uintptr_t)page + 4096 - 80, 90));
	munmap(page, 8192);
	free(image);
	free(bad);
}
END_TEST

/* Any byte of an image's heads changed: found or not, and never a crash. */
START_TEST(any_byte)
{
	size_t size;
	uint8_t *image = load("balance.fatbin", &size);

	carry(0, 1, image);
	for (size_t i = 0; i < 16 + 2 * 64; i++) {
		for (unsigned bit = 0; bit < 8; bit += 3) {
			image[i] ^= (uint8_t)(1 << bit);
			gt_embedded_find();
			free(gt_embedded_copy((uintptr_t)image, 90));
			image[i] ^= (uint8_t)(1 << bit);
		}
	}
	gt_embedded_find();
	ck_assert_uint_eq(count_named("scale"), 1);
	free(image);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("embedded");

	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_loop_test(tcase, found, 0, 4);
	tcase_add_test(tcase, other_devices);
	tcase_add_test(tcase, several);
	tcase_add_loop_test(tcase, damaged, 0, 5);
	tcase_add_test(tcase, any_byte);
	return run_case("embedded", tcase);
}
