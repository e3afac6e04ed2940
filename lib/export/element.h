/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of a Chrome trace's arrays. */
#ifndef GT_EXPORT_ELEMENT_H
#define GT_EXPORT_ELEMENT_H

#include <stdint.h>

struct gt_output;
struct json_object;

/* The row in which an element is shown. */
struct gt_place {
	int pid, tid;
};

/* One of traceEvents with the members that all have; NULL: out of memory, which the functions below take too. */
struct json_object *gt_element(const char *phase, const char *category, const char *name, struct gt_place place,
			       uint64_t time);

/* With an object "args" too.  scope: "t" the thread, "p" the process, "g" all. */
struct json_object *gt_element_slice(const char *category, const char *name, struct gt_place place,
				     uint64_t time, uint64_t end);
struct json_object *gt_element_instant(const char *category, const char *name, const char *scope,
				       struct gt_place place, uint64_t time);

/* Set a member of "args"; takes over `value`.  0 or -ENOMEM. */
int gt_element_set(struct json_object *object, const char *key, struct json_object *value);

/* The array that is being written. */
struct gt_elements {
	struct gt_output *output;
	const char *separator;		/* before the next element */
};

/* Write an element; takes it over.  0, -ENOMEM, also if it is NULL, or what gt_output_write() says. */
int gt_elements_add(struct gt_elements *elements, struct json_object *object);

/* The same, unless making it has ended with an error, which is returned. */
int gt_elements_add_unless(struct gt_elements *elements, int error, struct json_object *object);

#endif
