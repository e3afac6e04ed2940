/* SPDX-License-Identifier: Apache-2.0 */
/* Modules by the content of their images; those that nothing uses any more are kept for a while. */
#ifndef GT_AGENT_MODULE_CACHE_H
#define GT_AGENT_MODULE_CACHE_H

#include "lib/agent/build/build.h"
#include "lib/agent/module/module.h"

/* All of these are called under the module lock. */

/* The module of an image, built unless it is known, with one user more.  NULL: out of memory. */
struct gt_module *gt_cache_get(struct gt_source *source);
/* One user less of a module, or of a library with its parts. */
void gt_cache_put(struct gt_module *module);
/* Tell a new controller of the kernels of all modules in use; of the others when they are used again. */
void gt_cache_tell(void);

#endif
