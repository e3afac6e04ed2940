/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges and marks of NVTX, the annotations that programs and libraries put around what they do. */
#ifndef GT_AGENT_NVTX_NVTX_H
#define GT_AGENT_NVTX_NVTX_H

#include <stddef.h>
#include <stdint.h>

#include "lib/wire/wire.h"

/* Text of a message, without the NUL: what is longer is cut off. */
#define GT_NVTX_TEXT 1024
#define GT_NVTX_DOMAIN 255

/* ---- names.c: domains and strings, by the handles that the program has for them ---- */

struct gt_nvtx_domain {
	struct gt_nvtx_domain *next;
	char name[];
};

/* The domain of this name.  NULL: no memory. */
struct gt_nvtx_domain *gt_nvtx_domain(const char *name);
/* The program knows it by this handle. */
void gt_nvtx_domain_is(const void *handle, struct gt_nvtx_domain *domain);
const struct gt_nvtx_domain *gt_nvtx_find_domain(const void *handle);
/* A string that the program registered; handle NULL: the copy is its own handle, which is returned. */
const void *gt_nvtx_register(const void *handle, const char *text);
const char *gt_nvtx_find_string(const void *handle);

/* UTF-8 of a wide string, cut off at size - 1 bytes. */
const char *gt_nvtx_narrow(const wchar_t *wide, char *buffer, size_t size);

/* ---- ranges.c: what is open, and records of it ---- */

/* `text` may be NULL.  The level of a range that is pushed or popped in its domain; -1: there is none. */
void gt_nvtx_mark(const struct gt_nvtx_domain *domain, const char *text);
int gt_nvtx_push(const struct gt_nvtx_domain *domain, const char *text);
int gt_nvtx_pop(const struct gt_nvtx_domain *domain);
/* id 0: give it one.  What the range is called by then. */
uint64_t gt_nvtx_start(uint64_t id, const struct gt_nvtx_domain *domain, const char *text);
void gt_nvtx_end(uint64_t id);
void gt_nvtx_name_thread(uint32_t tid, const char *text);

#endif
