/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_SYMBOL_INLINED_H
#define GT_SYMBOL_INLINED_H

#include <elfutils/libdwfl.h>

struct gputrace_frame;

/*
 * Frames for the functions that were inlined at the address, which DWARF tells: `frame`,
 * so far that of the function that holds them all, becomes the innermost.  -ENOMEM.
 */
int gt_add_inlined(Dwfl_Module *module, GElf_Addr address, struct gputrace_frame *frame);

#endif
