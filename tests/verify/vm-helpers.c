/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers, as a program may call them. */
#include <linux/bpf.h>
#include <stdbool.h>
#include <string.h>

#include "tests/verify/vm-parts.h"

static int need(struct vm *vm, struct vm_value at, uint64_t bytes, bool write)
{
	uint32_t offset;
	struct vm_object *object = vm_find(vm, at, 0, bytes, write, &offset);

	if (!object)
		return VM_FAULT;
	if (object->kind == GT_MEM_CONTEXT)
		return vm_fault(vm, "a helper works on the context");
	return write ? VM_DONE : vm_check_bytes(vm, object, offset, bytes);
}

static int fill(struct vm *vm, struct vm_value at, uint64_t bytes, uint64_t seed)
{
	uint32_t offset;
	struct vm_object *object = vm_find(vm, at, 0, bytes, true, &offset);

	if (!object)
		return VM_FAULT;
	vm_forget_pointers(object, offset, bytes);
	for (uint64_t i = 0; i < bytes; i++) {
		object->bytes[offset + i] = (uint8_t)vm_random(&seed);
		object->set[offset + i] = 1;
	}
	return VM_DONE;
}

static int get_map(struct vm *vm, struct vm_value value, const struct gt_map_desc **ret_map)
{
	/* Maps themselves are objects of no bytes. */
	if (!value.set || !value.is_pointer || vm->objects[value.object].kind != GT_MEM_NONE ||
	    vm->objects[value.object].map < 0)
		return vm_fault(vm, "not a map");
	*ret_map = vm->prog->maps[vm->objects[value.object].map];
	return VM_DONE;
}

static int get_number(struct vm *vm, struct vm_value value, uint64_t *ret)
{
	if (!value.set || value.is_pointer)
		return vm_fault(vm, "not a number");
	*ret = value.number;
	return VM_DONE;
}

static int sized(struct vm *vm, struct vm_value at, struct vm_value size, bool write)
{
	uint64_t bytes = 0;

	if (get_number(vm, size, &bytes))
		return VM_FAULT;
	if (bytes > vm->claims->facts[vm->pc].arg_size)
		return vm_fault(vm, "size %llu is more than the fact says", (unsigned long long)bytes);
	if (bytes == 0)
		return VM_DONE;
	return write ? fill(vm, at, bytes, vm_alike(vm, 2, vm->warp_seed ? bytes : 0)) : need(vm, at, bytes, false);
}

/* A key's bytes, mixed. */
static uint64_t key_of(struct vm *vm, struct vm_value at, const struct gt_map_desc *map)
{
	const uint8_t *bytes = vm->objects[at.object].bytes + at.number;
	uint64_t mixed = map->type;

	for (uint32_t i = 0; i < map->key_size; i++)
		mixed = mixed * 257 + bytes[i];
	return mixed;
}

static int lookup(struct vm *vm, struct vm_frame *f)
{
	const struct gt_map_desc *map = NULL;
	uint64_t found;
	unsigned index;

	if (get_map(vm, f->reg[1], &map) || need(vm, f->reg[2], map->key_size, false))
		return VM_FAULT;
	index = (unsigned)vm->objects[f->reg[1].object].map;
	f->reg[0] = vm_number(0);
	found = map->type == BPF_MAP_TYPE_ARRAY || map->type >= 4096 ? vm_alike(vm, 7, key_of(vm, f->reg[2], map)) :
								     vm_random(&vm->seed);
	if (found % 4)
		f->reg[0] = vm_pointer(vm_new_object(vm, GT_MEM_MAP, (int)index, map->value_size, !map->read_only, true), 0);
	return VM_DONE;
}

static int change(struct vm *vm, struct vm_frame *f, bool with_value)
{
	const struct gt_map_desc *map = NULL;
	uint64_t flags;

	if (get_map(vm, f->reg[1], &map) || need(vm, f->reg[2], map->key_size, false))
		return VM_FAULT;
	if (map->read_only)
		return vm_fault(vm, "a read-only map is changed");
	if (with_value && (need(vm, f->reg[3], map->value_size, false) || get_number(vm, f->reg[4], &flags)))
		return VM_FAULT;
	f->reg[0] = vm_number(vm_interesting(&vm->seed));
	return VM_DONE;
}

static int reserve(struct vm *vm, struct vm_frame *f)
{
	const struct gt_map_desc *map = NULL;
	uint64_t size = 0, flags;

	if (get_map(vm, f->reg[1], &map) || get_number(vm, f->reg[2], &size) || get_number(vm, f->reg[3], &flags))
		return VM_FAULT;
	if (size != vm->claims->facts[vm->pc].arg_size)
		return vm_fault(vm, "a record of %llu bytes", (unsigned long long)size);
	f->reg[0] = vm_number(0);
	if (vm_random(&vm->seed) % 4) {
		f->reg[0] = vm_pointer(vm_new_object(vm, GT_MEM_RECORD, -1, (uint32_t)size, true, false), 0);
		/* What a reserved record holds is whatever was there. */
		memset(vm->objects[f->reg[0].object].set, 1, size);
		vm->held++;
	}
	return VM_DONE;
}

static int give_back(struct vm *vm, struct vm_frame *f)
{
	struct vm_value record = f->reg[1];

	if (!record.set || !record.is_pointer || vm->objects[record.object].kind != GT_MEM_RECORD ||
	    record.number || !vm->objects[record.object].readable)
		return vm_fault(vm, "not a held record");
	vm->objects[record.object].readable = 0;
	vm->held--;
	f->reg[0] = vm_number(vm_alike(vm, 10, 0));
	return VM_DONE;
}

static int loop(struct vm *vm, struct vm_frame *f)
{
	struct vm_value target = f->reg[2], result;
	unsigned pc = vm->pc, held = vm->held;
	uint64_t count = 0, flags;
	struct vm_frame inner;
	int end;

	if (get_number(vm, f->reg[1], &count) || get_number(vm, f->reg[4], &flags))
		return VM_FAULT;
	if (!f->reg[3].set || !target.set || !target.is_pointer || vm->objects[target.object].kind != GT_MEM_NONE ||
	    vm->objects[target.object].map >= 0)
		return vm_fault(vm, "not a function");
	count = (uint32_t)count > 1u << 23 ? 0 : (uint32_t)count;
	for (uint64_t i = 0; i < count; i++) {
		inner = (struct vm_frame){ .depth = f->depth };
		inner.reg[1] = vm_number(i);
		inner.reg[2] = f->reg[3];
		end = vm_call(vm, &inner, (unsigned)target.number, &result);
		if (end)
			return end;
		vm->pc = pc;
		if (!result.set || result.is_pointer || result.number > 1)
			return vm_fault(vm, "a callback returns something else than 0 and 1");
		if (vm->held != held)
			return vm_fault(vm, "a callback changes what is held");
		if (result.number)
			break;
	}
	f->reg[0] = vm_number(vm_interesting(&vm->seed));
	return VM_DONE;
}

static int indices(struct vm *vm, struct vm_frame *f, int id)
{
	for (unsigned i = 1; i <= 3; i++) {
		if (f->reg[i].is_pointer && f->reg[i].number % 8)
			return vm_fault(vm, "an unaligned index variable");
		if (need(vm, f->reg[i], 8, true) ||
		    fill(vm, f->reg[i], 8, id == 505 ? vm_random(&vm->seed) : vm_alike(vm, 3 + i, (uint64_t)id)))
			return VM_FAULT;
	}
	f->reg[0] = vm_number(vm_interesting(&vm->seed));
	return VM_DONE;
}

static int print(struct vm *vm, struct vm_frame *f, bool with_data)
{
	uint64_t size = 0;

	if (sized(vm, f->reg[1], f->reg[2], false))
		return VM_FAULT;
	if (with_data && get_number(vm, f->reg[4], &size))
		return VM_FAULT;
	if (with_data && size && sized(vm, f->reg[3], f->reg[4], false))
		return VM_FAULT;
	f->reg[0] = vm_number(vm_interesting(&vm->seed));
	return VM_DONE;
}

static int ring_output(struct vm *vm, struct vm_frame *f, unsigned map_reg, unsigned data_reg)
{
	const struct gt_map_desc *map;

	if (get_map(vm, f->reg[map_reg], &map) || sized(vm, f->reg[data_reg], f->reg[data_reg + 1], false))
		return VM_FAULT;
	f->reg[0] = vm_number(vm_interesting(&vm->seed));
	return VM_DONE;
}

int vm_helper(struct vm *vm, struct vm_frame *f, int id)
{
	uint64_t seed;

	switch (id) {
	case 1:
		return lookup(vm, f);
	case 2:
		return change(vm, f, true);
	case 3:
		return change(vm, f, false);
	case 6:
		return print(vm, f, false);
	case 177:
		return print(vm, f, true);
	case 25:
		return ring_output(vm, f, 2, 4);
	case 130:
		return ring_output(vm, f, 1, 2);
	case 131:
		return reserve(vm, f);
	case 132:
	case 133:
		return give_back(vm, f);
	case 181:
		return loop(vm, f);
	case 503:
	case 504:
	case 505:
	case 508:
		return indices(vm, f, id);
	case 4104:
		f->reg[0] = vm_number(0);
		return sized(vm, f->reg[1], f->reg[2], true);
	case 511:
	case 4100:
		f->reg[0] = vm_number(vm_random(&vm->seed) % 32);
		return VM_DONE;
	case 7:
		f->reg[0] = vm_number((uint32_t)vm_interesting(&vm->seed));
		return VM_DONE;
	case 8:
	case 509:
	case 510:
	case 4098:
	case 4099:
	case 4101:
		seed = vm_alike(vm, 8, (uint64_t)id);
		f->reg[0] = vm_number((uint32_t)vm_interesting(&seed));
		return VM_DONE;
	case 14:
	case 4102:
	case 4103:
		seed = vm_alike(vm, 8, (uint64_t)id);
		f->reg[0] = vm_number(vm_interesting(&seed));
		return VM_DONE;
	case 4105:
		if (!f->reg[1].set || f->reg[1].is_pointer)
			return vm_fault(vm, "not a number");
		seed = vm_alike(vm, 9, vm->warp_calls++);
		vm->warp_trace = vm->warp_trace * 1000003 + vm->pc + 1;
		f->reg[0] = vm_number(vm_interesting(&seed));
		return VM_DONE;
	default:
		f->reg[0] = vm_number(vm_interesting(&vm->seed));
		return VM_DONE;
	}
}
