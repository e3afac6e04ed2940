/* SPDX-License-Identifier: Apache-2.0 */
/* Cubins: what ptxas said of the kernels ("ptxas -v") is what is read back. */
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "lib/agent/image/image.h"
#include "tests/image/common.h"

struct seen {
	unsigned count;
	struct gt_cubin_kernel kernel[4];
	char name[4][64];
};

static int collect(void *data, const struct gt_cubin_kernel *kernel)
{
	struct seen *seen = data;

	ck_assert_uint_lt(seen->count, 4);
	snprintf(seen->name[seen->count], sizeof(seen->name[0]), "%s", kernel->name);
	seen->kernel[seen->count++] = *kernel;
	return 0;
}

static const struct {
	const char *file;
	unsigned arch, registers_scale, registers_reverse;
} files[] = {
	{ "sm75.cubin", 75, 8, 12 },
	{ "sm90a.cubin", 90, 8, 12 },
};

START_TEST(kernels)
{
	struct seen seen = { 0 };
	const char *why;
	size_t size;
	void *cubin = load(files[_i].file, &size);
	unsigned i, s, r;

	ck_assert_int_eq(gt_cubin_kernels(cubin, size, collect, &seen, &why), 0);
	ck_assert_uint_eq(seen.count, 2);
	s = strcmp(seen.name[0], "scale") ? 1 : 0;
	r = 1 - s;
	ck_assert_str_eq(seen.name[s], "scale");
	ck_assert_str_eq(seen.name[r], "_Z7reverseIdEvPT_");
	for (i = 0; i < 2; i++) {
		ck_assert_uint_eq(seen.kernel[i].arch, files[_i].arch);
		ck_assert_uint_eq(seen.kernel[i].local_bytes, 0);
	}
	ck_assert_uint_eq(seen.kernel[s].registers, files[_i].registers_scale);
	ck_assert_uint_eq(seen.kernel[r].registers, files[_i].registers_reverse);
	ck_assert_uint_eq(seen.kernel[s].static_shared, 0);
	ck_assert_uint_eq(seen.kernel[r].static_shared, 64 * 8);
	ck_assert_uint_eq(seen.kernel[s].param_bytes, 16);	/* pointer, float, int */
	ck_assert_uint_eq(seen.kernel[r].param_bytes, 8);
	free(cubin);
}
END_TEST

static int stop(void *data, const struct gt_cubin_kernel *kernel)
{
	(void)kernel;
	++*(int *)data;
	return 7;
}

START_TEST(the_walk_can_be_ended)
{
	int calls = 0;
	const char *why;
	size_t size;
	void *cubin = load("sm75.cubin", &size);

	ck_assert_int_eq(gt_cubin_kernels(cubin, size, stop, &calls, &why), 7);
	ck_assert_int_eq(calls, 1);
	free(cubin);
}
END_TEST

START_TEST(as_images)
{
	struct gt_image image;
	const char *why;
	size_t size, got;
	void *file = load("sm90a.cubin", &size), *data;

	ck_assert_int_eq(gt_image_open(file, &image, &why), 0);
	ck_assert_int_eq(image.kind, GT_IMAGE_CUBIN);
	ck_assert_uint_eq(image.member_count, 1);
	ck_assert_uint_eq(image.members[0].arch, 90);
	ck_assert_int_eq(gt_member_extract(&image.members[0], &data, &got, &why), 0);
	ck_assert_uint_eq(got, size);
	ck_assert_mem_eq(data, file, size);
	free(data);
	gt_image_close(&image);
	free(file);

	file = load("scale.ptx", &size);
	ck_assert_int_eq(gt_image_open(file, &image, &why), 0);
	ck_assert_int_eq(image.kind, GT_IMAGE_PTX);
	ck_assert_uint_eq(image.members[0].arch, 75);
	ck_assert_int_eq(gt_member_extract(gt_image_choose(&image, 90, GT_MEMBER_PTX), &data, &got, &why), 0);
	ck_assert_uint_eq(got, size);
	ck_assert_str_eq(data, file);
	free(data);
	gt_image_close(&image);
	free(file);
}
END_TEST

static const char *const no_images[] = {
	"", "x", "abc", "hello, world", ".version", ".version 8.0\n.entry k {}", "\177EL", "\001\002\003\004",
};

START_TEST(not_images)
{
	struct gt_image image;
	const char *why = NULL;

	ck_assert_int_eq(gt_image_open(no_images[_i], &image, &why), -EINVAL);
	ck_assert_ptr_nonnull(why);
	ck_assert_int_eq(gt_image_open(NULL, &image, &why), -EINVAL);
}
END_TEST

/* Cut short anywhere, it is an error or a shorter list, never a wild read (run under sanitizers). */
START_TEST(cut_short)
{
	const char *why;
	size_t size, length;
	uint8_t *cubin = load("sm75.cubin", &size), *piece;
	struct seen seen;
	int r;

	for (length = 0; length < size; length += length < 128 ? 1 : 37) {
		piece = malloc(length + 1);
		memcpy(piece, cubin, length);
		memset(&seen, 0, sizeof(seen));
		r = gt_cubin_kernels(piece, length, collect, &seen, &why);
		ck_assert(r == 0 || r == -EINVAL);
		ck_assert_uint_le(seen.count, 2);
		free(piece);
	}
	free(cubin);
}
END_TEST

START_TEST(damaged_headers)
{
	const char *why;
	size_t size;
	uint8_t *cubin = load("sm75.cubin", &size);
	Elf64_Ehdr header, good;
	struct seen seen = { 0 };
	unsigned i;

	memcpy(&good, cubin, sizeof(good));
	for (i = 0; i < 6; i++) {
		header = good;
		switch (i) {
		case 0: header.e_machine = EM_X86_64; break;
		case 1: header.e_ident[EI_CLASS] = ELFCLASS32; break;
		case 2: header.e_shentsize = 63; break;
		case 3: header.e_shoff = UINT64_MAX - 63; break;
		case 4: header.e_shnum = 0; break;
		case 5: header.e_shoff = size - 10; break;
		}
		memcpy(cubin, &header, sizeof(header));
		why = NULL;
		ck_assert_int_eq(gt_cubin_kernels(cubin, size, collect, &seen, &why), -EINVAL);
		ck_assert_ptr_nonnull(why);
	}
	free(cubin);
}
END_TEST

#define LOOP(test, array) \
	tcase_add_loop_test(tcase, test, 0, (int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
	TCase *tcase = tcase_create("cubin");

	LOOP(kernels, files);
	tcase_add_test(tcase, the_walk_can_be_ended);
	tcase_add_test(tcase, as_images);
	LOOP(not_images, no_images);
	tcase_add_test(tcase, cut_short);
	tcase_add_test(tcase, damaged_headers);
	return run_case("cubin", tcase);
}
