/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/verify/vm.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/verify/ranges.h"
#include "tests/verify/vm-alu.h"

#define OBJECTS_MAX 60000u
#define STACK_BYTES 512

struct vm_object {
	enum gt_mem kind;
	int map;		/* index; of a stack: its function's first instruction */
	int readable, writable;	/* 0 after its end */
	uint32_t size;
	uint8_t *bytes, *set;
	struct vm_value *saved;	/* pointers in aligned 8 byte places */
};

struct frame {
	struct vm_value reg[11];
	unsigned depth;
};

static int fault(struct vm *vm, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(vm->why, sizeof(vm->why), format, args);
	va_end(args);
	return VM_FAULT;
}

static struct vm_value number(uint64_t value)
{
	return (struct vm_value){ .set = 1, .number = value };
}

static struct vm_value pointer(unsigned object, uint64_t offset)
{
	return (struct vm_value){ .set = 1, .is_pointer = 1, .object = (uint16_t)object, .number = offset };
}

/* ---- objects ---- */

/* A seed for something that all threads of a warp see alike, told apart by two numbers. */
static uint64_t alike(struct vm *vm, uint64_t what, uint64_t which)
{
	uint64_t seed = vm->warp_seed + what * 1000003 + which;

	return vm->warp_seed ? vm_random(&seed) : vm_random(&vm->seed);
}

static unsigned new_object(struct vm *vm, enum gt_mem kind, int map, uint32_t size, bool writable, bool filled)
{
	bool same = kind == GT_MEM_CONTEXT || (kind == GT_MEM_MAP && !writable);
	uint64_t shared = same ? alike(vm, 1, (uint64_t)(map + 1)) : 0;
	struct vm_object *object;

	if (vm->object_count == OBJECTS_MAX)
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

static void free_objects(struct vm *vm)
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
static struct vm_object *find(struct vm *vm, struct vm_value at, int64_t offset, uint64_t bytes, bool write,
			      uint32_t *ret_offset)
{
	struct vm_object *object;
	int64_t place;

	if (!at.set || !at.is_pointer) {
		fault(vm, "access through %s", at.set ? "a number" : "an unset register");
		return NULL;
	}
	object = &vm->objects[at.object];
	place = (int64_t)at.number + offset;
	if (!object->readable || (write && !object->writable)) {
		fault(vm, "object of kind %d cannot be %s", object->kind, write ? "written" : "read");
		return NULL;
	}
	if (place < 0 || (uint64_t)place > object->size || bytes > object->size - (uint64_t)place) {
		fault(vm, "%llu bytes at %lld of an object of %u", (unsigned long long)bytes, (long long)place,
		      object->size);
		return NULL;
	}
	*ret_offset = (uint32_t)place;
	if (object->kind == GT_MEM_STACK &&
	    place < STACK_BYTES - vm->claims->facts[object->map].stack_frame_bytes) {
		fault(vm, "stack beyond what the function is said to use");
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

static int check_bytes(struct vm *vm, const struct vm_object *object, uint32_t at, uint64_t bytes)
{
	if (overlaps_pointer(object, at, bytes))
		return fault(vm, "a pointer's bytes are read as numbers");
	for (uint64_t i = 0; i < bytes; i++)
		if (!object->set[at + i])
			return fault(vm, "byte %llu was never set", (unsigned long long)(at + i));
	return VM_DONE;
}

static void forget_pointers(struct vm_object *object, uint32_t at, uint64_t bytes)
{
	for (uint64_t i = at / 8; i * 8 < at + bytes; i++) {
		if (!object->saved[i].set)
			continue;
		object->saved[i].set = 0;
		memset(&object->set[i * 8], 0, 8);
	}
}

static int load(struct vm *vm, struct vm_value address, int64_t offset, unsigned bytes, struct vm_value *ret)
{
	uint32_t at;
	struct vm_object *object = find(vm, address, offset, bytes, false, &at);
	uint64_t value = 0;
	int end;

	if (!object)
		return VM_FAULT;
	if (at % bytes)
		return fault(vm, "unaligned load");
	if (bytes == 8 && object->saved[at / 8].set) {
		*ret = object->saved[at / 8];
		return VM_DONE;
	}
	end = check_bytes(vm, object, at, bytes);
	if (end)
		return end;
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)object->bytes[at + i] << 8 * i;
	*ret = number(value);
	return VM_DONE;
}

static int store(struct vm *vm, struct vm_value address, int64_t offset, unsigned bytes, struct vm_value value)
{
	uint32_t at;
	struct vm_object *object = find(vm, address, offset, bytes, true, &at);

	if (!object)
		return VM_FAULT;
	if (at % bytes)
		return fault(vm, "unaligned store");
	if (!value.set)
		return fault(vm, "store of an unset register");
	forget_pointers(object, at, bytes);
	if (value.is_pointer) {
		if (bytes != 8 || object->kind != GT_MEM_STACK)
			return fault(vm, "a pointer leaks");
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

/* ---- arithmetic ---- */

static int pointer_arithmetic(struct vm *vm, const struct bpf_insn *insn, struct vm_value *dst, struct vm_value src)
{
	unsigned op = BPF_OP(insn->code);

	if (BPF_CLASS(insn->code) != BPF_ALU64)
		return fault(vm, "32-bit arithmetic on a pointer");
	if (op == BPF_ADD && dst->is_pointer != src.is_pointer) {
		*dst = pointer(dst->is_pointer ? dst->object : src.object, dst->number + src.number);
		return VM_DONE;
	}
	if (op == BPF_SUB && dst->is_pointer && !src.is_pointer) {
		dst->number -= src.number;
		return VM_DONE;
	}
	if (op == BPF_SUB && dst->is_pointer && dst->object == src.object) {
		*dst = number(dst->number - src.number);
		return VM_DONE;
	}
	return fault(vm, "arithmetic on pointers");
}

static int alu(struct vm *vm, struct frame *f, const struct bpf_insn *insn)
{
	bool is32 = BPF_CLASS(insn->code) == BPF_ALU;
	unsigned op = BPF_OP(insn->code);
	struct vm_value *dst = &f->reg[insn->dst_reg], src = number((uint64_t)(int64_t)insn->imm);
	uint64_t result;

	if (BPF_SRC(insn->code) == BPF_X && op != BPF_END)
		src = f->reg[insn->src_reg];
	if (!src.set || (op != BPF_MOV && !dst->set))
		return fault(vm, "an unset register is read");
	if (op == BPF_MOV) {
		if (src.is_pointer && (is32 || insn->off))
			return fault(vm, "part of a pointer is copied");
		result = insn->off ? vm_sign_extend(src.number, (unsigned)insn->off) : src.number;
		*dst = src;
		dst->number = is32 ? (uint32_t)result : result;
		return VM_DONE;
	}
	if (dst->is_pointer || src.is_pointer)
		return op == BPF_NEG || op == BPF_END ? fault(vm, "arithmetic on a pointer") :
							pointer_arithmetic(vm, insn, dst, src);
	if (op == BPF_END)
		result = vm_swap(insn, dst->number);
	else
		result = vm_arithmetic(op, is32, insn->off == 1, dst->number, src.number);
	*dst = number(is32 && op != BPF_END ? (uint32_t)result : result);
	return VM_DONE;
}

static int condition(struct vm *vm, struct frame *f, const struct bpf_insn *insn, bool *ret_taken)
{
	bool is32 = BPF_CLASS(insn->code) == BPF_JMP32;
	unsigned op = BPF_OP(insn->code);
	struct vm_value a = f->reg[insn->dst_reg], b = number((uint64_t)(int64_t)insn->imm);

	if (BPF_SRC(insn->code) == BPF_X)
		b = f->reg[insn->src_reg];
	if (!a.set || !b.set)
		return fault(vm, "an unset register is compared");
	if (a.is_pointer != b.is_pointer) {
		uint64_t other = a.is_pointer ? b.number : a.number;

		if (is32 || other || (op != BPF_JEQ && op != BPF_JNE))
			return fault(vm, "a pointer is compared with a number");
		*ret_taken = op == BPF_JNE;
		return VM_DONE;
	}
	if (a.is_pointer && (is32 || a.object != b.object))
		return fault(vm, "two objects' pointers are compared");
	*ret_taken = vm_compare(op, is32, a.number, b.number);
	return VM_DONE;
}

static int atomic(struct vm *vm, struct frame *f, const struct bpf_insn *insn, unsigned bytes)
{
	struct vm_value address = f->reg[insn->dst_reg], operand = f->reg[insn->src_reg], old;
	uint64_t result;
	int end;

	if (!operand.set || operand.is_pointer)
		return fault(vm, "an atomic's operand is not a number");
	end = load(vm, address, insn->off, bytes, &old);
	if (end)
		return end;
	if (old.is_pointer)
		return fault(vm, "an atomic on a pointer");
	if (vm->objects[address.object].kind != GT_MEM_STACK && vm->objects[address.object].kind != GT_MEM_MAP)
		return fault(vm, "an atomic on memory of kind %d", vm->objects[address.object].kind);
	switch (insn->imm & ~BPF_FETCH) {
	case BPF_ADD:
		result = old.number + operand.number;
		break;
	case BPF_OR:
		result = old.number | operand.number;
		break;
	case BPF_AND:
		result = old.number & operand.number;
		break;
	case BPF_XOR:
		result = old.number ^ operand.number;
		break;
	case BPF_XCHG & ~BPF_FETCH:
		result = operand.number;
		break;
	default:
		if (!f->reg[0].set || f->reg[0].is_pointer)
			return fault(vm, "cmpxchg with an r0 that is no number");
		result = old.number == (bytes == 4 ? (uint32_t)f->reg[0].number : f->reg[0].number) ?
			 operand.number : old.number;
		break;
	}
	end = store(vm, address, insn->off, bytes, number(result));
	if (end == VM_DONE && (insn->imm & BPF_FETCH))
		f->reg[insn->imm == BPF_CMPXCHG ? 0 : insn->src_reg] = old;
	return end;
}

/* ---- helpers ---- */

static int need(struct vm *vm, struct vm_value at, uint64_t bytes, bool write)
{
	uint32_t offset;
	struct vm_object *object = find(vm, at, 0, bytes, write, &offset);

	if (!object)
		return VM_FAULT;
	if (object->kind == GT_MEM_CONTEXT)
		return fault(vm, "a helper works on the context");
	return write ? VM_DONE : check_bytes(vm, object, offset, bytes);
}

static int fill(struct vm *vm, struct vm_value at, uint64_t bytes, uint64_t seed)
{
	uint32_t offset;
	struct vm_object *object = find(vm, at, 0, bytes, true, &offset);

	if (!object)
		return VM_FAULT;
	forget_pointers(object, offset, bytes);
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
		return fault(vm, "not a map");
	*ret_map = vm->prog->maps[vm->objects[value.object].map];
	return VM_DONE;
}

static int get_number(struct vm *vm, struct vm_value value, uint64_t *ret)
{
	if (!value.set || value.is_pointer)
		return fault(vm, "not a number");
	*ret = value.number;
	return VM_DONE;
}

static int sized(struct vm *vm, struct vm_value at, struct vm_value size, bool write)
{
	uint64_t bytes = 0;

	if (get_number(vm, size, &bytes))
		return VM_FAULT;
	if (bytes > vm->claims->facts[vm->pc].arg_size)
		return fault(vm, "size %llu is more than the fact says", (unsigned long long)bytes);
	if (bytes == 0)
		return VM_DONE;
	return write ? fill(vm, at, bytes, alike(vm, 2, vm->warp_seed ? bytes : 0)) : need(vm, at, bytes, false);
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

static int lookup(struct vm *vm, struct frame *f)
{
	const struct gt_map_desc *map = NULL;
	uint64_t found;
	unsigned index;

	if (get_map(vm, f->reg[1], &map) || need(vm, f->reg[2], map->key_size, false))
		return VM_FAULT;
	index = (unsigned)vm->objects[f->reg[1].object].map;
	f->reg[0] = number(0);
	found = map->type == BPF_MAP_TYPE_ARRAY || map->type >= 4096 ? alike(vm, 7, key_of(vm, f->reg[2], map)) :
								     vm_random(&vm->seed);
	if (found % 4)
		f->reg[0] = pointer(new_object(vm, GT_MEM_MAP, (int)index, map->value_size, !map->read_only, true), 0);
	return VM_DONE;
}

static int change(struct vm *vm, struct frame *f, bool with_value)
{
	const struct gt_map_desc *map = NULL;
	uint64_t flags;

	if (get_map(vm, f->reg[1], &map) || need(vm, f->reg[2], map->key_size, false))
		return VM_FAULT;
	if (map->read_only)
		return fault(vm, "a read-only map is changed");
	if (with_value && (need(vm, f->reg[3], map->value_size, false) || get_number(vm, f->reg[4], &flags)))
		return VM_FAULT;
	f->reg[0] = number(vm_interesting(&vm->seed));
	return VM_DONE;
}

static int reserve(struct vm *vm, struct frame *f)
{
	const struct gt_map_desc *map = NULL;
	uint64_t size = 0, flags;

	if (get_map(vm, f->reg[1], &map) || get_number(vm, f->reg[2], &size) || get_number(vm, f->reg[3], &flags))
		return VM_FAULT;
	if (size != vm->claims->facts[vm->pc].arg_size)
		return fault(vm, "a record of %llu bytes", (unsigned long long)size);
	f->reg[0] = number(0);
	if (vm_random(&vm->seed) % 4) {
		f->reg[0] = pointer(new_object(vm, GT_MEM_RECORD, -1, (uint32_t)size, true, false), 0);
		/* What a reserved record holds is whatever was there. */
		memset(vm->objects[f->reg[0].object].set, 1, size);
		vm->held++;
	}
	return VM_DONE;
}

static int give_back(struct vm *vm, struct frame *f)
{
	struct vm_value record = f->reg[1];

	if (!record.set || !record.is_pointer || vm->objects[record.object].kind != GT_MEM_RECORD ||
	    record.number || !vm->objects[record.object].readable)
		return fault(vm, "not a held record");
	vm->objects[record.object].readable = 0;
	vm->held--;
	f->reg[0] = number(alike(vm, 10, 0));
	return VM_DONE;
}

static int call_function(struct vm *vm, const struct frame *caller, unsigned start, struct vm_value *ret);

static int loop(struct vm *vm, struct frame *f)
{
	struct vm_value target = f->reg[2], result;
	unsigned pc = vm->pc, held = vm->held;
	uint64_t count = 0, flags;
	struct frame inner;
	int end;

	if (get_number(vm, f->reg[1], &count) || get_number(vm, f->reg[4], &flags))
		return VM_FAULT;
	if (!f->reg[3].set || !target.set || !target.is_pointer || vm->objects[target.object].kind != GT_MEM_NONE ||
	    vm->objects[target.object].map >= 0)
		return fault(vm, "not a function");
	count = (uint32_t)count > 1u << 23 ? 0 : (uint32_t)count;
	for (uint64_t i = 0; i < count; i++) {
		inner = (struct frame){ .depth = f->depth };
		inner.reg[1] = number(i);
		inner.reg[2] = f->reg[3];
		end = call_function(vm, &inner, (unsigned)target.number, &result);
		if (end)
			return end;
		vm->pc = pc;
		if (!result.set || result.is_pointer || result.number > 1)
			return fault(vm, "a callback returns something else than 0 and 1");
		if (vm->held != held)
			return fault(vm, "a callback changes what is held");
		if (result.number)
			break;
	}
	f->reg[0] = number(vm_interesting(&vm->seed));
	return VM_DONE;
}

static int indices(struct vm *vm, struct frame *f, int id)
{
	for (unsigned i = 1; i <= 3; i++) {
		if (f->reg[i].is_pointer && f->reg[i].number % 8)
			return fault(vm, "an unaligned index variable");
		if (need(vm, f->reg[i], 8, true) ||
		    fill(vm, f->reg[i], 8, id == 505 ? vm_random(&vm->seed) : alike(vm, 3 + i, (uint64_t)id)))
			return VM_FAULT;
	}
	f->reg[0] = number(vm_interesting(&vm->seed));
	return VM_DONE;
}

static int print(struct vm *vm, struct frame *f, bool with_data)
{
	uint64_t size = 0;

	if (sized(vm, f->reg[1], f->reg[2], false))
		return VM_FAULT;
	if (with_data && get_number(vm, f->reg[4], &size))
		return VM_FAULT;
	if (with_data && size && sized(vm, f->reg[3], f->reg[4], false))
		return VM_FAULT;
	f->reg[0] = number(vm_interesting(&vm->seed));
	return VM_DONE;
}

static int ring_output(struct vm *vm, struct frame *f, unsigned map_reg, unsigned data_reg)
{
	const struct gt_map_desc *map;

	if (get_map(vm, f->reg[map_reg], &map) || sized(vm, f->reg[data_reg], f->reg[data_reg + 1], false))
		return VM_FAULT;
	f->reg[0] = number(vm_interesting(&vm->seed));
	return VM_DONE;
}

static int helper(struct vm *vm, struct frame *f, int id)
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
		f->reg[0] = number(0);
		return sized(vm, f->reg[1], f->reg[2], true);
	case 511:
	case 4100:
		f->reg[0] = number(vm_random(&vm->seed) % 32);
		return VM_DONE;
	case 7:
		f->reg[0] = number((uint32_t)vm_interesting(&vm->seed));
		return VM_DONE;
	case 8:
	case 509:
	case 510:
	case 4098:
	case 4099:
	case 4101:
		seed = alike(vm, 8, (uint64_t)id);
		f->reg[0] = number((uint32_t)vm_interesting(&seed));
		return VM_DONE;
	case 14:
	case 4102:
	case 4103:
		seed = alike(vm, 8, (uint64_t)id);
		f->reg[0] = number(vm_interesting(&seed));
		return VM_DONE;
	case 4105:
		if (!f->reg[1].set || f->reg[1].is_pointer)
			return fault(vm, "not a number");
		seed = alike(vm, 9, vm->warp_calls++);
		vm->warp_trace = vm->warp_trace * 1000003 + vm->pc + 1;
		f->reg[0] = number(vm_interesting(&seed));
		return VM_DONE;
	default:
		f->reg[0] = number(vm_interesting(&vm->seed));
		return VM_DONE;
	}
}

/* ---- the program ---- */

static int check_register(struct vm *vm, const struct frame *f, unsigned reg)
{
	const struct gt_range_log *log = &vm->ranges[vm->pc];
	const struct vm_value *value = &f->reg[reg];

	if (!value->set || value->is_pointer) {
		if (log->scalar[reg] == 1)
			return fault(vm, "r%u is no number, but is said to be", reg);
		return VM_DONE;
	}
	if (log->scalar[reg] == 1 && !gt_scalar_holds(&log->reg[reg], value->number))
		return fault(vm, "r%u = %llx is outside what was proved", reg, (unsigned long long)value->number);
	return VM_DONE;
}

/* The registers that an instruction looks at must be as the verifier said. */
static int check_ranges(struct vm *vm, const struct frame *f, const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code);
	bool from_reg = BPF_SRC(insn->code) == BPF_X;
	bool alu_class = class == BPF_ALU || class == BPF_ALU64;
	bool jump = class == BPF_JMP || class == BPF_JMP32;

	if (jump && BPF_OP(insn->code) == BPF_EXIT)
		return f->depth > 1 ? VM_DONE : check_register(vm, f, 0);
	if (jump && (BPF_OP(insn->code) == BPF_CALL || BPF_OP(insn->code) == BPF_JA))
		return VM_DONE;
	if (((alu_class || jump) && from_reg && BPF_OP(insn->code) != BPF_END) || class == BPF_LDX || class == BPF_STX)
		if (check_register(vm, f, insn->src_reg))
			return VM_FAULT;
	if ((alu_class && BPF_OP(insn->code) != BPF_MOV) || jump || class == BPF_ST || class == BPF_STX)
		return check_register(vm, f, insn->dst_reg);
	return VM_DONE;
}

/* What the compiler will rely on. */
static int check_fact(struct vm *vm, struct vm_value address, int16_t offset)
{
	const struct gt_fact *fact = &vm->claims->facts[vm->pc];
	const struct vm_object *object = &vm->objects[address.object];

	if (!address.set || !address.is_pointer)
		return VM_DONE;	/* the access itself will fault */
	if (fact->mem != object->kind)
		return fault(vm, "memory of kind %d, said to be %d", object->kind, fact->mem);
	if (object->kind == GT_MEM_CONTEXT && (int64_t)address.number + offset != fact->offset)
		return fault(vm, "context offset differs from the fact");
	if (object->kind == GT_MEM_MAP && fact->map >= 0 && fact->map != object->map)
		return fault(vm, "map %d, said to be %d", object->map, fact->map);
	return VM_DONE;
}

static int memory(struct vm *vm, struct frame *f, const struct bpf_insn *insn)
{
	static const unsigned sizes[] = { 4, 2, 1, 8 };
	unsigned class = BPF_CLASS(insn->code), bytes = sizes[BPF_SIZE(insn->code) >> 3];
	struct vm_value address = f->reg[class == BPF_LDX ? insn->src_reg : insn->dst_reg], value;
	int end = check_fact(vm, address, insn->off);

	if (end)
		return end;
	if (class == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC)
		return atomic(vm, f, insn, bytes);
	if (class == BPF_STX)
		return store(vm, address, insn->off, bytes, f->reg[insn->src_reg]);
	if (class == BPF_ST)
		return store(vm, address, insn->off, bytes, number((uint64_t)(int64_t)insn->imm));
	end = load(vm, address, insn->off, bytes, &value);
	if (end)
		return end;
	if (BPF_MODE(insn->code) == 0x80)
		value.number = vm_sign_extend(value.number, bytes * 8);
	f->reg[insn->dst_reg] = value;
	return VM_DONE;
}

static void constant(struct vm *vm, struct frame *f, const struct bpf_insn *insn)
{
	struct vm_value *dst = &f->reg[insn->dst_reg];
	const struct gt_map_desc *map;

	switch (insn->src_reg) {
	case BPF_PSEUDO_MAP_FD:
		*dst = pointer(new_object(vm, GT_MEM_NONE, insn->imm, 0, false, false), 0);
		break;
	case BPF_PSEUDO_MAP_VALUE:
		map = vm->prog->maps[insn->imm];
		/* One object for each map, so that its addresses can be compared. */
		for (unsigned i = 0; i < vm->object_count; i++)
			if (vm->objects[i].kind == GT_MEM_MAP && vm->objects[i].map == insn->imm && map->max_entries == 1) {
				*dst = pointer(i, (uint32_t)insn[1].imm);
				return;
			}
		*dst = pointer(new_object(vm, GT_MEM_MAP, insn->imm, map->value_size, !map->read_only, true), (uint32_t)insn[1].imm);
		break;
	case BPF_PSEUDO_FUNC:
		*dst = pointer(new_object(vm, GT_MEM_NONE, -1, 0, false, false), vm->pc + 1 + (unsigned)insn->imm);
		break;
	default:
		*dst = number((uint64_t)(uint32_t)insn[1].imm << 32 | (uint32_t)insn->imm);
		break;
	}
}

/* 1: the function has returned */
static int step(struct vm *vm, struct frame *f, int *ret_end)
{
	const struct bpf_insn *insn = &vm->prog->insns[vm->pc];
	unsigned class = BPF_CLASS(insn->code);
	bool taken = true;

	if (vm->claims->facts[vm->pc].countdown && vm->rounds_left-- == 0) {
		*ret_end = f->depth == 1 && !vm->held ? VM_DONE : fault(vm, "a countdown where the program cannot end");
		f->reg[0] = number(0);
		return !*ret_end;
	}
	vm->steps++;
	*ret_end = VM_DONE;
	if (!vm->claims->facts[vm->pc].reached)
		*ret_end = fault(vm, "dead code is run");
	else if (vm->steps > vm->claims->max_steps)
		*ret_end = fault(vm, "more than %llu steps", (unsigned long long)vm->claims->max_steps);
	else if (vm->steps > vm->patience || vm->object_count > OBJECTS_MAX - 64)
		*ret_end = VM_ENOUGH;
	else if (vm->ranges)
		*ret_end = check_ranges(vm, f, insn);
	if (*ret_end)
		return 0;
	switch (class) {
	case BPF_ALU:
	case BPF_ALU64:
		*ret_end = alu(vm, f, insn);
		vm->pc++;
		return 0;
	case BPF_LD:
		constant(vm, f, insn);
		vm->pc += 2;
		return 0;
	case BPF_JMP:
	case BPF_JMP32:
		break;
	default:
		*ret_end = memory(vm, f, insn);
		vm->pc++;
		return 0;
	}
	if (BPF_OP(insn->code) == BPF_EXIT)
		return 1;
	if (BPF_OP(insn->code) == BPF_CALL) {
		unsigned next = vm->pc + 1;

		*ret_end = insn->src_reg == BPF_PSEUDO_CALL ?
			   call_function(vm, f, next + (unsigned)insn->imm, &f->reg[0]) : helper(vm, f, insn->imm);
		if (*ret_end)
			return 0;
		for (unsigned i = 1; i <= 5; i++)
			f->reg[i].set = 0;
		vm->pc = next;
		return 0;
	}
	if (BPF_OP(insn->code) != BPF_JA)
		*ret_end = condition(vm, f, insn, &taken);
	vm->pc += 1 + (taken ? (unsigned)(insn->code == (BPF_JMP32 | BPF_JA) ? insn->imm : insn->off) : 0);
	return 0;
}

static int call_function(struct vm *vm, const struct frame *caller, unsigned start, struct vm_value *ret)
{
	struct frame f = { .depth = caller->depth + 1 };
	unsigned stack = new_object(vm, GT_MEM_STACK, (int)start, STACK_BYTES, true, false);
	int end;

	if (f.depth > 8)
		return fault(vm, "too deep");
	memcpy(&f.reg[1], &caller->reg[1], 5 * sizeof(f.reg[0]));
	f.reg[10] = pointer(stack, STACK_BYTES);
	vm->pc = start;
	while (!step(vm, &f, &end))
		if (end)
			return end;
	vm->objects[stack].readable = 0;
	*ret = f.reg[0];
	return VM_DONE;
}

enum vm_end vm_run(struct vm *vm)
{
	struct frame outside = { .depth = 0 };
	struct vm_value result;
	int end;

	vm->steps = 0;
	vm->held = 0;
	vm->warp_calls = 0;
	vm->warp_trace = 0;
	vm->rounds_left = vm->claims->loop_budget;
	outside.reg[1] = pointer(new_object(vm, GT_MEM_CONTEXT, -1, vm->prog->context_size, false, true), 0);
	end = call_function(vm, &outside, 0, &result);
	if (end == VM_DONE && (!result.set || result.is_pointer))
		end = fault(vm, "the result is no number");
	if (end == VM_DONE && vm->held)
		end = fault(vm, "a record is still held");
	vm->result = result.number;
	free_objects(vm);
	return (enum vm_end)end;
}
