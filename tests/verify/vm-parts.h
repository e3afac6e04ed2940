/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine is made of: objects in memory, helpers, and what runs the program's functions. */
#ifndef GT_TESTS_VERIFY_VM_PARTS_H
#define GT_TESTS_VERIFY_VM_PARTS_H

#include <stdbool.h>

#include "tests/verify/vm.h"

#define VM_OBJECTS_MAX 60000u
#define VM_STACK_BYTES 512

struct vm_object {
	enum gt_mem kind;
	int map;		/* index; of a stack: its function's first instruction */
	int readable, writable;	/* 0 after its end */
	uint32_t size;
	uint8_t *bytes, *set;
	struct vm_value *saved;	/* pointers in aligned 8 byte places */
};

struct vm_frame {
	struct vm_value reg[11];
	unsigned depth;
};

static inline struct vm_value vm_number(uint64_t value)
{
	return (struct vm_value){ .set = 1, .number = value };
}

static inline struct vm_value vm_pointer(unsigned object, uint64_t offset)
{
	return (struct vm_value){ .set = 1, .is_pointer = 1, .object = (uint16_t)object, .number = offset };
}

/* VM_FAULT, with the reason in vm->why; so do the functions below unless they return VM_DONE. */
int vm_fault(struct vm *vm, const char *format, ...);

/* A seed for something that all threads of a warp see alike, told apart by two numbers. */
uint64_t vm_alike(struct vm *vm, uint64_t what, uint64_t which);

/* ---- objects ---- */

unsigned vm_new_object(struct vm *vm, enum gt_mem kind, int map, uint32_t size, bool writable, bool filled);
void vm_free_objects(struct vm *vm);
/* The object that a pointer came from, if so many bytes there may be read, or written to; else NULL, and vm->why. */
struct vm_object *vm_find(struct vm *vm, struct vm_value at, int64_t offset, uint64_t bytes, bool write,
			  uint32_t *ret_offset);
/* Are all bytes set, and no part of a pointer? */
int vm_check_bytes(struct vm *vm, const struct vm_object *object, uint32_t at, uint64_t bytes);
void vm_forget_pointers(struct vm_object *object, uint32_t at, uint64_t bytes);
int vm_load(struct vm *vm, struct vm_value address, int64_t offset, unsigned bytes, struct vm_value *ret);
int vm_store(struct vm *vm, struct vm_value address, int64_t offset, unsigned bytes, struct vm_value value);

/* ---- running ---- */

int vm_helper(struct vm *vm, struct vm_frame *f, int id);
/* A function of the program, with the caller's registers. */
int vm_call(struct vm *vm, const struct vm_frame *caller, unsigned start, struct vm_value *ret);

#endif
