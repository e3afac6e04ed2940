/* SPDX-License-Identifier: Apache-2.0 */
/* From the program's image to the one with probes in it. */
#ifndef GT_AGENT_BUILD_H
#define GT_AGENT_BUILD_H

#include <stdbool.h>

#include "lib/agent/module.h"

/* The code in an image that the driver would run on this device. */
struct gt_source {
	uint64_t hash[2];	/* of the bytes below */
	unsigned arch;		/* the device's compute capability times ten */
	void *ptx;		/* text, NUL-terminated; NULL if the image has none */
	size_t ptx_size;
	void *cubin;		/* machine code; NULL if none fits */
	size_t cubin_size;
	const char *damage;	/* why neither could be read, if something was wrong */
};

bool gt_source_open(const void *code, struct gt_source *ret_source);
void gt_source_close(struct gt_source *source);

/*
 * Instrument, compile and check; report every kernel.  Always a module unless
 * memory is short: one without replacement when there is nothing to probe or
 * something went wrong.
 */
struct gt_module *gt_build(const struct gt_source *source);
void gt_build_free(struct gt_module *module);

/* The driver would not load the replacement. */
void gt_build_refused(struct gt_module *module, CUresult why);

#endif
