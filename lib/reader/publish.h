/* SPDX-License-Identifier: Apache-2.0 */
/* The events that a reader hands out, for readers in other processes too. */
#ifndef GT_READER_PUBLISH_H
#define GT_READER_PUBLISH_H

struct gputrace_event;
struct gt_publisher;

/* What is handed out. */
void gt_publisher_tell(struct gt_publisher *publisher, const struct gputrace_event *event);
/* Let in those who come, and send what they can take now.  Never blocks. */
void gt_publisher_serve(struct gt_publisher *publisher);
/* Nothing more will come. */
void gt_publisher_end(struct gt_publisher *publisher);
/* Ends it if need be, and waits for a moment for those that have not taken all. */
void gt_publisher_close(struct gt_publisher *publisher);

#endif
