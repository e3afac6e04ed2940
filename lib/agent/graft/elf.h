/* SPDX-License-Identifier: Apache-2.0 */
/* A cubin's sections, symbols and records, every access checked once, when it is opened. */
#ifndef GT_GRAFT_ELF_H
#define GT_GRAFT_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_SECTION_INFO 0x70000000u	/* sh_type of .nv.info and .nv.info.KERNEL */
#define GT_SECTION_CALLGRAPH 0x70000001u
#define GT_SYMBOL_KERNEL 0x10u		/* in st_other */

struct gt_elf {
	const uint8_t *data;	/* the caller's, alive as long as this */
	size_t size;
	Elf64_Ehdr header;
	Elf64_Shdr *sections;	/* copies; contents lie within data unless NOBITS */
	unsigned count;
	Elf64_Sym *symbols;	/* copies */
	unsigned symbol_count;
	unsigned symtab;	/* section index */
	unsigned info;		/* section index of .nv.info, 0: none */
	unsigned arch;		/* compute capability times ten */
};

/* 0, -EINVAL with *ret_why a static sentence, -ENOMEM. */
int gt_elf_open(const void *data, size_t size, struct gt_elf *ret_elf, const char **ret_why);
void gt_elf_close(struct gt_elf *elf);

const char *gt_elf_section_name(const struct gt_elf *elf, unsigned section);
const char *gt_elf_symbol_name(const struct gt_elf *elf, unsigned symbol);	/* "" if it has none */
static inline const uint8_t *gt_elf_bytes(const struct gt_elf *elf, unsigned section)
{
	return elf->data + elf->sections[section].sh_offset;
}

/* Bytes below a kernel's parameters in constant bank 0; 0: an unknown architecture. */
unsigned gt_elf_param_base(unsigned arch);

/* A section of code. */
bool gt_elf_is_code(const struct gt_elf *elf, unsigned section);

/* The sections that belong to one of code; 0: there is none. */
struct gt_elf_companions {
	unsigned info, constants;
	unsigned rel, rela;	/* relocations of the code */
	bool twice;		/* there are two of one kind */
};

/* By section; malloc'd.  NULL: out of memory. */
struct gt_elf_companions *gt_elf_find_companions(const struct gt_elf *elf);

/* A kernel and the sections that belong to it. */
struct gt_elf_kernel {
	const char *name;
	unsigned symbol;
	unsigned text, info, constants;
	unsigned rel, rela;
	bool twice;
};

/* All kernels, by name; malloc'd, *ret_count of them. -ENOMEM. */
int gt_elf_kernels(const struct gt_elf *elf, struct gt_elf_kernel **ret_kernels, unsigned *ret_count);

/* ---- records of .nv.info ---- */

enum gt_attribute {
	GT_ATTR_CTAIDZ_USED = 0x04,
	GT_ATTR_MAX_THREADS = 0x05,
	GT_ATTR_PARAM_CBANK = 0x0a,
	GT_ATTR_REQNTID = 0x10,
	GT_ATTR_FRAME_SIZE = 0x11,
	GT_ATTR_MIN_STACK = 0x12,
	GT_ATTR_KPARAM = 0x17,
	GT_ATTR_CBANK_PARAM_SIZE = 0x19,
	GT_ATTR_MAXREG = 0x1b,
	GT_ATTR_EXITS = 0x1c,
	GT_ATTR_S2RCTAID = 0x1d,
	GT_ATTR_MAX_STACK = 0x23,
	GT_ATTR_LD_CACHEMOD = 0x25,
	GT_ATTR_ATOM_SYS = 0x27,
	GT_ATTR_COOP_OFFSETS = 0x28,
	GT_ATTR_COOP_MASKS = 0x29,
	GT_ATTR_REGCOUNT = 0x2f,
	GT_ATTR_WARP_WIDE = 0x31,
	GT_ATTR_SW_WAR = 0x36,
	GT_ATTR_API_VERSION = 0x37,
	GT_ATTR_KPARAM_V2 = 0x45,
	GT_ATTR_SYSCALLS = 0x46,	/* places of calls of functions that the driver supplies */
};

enum gt_record_format { GT_FORMAT_NONE = 1, GT_FORMAT_BYTE, GT_FORMAT_HALF, GT_FORMAT_SIZED };

struct gt_note_record {
	uint8_t format, attribute;
	uint16_t value;			/* GT_FORMAT_SIZED: bytes of the payload */
	const uint8_t *start;		/* of the record */
	const uint8_t *payload;		/* NULL unless GT_FORMAT_SIZED */
	size_t size;			/* of the whole record */
};

struct gt_note_walk {
	const uint8_t *at, *end;
};

/* False at the end; the walk's `at` is then `end` unless the section is damaged. */
bool gt_note_next(struct gt_note_walk *walk, struct gt_note_record *ret_record);
struct gt_note_walk gt_note_begin(const struct gt_elf *elf, unsigned section);

static inline uint32_t gt_read32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline void gt_write32(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
	at[2] = (uint8_t)(value >> 16);
	at[3] = (uint8_t)(value >> 24);
}

#endif
