/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that carry programs in place have nothing beside them that the driver could
 * launch when it will not launch them: the program's own code is loaded a second time then.
 */
#ifndef GT_AGENT_OWN_H
#define GT_AGENT_OWN_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/agent/module/module.h"

/* Can that code's kernel of this name stand in?  False: *why says why not. */
bool gt_own_fits(const struct gt_module *module, const char *name, char *why, size_t why_size);

/* NULL: *why says why not. */
CUlibrary gt_own_load(const struct gt_module *module, char *why, size_t why_size);

#endif
