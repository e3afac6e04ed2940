/* SPDX-License-Identifier: Apache-2.0 */
/* Branches, calls and returns. */
#include <string.h>

#include "ops.h"

static int go_to(struct warp *w, uint32_t mask, uint32_t target)
{
	if (target <= w->pc)
		w->spin++;
	if (mask == w->mask) {
		w->pc = target;
		return OP_JUMP;
	}
	warp_split(w, w->mask & ~mask, w->pc + 1);
	w->pc = target;
	return OP_RESCHED;
}

int op_bra(struct warp *w, const struct op *op, uint32_t mask)
{
	return go_to(w, mask, (uint32_t)op->imm);
}

/* ext: op->imm targets; a: index.  Each lane may go elsewhere. */
int op_brx(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint32_t *targets = op->ext, *index = slot(w, op->a);
	uint32_t left = mask, same, pc = w->pc, lane;

	/* Lanes that the guard turns away go on below. */
	if (mask != w->mask)
		warp_split(w, w->mask & ~mask, pc + 1);
	while (left) {
		lane = __builtin_ctz(left);
		if (index[lane] >= op->imm)
			return warp_fault(w, op, lane, SIM_ERROR_TRAP,
					  "brx.idx with index %u of %u targets", index[lane],
					  (unsigned)op->imm);
		same = 0;
		for (unsigned i = 0; i < LANES; i++)
			if (left >> i & 1 && index[i] == index[lane])
				same |= 1u << i;
		left &= ~same;
		if (left)
			warp_split(w, same, targets[index[lane]]);
		else
			w->pc = targets[index[lane]];
	}
	if (w->pc <= pc)
		w->spin++;
	return OP_RESCHED;
}

int op_exit(struct warp *w, const struct op *op, uint32_t mask)
{
	(void)op;
	w->pc++;
	warp_exit_lanes(w, mask);
	return OP_RESCHED;
}

static unsigned char *local_at(const struct warp *w, unsigned lane, uint32_t base, uint32_t at)
{
	return w->local + lane * w->local_stride + base + at;
}

static void *frame_slot(struct frame *frame, uint32_t ref)
{
	if (ref & CONST_REF)
		return frame->func->consts + (ref & ~CONST_REF);
	return frame->regs + ref;
}

static uint64_t place_get(struct warp *w, struct frame *frame, const struct place *p, unsigned lane)
{
	uint64_t value = 0;

	if (!p->is_reg) {
		memcpy(&value, local_at(w, lane, frame->local_base, p->at), p->size > 8 ? 8 : p->size);
		return value;
	}
	if (p->reg_bits == 1)
		return *(uint32_t *)frame_slot(frame, p->at) >> lane & 1;
	if (p->reg_bits == 64)
		return ((uint64_t *)frame_slot(frame, p->at))[lane];
	return ((uint32_t *)frame_slot(frame, p->at))[lane];
}

static void place_set(struct warp *w, struct frame *frame, const struct place *p, unsigned lane,
		      uint64_t value)
{
	uint32_t *bits;

	if (!p->is_reg) {
		memcpy(local_at(w, lane, frame->local_base, p->at), &value, p->size > 8 ? 8 : p->size);
	} else if (p->reg_bits == 1) {
		bits = frame_slot(frame, p->at);
		*bits = (*bits & ~(1u << lane)) | (uint32_t)(value & 1) << lane;
	} else if (p->reg_bits == 64) {
		((uint64_t *)frame_slot(frame, p->at))[lane] = value;
	} else {
		((uint32_t *)frame_slot(frame, p->at))[lane] = (uint32_t)value;
	}
}

static void copy_places(struct warp *w, struct frame *to, const struct place *dst,
			struct frame *from, const struct place *src, unsigned count, uint32_t mask)
{
	unsigned k, size;

	for (k = 0; k < count; k++) {
		size = dst[k].size < src[k].size ? dst[k].size : src[k].size;
		if (!dst[k].is_reg && !src[k].is_reg) {
			FOR_LANES(mask, i,
				memcpy(local_at(w, i, to->local_base, dst[k].at),
				       local_at(w, i, from->local_base, src[k].at), size);
			);
		} else {
			FOR_LANES(mask, i,
				place_set(w, to, &dst[k], i, place_get(w, from, &src[k], i));
			);
		}
	}
}

static int enter(struct warp *w, const struct op *op, const struct call_site *call,
		 const struct sim_func *target, uint32_t mask)
{
	struct frame *caller = w->frame, *callee;
	uint64_t base = ((uint64_t)caller->local_base + caller->func->local_bytes + 15) & ~15ull;
	uint64_t room = w->local_stride;
	unsigned lane = __builtin_ctz(mask);

	FOR_LANES(mask, i, if (w->stack_top[i] < room) room = w->stack_top[i];);
	if (caller->depth >= MAX_FRAMES || base + target->local_bytes > room)
		return warp_fault(w, op, lane, SIM_ERROR_ADDRESS, "stack overflow calling '%s'",
				  target->name);
	callee = warp_frame_new(w, target);
	if (!callee)
		return warp_fault(w, op, lane, SIM_ERROR_MEMORY, "out of host memory");
	callee->parent = caller;
	callee->return_pc = w->pc + 1;
	callee->lanes = mask;
	callee->depth = caller->depth + 1;
	callee->local_base = (uint32_t)base;
	copy_places(w, callee, target->params, caller, call->args, call->arg_count, mask);
	if (mask != w->mask)
		warp_split(w, w->mask & ~mask, w->pc + 1);
	w->frame = callee;
	w->pc = 0;
	return OP_RESCHED;
}

int op_call(struct warp *w, const struct op *op, uint32_t mask)
{
	const struct call_site *call = op->ext;

	return enter(w, op, call, call->target, mask);
}

int op_call_builtin(struct warp *w, const struct op *op, uint32_t mask)
{
	const struct call_site *call = op->ext;

	return call->builtin(w, op, call, mask);
}

static const struct sim_func *func_at(const struct warp *w, uint64_t addr)
{
	const struct sim_module *module = w->block->launch->kernel->module;
	uint64_t first = (uint64_t)(uintptr_t)module->funcs;

	if (addr < first || (addr - first) % sizeof(struct sim_func) ||
	    (addr - first) / sizeof(struct sim_func) >= module->func_count)
		return NULL;
	return (const struct sim_func *)(uintptr_t)addr;
}

static int same_shape(const struct sim_func *func, const struct call_site *call)
{
	unsigned i;

	if (func->param_count != call->arg_count || func->ret_count != call->ret_count)
		return 0;
	for (i = 0; i < call->arg_count; i++)
		if (func->params[i].size != call->args[i].size)
			return 0;
	for (i = 0; i < call->ret_count; i++)
		if (func->rets[i].size != call->rets[i].size)
			return 0;
	return 1;
}

/* The lanes that share the first lane's target go in; the others call again afterwards. */
int op_call_indirect(struct warp *w, const struct op *op, uint32_t mask)
{
	const struct call_site *call = op->ext;
	const uint64_t *addr = slot(w, op->a);
	unsigned lane = __builtin_ctz(mask);
	const struct sim_func *func = func_at(w, addr[lane]);
	uint32_t same = 0;

	if (!func || !func->code)
		return warp_fault(w, op, lane, SIM_ERROR_TRAP, "call to 0x%llx, which is no function",
				  (unsigned long long)addr[lane]);
	if (!same_shape(func, call))
		return warp_fault(w, op, lane, SIM_ERROR_TRAP,
				  "call to '%s' with another prototype", func->name);
	FOR_LANES(mask, i, if (addr[i] == addr[lane]) same |= 1u << i;);
	if (mask != w->mask)
		warp_split(w, w->mask & ~mask, w->pc + 1);
	if (same != mask)
		warp_split(w, mask & ~same, w->pc);
	return enter(w, op, call, func, same);
}

int op_ret(struct warp *w, const struct op *op, uint32_t mask)
{
	struct frame *callee = w->frame, *caller = callee->parent;
	const struct call_site *call;
	uint32_t pc;

	(void)op;
	if (!caller)
		return op_exit(w, op, mask);
	pc = callee->return_pc;
	call = caller->func->code[pc - 1].ext;
	copy_places(w, caller, call->rets, callee, callee->func->rets, call->ret_count, mask);
	if (mask != w->mask)
		warp_split(w, w->mask & ~mask, w->pc + 1);
	callee->lanes &= ~mask;
	if (!callee->lanes)
		warp_frame_free(w, callee);
	w->frame = caller;
	w->pc = pc;
	return OP_RESCHED;
}

int op_trap(struct warp *w, const struct op *op, uint32_t mask)
{
	return warp_fault(w, op, __builtin_ctz(mask), SIM_ERROR_TRAP, "%s instruction",
			  op->imm ? "brkpt" : "trap");
}

int op_nop(struct warp *w, const struct op *op, uint32_t mask)
{
	(void)w;
	(void)op;
	(void)mask;
	return OP_NEXT;
}

/* a: ns, of which a GPU takes a millisecond at most */
int op_nanosleep(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint32_t *a = slot(w, op->a);
	uint32_t longest = 0;

	FOR_LANES(mask, i, if (a[i] > longest) longest = a[i];);
	w->groups[w->current].wake = warp_now() + (longest < 1000000 ? longest : 1000000);
	w->pc++;
	return OP_YIELD;
}

/* a: bytes; imm: alignment; the result is a local address */
int op_alloca(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint64_t *size = slot(w, op->a);
	uint64_t *d = slot(w, op->dst), low = w->frame->local_base + w->frame->func->local_bytes;

	FOR_LANES(mask, i,
		if (size[i] > w->stack_top[i] || ((w->stack_top[i] - size[i]) & ~(op->imm - 1)) < low)
			return warp_fault(w, op, i, SIM_ERROR_ADDRESS, "stack overflow: alloca of %llu bytes",
					  (unsigned long long)size[i]);
		d[i] = w->stack_top[i] = (w->stack_top[i] - size[i]) & ~(op->imm - 1);
	);
	return OP_NEXT;
}

int op_stack_save(struct warp *w, const struct op *op, uint32_t mask)
{
	uint64_t *d = slot(w, op->dst);

	FOR_LANES(mask, i, d[i] = w->stack_top[i];);
	return OP_NEXT;
}

int op_stack_restore(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint64_t *a = slot(w, op->a);

	FOR_LANES(mask, i,
		if (a[i] > w->local_stride || a[i] < w->stack_top[i])
			return warp_fault(w, op, i, SIM_ERROR_ADDRESS, "stackrestore to 0x%llx",
					  (unsigned long long)a[i]);
		w->stack_top[i] = a[i];
	);
	return OP_NEXT;
}
