/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <string.h>

#include "lib/verify/ranges.h"
#include "tests/verify/vm-alu.h"
#include "tests/verify/vm-parts.h"

/* ---- arithmetic ---- */

static int pointer_arithmetic(struct vm *vm, const struct bpf_insn *insn, struct vm_value *dst, struct vm_value src)
{
	unsigned op = BPF_OP(insn->code);

	if (BPF_CLASS(insn->code) != BPF_ALU64)
		return vm_fault(vm, "32-bit arithmetic on a pointer");
	if (op == BPF_ADD && dst->is_pointer != src.is_pointer) {
		*dst = vm_pointer(dst->is_pointer ? dst->object : src.object, dst->number + src.number);
		return VM_DONE;
	}
	if (op == BPF_SUB && dst->is_pointer && !src.is_pointer) {
		dst->number -= src.number;
		return VM_DONE;
	}
	if (op == BPF_SUB && dst->is_pointer && dst->object == src.object) {
		*dst = vm_number(dst->number - src.number);
		return VM_DONE;
	}
	return vm_fault(vm, "arithmetic on pointers");
}

static int alu(struct vm *vm, struct vm_frame *f, const struct bpf_insn *insn)
{
	bool is32 = BPF_CLASS(insn->code) == BPF_ALU;
	unsigned op = BPF_OP(insn->code);
	struct vm_value *dst = &f->reg[insn->dst_reg], src = vm_number((uint64_t)(int64_t)insn->imm);
	uint64_t result;

	if (BPF_SRC(insn->code) == BPF_X && op != BPF_END)
		src = f->reg[insn->src_reg];
	if (!src.set || (op != BPF_MOV && !dst->set))
		return vm_fault(vm, "an unset register is read");
	if (op == BPF_MOV) {
		if (src.is_pointer && (is32 || insn->off))
			return vm_fault(vm, "part of a pointer is copied");
		result = insn->off ? vm_sign_extend(src.number, (unsigned)insn->off) : src.number;
		*dst = src;
		dst->number = is32 ? (uint32_t)result : result;
		return VM_DONE;
	}
	if (dst->is_pointer || src.is_pointer)
		return op == BPF_NEG || op == BPF_END ? vm_fault(vm, "arithmetic on a pointer") :
							pointer_arithmetic(vm, insn, dst, src);
	if (op == BPF_END)
		result = vm_swap(insn, dst->number);
	else
		result = vm_arithmetic(op, is32, insn->off == 1, dst->number, src.number);
	*dst = vm_number(is32 && op != BPF_END ? (uint32_t)result : result);
	return VM_DONE;
}

static int condition(struct vm *vm, struct vm_frame *f, const struct bpf_insn *insn, bool *ret_taken)
{
	bool is32 = BPF_CLASS(insn->code) == BPF_JMP32;
	unsigned op = BPF_OP(insn->code);
	struct vm_value a = f->reg[insn->dst_reg], b = vm_number((uint64_t)(int64_t)insn->imm);

	if (BPF_SRC(insn->code) == BPF_X)
		b = f->reg[insn->src_reg];
	if (!a.set || !b.set)
		return vm_fault(vm, "an unset register is compared");
	if (a.is_pointer != b.is_pointer) {
		uint64_t other = a.is_pointer ? b.number : a.number;

		if (is32 || other || (op != BPF_JEQ && op != BPF_JNE))
			return vm_fault(vm, "a pointer is compared with a number");
		*ret_taken = op == BPF_JNE;
		return VM_DONE;
	}
	if (a.is_pointer && (is32 || a.object != b.object))
		return vm_fault(vm, "two objects' pointers are compared");
	*ret_taken = vm_compare(op, is32, a.number, b.number);
	return VM_DONE;
}

static int atomic(struct vm *vm, struct vm_frame *f, const struct bpf_insn *insn, unsigned bytes)
{
	struct vm_value address = f->reg[insn->dst_reg], operand = f->reg[insn->src_reg], old;
	uint64_t result;
	int end;

	if (!operand.set || operand.is_pointer)
		return vm_fault(vm, "an atomic's operand is not a number");
	end = vm_load(vm, address, insn->off, bytes, &old);
	if (end)
		return end;
	if (old.is_pointer)
		return vm_fault(vm, "an atomic on a pointer");
	if (vm->objects[address.object].kind != GT_MEM_STACK && vm->objects[address.object].kind != GT_MEM_MAP)
		return vm_fault(vm, "an atomic on memory of kind %d", vm->objects[address.object].kind);
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
			return vm_fault(vm, "cmpxchg with an r0 that is no number");
		result = old.number == (bytes == 4 ? (uint32_t)f->reg[0].number : f->reg[0].number) ?
			 operand.number : old.number;
		break;
	}
	end = vm_store(vm, address, insn->off, bytes, vm_number(result));
	if (end == VM_DONE && (insn->imm & BPF_FETCH))
		f->reg[insn->imm == BPF_CMPXCHG ? 0 : insn->src_reg] = old;
	return end;
}

/* ---- the program ---- */

static int check_register(struct vm *vm, const struct vm_frame *f, unsigned reg)
{
	const struct gt_range_log *log = &vm->ranges[vm->pc];
	const struct vm_value *value = &f->reg[reg];

	if (!value->set || value->is_pointer) {
		if (log->scalar[reg] == 1)
			return vm_fault(vm, "r%u is no number, but is said to be", reg);
		return VM_DONE;
	}
	if (log->scalar[reg] == 1 && !gt_scalar_holds(&log->reg[reg], value->number))
		return vm_fault(vm, "r%u = %llx is outside what was proved", reg, (unsigned long long)value->number);
	return VM_DONE;
}

/* The registers that an instruction looks at must be as the verifier said. */
static int check_ranges(struct vm *vm, const struct vm_frame *f, const struct bpf_insn *insn)
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
		return vm_fault(vm, "memory of kind %d, said to be %d", object->kind, fact->mem);
	if (object->kind == GT_MEM_CONTEXT && (int64_t)address.number + offset != fact->offset)
		return vm_fault(vm, "context offset differs from the fact");
	if (object->kind == GT_MEM_MAP && fact->map >= 0 && fact->map != object->map)
		return vm_fault(vm, "map %d, said to be %d", object->map, fact->map);
	return VM_DONE;
}

static int memory(struct vm *vm, struct vm_frame *f, const struct bpf_insn *insn)
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
		return vm_store(vm, address, insn->off, bytes, f->reg[insn->src_reg]);
	if (class == BPF_ST)
		return vm_store(vm, address, insn->off, bytes, vm_number((uint64_t)(int64_t)insn->imm));
	end = vm_load(vm, address, insn->off, bytes, &value);
	if (end)
		return end;
	if (BPF_MODE(insn->code) == 0x80)
		value.number = vm_sign_extend(value.number, bytes * 8);
	f->reg[insn->dst_reg] = value;
	return VM_DONE;
}

static void constant(struct vm *vm, struct vm_frame *f, const struct bpf_insn *insn)
{
	struct vm_value *dst = &f->reg[insn->dst_reg];
	const struct gt_map_desc *map;

	switch (insn->src_reg) {
	case BPF_PSEUDO_MAP_FD:
		*dst = vm_pointer(vm_new_object(vm, GT_MEM_NONE, insn->imm, 0, false, false), 0);
		break;
	case BPF_PSEUDO_MAP_VALUE:
		map = vm->prog->maps[insn->imm];
		/* One object for each map, so that its addresses can be compared. */
		for (unsigned i = 0; i < vm->object_count; i++)
			if (vm->objects[i].kind == GT_MEM_MAP && vm->objects[i].map == insn->imm && map->max_entries == 1) {
				*dst = vm_pointer(i, (uint32_t)insn[1].imm);
				return;
			}
		*dst = vm_pointer(vm_new_object(vm, GT_MEM_MAP, insn->imm, map->value_size, !map->read_only, true), (uint32_t)insn[1].imm);
		break;
	case BPF_PSEUDO_FUNC:
		*dst = vm_pointer(vm_new_object(vm, GT_MEM_NONE, -1, 0, false, false), vm->pc + 1 + (unsigned)insn->imm);
		break;
	default:
		*dst = vm_number((uint64_t)(uint32_t)insn[1].imm << 32 | (uint32_t)insn->imm);
		break;
	}
}

/* 1: the function has returned */
static int step(struct vm *vm, struct vm_frame *f, int *ret_end)
{
	const struct bpf_insn *insn = &vm->prog->insns[vm->pc];
	unsigned class = BPF_CLASS(insn->code);
	bool taken = true;

	if (vm->claims->facts[vm->pc].countdown && vm->rounds_left-- == 0) {
		*ret_end = f->depth == 1 && !vm->held ? VM_DONE : vm_fault(vm, "a countdown where the program cannot end");
		f->reg[0] = vm_number(0);
		return !*ret_end;
	}
	vm->steps++;
	*ret_end = VM_DONE;
	if (!vm->claims->facts[vm->pc].reached)
		*ret_end = vm_fault(vm, "dead code is run");
	else if (vm->steps > vm->claims->max_steps)
		*ret_end = vm_fault(vm, "more than %llu steps", (unsigned long long)vm->claims->max_steps);
	else if (vm->steps > vm->patience || vm->object_count > VM_OBJECTS_MAX - 64)
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
			   vm_call(vm, f, next + (unsigned)insn->imm, &f->reg[0]) : vm_helper(vm, f, insn->imm);
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

int vm_call(struct vm *vm, const struct vm_frame *caller, unsigned start, struct vm_value *ret)
{
	struct vm_frame f = { .depth = caller->depth + 1 };
	unsigned stack = vm_new_object(vm, GT_MEM_STACK, (int)start, VM_STACK_BYTES, true, false);
	int end;

	if (f.depth > 8)
		return vm_fault(vm, "too deep");
	memcpy(&f.reg[1], &caller->reg[1], 5 * sizeof(f.reg[0]));
	f.reg[10] = vm_pointer(stack, VM_STACK_BYTES);
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
	struct vm_frame outside = { .depth = 0 };
	struct vm_value result;
	int end;

	vm->steps = 0;
	vm->held = 0;
	vm->warp_calls = 0;
	vm->warp_trace = 0;
	vm->rounds_left = vm->claims->loop_budget;
	outside.reg[1] = vm_pointer(vm_new_object(vm, GT_MEM_CONTEXT, -1, vm->prog->context_size, false, true), 0);
	end = vm_call(vm, &outside, 0, &result);
	if (end == VM_DONE && (!result.set || result.is_pointer))
		end = vm_fault(vm, "the result is no number");
	if (end == VM_DONE && vm->held)
		end = vm_fault(vm, "a record is still held");
	vm->result = result.number;
	vm_free_objects(vm);
	return (enum vm_end)end;
}
