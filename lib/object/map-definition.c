/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The definitions that bpf_helpers.h makes: a struct whose members hold numbers as
 * `int (*name)[number]` and types as `type *name`.  They are read here rather than
 * by bpf_object__open(), which trusts the file more than it should.
 */
#include "lib/object/map-definition.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <string.h>

#include "lib/util/error.h"

#define SECTION ".maps"
#define DEPTH_MAX 32

static const struct btf_type *datasec(const struct btf *btf)
{
	int id = btf ? btf__find_by_name_kind(btf, SECTION, BTF_KIND_DATASEC) : -ENOENT;

	return id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
}

unsigned gt_map_definition_count(const struct btf *btf)
{
	const struct btf_type *section = datasec(btf);

	return section ? btf_vlen(section) : 0;
}

/* Without typedefs and qualifiers; NULL when that leads nowhere. */
static const struct btf_type *plain_type(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	unsigned depth;

	for (depth = 0; type && (btf_is_mod(type) || btf_is_typedef(type)); depth++) {
		if (depth == DEPTH_MAX)
			return NULL;
		type = btf__type_by_id(btf, type->type);
	}
	return type;
}

static int bad(const char *object, const char *map, const char *what)
{
	return gt_error(-ENOEXEC, "%s: the definition of map %s is damaged: %s", object, map, what);
}

/* int (*name)[number] */
static bool read_number(const struct btf *btf, const struct btf_member *member, uint32_t *ret_number)
{
	const struct btf_type *pointer = plain_type(btf, member->type), *array;

	if (!pointer || !btf_is_ptr(pointer))
		return false;
	array = plain_type(btf, pointer->type);
	if (!array || !btf_is_array(array))
		return false;
	*ret_number = btf_array(array)->nelems;
	return true;
}

/* type *name: the size of the type */
static bool read_size(const struct btf *btf, const struct btf_member *member, uint32_t *ret_size)
{
	const struct btf_type *pointer = plain_type(btf, member->type);
	int64_t size;

	if (!pointer || !btf_is_ptr(pointer))
		return false;
	size = btf__resolve_size(btf, pointer->type);
	if (size <= 0 || size > INT32_MAX)
		return false;
	*ret_size = (uint32_t)size;
	return true;
}

struct field {
	const char *name;
	bool is_type;
	uint32_t *to;	/* NULL: nothing that matters on a GPU */
};

static int read_member(const struct btf *btf, const struct btf_member *member, const struct field *fields,
		       const char *object, const char *map)
{
	const char *name = btf__name_by_offset(btf, member->name_off);
	bool ok;

	for (; name && fields->name; fields++) {
		if (strcmp(fields->name, name))
			continue;
		if (!fields->to)
			return 0;
		ok = fields->is_type ? read_size(btf, member, fields->to) :
				       read_number(btf, member, fields->to);
		return ok ? 0 : bad(object, map, name);
	}
	return gt_error(-ENOEXEC, "%s: map %s has a field %s that is not known", object, map, name ? name : "");
}

int gt_map_definition_read(const struct btf *btf, unsigned index, const char *object,
			   struct gt_map_definition *ret_definition)
{
	struct gt_map_definition d = {};
	const struct field fields[] = {
		{ "type", false, &d.desc.type },
		{ "max_entries", false, &d.desc.max_entries },
		{ "map_flags", false, &d.desc.flags },
		{ "map_extra", false, &d.extra },
		{ "key_size", false, &d.desc.key_size },
		{ "value_size", false, &d.desc.value_size },
		{ "key", true, &d.desc.key_size },
		{ "value", true, &d.desc.value_size },
		{ "numa_node", false, NULL },
		{ "pinning", false, NULL },
		{ "values", false, NULL },
		{ NULL, false, NULL },
	};
	const struct btf_type *section = datasec(btf), *var, *type;
	const struct btf_member *members;
	unsigned i;
	int r;

	var = btf__type_by_id(btf, btf_var_secinfos(section)[index].type);
	d.desc.name = var ? btf__name_by_offset(btf, var->name_off) : NULL;
	if (!var || !btf_is_var(var) || !d.desc.name || !*d.desc.name)
		return bad(object, "without a name", "no variable");
	type = plain_type(btf, var->type);
	if (!type || !btf_is_struct(type))
		return bad(object, d.desc.name, "no structure");
	members = btf_members(type);
	for (i = 0; i < btf_vlen(type); i++) {
		r = read_member(btf, &members[i], fields, object, d.desc.name);
		if (r < 0)
			return r;
	}
	*ret_definition = d;
	return 0;
}
