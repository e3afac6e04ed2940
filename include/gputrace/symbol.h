/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUTRACE_SYMBOL_H
#define GPUTRACE_SYMBOL_H

#include <gputrace/common.h>

GPUTRACE_BEGIN_DECLS

struct gputrace_ctx;

/*
 * Names places in the code of processes: by the symbols and DWARF of the files
 * that they have mapped (also from other mount namespaces, and when the file was
 * deleted since), by separate debugging files in the usual places, and by
 * /tmp/perf-PID.map, in which programs say what code they make at run time.
 * What it has been asked about a process it can still answer when that has ended.
 * Since 0.1.
 */
struct gputrace_symbolizer;

/* -ENOMEM. */
GPUTRACE_API int gputrace_symbolizer_new(struct gputrace_ctx *ctx,
					 struct gputrace_symbolizer **ret_symbolizer);
GPUTRACE_API struct gputrace_symbolizer *
gputrace_symbolizer_ref(struct gputrace_symbolizer *symbolizer);
GPUTRACE_API struct gputrace_symbolizer *
gputrace_symbolizer_unref(struct gputrace_symbolizer *symbolizer);

/*
 * A place in code, with what could be found out about it.  Belongs to the
 * symbolizer; valid until its next call, or that of a reader or writer that uses it.
 */
struct gputrace_frame;

/*
 * What is at an address of process `pid`, as it was at `time` (CLOCK_MONOTONIC ns;
 * 0: now), so that a number given to another process since is not mistaken.
 * To name the functions of a stack, give each return address less one: that is in
 * the call instruction, while the address itself may be in the next function.
 * Opens and reads files on the first address in each, which may take seconds.  If
 * the environment has DEBUGINFOD_URLS, elfutils may ask these servers.
 * 0 also when nothing is known: then the frame has no name but a reason.
 * -EINVAL: pid below 1, address 0; -ENOMEM.
 */
GPUTRACE_API int gputrace_symbolizer_resolve(struct gputrace_symbolizer *symbolizer, int pid,
					     uint64_t time, uint64_t address,
					     const struct gputrace_frame **ret_frame);

/*
 * Where functions were inlined at the address, the frame is that of the innermost;
 * this is the one that it was inlined into.  NULL: it was not inlined.
 */
GPUTRACE_API const struct gputrace_frame *gputrace_frame_get_caller(const struct gputrace_frame *frame);
/* The function as a person reads it; NULL: not known. */
GPUTRACE_API const char *gputrace_frame_get_name(const struct gputrace_frame *frame);
/* Why there is no name, or the little that is known of a place: a sentence's part; else NULL. */
GPUTRACE_API const char *gputrace_frame_get_reason(const struct gputrace_frame *frame);
GPUTRACE_API uint64_t gputrace_frame_get_address(const struct gputrace_frame *frame);
/*
 * The file that the code is from, by the path that the process knows it by, or what
 * the kernel calls the memory ("[vdso]", "[memory]"); NULL: not known.  Then the
 * address in this file as its linker gave it (for addr2line and the like), or how
 * far the place is from the start of the memory or of the named code in it.
 */
GPUTRACE_API const char *gputrace_frame_get_module(const struct gputrace_frame *frame);
GPUTRACE_API uint64_t gputrace_frame_get_offset(const struct gputrace_frame *frame);
/* The module's build id, to find it again elsewhere; NULL and 0: it has none. */
GPUTRACE_API const void *gputrace_frame_get_build_id(const struct gputrace_frame *frame,
						     size_t *ret_size);
/* Source file and line, from DWARF; NULL and 0: not known. */
GPUTRACE_API const char *gputrace_frame_get_file(const struct gputrace_frame *frame);
GPUTRACE_API uint32_t gputrace_frame_get_line(const struct gputrace_frame *frame);

GPUTRACE_END_DECLS

#endif
