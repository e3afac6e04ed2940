/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fatbins: four made by nvcc 13.0 from one source, one for each compression
 * mode, and hand-made ones.
 */
#include <errno.h>
#include <lz4.h>
#include <stdint.h>
#include <string.h>
#include <zstd.h>

#include "lib/agent/image/image.h"
#include "tests/image/common.h"

static const char *const modes[] = { "none.fatbin", "speed.fatbin", "balance.fatbin", "size.fatbin" };

static void *extract(const struct gt_member *member, size_t *ret_size)
{
	const char *why = NULL;
	void *data = NULL;

	ck_assert_ptr_nonnull(member);
	ck_assert_msg(!gt_member_extract(member, &data, ret_size, &why), "%s", why);
	return data;
}

START_TEST(every_mode_gives_the_same)
{
	struct gt_image plain, image;
	const char *why;
	size_t size, a_size, b_size;
	void *plain_file = load("none.fatbin", &size), *file = load(modes[_i], &size);
	void *a, *b;
	unsigned i;

	ck_assert_int_eq(gt_image_open(plain_file, &plain, &why), 0);
	ck_assert_int_eq(gt_image_open(file, &image, &why), 0);
	ck_assert_int_eq(image.kind, GT_IMAGE_FATBIN);
	ck_assert_uint_eq(plain.member_count, 5);
	ck_assert_uint_eq(image.member_count, 5);
	for (i = 0; i < 5; i++) {
		ck_assert_int_eq(image.members[i].kind, plain.members[i].kind);
		ck_assert_uint_eq(image.members[i].arch, plain.members[i].arch);
		a = extract(&plain.members[i], &a_size);
		b = extract(&image.members[i], &b_size);
		ck_assert_uint_eq(a_size, b_size);
		ck_assert_mem_eq(a, b, a_size);
		free(a);
		free(b);
	}
	gt_image_close(&plain);
	gt_image_close(&image);
	free(plain_file);
	free(file);
}
END_TEST

START_TEST(ptx_is_text)
{
	struct gt_image image;
	const char *why;
	size_t size;
	void *file = load(modes[_i], &size);
	char *text;

	ck_assert_int_eq(gt_image_open(file, &image, &why), 0);
	text = extract(gt_image_choose(&image, 100, GT_MEMBER_PTX), &size);
	ck_assert_uint_eq(strlen(text), size);
	ck_assert_ptr_nonnull(strstr(text, ".target sm_90\n"));
	ck_assert_ptr_nonnull(strstr(text, ".visible .entry scale("));
	ck_assert_int_eq(text[size - 1], '\n');
	free(text);
	gt_image_close(&image);
	free(file);
}
END_TEST

/*
 * A member of nvcc's fatbin, taken out of it and put into one again, is written as
 * nvcc wrote it.  Not so the last: of sm_90a the machine code itself has only "sm_90".
 */
START_TEST(written_as_nvcc_does)
{
	const struct gt_member *member;
	struct gt_image image, alone;
	struct gt_fatbin_part part = { 0 };
	size_t size, written_size;
	void *file = load("none.fatbin", &size), *bytes;
	uint8_t *written;
	const char *why;

	ck_assert_int_eq(gt_image_open(file, &image, &why), 0);
	member = &image.members[_i];
	bytes = extract(member, &size);
	ck_assert_int_eq(gt_image_open(bytes, &alone, &why), 0);
	ck_assert_ptr_null(alone.members[0].entry);
	part.member = alone.members;
	written = gt_fatbin_write(&part, 1, &written_size);
	ck_assert_uint_eq(written_size, 16 + member->entry_size);
	ck_assert_mem_eq(written + 16, member->entry, member->entry_size);
	free(written);
	gt_image_close(&alone);
	free(bytes);
	gt_image_close(&image);
	free(file);
}
END_TEST

/* Text of any length ends with a NUL inside of its own member. */
START_TEST(written_text_ends)
{
	static const char text[] = ".version 6.3\n.target sm_75\n.address_size 64\n";
	char ptx[64] = "";
	struct gt_fatbin_part part = { 0 };
	struct gt_image image;
	const char *why;
	uint8_t *written;
	size_t size;

	memcpy(ptx, text, sizeof(text));
	memset(ptx + sizeof(text) - 1, '\n', (size_t)_i);
	ck_assert_int_eq(gt_image_open(ptx, &image, &why), 0);
	part.member = image.members;
	written = gt_fatbin_write(&part, 1, &size);
	ck_assert_uint_eq(size, 16 + 80 + (sizeof(text) - 1 + (size_t)_i) / 8 * 8 + 8);
	ck_assert_str_eq((char *)written + 16 + 80, ptx);
	free(written);
	gt_image_close(&image);
}
END_TEST

static void check_choice(const struct gt_image *image, unsigned device, enum gt_member_kind kind,
			 unsigned arch, char suffix)
{
	const struct gt_member *member = gt_image_choose(image, device, kind);

	if (!arch) {
		ck_assert_ptr_null(member);
		return;
	}
	ck_assert_ptr_nonnull(member);
	ck_assert_uint_eq(member->arch, arch);
	ck_assert_int_eq(member->arch_suffix, suffix);
	ck_assert_int_eq(member->kind, kind);
}

START_TEST(choice_of_nvcc_members)	/* sm_75, sm_90, sm_90a; compute_90, compute_90a */
{
	struct gt_image image;
	const char *why;
	size_t size;
	void *file = load("balance.fatbin", &size);

	ck_assert_int_eq(gt_image_open(file, &image, &why), 0);
	check_choice(&image, 75, GT_MEMBER_CUBIN, 75, 0);
	check_choice(&image, 75, GT_MEMBER_PTX, 0, 0);
	check_choice(&image, 80, GT_MEMBER_CUBIN, 0, 0);
	check_choice(&image, 90, GT_MEMBER_CUBIN, 90, 'a');
	check_choice(&image, 90, GT_MEMBER_PTX, 90, 'a');
	check_choice(&image, 100, GT_MEMBER_CUBIN, 0, 0);
	check_choice(&image, 100, GT_MEMBER_PTX, 90, 0);
	gt_image_close(&image);
	free(file);
}
END_TEST

START_TEST(choice_rules)
{
	static struct gt_member members[] = {
		{ .kind = GT_MEMBER_CUBIN, .arch = 80 },
		{ .kind = GT_MEMBER_CUBIN, .arch = 86 },
		{ .kind = GT_MEMBER_CUBIN, .arch = 100, .arch_suffix = 'f' },
		{ .kind = GT_MEMBER_CUBIN, .arch = 120, .arch_suffix = 'a' },
		{ .kind = GT_MEMBER_PTX, .arch = 75 },
		{ .kind = GT_MEMBER_PTX, .arch = 80 },
		{ .kind = GT_MEMBER_PTX, .arch = 100, .arch_suffix = 'f' },
		{ .kind = GT_MEMBER_OTHER, .arch = 90 },
	};
	const struct gt_image image = { GT_IMAGE_FATBIN, 8, members };

	check_choice(&image, 80, GT_MEMBER_CUBIN, 80, 0);
	check_choice(&image, 86, GT_MEMBER_CUBIN, 86, 0);
	check_choice(&image, 89, GT_MEMBER_CUBIN, 86, 0);
	check_choice(&image, 90, GT_MEMBER_CUBIN, 0, 0);
	check_choice(&image, 103, GT_MEMBER_CUBIN, 100, 'f');
	check_choice(&image, 121, GT_MEMBER_CUBIN, 0, 0);
	check_choice(&image, 120, GT_MEMBER_CUBIN, 120, 'a');
	check_choice(&image, 75, GT_MEMBER_PTX, 75, 0);
	check_choice(&image, 90, GT_MEMBER_PTX, 80, 0);
	check_choice(&image, 103, GT_MEMBER_PTX, 100, 'f');
	check_choice(&image, 120, GT_MEMBER_PTX, 80, 0);
	check_choice(&image, 70, GT_MEMBER_PTX, 0, 0);
}
END_TEST

/* ---- hand-made fatbins, byte by byte ---- */

struct maker {
	uint8_t bytes[8192];
	size_t size;
};

static void put(struct maker *m, uint64_t value, unsigned bytes)
{
	for (; bytes--; value >>= 8)
		m->bytes[m->size++] = (uint8_t)value;
}

static void make_header(struct maker *m)
{
	m->size = 0;
	put(m, 0xba55ed50, 4);
	put(m, 1, 2);
	put(m, 16, 2);
	put(m, 0, 8);		/* patched by make_end */
}

static void make_end(struct maker *m)
{
	uint64_t size = m->size - 16;

	memcpy(m->bytes + 8, &size, 8);
}

static void make_entry(struct maker *m, unsigned kind, unsigned arch, uint64_t flags,
		       const void *payload, size_t size, size_t full)
{
	size_t padded = (size + 7) & ~(size_t)7;

	put(m, kind, 2);
	put(m, 0x101, 2);
	put(m, 72, 4);			/* header size, 8 bytes more than the least */
	put(m, padded, 8);
	put(m, full ? size : 0, 4);
	put(m, 0, 4);
	put(m, 3, 2);
	put(m, 6, 2);
	put(m, arch, 4);
	put(m, 0, 8);
	put(m, flags, 8);
	put(m, 0, 8);
	put(m, full, 8);
	put(m, 0, 8);
	memcpy(m->bytes + m->size, payload, size);
	memset(m->bytes + m->size + size, 0, padded - size);
	m->size += padded;
}

static const char text[] = ".version 6.3\n.target sm_75\n.visible .entry k() { ret; ret; ret; ret; ret; ret; }\n";

static void make_three(struct maker *m)
{
	char packed[1024];
	int lz4 = LZ4_compress_default(text, packed, sizeof(text), sizeof(packed));
	size_t zstd;

	ck_assert_int_gt(lz4, 0);
	make_header(m);
	make_entry(m, 1, 75, 0x11, text, sizeof(text), 0);
	make_entry(m, 1, 80, 0x2011, packed, (size_t)lz4, sizeof(text));
	zstd = ZSTD_compress(packed, sizeof(packed), text, sizeof(text), 3);
	make_entry(m, 1, 86, 0x8013, packed, zstd, sizeof(text));
	make_end(m);
}

START_TEST(hand_made)
{
	struct maker m;
	struct gt_image image;
	const char *why;
	char *got;
	size_t size;
	unsigned i;

	make_three(&m);
	ck_assert_int_eq(gt_image_open(m.bytes, &image, &why), 0);
	ck_assert_uint_eq(image.member_count, 3);
	for (i = 0; i < 3; i++) {
		got = extract(&image.members[i], &size);
		ck_assert_uint_eq(size, sizeof(text) - 1);
		ck_assert_str_eq(got, text);
		free(got);
	}
	ck_assert_int_eq(image.members[0].debug, 0);
	ck_assert_int_eq(image.members[2].debug, 1);
	gt_image_close(&image);
}
END_TEST

START_TEST(wrapper_versions)
{
	struct {
		uint32_t magic, version;
		const void *data, *second;
	} wrapper = { 0x466243b1, (uint32_t)_i, NULL, NULL };
	const void *prelinked[2] = { NULL, NULL };
	struct maker m;
	struct gt_image image;
	const char *why = NULL;
	int known = _i == 1 || _i == 2;

	make_three(&m);
	wrapper.data = m.bytes;
	wrapper.second = _i == 2 ? prelinked : NULL;
	prelinked[0] = m.bytes;
	ck_assert_int_eq(gt_image_open(&wrapper, &image, &why), known ? 0 : -EINVAL);
	if (known) {
		ck_assert_uint_eq(image.member_count, 3);
		gt_image_close(&image);
	} else {
		ck_assert_ptr_nonnull(strstr(why, "version"));
	}
	wrapper.data = NULL;
	ck_assert_int_eq(gt_image_open(&wrapper, &image, &why), -EINVAL);
}
END_TEST

/* Each spoils one field of a good fatbin: offset, bytes, value. */
static const struct {
	size_t at;
	unsigned bytes;
	uint64_t value;
} damage[] = {
	{ 4, 2, 2 },				/* version */
	{ 6, 2, 8 },				/* header size */
	{ 8, 8, UINT64_MAX },			/* size of all */
	{ 8, 8, 100 },				/* cut within the first member */
	{ 16 + 4, 4, 32 },			/* header size of the member */
	{ 16 + 4, 4, UINT32_MAX },
	{ 16 + 8, 8, UINT64_MAX },		/* payload */
	{ 16 + 8, 8, UINT64_MAX - 71 },		/* wraps round with its header */
	{ 16 + 8, 8, 1 << 20 },
};

START_TEST(damaged_containers)
{
	struct maker m;
	struct gt_image image;
	const char *why = NULL;

	make_three(&m);
	memcpy(m.bytes + damage[_i].at, &damage[_i].value, damage[_i].bytes);
	ck_assert_int_eq(gt_image_open(m.bytes, &image, &why), -EINVAL);
	ck_assert_ptr_nonnull(why);
}
END_TEST

static void check_unreadable(struct maker *m, unsigned index)
{
	struct gt_image image;
	const char *why = NULL;
	void *data;
	size_t size;

	ck_assert_int_eq(gt_image_open(m->bytes, &image, &why), 0);
	ck_assert_int_eq(gt_member_extract(&image.members[index], &data, &size, &why), -EINVAL);
	ck_assert_ptr_nonnull(why);
	gt_image_close(&image);
}

START_TEST(damaged_payloads)
{
	struct maker m;
	uint64_t claims[] = { sizeof(text) - 1, sizeof(text) + 1, UINT64_MAX, UINT64_C(1) << 40 };
	unsigned i;

	/* The size after decompression is not what the header says. */
	for (i = 0; i < 4; i++) {
		make_header(&m);
		make_entry(&m, 1, 80, 0x2011, "\x1fq\x01\x00", 4, claims[i]);
		make_end(&m);
		check_unreadable(&m, 0);
	}
	/* Compressed bytes of another codec, and noise. */
	make_header(&m);
	make_entry(&m, 1, 80, 0x8011, text, sizeof(text), 100);
	make_entry(&m, 1, 80, 0x2011, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, 100);
	make_end(&m);
	check_unreadable(&m, 0);
	check_unreadable(&m, 1);
}
END_TEST

START_TEST(compressed_size_larger_than_payload)
{
	struct maker m;
	struct gt_image image;
	const char *why;
	uint32_t claim = 4096;

	make_header(&m);
	make_entry(&m, 1, 80, 0x2011, "\x1fq\x01\x00", 4, 100);
	make_end(&m);
	memcpy(m.bytes + 16 + 16, &claim, 4);
	ck_assert_int_eq(gt_image_open(m.bytes, &image, &why), -EINVAL);
}
END_TEST

START_TEST(empty_fatbin)
{
	struct maker m;
	struct gt_image image;
	const char *why;

	make_header(&m);
	make_end(&m);
	ck_assert_int_eq(gt_image_open(m.bytes, &image, &why), 0);
	ck_assert_uint_eq(image.member_count, 0);
	ck_assert_ptr_null(gt_image_choose(&image, 90, GT_MEMBER_PTX));
	gt_image_close(&image);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("fatbin");

	tcase_add_loop_test(tcase, every_mode_gives_the_same, 0, 4);
	tcase_add_loop_test(tcase, ptx_is_text, 0, 4);
	tcase_add_loop_test(tcase, written_as_nvcc_does, 0, 4);
	tcase_add_loop_test(tcase, written_text_ends, 0, 8);
	tcase_add_test(tcase, choice_of_nvcc_members);
	tcase_add_test(tcase, choice_rules);
	tcase_add_test(tcase, hand_made);
	tcase_add_loop_test(tcase, wrapper_versions, 0, 4);
	tcase_add_loop_test(tcase, damaged_containers, 0, (int)(sizeof(damage) / sizeof(damage[0])));
	tcase_add_test(tcase, damaged_payloads);
	tcase_add_test(tcase, compressed_size_larger_than_payload);
	tcase_add_test(tcase, empty_fatbin);
	return run_case("fatbin", tcase);
}
