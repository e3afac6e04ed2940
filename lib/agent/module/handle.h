/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of modules and libraries, and the functions got through them: what module.h's functions share, under one lock. */
#ifndef GT_AGENT_MODULE_HANDLE_H
#define GT_AGENT_MODULE_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "lib/agent/lock.h"
#include "lib/agent/module/module.h"
#include "lib/wire/cuda_abi.h"

extern struct gt_lock gt_modules_lock;

/* A module or library handle of the driver. */
struct gt_loaded {
	struct gt_loaded *next, **link;
	void *handle;
	struct gt_module *module;
	bool library;		/* a CUlibrary */
	CUcontext context;	/* of a module: it ends with it */
	CUlibrary own;		/* the program's code once more, when that was needed; NULL: not yet */
	CUlibrary copies;	/* of code loaded unseen: ours, with the copies of its kernels; NULL: they are beside them */
	void **functions;	/* handles got through it */
	unsigned function_count, function_room;
};

/* Under the lock. */
extern struct gt_loaded *gt_all_loaded;

/* How many handles there are whose kernels may take the hidden parameter. */
extern _Atomic unsigned gt_loaded_replaced;

/* NULL: not known.  Without the lock it tells only whether it is. */
struct gt_loaded *gt_loaded_get(const void *handle);

/* All of these under the lock. */

/* The kernel of this name, also of a library's parts; NULL: none. */
struct gt_kernel *gt_loaded_kernel(const struct gt_loaded *loaded, const char *name);
/* NULL, or whose copies are not beside the program's kernels, but in a library of ours: false. */
bool gt_loaded_has_copies_beside(const struct gt_loaded *loaded);
/* The kernel beside which there is a copy with this name; NULL: none. */
const struct gt_kernel *gt_loaded_copied(const struct gt_loaded *loaded, const char *name);

/* A function stands for this kernel (NULL: one that its module does not list), and has this copy. */
void gt_functions_add(void *function, struct gt_loaded *loaded, struct gt_kernel *kernel);
void gt_functions_add_copy(void *function, void *copy, struct gt_loaded *loaded, struct gt_kernel *kernel);
/* What it was got through; NULL: that is not known. */
struct gt_loaded *gt_functions_loaded(const void *function);
/* The driver gives a handle to somebody else when it is free. */
void gt_functions_forget(struct gt_loaded *loaded);
void gt_functions_forget_unseen(void);

#endif
