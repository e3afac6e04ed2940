/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The images that the process's executable and shared libraries carry, as the CUDA
 * runtime registers them: what was loaded before the agent came was as a rule
 * loaded from one of these.  Not for two threads at once.
 */
#ifndef GT_AGENT_EMBEDDED_H
#define GT_AGENT_EMBEDDED_H

#include <stdint.h>

/*
 * Get to know those that are mapped now, with the kernels that they have for the
 * process's GPUs.  Reads the memory of the process, which may change meanwhile:
 * what cannot be read or makes no sense is left out.
 */
void gt_embedded_find(void);
void gt_embedded_forget(void);

/* How many images are known. */
unsigned gt_embedded_count(void);

/* One after the other the images with a kernel of this name for this architecture; *at begins with 0.  0: no more. */
uint64_t gt_embedded_next(const char *name, unsigned arch, unsigned *at);

/*
 * A copy of an image, in which of all members only those are filled in that the driver
 * would choose from for this architecture; malloc'd.  NULL: it is not there any more.
 */
void *gt_embedded_copy(uint64_t image, unsigned arch);

#endif
