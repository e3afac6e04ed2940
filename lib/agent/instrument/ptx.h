/* SPDX-License-Identifier: Apache-2.0 */
/* What the parser knows of a PTX module; shared by the files of this folder. */
#ifndef GT_INSTRUMENT_PTX_H
#define GT_INSTRUMENT_PTX_H

#include "lib/agent/instrument/instrument.h"

#define PTX_NONE UINT32_MAX

#define PTX_HIDDEN "__gt_launch"	/* the hidden parameter */
#define PTX_HIDDEN_BYTES 24u
/* %__gt_t: 0 in the first thread of a warp alone, and of a block. */
#define PTX_LANE "mov.u32 %__gt_t, %laneid;"
#define PTX_FIRST_THREAD \
	"mov.u32 %__gt_t, %tid.x;\n\tmov.u32 %__gt_u, %tid.y;\n\tor.b32 %__gt_t, %__gt_t, %__gt_u;\n" \
	"\tmov.u32 %__gt_u, %tid.z;\n\tor.b32 %__gt_t, %__gt_t, %__gt_u;"

#define PTX_SHARED_ALIGN 16u		/* as loads are at most wide */

struct ptx_range {		/* a piece of the text */
	uint32_t at, length;
};

/* How the address of a memory instruction is written. */
enum ptx_base {
	PTX_BASE_NONE,		/* the instruction gives none (tensor copies) */
	PTX_BASE_REG32,
	PTX_BASE_REG64,
	PTX_BASE_SYMBOL,	/* the address of a variable */
	PTX_BASE_NUMBER,	/* all of it is in `offset` */
	PTX_BASE_UNKNOWN,	/* the parser cannot read it */
};

/* A memory instruction. */
struct ptx_access {
	uint8_t point;			/* GT_POINT_LOAD, _STORE, _ATOMIC */
	uint8_t space;			/* enum gt_space */
	uint8_t base_kind;		/* enum ptx_base */
	uint8_t cluster;		/* GT_SPACE_SHARED: of any block of the cluster */
	uint8_t unknown_size;		/* the parser cannot tell */
	struct ptx_range base;
	struct ptx_range offset;	/* constant expression after the '+', may be empty */
	uint32_t size;			/* bytes, where size_operand is empty */
	struct ptx_range size_operand;	/* number or 32-bit register */
	struct ptx_range nothing_if;	/* predicate that makes the size 0, may be empty */
};

enum ptx_statement_kind { PTX_LABEL, PTX_OPEN, PTX_CLOSE, PTX_INSTRUCTION };

#define PTX_NEGATED 1u		/* @!p */
#define PTX_LEADER 2u		/* begins a basic block */
#define PTX_EXIT 4u		/* ends the thread (ret of an entry, exit anywhere) */
#define PTX_CALL 8u
#define PTX_PARAM_MOVE 16u	/* st.param or ld.param */
#define PTX_FLOW 32u		/* control may go elsewhere after it, calls aside */

struct ptx_statement {
	uint8_t kind;			/* enum ptx_statement_kind */
	uint8_t flags;
	uint16_t predicate_length;	/* 0: none */
	uint32_t at;			/* first byte */
	uint32_t opcode;
	uint32_t predicate;
	uint32_t access;		/* index, or PTX_NONE */
	/*
	 * Nothing may come between the st.param of a call, the call and the
	 * ld.param of its result, so probes of these go in front of this one.
	 */
	uint32_t before;		/* index of a statement, itself as a rule */
};

struct ptx_function {
	struct ptx_range name;
	uint8_t is_kernel;
	uint8_t has_body;
	uint8_t launched;		/* device code takes the address of this kernel's prototype */
	uint8_t falls_off;		/* a kernel, and control may reach the closing brace */
	uint8_t end_is_leader;		/* a block begins right before it */
	uint8_t calls_pointer;		/* an indirect call */
	uint32_t exits;			/* PTX_EXIT statements, falling off a kernel aside */
	uint32_t start;			/* ".visible", ".func" */
	uint32_t params_end;		/* of ')' of the parameter list; PTX_NONE: no list */
	uint32_t params_count;
	uint32_t body, end;		/* after '{', at '}'; of a prototype: at ';' */
	uint32_t statement, statement_count;
	uint32_t call, call_count;	/* into calls[] */
	uint32_t kernel;		/* index into kernels[] when is_kernel && has_body */
};

struct ptx_kernel {
	struct gt_ptx_kernel public;
	struct gt_ptx_param *params;
	struct ptx_range *param_names;
	uint32_t param_room, name_room;
	char *name;
	uint32_t function;		/* index */
};

struct ptx_alias {
	struct ptx_range name, target;
};

struct gt_ptx {
	char *text;
	uint32_t length;
	unsigned version, target;
	struct ptx_range version_token;
	uint32_t header_end;		/* where definitions may begin */
	uint8_t written_out;		/* gt_ptx_write_out() */
	uint8_t told;			/* gt_ptx_tell_access() */

	struct ptx_function *functions;
	uint32_t function_count, function_room;
	struct ptx_kernel *kernels;
	uint32_t kernel_count, kernel_room;
	struct ptx_statement *statements;
	uint32_t statement_count, statement_room;
	struct ptx_access *accesses;
	uint32_t access_count, access_room;
	struct ptx_range *calls;	/* names of the functions called directly */
	uint32_t call_count, call_room;
	/*
	 * Numbers behind .align that become PTX_SHARED_ALIGN: of variables in shared memory that
	 * fill whole such units, so that none takes more room than before, or whose size the launch
	 * says.  The driver compiles what it links without knowing where they will be, and
	 * makes one wide load of several only where the alignment that is said allows it.
	 */
	struct ptx_range *alignments;
	uint32_t alignment_count, alignment_room;
	struct ptx_alias *aliases;
	uint32_t alias_count, alias_room;
};

/* Longest opcode with all its modifiers that is understood, NUL included. */
#define PTX_OPCODE_MAX 256u

/* Copies the opcode at text[at], blanks within it left out; its length, 0 when too long. */
uint32_t gt_ptx_opcode(const struct gt_ptx *ptx, uint32_t at, char opcode[PTX_OPCODE_MAX]);

/* Fills *error; returns -EINVAL. */
int gt_ptx_fail(const struct gt_ptx *ptx, struct gt_ptx_error *error, int kernel, uint32_t at,
	      const char *format, ...) __attribute__((format(printf, 5, 6)));

/*
 * Make room for one more element of an array, doubling it: 0 or -ENOMEM.
 * Counts stay below 2^30, as the text does.
 */
int gt_ptx_grow(void *array_pointer, uint32_t count, uint32_t *room, uint32_t element);

#endif
