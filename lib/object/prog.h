/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program as the verifier and the compiler see it: instructions with every
 * relocation resolved to an index, the maps they name, and source lines.
 */
#ifndef GT_OBJECT_PROG_H
#define GT_OBJECT_PROG_H

#include <linux/bpf.h>
#include <stdint.h>

struct gt_map_desc {
	const char *name;
	uint32_t type;		/* BPF_MAP_TYPE_* or GPUTRACE_MAP_TYPE_* */
	uint32_t key_size, value_size, max_entries, flags;
	int read_only;		/* .rodata */
	const void *contents;	/* of .rodata as they are now, value_size bytes; NULL: not known */
	int host_memory;	/* lives in host memory */
};

struct gt_line {
	uint32_t insn;		/* first instruction that it holds for */
	uint32_t line, column;
	const char *file, *text;
};

/*
 * insns: the main program first, then the functions that it calls.
 *  - call with src_reg BPF_PSEUDO_CALL: imm relative, as in the kernel
 *  - ld_imm64 with src_reg BPF_PSEUDO_MAP_FD: imm is an index into maps
 *  - ld_imm64 with src_reg BPF_PSEUDO_MAP_VALUE: imm is an index into maps, the second imm an offset
 *  - ld_imm64 with src_reg BPF_PSEUDO_FUNC: imm is relative, as for calls
 * Everything is validated by the verifier, nothing before it.
 */
struct gt_prog {
	const char *name;
	struct bpf_insn *insns;
	unsigned insn_count;
	const struct gt_map_desc *const *maps;
	unsigned map_count;
	const struct gt_line *lines;	/* ascending by insn; may be empty */
	unsigned line_count;
	int point;			/* enum gputrace_point */
	int granularity;		/* enum gputrace_granularity */
	uint32_t context_size;		/* bytes of the context that r1 points at; 0: r1 is plain memory of unknown size (tests of the compiler only) */
};

#endif
