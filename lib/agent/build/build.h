/* SPDX-License-Identifier: Apache-2.0 */
/* From the program's image to the one with probes in it. */
#ifndef GT_AGENT_BUILD_H
#define GT_AGENT_BUILD_H

#include <stdbool.h>

#include "lib/agent/image/image.h"
#include "lib/agent/module/module.h"

/* The code in an image that the driver would run on devices of an architecture. */
struct gt_source {
	uint64_t hash[2];	/* of both members as they are stored */
	unsigned arch;		/* compute capability times ten of the devices that it is for */
	bool apart;		/* the program has loaded it already: what is made of it is for a module beside that one */
	struct gt_image image;
	const struct gt_member *ptx_member, *cubin_member;	/* NULL: the image has none that fits */
	void *ptx;		/* unpacked by gt_source_ptx(): text, NUL-terminated */
	size_t ptx_size;
	char ptx_useless[576];	/* why programs do not go into it; empty: they may, or nobody has tried */
	void *cubin;		/* unpacked by gt_source_cubin() */
	size_t cubin_size;
	const char *damage;	/* why a member could not be unpacked */
};

/*
 * Code that the program has loaded already: kernels that use their module's variables are
 * refused, and programs go into copies.
 */
void gt_source_set_apart(struct gt_source *source);

/* False: nothing in it is for such devices.  The image must stay in place until gt_source_close(). */
bool gt_source_open(const void *code, unsigned arch, struct gt_source *ret_source);
void gt_source_close(struct gt_source *source);

/* What the driver would choose from, as it came: machine code and text.  How many. */
unsigned gt_source_members(const struct gt_source *source, struct gt_fatbin_part parts[2]);

/* Is there PTX that programs can go into, as far as is known? */
static inline bool gt_source_has_ptx(const struct gt_source *source)
{
	return source->ptx_member && !source->ptx_useless[0];
}

/*
 * The driver needs too long to compile it for programs at memory accesses: of cuSOLVER's, 8 MB, it is 16 s, and several times
 * that with them.  Machine code does nearly as well then.
 */
#define GT_PTX_LONG (512u << 10)
static inline bool gt_source_has_long_ptx(const struct gt_source *source)
{
	return source->ptx_member && source->ptx_member->full_size > GT_PTX_LONG;
}

/* NULL: there is none, or it cannot be unpacked. */
const char *gt_source_ptx(struct gt_source *source);
const void *gt_source_cubin(struct gt_source *source);

/* A number that other bytes have with no likelihood: they are the program's or the controller's own, so chance is the only enemy. */
uint64_t gt_hash_bytes(const void *bytes, size_t size);

/*
 * Graft or instrument, compile and check; report every kernel.  Always a module unless
 * memory is short: one without replacement when there is nothing to probe or
 * something went wrong.
 */
struct gt_module *gt_build(struct gt_source *source);
void gt_build_free(struct gt_module *module);

/* The module's own kernel of this name; NULL: it has none. */
struct gt_kernel *gt_module_find_kernel(const struct gt_module *module, const char *name);

/* Do some of the module's kernels have programs in place, rather than in copies? */
bool gt_module_is_changed(const struct gt_module *module);

/* Say again what gt_build() said of a kernel. */
void gt_kernel_tell(const struct gt_kernel *kernel);

/* The driver would not load the replacement. */
void gt_build_refused(struct gt_module *module, CUresult why);

#endif
