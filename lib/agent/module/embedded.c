/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "lib/agent/module/embedded.h"

#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/agent/build/build.h"
#include "lib/agent/build/compile.h"
#include "lib/agent/grow.h"
#include "lib/agent/image/fatbin.h"
#include "lib/agent/instrument/instrument.h"

#define WRAPPER_MAGIC 0x466243b1u
#define IMAGES_MAX 65536u

struct wrapper {		/* in .nvFatBinSegment */
	uint32_t magic, version;
	uint64_t image;
	uint64_t second;
};

/* Memory of an object that may hold wrappers: the linker's writes go there, since they hold addresses. */
struct segment {
	uint64_t begin, size;
};

/* A kernel of an image. */
struct named {
	uint64_t name;		/* hash */
	uint64_t image;
	unsigned arch;
};

static struct {
	uint64_t *images;	/* addresses */
	size_t image_count, image_room;
	struct named *kernels;	/* by name and architecture */
	size_t kernel_count, kernel_room;
} known;

/* Objects may be unmapped at any moment, so their memory is read as another process's would be. */
static bool read_memory(uint64_t from, void *to, uint64_t size)
{
	uint8_t *at = to;

	while (size) {
		struct iovec local = { at, size }, remote = { (void *)(uintptr_t)from, size };
		ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

		if (n <= 0)
			return false;
		at += n;
		from += (uint64_t)n;
		size -= (uint64_t)n;
	}
	return true;
}

/* ---- from objects to images ---- */

struct segments {
	struct segment *all;
	size_t count, room;
};

static int add_segments(struct dl_phdr_info *object, size_t size, void *data)
{
	struct segments *segments = data;

	(void)size;
	for (unsigned i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		struct segment *all;

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_W) || !part->p_filesz)
			continue;
		all = gt_room_for_one_more(segments->all, segments->count, &segments->room, sizeof(*all));
		if (!all)
			return 1;
		segments->all = all;
		all[segments->count++] = (struct segment){ object->dlpi_addr + part->p_vaddr, part->p_filesz };
	}
	return 0;
}

static void add_image(const struct wrapper *wrapper)
{
	uint8_t header[GT_FATBIN_HEADER];
	uint64_t size, *images;
	const char *why;

	if (wrapper->magic != WRAPPER_MAGIC || (wrapper->version != 1 && wrapper->version != 2) ||
	    known.image_count == IMAGES_MAX || !read_memory(wrapper->image, header, sizeof(header)) ||
	    gt_fatbin_size(header, &size, &why))
		return;
	images = gt_room_for_one_more(known.images, known.image_count, &known.image_room, sizeof(*images));
	if (!images)
		return;
	known.images = images;
	images[known.image_count++] = wrapper->image;
}

/* Wrappers are aligned as the pointers in them are. */
static void search_segment(const struct segment *segment)
{
	static uint8_t bytes[65536];
	struct wrapper wrapper;
	uint64_t done, part, at;

	for (done = 0; segment->size - done >= sizeof(wrapper); done += part - sizeof(wrapper) + 8) {
		part = segment->size - done < sizeof(bytes) ? (segment->size - done) & ~UINT64_C(7) : sizeof(bytes);
		if (!read_memory(segment->begin + done, bytes, part))
			return;
		for (at = 0; at + sizeof(wrapper) <= part; at += 8) {
			memcpy(&wrapper, bytes + at, sizeof(wrapper));
			add_image(&wrapper);
		}
	}
}

static int compare_images(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void find_images(void)
{
	struct segments segments = { 0 };
	size_t kept = 0;

	dl_iterate_phdr(add_segments, &segments);
	for (size_t i = 0; i < segments.count; i++) {
		segments.all[i].size -= (8 - segments.all[i].begin % 8) % 8;
		segments.all[i].begin = (segments.all[i].begin + 7) & ~UINT64_C(7);
		if (segments.all[i].size <= SIZE_MAX / 2)
			search_segment(&segments.all[i]);
	}
	free(segments.all);
	if (known.image_count)
		qsort(known.images, known.image_count, sizeof(*known.images), compare_images);
	for (size_t i = 0; i < known.image_count; i++) {
		if (!kept || known.images[kept - 1] != known.images[i])
			known.images[kept++] = known.images[i];
	}
	known.image_count = kept;
}

/* ---- one image ---- */

/* The heads of all members, in a place as large as the image: pages that nothing is written to cost nothing. */
static uint8_t *copy_heads(uint64_t image)
{
	uint8_t header[GT_FATBIN_HEADER], *copy;
	uint64_t size, at, member;
	const char *why;

	if (!read_memory(image, header, sizeof(header)) || gt_fatbin_size(header, &size, &why))
		return NULL;
	copy = calloc(1, size + GT_FATBIN_ENTRY);
	if (!copy)
		return NULL;
	memcpy(copy, header, sizeof(header));
	/* Behind the header's own bytes, of which it may have more. */
	for (at = header[6] | header[7] << 8; at < size; at += member) {
		if (!read_memory(image + at, copy + at, GT_FATBIN_ENTRY < size - at ? GT_FATBIN_ENTRY : size - at))
			break;
		member = gt_fatbin_entry_size(copy + at, size - at);
		if (!member)
			break;
	}
	if (at >= size)
		return copy;
	free(copy);
	return NULL;
}

static bool fill_in(uint8_t *copy, uint64_t image, const struct gt_member *member)
{
	uint64_t at = member ? (uint64_t)(member->payload - copy) : 0;

	return !member || read_memory(image + at, copy + at, member->stored_size);
}

void *gt_embedded_copy(uint64_t image, unsigned arch)
{
	uint8_t *copy = copy_heads(image);
	struct gt_image members;
	const char *why;
	bool whole;

	if (!copy)
		return NULL;
	if (gt_image_open(copy, &members, &why)) {
		free(copy);
		return NULL;
	}
	whole = fill_in(copy, image, gt_image_choose(&members, arch, GT_MEMBER_CUBIN)) &&
		fill_in(copy, image, gt_image_choose(&members, arch, GT_MEMBER_PTX));
	gt_image_close(&members);
	if (whole)
		return copy;
	free(copy);
	return NULL;
}

/* ---- names ---- */

struct naming {
	uint64_t image;
	unsigned arch;
};

static void add_name(const struct naming *naming, const char *name)
{
	struct named *kernels = gt_room_for_one_more(known.kernels, known.kernel_count, &known.kernel_room,
						  sizeof(*kernels));

	if (!kernels)
		return;
	known.kernels = kernels;
	kernels[known.kernel_count++] =
		(struct named){ gt_hash_bytes(name, strlen(name)), naming->image, naming->arch };
}

static int add_cubin_name(void *data, const struct gt_cubin_kernel *kernel)
{
	add_name(data, kernel->name);
	return 0;
}

static void add_ptx_names(struct naming *naming, const char *text, size_t size)
{
	struct gt_ptx_error error;
	struct gt_ptx *ptx;

	if (gt_ptx_parse(text, size, &ptx, &error))
		return;
	for (unsigned i = 0; i < gt_ptx_kernel_count(ptx); i++)
		add_name(naming, gt_ptx_kernel(ptx, i)->name);
	gt_ptx_free(ptx);
}

static void add_names(uint64_t image, unsigned arch)
{
	struct naming naming = { image, arch };
	void *copy = gt_embedded_copy(image, arch);
	struct gt_source source;
	const char *why;

	if (copy && gt_source_open(copy, arch, &source)) {
		/* As the driver: PTX when there is no machine code. */
		if (gt_source_cubin(&source))
			gt_cubin_kernels(source.cubin, source.cubin_size, add_cubin_name, &naming, &why);
		else if (gt_source_ptx(&source))
			add_ptx_names(&naming, source.ptx, source.ptx_size);
		gt_source_close(&source);
	}
	free(copy);
}

static int compare_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return (x->arch > y->arch) - (x->arch < y->arch);
}

void gt_embedded_find(void)
{
	unsigned archs[GT_ARCHS_MAX], count = gt_device_archs(archs);

	gt_embedded_forget();
	find_images();
	for (size_t i = 0; i < known.image_count; i++) {
		for (unsigned j = 0; j < count; j++)
			add_names(known.images[i], archs[j]);
	}
	if (known.kernel_count)
		qsort(known.kernels, known.kernel_count, sizeof(*known.kernels), compare_named);
}

void gt_embedded_forget(void)
{
	free(known.images);
	free(known.kernels);
	memset(&known, 0, sizeof(known));
}

unsigned gt_embedded_count(void)
{
	return (unsigned)known.image_count;
}

/* Of the sorted kernels the first that is not before this one. */
static size_t first_of(const struct named *wanted)
{
	size_t low = 0, high = known.kernel_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_named(&known.kernels[middle], wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t gt_embedded_next(const char *name, unsigned arch, unsigned *at)
{
	struct named wanted = { gt_hash_bytes(name, strlen(name)), 0, arch };
	size_t i = first_of(&wanted) + *at;

	if (i >= known.kernel_count || compare_named(&known.kernels[i], &wanted))
		return 0;
	++*at;
	return known.kernels[i].image;
}
