/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_READER_PRINT_H
#define GT_READER_PRINT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Format what a GPU program printed: bpf_trace_printk's conversions for integers,
 * at most `count` of them.  The format comes from the target: one that asks for
 * more, or for anything else, is shown as it stands.  Always ends in a NUL.
 */
void gt_print(char *out, size_t size, const char *format, size_t format_size, const uint64_t *args,
	      unsigned count);

#endif
