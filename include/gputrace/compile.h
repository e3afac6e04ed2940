/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUTRACE_COMPILE_H
#define GPUTRACE_COMPILE_H

#include <gputrace/common.h>

GPUTRACE_BEGIN_DECLS

struct gputrace_program;

/* A program compiled: PTX text, or code of this machine.  Immutable.  Since 0.1. */
struct gputrace_image;

struct gputrace_compile_opts {
	uint64_t size;
	uint32_t optimize;	/* 0 default (2), 1..3 as LLVM's -O, GPUTRACE_OPTIMIZE_NONE */
	uint32_t flags;		/* GPUTRACE_COMPILE_* */
	uint32_t verifier_log;	/* enum gputrace_verifier_log: how much the program's log says */
	uint32_t reserved;	/* 0 */
};
#define GPUTRACE_OPTIMIZE_NONE 0xffffffffu
#define GPUTRACE_COMPILE_UNVERIFIED 1u	/* skip the verifier (for tests of the compiler; such an image cannot be attached) */
#define GPUTRACE_COMPILE_UNCACHED 2u	/* neither look in the cache on disk nor leave the result there */

/* What the verifier writes into the program's log.  Since 0.1. */
enum gputrace_verifier_log {
	GPUTRACE_VERIFIER_WARNINGS,	/* why it refuses a program, and what is likely wrong in one that it accepts; default */
	GPUTRACE_VERIFIER_REFUSALS,	/* the former alone */
	GPUTRACE_VERIFIER_STATES	/* both, and each instruction as it is followed, with the registers before it; up to 1 MiB */
};

/*
 * Verify a GPU program and compile it to PTX for sm_75 and newer.  Takes tens of
 * milliseconds the first time; the result is kept in $XDG_CACHE_HOME/gputrace
 * (~/.cache/gputrace), from where the same program comes in under one.  Does not
 * need a GPU.
 * -EACCES: the verifier refused (the sentence names instruction and reason; the
 * whole log is gputrace_program_get_log()); -EOPNOTSUPP: an instruction or
 * helper that GPU programs cannot have, or a program for the kernel; -EINVAL: opts, or
 * program is NULL; -ENOMEM.
 */
GPUTRACE_API int gputrace_compile_ptx(struct gputrace_program *program,
				      const struct gputrace_compile_opts *opts,
				      struct gputrace_image **ret_image);

/* Compile the same intermediate code for this machine, to run it with gputrace_image_run(). */
GPUTRACE_API int gputrace_compile_host(struct gputrace_program *program,
				       const struct gputrace_compile_opts *opts,
				       struct gputrace_image **ret_image);

GPUTRACE_API struct gputrace_image *gputrace_image_ref(struct gputrace_image *image);
GPUTRACE_API struct gputrace_image *gputrace_image_unref(struct gputrace_image *image);

/* PTX text with unresolved map symbols; NULL for host images.  Lives as long as the image. */
GPUTRACE_API const char *gputrace_image_get_ptx(const struct gputrace_image *image);

/* The verifier's and compiler's messages of the last compilation, "" if none. */
GPUTRACE_API const char *gputrace_program_get_log(const struct gputrace_program *program);

/*
 * Run a host image on the calling thread with the given context as the program's
 * argument (`context_size` bytes, struct gputrace_gpu_ctx of the header for BPF
 * authors).  Maps are the map objects' own memory: instance 0 appears at the
 * first run.  Helpers that ask for GPU state read it from the context.
 * *ret_value gets the program's r0.  -EINVAL: not a host image, or context_size.
 */
GPUTRACE_API int gputrace_image_run(const struct gputrace_image *image,
				    const void *context, size_t context_size,
				    uint64_t *ret_value);

GPUTRACE_END_DECLS

#endif
