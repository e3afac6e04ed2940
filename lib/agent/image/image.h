/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the images that programs give to the driver: PTX text, cubins, fatbins
 * and their wrappers, members stored, LZ4 or zstd.  The caller gives only an
 * address, as the driver's interface does, so sizes come from the headers and
 * are bounded; memory is otherwise taken to be as the driver would read it.
 */
#ifndef GT_AGENT_IMAGE_H
#define GT_AGENT_IMAGE_H

#include <stddef.h>
#include <stdint.h>

enum gt_image_kind { GT_IMAGE_UNKNOWN, GT_IMAGE_PTX, GT_IMAGE_CUBIN, GT_IMAGE_FATBIN };

enum gt_member_kind { GT_MEMBER_PTX = 1, GT_MEMBER_CUBIN = 2, GT_MEMBER_OTHER };

struct gt_member {
	enum gt_member_kind kind;
	unsigned arch;			/* 90 */
	char arch_suffix;		/* 'a', 'f' or 0 */
	int debug;
	/* private */
	const uint8_t *payload;
	uint64_t stored_size, full_size;
	int codec;
	const uint8_t *entry;		/* in a fatbin: its header and payload, NULL elsewhere */
	uint64_t entry_size;
};

struct gt_image {
	enum gt_image_kind kind;
	unsigned member_count;		/* PTX and cubin images have one */
	struct gt_member *members;	/* malloc'd */
};

/*
 * Look at an image.  0, -EINVAL (not an image we know, or damaged; *ret_image
 * untouched, *ret_why a static sentence), -ENOMEM.
 */
int gt_image_open(const void *code, struct gt_image *ret_image, const char **ret_why);
void gt_image_close(struct gt_image *image);

/*
 * The member that the driver would take on a device of compute capability
 * `arch` ("90"): kind PTX or CUBIN; NULL if there is none.  For PTX: the newest
 * not above the device (suffix rules included); for cubins: exact or same-major.
 */
const struct gt_member *gt_image_choose(const struct gt_image *image, unsigned arch,
					enum gt_member_kind kind);

/* The member's bytes, decompressed; malloc'd; PTX is cut at its NULs and NUL-terminated. */
int gt_member_extract(const struct gt_member *member, void **ret_data, size_t *ret_size,
		      const char **ret_why);

/* Of a fatbin to be written: machine code for an architecture, or a member of another image as it is. */
struct gt_fatbin_part {
	unsigned arch;
	const void *code;
	size_t size;
	const struct gt_member *member;	/* code NULL */
};

/* malloc'd; NULL: out of memory. */
void *gt_fatbin_write(const struct gt_fatbin_part *parts, unsigned count, size_t *ret_size);

/*
 * Names of the kernels in a cubin, with what its headers say of them.  Calls
 * fn for each; a non-zero result of fn ends the walk and is returned.
 */
struct gt_cubin_kernel {
	const char *name;
	unsigned arch, registers, static_shared, local_bytes, param_bytes;
};
int gt_cubin_kernels(const void *cubin, size_t size,
		     int (*fn)(void *data, const struct gt_cubin_kernel *kernel), void *data,
		     const char **ret_why);

/*
 * Does the glob ('*', '?') match the name or, when it is mangled, its demangled
 * form?  That is tried whole (void ns::k<float>(float*, int)), without the type
 * returned, without parameters (ns::k<float>), and without the last template
 * arguments (ns::k).  Blanks do not count.
 */
int gt_kernel_matches(const char *glob, const char *name);

#endif
