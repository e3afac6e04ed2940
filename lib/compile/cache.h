/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled programs on disk, in $XDG_CACHE_HOME/gputrace (else ~/.cache/gputrace).
 * A file's name is the digest of everything that its contents depend on.  Only
 * verified programs get there, so what comes from there need not be verified
 * again; hence the folder must belong to the user and to nobody else.  Whatever is
 * wrong with the cache, compiling goes on without it.
 */
#ifndef GT_COMPILE_CACHE_H
#define GT_COMPILE_CACHE_H

#include <stdint.h>

#include "lib/compile/sha256.h"

struct gputrace_image;
struct gputrace_program;

struct gt_cache_key {
	char name[2 * GT_SHA256_BYTES + 1];
};

void gt_cache_make_key(const struct gputrace_program *program, unsigned level, struct gt_cache_key *ret_key);

/* Fill in a new image, and *ret_log with a malloc'd log.  -ENOENT: not there or not usable. */
int gt_cache_load(const struct gt_cache_key *key, struct gputrace_image *image, char **ret_log);

/* Keep a verified GPU image for next time. */
void gt_cache_store(const struct gt_cache_key *key, const struct gputrace_image *image, const char *log);

#endif
