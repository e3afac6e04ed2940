/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUTRACE_COMMON_H
#define GPUTRACE_COMMON_H

#if !defined(GPUTRACE_H_INSIDE) && !defined(GPUTRACE_COMPILATION)
#error "include <gputrace/gputrace.h>"
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define GPUTRACE_BEGIN_DECLS extern "C" {
#define GPUTRACE_END_DECLS }
#else
#define GPUTRACE_BEGIN_DECLS
#define GPUTRACE_END_DECLS
#endif

#define GPUTRACE_API __attribute__((visibility("default")))

/*
 * Conventions of this library
 *
 * Functions return 0 or a negative errno value unless their comment says
 * otherwise.  Results come through the last parameter, named ret_*, which is
 * left alone on failure.  After a failure gputrace_last_error() holds a sentence
 * that says what to do.
 *
 * Option structs begin with `size`; set it to sizeof(struct), zero the rest, and
 * set what differs: 0 is the default of every field.  NULL stands for all
 * defaults.  -EINVAL: size too small; -E2BIG: bytes set that this version does
 * not know.
 *
 * Objects are reference counted.  *_ref returns its argument, *_unref returns
 * NULL and accepts NULL.  An object may be used by one thread at a time;
 * different objects by different threads; *_ref and *_unref by any thread.  A
 * target, its reader, its links and the objects attached to it count as one
 * object, and so does the last *_unref of any of them.
 *
 * A function blocks, or waits for another process, only where its comment says so.
 * "Since" in the comment of a type holds for the functions about it as well, unless
 * theirs name a later version.
 */

GPUTRACE_BEGIN_DECLS

/*
 * The calling thread's last error as a sentence.  Never NULL; empty when nothing
 * has failed yet.  Valid until the same thread calls into the library again.
 * Since 0.1.
 */
GPUTRACE_API const char *gputrace_last_error(void);

/*
 * The vendor's own code (a CUresult, or a status of the NVIDIA kernel driver)
 * behind the last error, 0 if there was none.  Since 0.1.
 */
GPUTRACE_API int gputrace_last_vendor_error(void);

/*
 * Text for a terminal.  Names and texts of events, kernels and processes come from
 * the traced program as they are and may be any bytes; so may error sentences and log
 * lines that quote them.  This copies `text` (NULL: "") with what a terminal would
 * obey or could not show, each byte of it, as \xHH: control characters, marks of
 * direction, and what is not UTF-8.  Backslashes stay, so it cannot be undone.
 * At most size - 1 bytes are written, never a part of a character or \xHH, and a
 * NUL, if size is not 0; buffer may be NULL then.  How many bytes the whole takes
 * without the NUL.  Does not block or fail; any thread.  Since 0.1.
 */
GPUTRACE_API size_t gputrace_escape(const char *text, char *buffer, size_t size);

GPUTRACE_END_DECLS

#endif
