/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's management library, found and loaded at run time. */
#ifndef GT_METRICS_NVML_H
#define GT_METRICS_NVML_H

#include "lib/metrics/nvml_abi.h"

struct gt_nvml {
	void *library;
#define MEMBER(name, parameters) enum gt_nvml_return (*name) parameters;
	GT_NVML_NEEDED(MEMBER)
	GT_NVML_OPTIONAL(MEMBER)	/* NULL: an older library */
#undef MEMBER
	const char *(*nvmlErrorString)(enum gt_nvml_return result);
};

/* Call one of the optional functions. */
#define GT_NVML_CALL(nvml, name, ...) ((nvml)->name ? (nvml)->name(__VA_ARGS__) : GT_NVML_FUNCTION_NOT_FOUND)

/*
 * Load and begin.  path: NULL for the one that the loader finds.  With gt_error() text: -ENOENT, -ENOSYS, or as of
 * gt_nvml_error().
 */
int gt_nvml_open(struct gt_nvml *nvml, const char *path);
/* Of one that gt_nvml_open() has opened. */
void gt_nvml_close(struct gt_nvml *nvml);

/* In words. */
const char *gt_nvml_words(const struct gt_nvml *nvml, enum gt_nvml_return result);
/* A negative errno, with gt_error() text: "what: words". */
int gt_nvml_error(const struct gt_nvml *nvml, enum gt_nvml_return result, const char *what);

#endif
