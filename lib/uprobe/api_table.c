/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/api_trace.h"

#include <stddef.h>

#include "lib/uprobe/api_table.h"

struct function {
	const char *name;
	int group;
	const char *args[GT_API_CALL_ARGS];	/* letter, blank, name */
};

#define ENTRY(name, group, ...) { #name, GT_API_##group, { __VA_ARGS__ } },

static const struct function functions[] = {
	GT_API_TABLE(ENTRY)
};

#undef ENTRY

static const struct function *find(uint32_t function)
{
	return function < sizeof(functions) / sizeof(functions[0]) ? &functions[function] : NULL;
}

static const char *find_arg(uint32_t function, unsigned index)
{
	const struct function *f = find(function);

	return f && index < GT_API_CALL_ARGS ? f->args[index] : NULL;
}

const char *gt_api_name(uint32_t function)
{
	const struct function *f = find(function);

	return f ? f->name : NULL;
}

int gt_api_group(uint32_t function)
{
	const struct function *f = find(function);

	return f ? f->group : -1;
}

unsigned gt_api_arg_count(uint32_t function)
{
	unsigned count = 0;

	while (find_arg(function, count))
		count++;
	return count;
}

const char *gt_api_arg_name(uint32_t function, unsigned index)
{
	const char *arg = find_arg(function, index);

	return arg ? arg + 2 : NULL;
}

char gt_api_arg_type(uint32_t function, unsigned index)
{
	const char *arg = find_arg(function, index);

	return arg ? arg[0] : 0;
}

uint64_t gt_api_widen(uint32_t function, unsigned index, uint64_t value)
{
	switch (gt_api_arg_type(function, index)) {
	case 'u':
		return (uint32_t)value;
	case 'i':
		return (uint64_t)(int32_t)value;
	case 'h':
		return (uint16_t)value;
	case 'b':
		return (uint8_t)value;
	default:
		return value;
	}
}

int gt_api_is_launch(uint32_t function)
{
	return gt_api_group(function) == GT_API_LAUNCH;
}
