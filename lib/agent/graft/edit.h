/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of grafting: what is looked at, and what is written anew. */
#ifndef GT_GRAFT_EDIT_H
#define GT_GRAFT_EDIT_H

#include "lib/agent/graft/access.h"
#include "lib/agent/graft/elf.h"
#include "lib/agent/graft/graft.h"
#include "lib/agent/graft/insn.h"
#include "lib/agent/graft/stub.h"

/* Bytes that grow.  Running out of memory sticks and is asked for at the end. */
struct gt_bytes {
	uint8_t *data;
	size_t size, room;
	bool failed;
};

void gt_bytes_add(struct gt_bytes *bytes, const void *data, size_t size);
void gt_bytes_fill(struct gt_bytes *bytes, size_t align);	/* zeros up to a multiple */
void gt_bytes_add_word(struct gt_bytes *bytes, gt_word word);

/* ---- what the module says of its kernels: records of .nv.info by symbol ---- */

struct gt_limits {
	uint32_t registers, frame, min_stack, max_stack;	/* positions of the values in .nv.info; 0: no such record */
};

/* ---- functions outside kernels that may end the thread ---- */

struct gt_reach {
	bool *exits;		/* by section of code: itself or what it calls does; NULL: none does */
};

int gt_reach_find_exits(const struct gt_elf *elf, struct gt_reach *ret_reach);
void gt_reach_free_exits(struct gt_reach *reach);

/* By symbol: kernels that the GPU itself may launch; malloc'd. NULL: out of memory. */
bool *gt_nested_find(const struct gt_elf *elf);

/* ---- one kernel's memory accesses ---- */

struct gt_site {
	uint32_t at;
	struct gt_insn_access access;
};

struct gt_sites {
	struct gt_site *list;		/* those where programs can run, in order */
	unsigned count, room;
	unsigned left[GT_ACCESS_KINDS];	/* the others */
	unsigned left_elsewhere;	/* and those in functions with sections of their own */
	bool calls_driver;		/* functions that the driver supplies, of which the code is not at hand */
	bool matrix;			/* results of matrix instructions may be on their way, after a fixed time */
	bool matrix_async;		/* or after any time */
	const char *refusal;		/* why programs can run at none; NULL: they can */
};

/*
 * points: bits of enum gt_point.  stack: bytes that the kernel says it needs.  The code has passed gt_scan_code().
 * -ENOMEM.
 */
int gt_find_sites(const struct gt_elf *elf, const struct gt_elf_kernel *kernel, uint32_t points, uint32_t stack,
		  struct gt_sites *ret_sites);
void gt_sites_free(struct gt_sites *sites);
/* Is it a matrix instruction? */
void gt_note_matrix(gt_word word, struct gt_sites *sites);

/* Registers that a kernel needs, and bytes below its stack, for a stub at its accesses. */
unsigned gt_detour_registers(const struct gt_graft_stub *stub);
uint32_t gt_detour_stack(const struct gt_graft_stub *stub);

/* ---- one kernel's code ---- */

struct gt_scan {
	unsigned exits;
	bool uniform[GT_UR_COUNT];	/* uniform registers that it may name */
	unsigned fewest_registers;	/* it gives itself while it runs; 0: it does not */
	bool calls_away;		/* code that is linked to it only when it is loaded, or that may be anywhere */
	const char *refusal;		/* NULL: none */
};

/* entry, exit: which points are asked for. */
void gt_scan_code(const struct gt_elf *elf, const struct gt_elf_kernel *kernel, bool entry, bool exit,
		  struct gt_scan *ret_scan);

/* ---- its records ---- */

struct gt_properties {
	uint32_t param_bytes, param_count;
	bool wide_params;		/* described by the newer kind of record */
	uint32_t param_base;		/* where they are in constant bank 0 */
	uint32_t api_version;		/* 121: CUDA 12.1 */
	uint32_t max_threads;		/* of a block; 0: not said */
	uint32_t reg_cap;		/* MAXREG_COUNT */
	const char *refusal;
};

void gt_read_properties(const struct gt_elf *elf, const struct gt_elf_kernel *kernel,
			struct gt_properties *ret_properties);

/* ---- what one kernel becomes ---- */

struct gt_new_code {
	struct gt_bytes text;
	/* By point: offsets of the stubs and of the probes' first instruction in them. */
	uint32_t at[GT_GRAFT_POINTS], body[GT_GRAFT_POINTS];
	uint32_t detours;		/* where code for accesses begins; 0: there is none */
	struct gt_bytes exits;		/* offsets of EXIT, 32 bits each */
};

/* kept: see struct gt_graft_result.  -ENOMEM, or -EINVAL with a sentence: no uniform registers left. */
int gt_write_code(const struct gt_elf *elf, const struct gt_elf_kernel *kernel, const struct gt_graft_plan *plan,
		  const struct gt_scan *scan, const struct gt_sites *sites, uint32_t hidden_number, unsigned kept,
		  struct gt_new_code *ret_code, const char **ret_why);
void gt_new_code_free(struct gt_new_code *code);

/* The symbol that stands for the section of a kernel's constants; 0: there is none. */
int gt_write_records(const struct gt_elf *elf, const struct gt_elf_kernel *kernel, const struct gt_graft_plan *plan,
		     const struct gt_new_code *code, const struct gt_properties *properties,
		     uint32_t hidden_offset, unsigned registers, unsigned constants_symbol,
		     struct gt_bytes *ret_records);

/* ---- the whole file ---- */

struct gt_edit {
	uint8_t *data;	/* a section's new bytes, owned; NULL: as they were */
	size_t size;
};

/* Sections keep their numbers and their order in the file; those with an edit change in size. */
int gt_layout(const struct gt_elf *elf, const struct gt_edit *edits, void **ret_image, size_t *ret_size);

#endif
