/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that the lowering refers to by name. */
#ifndef SIM_PTX_OPS_H
#define SIM_PTX_OPS_H

#include "machine.h"

enum { BAR_POPC, BAR_AND, BAR_OR };

/* See sync.c; ext of its operations. */
struct sync_kind {
	void (*give)(struct warp *w, const struct op *op, uint32_t mask);
	void (*take)(struct warp *w, const struct op *op, uint32_t mask, uint32_t there);
};

op_fn op_bra, op_brx, op_exit, op_ret, op_trap, op_nop, op_nanosleep;
op_fn op_call, op_call_builtin, op_call_indirect;
op_fn op_sync, op_sync_none;
op_fn op_bar_sync, op_bar_arrive, op_bar_red;
op_fn op_mov_sreg32, op_mov_sreg64, op_local_address, op_dynamic_shared, op_param_address;
op_fn op_mov32, op_mov64, op_mov_pred, op_mov128, op_not_pred, op_narrow, op_widen, op_activemask;
op_fn op_pack, op_unpack;
op_fn op_alloca, op_stack_save, op_stack_restore;
op_fn op_fence;

/* op-video.c: SIMD within a register */
op_fn op_video;
enum video { VIDEO_ADD, VIDEO_SUB, VIDEO_AVRG, VIDEO_ABSDIFF, VIDEO_MIN, VIDEO_MAX, VIDEO_SET };

extern const struct sync_kind sync_warp, sync_shfl, sync_vote, sync_match, sync_redux, sync_elect;
enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
enum { MATCH_ANY, MATCH_ALL };

/*
 * Arithmetic found by name, variant and type.  The signature has one letter an
 * operand, the result first: T the instruction's type, W twice as wide, u u32,
 * b b32, h b16, q b64, p predicate, f f32.
 */
struct alu {
	const char *op;
	uint8_t variant;	/* enum alu_variant */
	uint8_t type;		/* enum ptx_type */
	const char *signature;
	op_fn *plain;		/* no modifiers in force */
	op_fn *full;		/* looks at op->flags; NULL: takes none */
	uint16_t flags;		/* modifiers allowed */
};

enum alu_variant { ALU_PLAIN, ALU_LO, ALU_HI, ALU_WIDE, ALU_CC, ALU_LO_CC, ALU_HI_CC, ALU_SAT };

extern const struct alu alu_int[], alu_bit[], alu_float[], alu_half[], alu_math[];

/* op-compare.c: a bit per lane; NULL when the comparison does not exist for the type. */
typedef uint32_t compare_fn(struct warp *w, const struct op *op, uint32_t mask);
enum compare {
	CMP_NONE, CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_LO, CMP_LS, CMP_HI, CMP_HS,
	CMP_EQU, CMP_NEU, CMP_LTU, CMP_LEU, CMP_GTU, CMP_GEU, CMP_NUM, CMP_NAN, CMP_COUNT,
};
compare_fn *compare_find(enum compare cmp, enum ptx_type type);
enum { LOGIC_NONE, LOGIC_AND, LOGIC_OR, LOGIC_XOR };
op_fn op_setp, op_setp_half2, op_set, op_set_half2, op_selp32, op_selp64, op_slct32, op_slct64, op_testp;
op_fn op_pred_and, op_pred_or, op_pred_xor;

/* op-convert.c */
op_fn *convert_find(enum ptx_type to, enum ptx_type from, enum rounding rounding, int to_integral,
		    unsigned flags);

/* op-memory.c, op-atomic.c */
op_fn *load_find(enum ptx_space space, unsigned size, int is_signed, int is_wide);
op_fn *store_find(enum ptx_space space, unsigned size, int is_wide);
op_fn op_address, op_load_param, op_cvta, op_isspacep, op_cp_async;
enum atom {
	ATOM_NONE, ATOM_ADD, ATOM_AND, ATOM_OR, ATOM_XOR, ATOM_MIN, ATOM_MAX, ATOM_INC, ATOM_DEC,
	ATOM_EXCH, ATOM_CAS, ATOM_POPC,
};
op_fn *atomic_find(enum atom atom, enum ptx_type type);
op_fn op_bulk_to_shared, op_bulk_to_global;

/* cluster.c */
op_fn op_cluster_arrive, op_cluster_wait, op_cluster_to_generic, op_mapa, op_getctarank;

/* op-mbarrier.c; imm bits of the waiting ones */
op_fn op_mbar_init, op_mbar_inval, op_mbar_arrive, op_mbar_wait, op_mbar_pending, op_mbar_tx;
enum { MBAR_DROP = 1, MBAR_EXPECT = 2, MBAR_PARITY = 1, MBAR_COMPLETE = 1 };

/* op-matrix.c */
op_fn op_ldmatrix, op_stmatrix, op_movmatrix, op_mma;
op_fn op_wmma_load, op_wmma_store, op_wmma_mma;

/* builtin.c: functions that the device runtime provides */
int (*builtin_find(const char *name))(struct warp *w, const struct op *op,
				      const struct call_site *call, uint32_t mask);

#endif
