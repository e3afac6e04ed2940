/* SPDX-License-Identifier: Apache-2.0 */
/* One library for devices of several architectures. */
#ifndef GT_AGENT_VARIANTS_H
#define GT_AGENT_VARIANTS_H

#include "lib/agent/build/build.h"
#include "lib/agent/module/module.h"

/*
 * The library's parts are there, made of these sources: put what replaces them into
 * one image, from which the driver chooses for each device as from the program's own,
 * and tie their kernels together.  Under the module lock.
 */
void gt_variants_join(struct gt_module *library, const struct gt_source *sources);

/* Of a kernel's variants the one that runs on the current device. */
struct gt_kernel *gt_variant_here(struct gt_kernel *kernel);

#endif
