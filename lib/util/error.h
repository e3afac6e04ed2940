/* SPDX-License-Identifier: Apache-2.0 */
/* The calling thread's last error: a sentence for a person, and a vendor's code. */
#ifndef GT_UTIL_ERROR_H
#define GT_UTIL_ERROR_H

/*
 * Remember a sentence and return `error` (a negative errno), so that a failing
 * function can end with `return gt_error(-EINVAL, "...")`.
 */
int gt_error(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, with the vendor's own code (CUresult, NVML or driver status). */
int gt_error_vendor(int error, int vendor, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* What gputrace_last_error() and gputrace_last_vendor_error() return. */
const char *gt_error_text(void);
int gt_error_vendor_code(void);

#endif
