/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent knows of the images that the program loads, and of the kernels
 * in them.  Built once for each image and kept by content, so a module that is
 * loaded again costs no compilation and keeps its kernel ids.  All functions may be
 * called by any thread at any time; those that take no lock say so.
 */
#ifndef GT_AGENT_MODULE_H
#define GT_AGENT_MODULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/agent/build/compile.h"
#include "lib/wire/cuda_abi.h"
#include "lib/wire/wire.h"

struct gt_source;

struct gt_kernel {
	struct gt_kernel *variant;	/* the same one for another architecture, and so on in a ring; NULL: none */
	const struct gt_module *module;	/* NULL: loaded unseen */
	char *name;
	uint32_t id;
	bool probed;		/* it or its copy takes the hidden parameter */
	/* The kernel with probes, if it stands beside the program's own in the image; NULL: it is the program's own. */
	char *copy;
	unsigned max_threads;	/* of a block that the copy can have, 0: not known */
	enum { GT_OWN_UNKNOWN, GT_OWN_FITS, GT_OWN_DOES_NOT } own;	/* can it be run from its code loaded again? */
	atomic_bool said;	/* that some launches run without probes */
	uint32_t param_count;	/* of the program's own parameters */
	uint32_t hidden_offset;	/* of the hidden parameter in the block */
	struct gt_rec_function told;	/* what we said of it, and why */
	char *why;		/* NULL: nothing to explain */
};

struct gt_module {
	struct gt_module *next;	/* in the cache */
	uint64_t hash[2];
	uint64_t config;	/* gt_session.config_hash: what programs its kernels carry */
	unsigned arch;
	uint32_t id;
	unsigned users;		/* handles of the driver that were loaded from it */
	void *replacement;	/* what the driver gets instead; NULL: the program's own image */
	size_t replacement_size;
	void *own;		/* the program's code, where kernels of it are changed in place: see own.c */
	bool untold;		/* not in use when this controller came, which knows nothing of its kernels */
	bool has_variants;	/* its kernels have; then it is never freed */
	struct gt_kernel *kernels;	/* by name */
	unsigned kernel_count;
	char *unlisted;		/* why kernels of it are not among them; NULL: all are */
	/* Of a library for devices of several architectures: a module for each, and no kernels of its own. */
	struct gt_module *parts[GT_ARCHS_MAX];
	unsigned part_count;
};

/*
 * Look at an image that is about to be loaded into the current context, and instrument it where programs
 * are attached.  Returns NULL when there is nothing to know of it (unknown, or
 * out of memory).  The caller hands it to gt_module_loaded() or
 * gt_module_put().
 */
struct gt_module *gt_module_get(const void *code);
/* The same for one that is open. */
struct gt_module *gt_module_of(struct gt_source *source);
/* The same for an image that any context of the program may use. */
struct gt_module *gt_library_get(const void *code);
void gt_module_put(struct gt_module *module);

/* The driver refused the replacement: from now on the original serves. */
void gt_module_give_up(struct gt_module *module, CUresult why);

/*
 * A handle (CUmodule, or CUlibrary if `library`) now stands for the module; takes over the caller's reference.
 * copies: what was loaded unseen and has its copies there, in a library of ours that ends with the handle; else NULL.
 * False: out of memory; then the reference is gone, and nothing is known of the handle.
 */
bool gt_module_loaded(void *handle, struct gt_module *module, bool library, CUlibrary copies);
bool gt_module_is_known(void *handle);
/* A second handle for the same code (cuLibraryGetModule). */
void gt_module_alias(void *handle, void *known);
/* Forget a handle and the functions got through it. */
void gt_module_unloaded(void *handle);
/* The same for all modules of a context. */
void gt_modules_context_gone(CUcontext context);

enum gt_handle { GT_HANDLE_MODULE, GT_HANDLE_LIBRARY };

/* A function handle was got by name from a module handle, or from another function handle. */
void gt_function_named(void *function, void *module, const char *name, enum gt_handle kind);
void gt_function_alias(void *function, void *known);
/*
 * Without a lock, unless the handle is new.
 * NULL: not a function we know, hence one without the hidden parameter.  The handle
 * of a copy finds its kernel, too.  Handles need not have come by the driver's
 * exported functions: the driver is asked about those that are new.
 */
struct gt_kernel *gt_function_find(const void *function);
/* The handle of the copy with probes for one of the program's, and back; NULL: there is none.  Without a lock. */
void *gt_function_copy(const void *function);
void *gt_function_original(const void *copy);
/*
 * The program's own kernel for one that has programs in place, from a second module that ends with the first.
 * NULL: *why says why it cannot stand in.
 */
void *gt_function_own(void *function, char *why, size_t why_size);
/*
 * For a function that the driver would not give (result): the program's own kernel out of a second module, likewise.
 * By name from a module or library, or for a kernel of a library in the current context.  NULL: it cannot be had, which a
 * note says when it is our doing.
 */
void *gt_function_stand_in(void *handle, const char *name, enum gt_handle kind, CUresult result);
void *gt_function_stand_in_here(void *kernel, CUresult result);
/* How many copies the module with this handle has; is one of them called so? */
unsigned gt_module_copies(void *handle);
bool gt_module_has_copy(void *handle, const char *name);
/*
 * Get to know one whose image was loaded unseen, or was not understood.  why: it has no programs, unless its module
 * says so itself.  NULL: out of memory.
 */
struct gt_kernel *gt_function_discover(void *function, const char *why);
bool gt_function_is_known(const void *function);
/*
 * Is it a copy in a library of ours, got from this library or module?  A function is known as such
 * afterwards, together with the program's own.
 */
bool gt_function_is_copy(void *function, void *handle, const char *name, enum gt_handle kind);

/* Does it carry programs of the present session? */
bool gt_kernel_is_probed(const struct gt_kernel *kernel);

/* Tell a new controller of all kernels that are loaded. */
void gt_modules_announce(void);
/*
 * The controller goes: forget what need not be known any more, and say what is left.
 * Copies serve the next controller if it wants the same programs, so it must be seen when they are unloaded.
 */
enum gt_leaving {
	GT_LEAVE_NOTHING,
	GT_LEAVE_COPIES,	/* kernels that stand beside the program's own */
	GT_LEAVE_CHANGED	/* kernels of the program's with the hidden parameter: all handles are still needed */
};
enum gt_leaving gt_modules_leave(void);

#endif
