/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver tells of a function or a kernel, which are handles of two kinds that launch functions take alike. */
#ifndef GT_AGENT_ASK_H
#define GT_AGENT_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/agent/module/module.h"
#include "lib/wire/cuda_abi.h"

/* NULL: this driver does not tell. */
const char *gt_ask_name(void *function);

/* What a module or library has by this name; NULL: nothing. */
void *gt_ask_function(void *handle, const char *name, enum gt_handle kind);
/* The same, of a library's kernel the function that it is in the current context. */
void *gt_ask_function_here(void *handle, const char *name, enum gt_handle kind);

/* How it lists the functions of a module, or the kernels of a library; NULL: this driver cannot. */
struct gt_lister {
	CUresult (*count)(unsigned int *count, void *handle);
	CUresult (*list)(void **list, unsigned int room, void *handle);
	CUresult (*name)(const char **name, void *function);
};
struct gt_lister gt_ask_lister(enum gt_handle kind);

/* In the current context, or on its device.  False: the driver does not tell. */
bool gt_ask_attribute(void *function, CUfunction_attribute which, int *ret_value);

/* How many parameters it has, and where the last one ends.  False: the driver does not tell. */
bool gt_ask_params(void *function, size_t *ret_count, size_t *ret_end);

/* What the program has set for one, set for the other as well: for functions, or for kernels on all devices. */
void gt_ask_same_for_functions(CUfunction function, CUfunction copy);
void gt_ask_same_for_kernels(CUkernel kernel, CUkernel copy);

/*
 * What a library of ours has by this name, with the same set, to stand in for a function or kernel, or for one that
 * cannot be had (function NULL).  NULL: nothing.
 */
void *gt_ask_function_apart(CUlibrary library, void *function, const char *name, enum gt_handle kind);

#endif
