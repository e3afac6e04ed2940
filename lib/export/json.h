/* SPDX-License-Identifier: Apache-2.0 */
/* What the writers add to json-c. */
#ifndef GT_EXPORT_JSON_H
#define GT_EXPORT_JSON_H

#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>

struct gt_output;

/*
 * Set a member; takes over `value`.  A value of NULL, which json-c returns when
 * memory is short, or a parent of NULL fails.  0 or -ENOMEM.
 */
int gt_json_set(struct json_object *parent, const char *key, struct json_object *value);

/* Any bytes as a string; NULL as the empty one. */
struct json_object *gt_json_text(const char *text);
/* The first bytes of a block as hexadecimal digits. */
struct json_object *gt_json_hex(const void *data, size_t size);
/* Nanoseconds as microseconds with three decimals, without rounding. */
struct json_object *gt_json_us(uint64_t ns);
struct json_object *gt_json_triple(const uint32_t *values);

/* Write on one line after `before`, and free `object`.  -ENOMEM or as gt_output_write(). */
int gt_json_write(struct gt_output *output, const char *before, struct json_object *object);

#endif
