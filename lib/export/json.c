/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/json.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/export/output.h"
#include "lib/export/utf8.h"
#include "lib/util/error.h"

#define HEX_BYTES_MAX 64

int gt_json_set(struct json_object *parent, const char *key, struct json_object *value)
{
	if (!parent || !value || json_object_object_add(parent, key, value)) {
		json_object_put(value);
		return gt_error(-ENOMEM, "out of memory");
	}
	return 0;
}

struct json_object *gt_json_text(const char *text)
{
	struct json_object *object;
	size_t size;
	char *clean;

	if (!text)
		text = "";
	size = strlen(text);
	if (gt_utf8_valid_prefix(text, size) == size)
		return json_object_new_string(text);
	clean = gt_utf8_clean(text, size, &size);
	if (!clean || size > INT_MAX) {
		free(clean);
		return NULL;
	}
	object = json_object_new_string_len(clean, (int)size);
	free(clean);
	return object;
}

struct json_object *gt_json_hex(const void *data, size_t size)
{
	const unsigned char *bytes = data;
	char digits[2 * HEX_BYTES_MAX + 1] = "";

	for (size_t i = 0; i < size && i < HEX_BYTES_MAX; i++)
		sprintf(digits + 2 * i, "%02x", bytes[i]);
	return json_object_new_string(digits);
}

struct json_object *gt_json_us(uint64_t ns)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
	return json_object_new_double_s((double)ns / 1000, digits);
}

struct json_object *gt_json_triple(const uint32_t *values)
{
	struct json_object *array = json_object_new_array();

	for (unsigned i = 0; array && i < 3; i++) {
		struct json_object *value = json_object_new_int64(values[i]);

		if (!value || json_object_array_add(array, value)) {
			json_object_put(value);
			json_object_put(array);
			return NULL;
		}
	}
	return array;
}

int gt_json_write(struct gt_output *output, const char *before, struct json_object *object)
{
	const char *text;
	size_t size = 0;
	int error;

	text = json_object_to_json_string_length(object, JSON_C_TO_STRING_PLAIN |
						 JSON_C_TO_STRING_NOSLASHESCAPE, &size);
	if (!object || !text)
		error = gt_error(-ENOMEM, "out of memory");
	else
		error = gt_output_write(output, before, strlen(before));
	if (!error)
		error = gt_output_write(output, text, size);
	json_object_put(object);
	return error;
}
