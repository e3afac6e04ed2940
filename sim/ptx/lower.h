/* SPDX-License-Identifier: Apache-2.0 */
/* From parsed instructions to decoded operations. */
#ifndef SIM_PTX_LOWER_H
#define SIM_PTX_LOWER_H

#include "context.h"
#include "ops.h"
#include "sreg.h"

/* Kinds of modifier; an instruction has at most one of each, but types and cache hints. */
enum mod {
	MOD_TYPE, MOD_RND, MOD_INTEGRAL, MOD_FTZ, MOD_SAT, MOD_APPROX, MOD_HALF, MOD_CC, MOD_CMP,
	MOD_ATOM, MOD_SPACE, MOD_VEC, MOD_SEM, MOD_SCOPE, MOD_CACHE, MOD_HINT, MOD_UNI, MOD_SYNC,
	MOD_ALIGNED, MOD_SHFL, MOD_VOTE, MOD_WARP, MOD_ARRIVE, MOD_WAIT, MOD_RED, MOD_TO,
	MOD_SHIFTAMT, MOD_CLAMP, MOD_DIR, MOD_PRMT, MOD_TESTP, MOD_NAN, MOD_XORSIGN, MOD_ABS,
	MOD_RELU, MOD_NOFTZ, MOD_IDX, MOD_PROXY, MOD_ASYNC, MOD_BULK, MOD_TX,
	MOD_MBAR, MOD_PARITY, MOD_NOINC, MOD_READ, MOD_SHAPE, MOD_NUM, MOD_TRANS, MOD_ROW, MOD_COL,
	MOD_GRID, MOD_COUNT,
};
#define M(name) (1ull << MOD_##name)
#define OWN_MODS UINT64_MAX

enum sem { SEM_NONE, SEM_WEAK, SEM_VOLATILE, SEM_RELAXED, SEM_ACQUIRE, SEM_RELEASE, SEM_ACQ_REL,
	   SEM_SC, SEM_MMIO };

struct mods {
	uint64_t seen;
	uint8_t value[MOD_COUNT];
	unsigned type_count;
	enum ptx_type types[4];
};

struct lower;

struct insn_def {
	const char *name;
	void (*lower)(struct lower *l, const struct insn_def *def);
	uint64_t allowed;	/* bits M(...); OWN_MODS: the lowering reads them itself */
	int data;
};

struct lower {
	struct ptx_ctx *ctx;
	struct sim_module *module;
	struct ptx_func *func;
	struct sim_func *out;
	const struct ptx_insn *insn;
	struct mods mods;

	struct op *ops;
	unsigned op_count, op_room;
	uint64_t frame_bytes, local_bytes;
	unsigned char *consts;
	unsigned const_bytes, const_room;
	struct { uint64_t value; uint32_t ref; } const_cache[256];

	uint32_t saved_stack;		/* slot; 0: the function uses no alloca */
	struct block_info *blocks;
	unsigned block_count;
	uint32_t *block_of;		/* instruction -> block */
	struct ptx_func **func_of;
};

/* lower.c */
void lower_function(struct ptx_ctx *ctx, struct sim_module *module, struct ptx_func *func);
struct op *emit(struct lower *l, op_fn *fn);		/* with the instruction's guard */
struct op *emit_free(struct lower *l, op_fn *fn);	/* without */
uint32_t new_slot(struct lower *l, unsigned bits);	/* 1, 32, 64 or 128 */
uint32_t konst(struct lower *l, uint64_t value, unsigned bits);
uint32_t reg_slot(struct lower *l, struct ptx_sym *sym, unsigned element);
unsigned slot_bits(enum ptx_type type);
void lower_place_local(struct lower *l, struct ptx_var *var, unsigned line);
struct place place_of(struct lower *l, struct ptx_sym *sym);

/* operand.c */
void want_operands(struct lower *l, unsigned least, unsigned most);
uint32_t source(struct lower *l, const struct ptx_operand *opd, enum ptx_type type);
/* For ld, st and cvt, whose registers may be wider than the type; *ret_bits is the slot's kind. */
uint32_t source_relaxed(struct lower *l, const struct ptx_operand *opd, enum ptx_type type,
			unsigned *ret_bits);
uint32_t dest(struct lower *l, const struct ptx_operand *opd, enum ptx_type type);
uint32_t dest_relaxed(struct lower *l, const struct ptx_operand *opd, enum ptx_type type,
		      unsigned *ret_bits);
/* Slot with the address's base, which may be narrower than 64 bits; *ret_offset is added to it. */
uint32_t address(struct lower *l, const struct ptx_operand *opd, enum ptx_space *space,
		 uint64_t *ret_offset, unsigned *flags);
uint32_t generic_address(struct lower *l, const struct ptx_operand *opd, enum ptx_space space);
uint32_t pred_source(struct lower *l, const struct ptx_operand *opd);
uint64_t int_operand(struct lower *l, const struct ptx_operand *opd);
uint32_t symbol_address(struct lower *l, const struct ptx_operand *opd, unsigned bits);

/* mods.c */
void mods_parse(struct lower *l, uint64_t allowed);
int has(const struct lower *l, enum mod mod);
enum ptx_type only_type(struct lower *l);

/* flow.c */
void flow_build(struct lower *l);
unsigned *flow_order(struct lower *l);

struct block_info {
	unsigned first, last;		/* instructions, last excluded */
	unsigned succ_count;
	unsigned *succs;
	uint32_t op;			/* where its code begins */
	int reachable;
};

/* insns.c */
const struct insn_def *insn_find(const char *name);
int insn_is_known(const char *name);

/* lower-*.c */
void lower_alu(struct lower *l, const struct insn_def *def);
void lower_mov(struct lower *l, const struct insn_def *def);
void lower_cvt(struct lower *l, const struct insn_def *def);
void lower_cvt_pack(struct lower *l, const struct insn_def *def);
void lower_setp(struct lower *l, const struct insn_def *def);
void lower_set(struct lower *l, const struct insn_def *def);
void lower_selp(struct lower *l, const struct insn_def *def);
void lower_slct(struct lower *l, const struct insn_def *def);
void lower_testp(struct lower *l, const struct insn_def *def);
void lower_logic(struct lower *l, const struct insn_def *def);
void lower_bra(struct lower *l, const struct insn_def *def);
void lower_brx(struct lower *l, const struct insn_def *def);
void lower_call(struct lower *l, const struct insn_def *def);
void lower_end(struct lower *l, const struct insn_def *def);
void lower_enter(struct lower *l);
void lower_leave(struct lower *l);
void lower_stack(struct lower *l, const struct insn_def *def);
void lower_video(struct lower *l, const struct insn_def *def);
void lower_nop(struct lower *l, const struct insn_def *def);
void lower_nanosleep(struct lower *l, const struct insn_def *def);
void lower_fence(struct lower *l, const struct insn_def *def);
void lower_bar(struct lower *l, const struct insn_def *def);
void lower_shfl(struct lower *l, const struct insn_def *def);
void lower_vote(struct lower *l, const struct insn_def *def);
void lower_match(struct lower *l, const struct insn_def *def);
void lower_redux(struct lower *l, const struct insn_def *def);
void lower_elect(struct lower *l, const struct insn_def *def);
void lower_activemask(struct lower *l, const struct insn_def *def);
void lower_ld(struct lower *l, const struct insn_def *def);
void lower_st(struct lower *l, const struct insn_def *def);
void lower_atom(struct lower *l, const struct insn_def *def);
void lower_cvta(struct lower *l, const struct insn_def *def);
void lower_isspacep(struct lower *l, const struct insn_def *def);
void lower_cp(struct lower *l, const struct insn_def *def);
void lower_mbarrier(struct lower *l, const struct insn_def *def);
void lower_mapa(struct lower *l, const struct insn_def *def);
void lower_getctarank(struct lower *l, const struct insn_def *def);
void lower_ldmatrix(struct lower *l, const struct insn_def *def);
void lower_movmatrix(struct lower *l, const struct insn_def *def);
void lower_meeting(struct lower *l);
void lower_wmma(struct lower *l, const struct insn_def *def);
void lower_mma(struct lower *l, const struct insn_def *def);
void lower_lop3(struct lower *l, const struct insn_def *def);
void lower_shf(struct lower *l, const struct insn_def *def);
void lower_dp(struct lower *l, const struct insn_def *def);

enum mbar { MBAR_INIT, MBAR_INVAL, MBAR_ARRIVE_DROP, MBAR_TEST_WAIT, MBAR_TRY_WAIT, MBAR_PENDING };
enum { SHAPE_M8N8 = 1, SHAPE_M16N8K4, SHAPE_M16N8K8, SHAPE_M16N8K16, SHAPE_M16N8K32, SHAPE_M8N8K4 };
enum { END_RET, END_EXIT, END_TRAP, END_BRKPT };

#endif
