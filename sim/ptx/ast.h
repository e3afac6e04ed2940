/* SPDX-License-Identifier: Apache-2.0 */
/* A parsed PTX module. */
#ifndef SIM_PTX_AST_H
#define SIM_PTX_AST_H

#include <stdint.h>

#include "type.h"

enum ptx_space {
	SPACE_GENERIC,
	SPACE_REG,
	SPACE_GLOBAL,
	SPACE_SHARED,
	SPACE_LOCAL,
	SPACE_CONST,
	SPACE_PARAM,
	SPACE_CLUSTER,		/* .shared::cluster */
};

enum ptx_sym_kind {
	SYM_REG, SYM_RANGE, SYM_VAR, SYM_FUNC, SYM_LABEL, SYM_TARGETS, SYM_PROTO,
};

enum ptx_linkage { LINK_NONE, LINK_VISIBLE, LINK_EXTERN, LINK_WEAK, LINK_COMMON };

struct ptx_name {
	const char *text;	/* NUL-terminated, in the module's arena */
	unsigned length, hash;
};

struct ptx_sym;
struct ptx_func;

/* One value of an initialiser, put at an offset of its variable. */
struct ptx_init {
	struct ptx_init *next;
	uint64_t offset;
	uint64_t value;		/* bits, or addend to the symbol */
	struct ptx_sym *sym;
	uint64_t mask;		/* 0xff00(sym): which byte of the address; 0 = whole */
	uint8_t size;
	unsigned line;
};

struct ptx_var {
	enum ptx_space space;
	enum ptx_type type;
	enum ptx_linkage linkage;
	uint32_t align;
	uint64_t size;		/* bytes; 0 for name[] without initialiser */
	int unsized;
	struct ptx_init *init;
	struct ptx_func *func;	/* where declared, NULL at module scope */
	int is_entry_param;	/* lives in the launch's parameter block */
	int is_param;		/* parameter or return parameter of a function */
	/* layout */
	uint64_t address;	/* host address, or offset within its window or frame */
	int placed;
	unsigned index;		/* among shared variables */
};

struct ptx_reg {
	enum ptx_type type;
	unsigned width;		/* 1, 2 or 4 elements */
	uint32_t slot[4];	/* 0: not placed yet */
};

struct ptx_range {		/* %r<100> */
	enum ptx_type type;
	unsigned width;
	uint32_t count;
};

struct ptx_proto {
	unsigned ret_count, param_count;
	struct ptx_sym **rets, **params;
	int noreturn;
};

struct ptx_targets {
	unsigned count;
	int is_calls;
	struct ptx_name *names;
	struct ptx_sym **labels;
	unsigned line;
};

struct ptx_sym {
	enum ptx_sym_kind kind;
	struct ptx_name name;
	unsigned line;
	struct ptx_sym *next;	/* hash chain */
	union {
		struct ptx_reg reg;
		struct ptx_range range;
		struct ptx_var var;
		struct ptx_func *func;
		unsigned label;	/* index of the instruction it stands before */
		struct ptx_targets targets;
		struct ptx_proto proto;
	};
};

struct ptx_scope {
	struct ptx_scope *parent;
	struct ptx_func *func;
	struct ptx_sym **buckets;
	unsigned bucket_count, count;
};

enum ptx_operand_kind {
	OPD_NONE,
	OPD_REG,
	OPD_SREG,
	OPD_INT,
	OPD_FLOAT,		/* value: f64 bits, or f32 bits with is_f32 */
	OPD_SYM,		/* variable or function address, value: addend */
	OPD_NAME,		/* label, prototype or target list: found when the scope is complete */
	OPD_ADDRESS,		/* [base + value]; base: reg or sym or absolute */
	OPD_VECTOR,		/* list */
	OPD_LIST,		/* ( ... ) of a call */
	OPD_SINK,		/* _ */
};

struct ptx_operand {
	enum ptx_operand_kind kind;
	uint8_t negated;	/* !p or -r */
	uint8_t is_f32;
	uint8_t element;	/* of a vector register */
	uint8_t selector;	/* video: 'b' or 'h' */
	uint8_t selector_index;
	uint16_t sreg;
	unsigned count;
	unsigned line;
	uint64_t value;
	struct ptx_sym *sym;
	struct ptx_name name;
	struct ptx_scope *scope;
	struct ptx_operand *list;
	struct ptx_operand *second;	/* p|q */
};

struct ptx_mod {
	const char *text;	/* without the dot */
	unsigned length;
};

#define PTX_MODS 16
#define PTX_OPERANDS 12

struct ptx_insn {
	struct ptx_name op;
	unsigned line;
	struct ptx_sym *guard;
	uint8_t guard_element;
	int guard_negated;
	unsigned mod_count, operand_count;
	struct ptx_mod *mods;
	struct ptx_operand *operands;
};

struct ptx_func {
	struct ptx_name name;
	struct ptx_sym *sym;
	unsigned line;
	unsigned index;
	int is_entry, has_body;
	enum ptx_linkage linkage;
	struct ptx_proto proto;
	struct ptx_scope scope;
	struct ptx_insn *insns;
	unsigned insn_count, insn_room;
	unsigned maxntid[3], reqntid;	/* 0: not given */
	unsigned cluster[3];		/* 0: not given */
	unsigned max_regs;
	uint32_t register_slots;	/* registers used, in 32-bit units, for reports */
	struct ptx_var **shared;	/* shared variables named in the body */
	unsigned shared_count, shared_room;
	struct ptx_func **callees;	/* functions named in the body */
	unsigned callee_count, callee_room;
	int calls_indirect, uses_alloca;
	struct ptx_func *alias;
	void *code;			/* struct sim_func of the machine */
};

#endif
