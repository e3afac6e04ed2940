/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of a program's annotations, from their beginnings' records to their ends'. */
#ifndef GT_READER_RANGES_H
#define GT_READER_RANGES_H

#include <stdint.h>

struct gputrace_reader;
struct gt_process;
struct gt_ranges;

/* A GT_REC_RANGE of the process's agent. */
void gt_reader_take_range(struct gputrace_reader *reader, struct gt_process *process, const uint8_t *payload,
			  uint32_t size);

/* The process has ended: so have its ranges. */
void gt_reader_close_ranges(struct gputrace_reader *reader, struct gt_process *process);

void gt_ranges_free(struct gt_ranges *ranges);

#endif
