/* SPDX-License-Identifier: Apache-2.0 */
/* What a Chrome trace says at its end of the rows that it has used, and of the GPUs. */
#ifndef GT_EXPORT_ROWS_H
#define GT_EXPORT_ROWS_H

struct gt_elements;
struct gt_tracks;

/* Names and order of processes, threads and streams, as elements of traceEvents; errors as of gt_elements_add(). */
int gt_rows_write(struct gt_elements *elements, const struct gt_tracks *tracks);

/* The elements of deviceProperties. */
int gt_rows_write_devices(struct gt_elements *elements, const struct gt_tracks *tracks);

#endif
