/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of which every byte knows whether it was set and whether it is part of a pointer. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/verify/vm-parts.h"

int vm_fault(struct vm *vm, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(vm->why, sizeof(vm->why), format, args);
	va_end(args);
	return VM_FAULT;
}

uint64_t vm_alike(struct vm *vm, uint64_t what, uint64_t which)
{
	uint64_t seed = vm->warp_seed + what * 1000003 + which;

	return vm->warp_seed ? vm_random(&seed) : vm_random(&vm->seed);
}

unsigned vm_new_object(struct vm *vm, enum gt_mem kind, int map, uint32_t size, bool writable, bool filled)
{
	bool same = kind == GT_MEM_CONTEXT || (kind == GT_MEM_MAP && !writable);
	uint64_t shared = same ? vm_alike(vm, 1, (uint64_t)(map + 1)) : 0;
	struct vm_object *object;

	if (vm->object_count == VM_OBJECTS_MAX)
		abort();
	vm->objects = realloc(vm->objects, (vm->object_count + 1) * sizeof(*vm->objects));
	object = &vm->objects[vm->object_count];
	*object = (struct vm_object){ .kind = kind, .map = map, .readable = 1, .writable = writable, .size = size };
	object->bytes = malloc(size + 1);
	object->set = calloc(1, size + 1);
	object->saved = calloc(size / 8 + 1, sizeof(*object->saved));
	for (uint32_t at = 0; filled && at < size; at++) {
		/* 8 bytes together are one interesting number. */
		uint64_t value = at % 8 ? 0 : vm_interesting(same ? &shared : &vm->seed);

		for (uint32_t i = 0; at % 8 == 0 && i < 8 && at + i < size; i++)
			object->bytes[at + i] = (uint8_t)(value >> 8 * i);
		object->set[at] = 1;
	}
	/* The address of a memory point and the thread index are each thread's own. */
	for (uint32_t at = 16; kind == GT_MEM_CONTEXT && at < 44 && at < size; at++)
		if (at < 24 || at >= 32)
			object->bytes[at] = (uint8_t)(at % 4 > 1 ? 0 : vm_random(&vm->seed));
	return vm->object_count++;
}

void vm_free_objects(struct vm *vm)
{
	for (unsigned i = 0; i < vm->object_count; i++) {
		free(vm->objects[i].bytes);
		free(vm->objects[i].set);
		free(vm->objects[i].saved);
	}
	free(vm->objects);
	vm->objects = NULL;
	vm->object_count = 0;
}

/* Where an access lands; NULL and vm->why when it must not be. */
struct vm_object *vm_find(struct vm *vm, struct vm_value at, int64_t offset, uint64_t bytes, bool write,
			  uint32_t *ret_offset)
{
	struct vm_object *object;
	int64_t place;

	if (!at.set || !at.is_pointer) {
		vm_fault(vm, "access through %s", at.set ? "a number" : "an unset register");
		return NULL;
	}
	object = &vm->objects[at.object];
	place = (int64_t)at.number + offset;
	if (!object->readable || (write && !object->writable)) {
		vm_fault(vm, "object of kind %d cannot be %s", object->kind, write ? "written" : "read");
		return NULL;
	}
	if (place < 0 || (uint64_t)place > object->size || bytes > object->size - (uint64_t)place) {
		vm_fault(vm, "%llu bytes at %lld of an object of %u", (unsigned long long)bytes, (long long)place,
		      object->size);
		return NULL;
	}
	*ret_offset = (uint32_t)place;
	if (object->kind == GT_MEM_STACK &&
	    place < VM_STACK_BYTES - vm->claims->facts[object->map].stack_frame_bytes) {
		vm_fault(vm, "stack beyond what the function is said to use");
		return NULL;
	}
	return object;
}

static bool overlaps_pointer(const struct vm_object *object, uint32_t at, uint64_t bytes)
{
	for (uint64_t i = at / 8; i * 8 < at + bytes; i++)
		if (object->saved[i].set)
			return true;
	return false;
}

int vm_check_bytes(struct vm *vm, const struct vm_object *object, uint32_t at, uint64_t bytes)
{
	if (overlaps_pointer(object, at, bytes))
		return vm_fault(vm, "a pointer's bytes are read as numbers");
	for (uint64_t i = 0; i < bytes; i++)
		if (!object->set[at + i])
			return vm_fault(vm, "byte %llu was never set", (unsigned long long)(at + i));
	return VM_DONE;
}

void vm_forget_pointers(struct vm_object *object, uint32_t at, uint64_t bytes)
{
	for (uint64_t i = at / 8; i * 8 < at + bytes; i++) {
		if (!object->saved[i].set)
			continue;
		object->saved[i].set = 0;
		memset(&object->set[i * 8], 0, 8);
	}
}

int vm_load(struct vm *vm, struct vm_value address, int64_t offset, unsigned bytes, struct vm_value *ret)
{
	uint32_t at;
	struct vm_object *object = vm_find(vm, address, offset, bytes, false, &at);
	uint64_t value = 0;
	int end;

	if (!object)
		return VM_FAULT;
	if (at % bytes)
		return vm_fault(vm, "unaligned load");
	if (bytes == 8 && object->saved[at / 8].set) {
		*ret = object->saved[at / 8];
		return VM_DONE;
	}
	end = vm_check_bytes(vm, object, at, bytes);
	if (end)
		return end;
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)object->bytes[at + i] << 8 * i;
	*ret = vm_number(value);
	return VM_DONE;
}

int vm_store(struct vm *vm, struct vm_value address, int64_t offset, unsigned bytes, struct vm_value value)
{
	uint32_t at;
	struct vm_object *object = vm_find(vm, address, offset, bytes, true, &at);

	if (!object)
		return VM_FAULT;
	if (at % bytes)
		return vm_fault(vm, "unaligned store");
	if (!value.set)
		return vm_fault(vm, "store of an unset register");
	vm_forget_pointers(object, at, bytes);
	if (value.is_pointer) {
		if (bytes != 8 || object->kind != GT_MEM_STACK)
			return vm_fault(vm, "a pointer leaks");
		object->saved[at / 8] = value;
		memset(&object->set[at], 1, 8);
		return VM_DONE;
	}
	for (unsigned i = 0; i < bytes; i++) {
		object->bytes[at + i] = (uint8_t)(value.number >> 8 * i);
		object->set[at + i] = 1;
	}
	return VM_DONE;
}
