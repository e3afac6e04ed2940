/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/element.h"

#include <json-c/json.h>

#include "lib/export/json.h"

struct json_object *gt_element(const char *phase, const char *category, const char *name,
			       struct gt_place place, uint64_t time)
{
	struct json_object *object = json_object_new_object();

	if (gt_json_set(object, "ph", gt_json_text(phase)) ||
	    (category && gt_json_set(object, "cat", gt_json_text(category))) ||
	    gt_json_set(object, "name", gt_json_text(name)) ||
	    gt_json_set(object, "pid", json_object_new_int(place.pid)) ||
	    gt_json_set(object, "tid", json_object_new_int(place.tid)) ||
	    gt_json_set(object, "ts", gt_json_us(time))) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

struct json_object *gt_element_slice(const char *category, const char *name, struct gt_place place,
				     uint64_t time, uint64_t end)
{
	struct json_object *object = gt_element("X", category, name, place, time);

	if (gt_json_set(object, "dur", gt_json_us(end > time ? end - time : 0)) ||
	    gt_json_set(object, "args", json_object_new_object())) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

struct json_object *gt_element_instant(const char *category, const char *name, const char *scope,
				       struct gt_place place, uint64_t time)
{
	struct json_object *object = gt_element("i", category, name, place, time);

	if (gt_json_set(object, "s", gt_json_text(scope)) ||
	    gt_json_set(object, "args", json_object_new_object())) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

int gt_element_set(struct json_object *object, const char *key, struct json_object *value)
{
	return gt_json_set(json_object_object_get(object, "args"), key, value);
}

int gt_elements_add(struct gt_elements *elements, struct json_object *object)
{
	int error = gt_json_write(elements->output, elements->separator, object);

	elements->separator = ",\n";
	return error;
}

int gt_elements_add_unless(struct gt_elements *elements, int error, struct json_object *object)
{
	if (error) {
		json_object_put(object);
		return error;
	}
	return gt_elements_add(elements, object);
}
