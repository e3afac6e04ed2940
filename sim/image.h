/* SPDX-License-Identifier: Apache-2.0 */
/* From what a program hands to the driver to the PTX text that fits the device. */
#ifndef SIM_IMAGE_H
#define SIM_IMAGE_H

#include "sim/driver.h"

#define SIM_IMAGE_UNBOUNDED	SIZE_MAX

/* PTX text, owned, not ending in NUL as far as length goes (but followed by one). */
struct sim_text {
	char *text;
	size_t length;
};

/*
 * Find the PTX in an image: PTX text, a fatbin with or without its wrapper, or
 * what cuLinkComplete made.  size is SIM_IMAGE_UNBOUNDED where the caller of the
 * driver states none; then text ends at NUL and a fatbin's own header is believed.
 */
CUresult sim_image_text(const void *image, size_t size, unsigned arch, struct sim_text *ret);
bool sim_image_is_linked(const void *image, size_t size);
CUresult sim_image_file(const char *path, unsigned arch, struct sim_text *ret);

/* fatbin.c */
bool sim_is_fatbin(const void *image, size_t size);
CUresult sim_fatbin_text(const void *image, size_t size, unsigned arch, struct sim_text *ret);

/* The product of the linker: a header and PTX text; *ret_image is owned. */
CUresult sim_image_pack(const struct sim_text *text, void **ret_image, size_t *ret_size);

/* ptx-join.c: one module's text out of several. */
CUresult sim_ptx_join(struct sim_text *parts, size_t count, struct sim_text *ret);

/* jit.c: the log buffers among a caller's options. */
struct sim_jit {
	char *buffer[2];	/* information, errors */
	size_t size[2], used[2];
	void **used_slot[2];	/* where the used size goes */
	void **wall_time;
	unsigned target;	/* architecture to compile for, 0: the current device's */
};

enum { SIM_JIT_INFO, SIM_JIT_ERROR };

CUresult sim_jit_open(struct sim_jit *jit, unsigned count, const CUjit_option *options, void **values);
void sim_jit_log(struct sim_jit *jit, int which, const char *text);
/* Log a failure of the machine and turn it into the driver's code. */
CUresult sim_jit_error(struct sim_jit *jit, const struct sim_error *err);

#endif
