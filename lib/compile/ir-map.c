/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_map_lookup_elem, _update_elem and _delete_elem. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/compile/ir.h"

int gt_ir_map_argument(struct gt_ir *ir, unsigned reg, uint32_t kind_mask, int *ret_map)
{
	const struct gt_known *k = &ir->known.r[reg];
	int map = -1;

	if (k->what == GT_KNOW_MAP)
		map = k->index;
	else if (ir->facts)
		map = ir->facts[ir->at].map;
	if (map < 0)
		return gt_ir_unsupported(ir, "r%u does not hold one certain map", reg);
	if ((unsigned)map >= ir->object->map_count)
		return gt_ir_unsupported(ir, "there is no map number %d", map);
	if (gt_map_check(ir->object->maps[map]) < 0)
		return gt_ir_unsupported(ir, "map %s cannot be used on the GPU", ir->object->maps[map]->name);
	if (!(kind_mask & 1u << ir->object->maps[map]->layout.kind))
		return gt_ir_unsupported(ir, "map %s is of the wrong kind for this helper",
					 ir->object->maps[map]->name);
	*ret_map = map;
	return 0;
}

#define ELEMENT_MAPS (1u << GT_KIND_ARRAY | 1u << GT_KIND_HASH)

static LLVMValueRef error(struct gt_ir *ir, int number)
{
	return gt_ir_i64(ir, -number);
}

/* Bytes that `reg` points at, copied to this thread's memory and padded with zeros to 8. */
static LLVMValueRef copy_in(struct gt_ir *ir, unsigned reg, uint32_t bytes)
{
	uint32_t padded = (bytes + 7) & ~7u;
	LLVMValueRef copy = gt_ir_alloca(ir, padded, "");

	if (padded != bytes)
		LLVMBuildMemSet(ir->builder, copy, LLVMConstInt(ir->i8, 0, 0), gt_ir_i64(ir, padded), 8);
	LLVMBuildMemCpy(ir->builder, copy, 8, gt_ir_pointer(ir, reg), 1, gt_ir_i64(ir, bytes));
	return copy;
}

/* ---- arrays ---- */

static LLVMValueRef array_index(struct gt_ir *ir)
{
	return gt_ir_load(ir, ir->i32, gt_ir_pointer(ir, 2), 1);
}

/* Address of this thread's value of an element, an i64. */
static LLVMValueRef element_address(struct gt_ir *ir, const struct gputrace_map *map, LLVMValueRef index)
{
	const struct gt_map_layout *l = &map->layout;
	LLVMBuilderRef b = ir->builder;
	LLVMValueRef number = LLVMBuildZExt(b, index, ir->i64, ""), args[3], offset;

	/* In a spread map a slot is a copy. */
	if (l->slots > 1 && !(ir->gpu && map->spread)) {
		args[0] = ir->env[GT_ENV_ADDR];
		args[1] = gt_ir_i32(ir, l->slot);
		args[2] = gt_ir_i32(ir, l->slots);
		number = LLVMBuildMul(b, number, gt_ir_i64(ir, l->slots), "");
		number = LLVMBuildAdd(b, number,
				      LLVMBuildZExt(b, gt_ir_runtime(ir, "gt_rt_slot", args, 3), ir->i64, ""), "");
	}
	offset = LLVMBuildMul(b, number, gt_ir_i64(ir, (int64_t)l->stride), "");
	return LLVMBuildAdd(b, gt_ir_map_memory(ir, (int)map->index), offset, "");
}

static LLVMValueRef in_bounds(struct gt_ir *ir, const struct gputrace_map *map, LLVMValueRef index)
{
	return LLVMBuildICmp(ir->builder, LLVMIntULT, index, gt_ir_i32(ir, map->layout.max_entries), "");
}

static LLVMValueRef array_lookup(struct gt_ir *ir, const struct gputrace_map *map)
{
	LLVMValueRef index = array_index(ir), address = element_address(ir, map, index);

	/* So that the program's own test for NULL becomes the test of the index. */
	gt_ir_assume(ir, LLVMBuildICmp(ir->builder, LLVMIntNE, address, gt_ir_i64(ir, 0), ""));
	return LLVMBuildSelect(ir->builder, in_bounds(ir, map, index), address, gt_ir_i64(ir, 0), "");
}

static LLVMValueRef array_update(struct gt_ir *ir, const struct gputrace_map *map)
{
	LLVMBuilderRef b = ir->builder;
	LLVMValueRef index = array_index(ir), flags = gt_ir_get(ir, 4), result, store;
	LLVMBasicBlockRef write = gt_ir_block(ir, "write"), after = gt_ir_block(ir, "after");
	LLVMValueRef to;

	/* The kernel checks the flags, then the index, then that nothing is to be new. */
	result = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, flags, gt_ir_i64(ir, BPF_NOEXIST), ""),
				 error(ir, EEXIST), gt_ir_i64(ir, 0), "");
	result = LLVMBuildSelect(b, in_bounds(ir, map, index), result, error(ir, E2BIG), "");
	result = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGT, flags, gt_ir_i64(ir, BPF_EXIST), ""),
				 error(ir, EINVAL), result, "");
	store = LLVMBuildICmp(b, LLVMIntEQ, result, gt_ir_i64(ir, 0), "");
	LLVMBuildCondBr(b, store, write, after);
	LLVMPositionBuilderAtEnd(b, write);
	to = LLVMBuildIntToPtr(b, element_address(ir, map, index), ir->global_ptr, "");
	LLVMBuildMemCpy(b, to, 8, gt_ir_pointer(ir, 3), 1, gt_ir_i64(ir, map->layout.value_size));
	LLVMBuildBr(b, after);
	LLVMPositionBuilderAtEnd(b, after);
	return result;
}

/* ---- hash tables ---- */

#define TABLE_PARAMS 7			/* and what an operation takes besides the key */
#define TABLE_MORE 2

/* See runtime/table.h; for the GPU, gt_ptx_tidy() puts it into the text. */
static LLVMValueRef table_function(struct gt_ir *ir, const char *name, LLVMTypeRef *types, unsigned count)
{
	LLVMValueRef function = LLVMGetNamedFunction(ir->module, name);

	if (function)
		return function;
	function = LLVMAddFunction(ir->module, name, LLVMFunctionType(ir->i64, types, count, 0));
	gt_ir_function_attributes(ir, function);
	return function;
}

/* operation: "lookup", "update" or "delete". */
static LLVMValueRef table_call(struct gt_ir *ir, const struct gputrace_map *map, const char *operation,
			       LLVMValueRef *more, unsigned more_count)
{
	const struct gt_map_layout *l = &map->layout;
	LLVMValueRef args[TABLE_PARAMS + TABLE_MORE] = {
		gt_ir_map_memory(ir, (int)map->index), gt_ir_i32(ir, l->key_bytes), gt_ir_i32(ir, l->value_size),
		gt_ir_i32(ir, l->buckets), gt_ir_i32(ir, l->nodes), gt_ir_i32(ir, l->max_entries),
		copy_in(ir, 2, l->key_size),
	};
	LLVMTypeRef types[TABLE_PARAMS + TABLE_MORE];
	unsigned count = TABLE_PARAMS, i;
	char name[48];

	for (i = 0; i < more_count; i++)
		args[count++] = more[i];
	for (i = 0; i < count; i++)
		types[i] = LLVMTypeOf(args[i]);
	snprintf(name, sizeof(name), GT_FUNCTION_PREFIX "table%s%s_%s", l->lru ? "_lru" : "",
		 gt_map_arena(map) == GT_ARENA_HOST ? "_host" : "", operation);
	return LLVMBuildCall2(ir->builder, LLVMFunctionType(ir->i64, types, count, 0),
			      table_function(ir, name, types, count), args, count, "");
}

static LLVMValueRef table_update(struct gt_ir *ir, const struct gputrace_map *map)
{
	LLVMValueRef more[TABLE_MORE] = { copy_in(ir, 3, map->layout.value_size), gt_ir_get(ir, 4) };

	return table_call(ir, map, "update", more, TABLE_MORE);
}

/* ---- both ---- */

static int element_map(struct gt_ir *ir, const struct gputrace_map **ret_map)
{
	int index, r = gt_ir_map_argument(ir, 1, ELEMENT_MAPS, &index);

	if (r < 0)
		return r;
	*ret_map = ir->object->maps[index];
	return 0;
}

int gt_ir_map_lookup(struct gt_ir *ir)
{
	const struct gputrace_map *map;
	int r = element_map(ir, &map);

	if (r < 0)
		return r;
	if (map->layout.kind == GT_KIND_ARRAY)
		gt_ir_set(ir, 0, array_lookup(ir, map));
	else
		gt_ir_set(ir, 0, table_call(ir, map, "lookup", NULL, 0));
	return 0;
}

int gt_ir_map_update(struct gt_ir *ir)
{
	const struct gputrace_map *map;
	int r = element_map(ir, &map);

	if (r < 0)
		return r;
	if (map->desc.read_only)
		return gt_ir_unsupported(ir, "map %s cannot be written", map->name);
	if (map->layout.kind == GT_KIND_ARRAY)
		gt_ir_set(ir, 0, array_update(ir, map));
	else
		gt_ir_set(ir, 0, table_update(ir, map));
	return 0;
}

int gt_ir_map_delete(struct gt_ir *ir)
{
	const struct gputrace_map *map;
	int r = element_map(ir, &map);

	if (r < 0)
		return r;
	if (map->layout.kind == GT_KIND_ARRAY)
		gt_ir_set(ir, 0, error(ir, EINVAL));	/* elements of arrays cannot go */
	else
		gt_ir_set(ir, 0, table_call(ir, map, "delete", NULL, 0));
	return 0;
}
