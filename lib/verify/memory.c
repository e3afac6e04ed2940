/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and atomics: where the address register may point. */
#include "lib/verify/context.h"
#include "lib/util/insn.h"
#include "lib/verify/verifier.h"

#define NULL_CHECK "check the pointer against NULL before it is used"

static const char *map_name(const struct gt_verifier *v, const struct gt_reg *reg)
{
	return reg->map >= 0 ? v->prog->maps[reg->map]->name : "?";
}

/* Is pointer + offset a multiple of bytes on every path? */
static bool is_aligned(const struct gt_reg *pointer, int32_t offset, unsigned bytes)
{
	struct gt_tnum place = gt_tnum_add(pointer->range.bits, gt_tnum_const((uint64_t)(int64_t)offset));

	return ((place.value | place.mask) & (bytes - 1)) == 0;
}

/* Inside an object of `size` bytes? */
static int check_bounds(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *pointer,
			int32_t offset, uint64_t bytes, uint64_t size, const char *object)
{
	int64_t low, high;
	bool overflow;

	overflow = __builtin_add_overflow(pointer->range.smin, (int64_t)offset, &low);
	overflow |= __builtin_add_overflow(pointer->range.smax, (int64_t)offset, &high);
	if (!overflow && low >= 0 && bytes <= size && (uint64_t)high <= size - bytes)
		return 0;
	if (gt_scalar_is_const(&pointer->range))
		return gt_refuse(v, path->state->insn, NULL,
				 "%llu bytes at offset %lld are outside %s of %llu bytes",
				 (unsigned long long)bytes, (long long)low, object,
				 (unsigned long long)size);
	return gt_refuse(v, path->state->insn, "bound the index with a comparison or a mask before it is added",
			 "%llu bytes at an offset between %lld and %lld may be outside %s of %llu bytes",
			 (unsigned long long)bytes, (long long)pointer->range.smin,
			 (long long)pointer->range.smax, object, (unsigned long long)size);
}

/* Map values and records: the object that the pointer is into. */
static int check_object(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *pointer,
			int32_t offset, uint64_t bytes)
{
	const struct gt_map_desc *map;

	if (pointer->type == GT_REG_RECORD)
		return check_bounds(v, path, pointer, offset, bytes, pointer->size, "the ring record");
	map = v->prog->maps[pointer->map];
	return check_bounds(v, path, pointer, offset, bytes, map->value_size, "the map value");
}

static int refuse_pointer(struct gt_verifier *v, struct gt_path *path, unsigned regno,
			  const struct gt_reg *pointer)
{
	if (pointer->type == GT_REG_SCALAR)
		return gt_refuse(v, path->state->insn,
				 "only memory of maps, ring records, the stack and the context can be reached",
				 "r%u is a number, not a pointer", regno);
	if (pointer->maybe_null)
		return gt_refuse(v, path->state->insn, NULL_CHECK, "r%u may be NULL", regno);
	return gt_refuse(v, path->state->insn, "look an element up with bpf_map_lookup_elem()",
			 "r%u is %s, which has no memory to read or write", regno, gt_reg_kind(pointer));
}

static enum gt_mem memory_kind(const struct gt_reg *pointer)
{
	switch (pointer->type) {
	case GT_REG_STACK:
		return GT_MEM_STACK;
	case GT_REG_CONTEXT:
		return GT_MEM_CONTEXT;
	case GT_REG_VALUE:
		return GT_MEM_MAP;
	case GT_REG_RECORD:
		return GT_MEM_RECORD;
	default:
		return GT_MEM_NONE;
	}
}

static const char *const memory_names[] = { "nothing", "the stack", "the context", "a map value", "a ring record" };

/* What the compiler will rely on: one kind of memory for each instruction. */
static int note_memory(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *pointer,
		       int32_t offset)
{
	struct gt_fact *fact = &v->facts[path->state->insn];
	enum gt_mem kind = memory_kind(pointer);

	if (fact->mem == GT_MEM_NONE) {
		fact->mem = (uint8_t)kind;
		fact->map = pointer->map;
		fact->offset = kind == GT_MEM_CONTEXT ? (int32_t)pointer->range.bits.value + offset : 0;
		return 0;
	}
	if (fact->mem != kind)
		return gt_refuse(v, path->state->insn, "give each kind of memory its own access",
				 "this access reaches %s on one path and %s on another",
				 memory_names[fact->mem], memory_names[kind]);
	if (kind == GT_MEM_CONTEXT && fact->offset != (int32_t)pointer->range.bits.value + offset)
		return gt_refuse(v, path->state->insn, "name the field in each branch, or unroll the loop",
				 "this access reads context offset %d on one path and %lld on another",
				 fact->offset, (long long)pointer->range.bits.value + offset);
	if (fact->map != pointer->map)
		fact->map = -1;
	return 0;
}

/* The address register of a load, store or atomic. */
static int use_address(struct gt_verifier *v, struct gt_path *path, unsigned regno, int32_t offset,
		       unsigned bytes, struct gt_reg *ret_pointer)
{
	struct gt_reg *pointer;
	int r;

	r = gt_use_reg(v, path, regno, &pointer);
	if (r < 0)
		return r;
	if (pointer->maybe_null || memory_kind(pointer) == GT_MEM_NONE)
		return refuse_pointer(v, path, regno, pointer);
	if (pointer->type != GT_REG_CONTEXT && !is_aligned(pointer, offset, bytes))
		return gt_refuse(v, path->state->insn,
				 "align the field to its size; the GPU traps on unaligned accesses",
				 "%u bytes at %s plus %s%d are not aligned", bytes, gt_reg_kind(pointer),
				 gt_scalar_is_const(&pointer->range) ? "" : "a variable and ",
				 (int)(gt_scalar_is_const(&pointer->range) ?
				       (int64_t)pointer->range.bits.value + offset : offset));
	*ret_pointer = *pointer;
	return 0;
}

static void note_use(struct gt_verifier *v, const struct gt_reg *pointer, uint8_t use)
{
	if (pointer->type == GT_REG_VALUE)
		v->map_uses[pointer->map] |= use;
}

int gt_check_load(struct gt_verifier *v, struct gt_path *path)
{
	const struct bpf_insn *insn = &v->prog->insns[path->state->insn];
	unsigned bytes = gt_insn_bytes(insn->code);
	struct gt_reg pointer, value = gt_reg_unknown();
	int r;

	r = use_address(v, path, insn->src_reg, insn->off, bytes, &pointer);
	if (r < 0)
		return r;
	switch (pointer.type) {
	case GT_REG_CONTEXT:
		r = gt_check_context(v, path, &pointer, insn->off, bytes);
		break;
	case GT_REG_STACK:
		r = gt_stack_load(v, path, &pointer, insn->off, bytes, &value);
		break;
	default:
		r = check_object(v, path, &pointer, insn->off, bytes);
		break;
	}
	if (r == 0)
		r = note_memory(v, path, &pointer, insn->off);
	if (r < 0)
		return r;
	note_use(v, &pointer, GT_USE_OTHER);
	if (BPF_MODE(insn->code) == GT_MEMSX) {
		value.range = gt_scalar_sign_extend(&value.range, bytes);
		value.id = 0;
	} else if (bytes < 8 && pointer.type != GT_REG_STACK) {
		value.range = gt_scalar_zero_extend(&value.range, bytes);
	}
	gt_set_reg(path, insn->dst_reg, &value);
	return 0;
}

static int check_writable(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *pointer)
{
	if (pointer->type == GT_REG_CONTEXT)
		return gt_refuse(v, path->state->insn, "copy the field to a variable and change that",
				 "the context is read-only");
	if (pointer->type == GT_REG_VALUE && v->prog->maps[pointer->map]->read_only)
		return gt_refuse(v, path->state->insn, "do not declare the variable const",
				 "map %s is read-only", map_name(v, pointer));
	return 0;
}

static int check_store_value(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *pointer,
			     const struct gt_reg *value)
{
	if (pointer->type != GT_REG_STACK && gt_reg_is_pointer(value))
		return gt_refuse(v, path->state->insn, "store a number",
				 "%s would leak into %s", gt_reg_kind(value),
				 memory_names[memory_kind(pointer)]);
	return 0;
}

/* Saved and kept, a number is one: comparing either tells about both. */
static void link_copy(struct gt_verifier *v, struct gt_reg *value)
{
	if (value->type == GT_REG_SCALAR && !value->id && !gt_scalar_is_const(&value->range))
		value->id = gt_new_id(v);
}

int gt_check_store(struct gt_verifier *v, struct gt_path *path)
{
	const struct bpf_insn *insn = &v->prog->insns[path->state->insn];
	unsigned bytes = gt_insn_bytes(insn->code);
	struct gt_scalar imm = gt_scalar_const((uint64_t)(int64_t)insn->imm);
	struct gt_reg pointer, constant = gt_reg_scalar(&imm), *value = &constant;
	int r;

	r = use_address(v, path, insn->dst_reg, insn->off, bytes, &pointer);
	if (r == 0 && BPF_CLASS(insn->code) == BPF_STX)
		r = gt_use_reg(v, path, insn->src_reg, &value);
	if (r == 0)
		r = check_writable(v, path, &pointer);
	if (r == 0)
		r = check_store_value(v, path, &pointer, value);
	if (r < 0)
		return r;
	if (pointer.type == GT_REG_STACK) {
		if (bytes == 8)
			link_copy(v, value);
		constant = *value;	/* the frame may move */
		r = gt_stack_store(v, path, &pointer, insn->off, bytes, &constant);
	} else {
		r = check_object(v, path, &pointer, insn->off, bytes);
	}
	note_use(v, &pointer, GT_USE_OTHER);
	return r < 0 ? r : note_memory(v, path, &pointer, insn->off);
}

int gt_check_atomic(struct gt_verifier *v, struct gt_path *path)
{
	const struct bpf_insn *insn = &v->prog->insns[path->state->insn];
	unsigned bytes = gt_insn_bytes(insn->code);
	bool is_cmpxchg = insn->imm == BPF_CMPXCHG;
	struct gt_reg pointer, *value, *expected = NULL, result = gt_reg_unknown();
	int r;

	r = use_address(v, path, insn->dst_reg, insn->off, bytes, &pointer);
	if (r == 0)
		r = gt_use_reg(v, path, insn->src_reg, &value);
	if (r == 0 && is_cmpxchg)
		r = gt_use_reg(v, path, 0, &expected);
	if (r < 0)
		return r;
	if (gt_reg_is_pointer(value) || (expected && gt_reg_is_pointer(expected)))
		return gt_refuse(v, path->state->insn, "use numbers", "a pointer is operand of an atomic");
	if (pointer.type == GT_REG_CONTEXT)
		return check_writable(v, path, &pointer);
	if (pointer.type == GT_REG_RECORD)
		return gt_refuse(v, path->state->insn, "nobody else sees the record yet: use plain stores",
				 "atomics work on map values and the stack, not on ring records");
	r = check_writable(v, path, &pointer);
	if (r == 0)
		r = pointer.type == GT_REG_STACK ?
			gt_stack_bytes(v, path, &pointer, insn->off, bytes, GT_ATOMIC) :
			check_object(v, path, &pointer, insn->off, bytes);
	if (r == 0)
		r = note_memory(v, path, &pointer, insn->off);
	note_use(v, &pointer, insn->imm != BPF_ADD ? GT_USE_OTHER : bytes == 4 ? GT_USE_ADD4 : GT_USE_ADD8);
	if (r < 0 || !(insn->imm & BPF_FETCH))
		return r;
	if (bytes < 8)
		result.range = gt_scalar_zero_extend(&result.range, bytes);
	gt_set_reg(path, is_cmpxchg ? 0 : insn->src_reg, &result);
	return 0;
}

int gt_check_memory(struct gt_verifier *v, struct gt_path *path, unsigned regno, uint64_t bytes,
		    enum gt_access access)
{
	struct gt_reg *reg, pointer;
	int r;

	r = gt_use_reg(v, path, regno, &reg);
	if (r < 0)
		return r;
	pointer = *reg;		/* the frame may move */
	if (pointer.maybe_null || memory_kind(&pointer) == GT_MEM_NONE)
		return refuse_pointer(v, path, regno, &pointer);
	if (pointer.type == GT_REG_CONTEXT)
		return gt_refuse(v, path->state->insn, "copy the fields to the stack first",
				 "the context is not memory that a helper can work on");
	if (access != GT_READ) {
		r = check_writable(v, path, &pointer);
		if (r < 0)
			return r;
	}
	if (pointer.type == GT_REG_STACK)
		return gt_stack_bytes(v, path, &pointer, 0, bytes, access);
	note_use(v, &pointer, GT_USE_OTHER);
	return check_object(v, path, &pointer, 0, bytes);
}
