/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/image/cubin.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE_CUDA 190
#define CUBIN_MAX (UINT64_C(1) << 30)

#define SECTION_CUDA_INFO 0x70000000u
#define SECTION_CUDA_GLOBAL 0x70000007u		/* these three are as SHT_NOBITS */
#define SECTION_CUDA_LOCAL 0x70000009u
#define SECTION_CUDA_SHARED 0x7000000au
#define SYMBOL_ENTRY 0x10u	/* st_other: a kernel */

/* Records of .nv.info: what they say of whom. */
#define RECORD_SIZED 4u		/* a length and that many bytes follow */
#define ATTRIBUTE_FRAME_SIZE 0x11u
#define ATTRIBUTE_PARAM_SIZE 0x19u	/* the value is in the record's head */
#define ATTRIBUTE_REGISTERS 0x2fu

/* From compute capability 9.0 on the first KiB of a block's shared memory is the system's. */
#define RESERVED_SHARED 1024u

struct cubin {
	const uint8_t *data;
	uint64_t size;
	Elf64_Ehdr header;
	unsigned arch;
};

/* Without the suffix of sm_90a, which the file does not tell. */
static unsigned arch_of(const Elf64_Ehdr *header)
{
	if (header->e_ident[EI_ABIVERSION] >= 8)
		return header->e_flags >> 8 & 0xff;
	return header->e_flags & 0xff;
}

static int occupies_file(const Elf64_Shdr *section)
{
	switch (section->sh_type) {
	case SHT_NULL:
	case SHT_NOBITS:
	case SECTION_CUDA_GLOBAL:
	case SECTION_CUDA_LOCAL:
	case SECTION_CUDA_SHARED:
		return 0;
	default:
		return 1;
	}
}

static int check_header(const Elf64_Ehdr *header, const char **ret_why)
{
	*ret_why = "the ELF file is not CUDA machine code";
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != MACHINE_CUDA)
		return -EINVAL;
	*ret_why = "the cubin's header is damaged";
	if (header->e_shoff > CUBIN_MAX || header->e_phoff > CUBIN_MAX ||
	    (header->e_shnum && header->e_shentsize != sizeof(Elf64_Shdr)) ||
	    (header->e_phnum && header->e_phentsize != sizeof(Elf64_Phdr)))
		return -EINVAL;
	return 0;
}

int gt_cubin_measure(const uint8_t *data, struct gt_member *member, const char **ret_why)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;
	uint64_t end, size;
	unsigned i;
	int r;

	memcpy(&header, data, sizeof(header));
	r = check_header(&header, ret_why);
	if (r < 0)
		return r;
	size = header.e_shoff + (uint64_t)header.e_shnum * sizeof(Elf64_Shdr);
	end = header.e_phoff + (uint64_t)header.e_phnum * sizeof(Elf64_Phdr);
	if (end > size)
		size = end;
	for (i = 0; i < header.e_shnum; i++) {
		memcpy(&section, data + header.e_shoff + i * sizeof(section), sizeof(section));
		if (!occupies_file(&section))
			continue;
		if (section.sh_offset > CUBIN_MAX || section.sh_size > CUBIN_MAX)
			return -EINVAL;
		if (section.sh_offset + section.sh_size > size)
			size = section.sh_offset + section.sh_size;
	}
	member->arch = arch_of(&header);
	member->stored_size = size;
	return 0;
}

static int get_section(const struct cubin *cubin, uint32_t index, Elf64_Shdr *ret_section)
{
	uint64_t at = cubin->header.e_shoff + (uint64_t)index * sizeof(Elf64_Shdr);

	if (index >= cubin->header.e_shnum || at > cubin->size ||
	    cubin->size - at < sizeof(Elf64_Shdr))
		return -EINVAL;
	memcpy(ret_section, cubin->data + at, sizeof(*ret_section));
	if (occupies_file(ret_section) &&
	    (ret_section->sh_offset > cubin->size ||
	     ret_section->sh_size > cubin->size - ret_section->sh_offset))
		return -EINVAL;
	return 0;
}

/* The string at `offset` of a string table; NULL when there is none. */
static const char *get_string(const struct cubin *cubin, uint32_t section_index, uint32_t offset)
{
	Elf64_Shdr section;
	const char *s;

	if (get_section(cubin, section_index, &section) < 0 || section.sh_type != SHT_STRTAB ||
	    offset >= section.sh_size)
		return NULL;
	s = (const char *)cubin->data + section.sh_offset + offset;
	return memchr(s, 0, section.sh_size - offset) ? s : NULL;
}

/* What is gathered before the kernels are told of. */
struct gathered {
	uint32_t symbols, sections;
	uint32_t *registers, *frame;		/* by symbol */
	uint32_t *params, *shared;		/* by section of the code */
};

/* One record {format, attribute, value or length}, perhaps followed by its bytes. */
static uint64_t read_record(const uint8_t *record, uint64_t room, uint8_t *ret_attribute,
			    uint16_t *ret_value, const uint8_t **ret_payload)
{
	uint64_t size = 4;

	if (room < size)
		return 0;
	*ret_attribute = record[1];
	memcpy(ret_value, record + 2, sizeof(*ret_value));
	*ret_payload = NULL;
	if (record[0] == RECORD_SIZED) {
		size += *ret_value;
		*ret_payload = record + 4;
	}
	return size <= room ? size : 0;
}

static void gather_symbols_info(const struct cubin *cubin, const Elf64_Shdr *section,
				struct gathered *g)
{
	const uint8_t *at = cubin->data + section->sh_offset, *payload;
	uint64_t room = section->sh_size, size;
	uint32_t word[2];
	uint8_t attribute;
	uint16_t value;

	while ((size = read_record(at, room, &attribute, &value, &payload))) {
		if (payload && value >= sizeof(word)) {
			memcpy(word, payload, sizeof(word));
			if (word[0] < g->symbols && attribute == ATTRIBUTE_REGISTERS)
				g->registers[word[0]] = word[1];
			if (word[0] < g->symbols && attribute == ATTRIBUTE_FRAME_SIZE)
				g->frame[word[0]] = word[1];
		}
		at += size;
		room -= size;
	}
}

static void gather_kernel_info(const struct cubin *cubin, const Elf64_Shdr *section,
			       struct gathered *g)
{
	const uint8_t *at = cubin->data + section->sh_offset, *payload;
	uint64_t room = section->sh_size, size;
	uint8_t attribute;
	uint16_t value;

	while ((size = read_record(at, room, &attribute, &value, &payload))) {
		if (attribute == ATTRIBUTE_PARAM_SIZE && !payload)
			g->params[section->sh_info] = value;
		at += size;
		room -= size;
	}
}

static int begins(const char *s, const char *prefix)
{
	return s && !strncmp(s, prefix, strlen(prefix));
}

static void gather_section(const struct cubin *cubin, const Elf64_Shdr *section,
			   struct gathered *g)
{
	const char *name = get_string(cubin, cubin->header.e_shstrndx, section->sh_name);
	uint64_t reserved = cubin->arch >= 90 ? RESERVED_SHARED : 0;

	if (section->sh_type == SECTION_CUDA_INFO && name && !strcmp(name, ".nv.info"))
		gather_symbols_info(cubin, section, g);
	else if (section->sh_info >= g->sections)
		return;
	else if (section->sh_type == SECTION_CUDA_INFO && begins(name, ".nv.info."))
		gather_kernel_info(cubin, section, g);
	else if (section->sh_type == SHT_NOBITS && begins(name, ".nv.shared.") &&
		 section->sh_size >= reserved && section->sh_size - reserved <= UINT32_MAX)
		g->shared[section->sh_info] = (uint32_t)(section->sh_size - reserved);
}

static void gathered_free(struct gathered *g)
{
	free(g->registers);
	free(g->frame);
	free(g->params);
	free(g->shared);
}

static int gather(const struct cubin *cubin, uint64_t symbols, struct gathered *ret_gathered)
{
	struct gathered g = { .symbols = (uint32_t)symbols, .sections = cubin->header.e_shnum };
	Elf64_Shdr section;
	uint32_t i;

	g.registers = calloc(g.symbols + (size_t)1, sizeof(*g.registers));
	g.frame = calloc(g.symbols + (size_t)1, sizeof(*g.frame));
	g.params = calloc(g.sections, sizeof(*g.params));
	g.shared = calloc(g.sections, sizeof(*g.shared));
	if (!g.registers || !g.frame || !g.params || !g.shared) {
		gathered_free(&g);
		return -ENOMEM;
	}
	for (i = 0; i < g.sections; i++)
		if (!get_section(cubin, i, &section))
			gather_section(cubin, &section, &g);
	*ret_gathered = g;
	return 0;
}

static int tell_kernels(const struct cubin *cubin, const Elf64_Shdr *symtab, uint64_t symbols,
			const struct gathered *g,
			int (*fn)(void *data, const struct gt_cubin_kernel *kernel), void *data)
{
	struct gt_cubin_kernel kernel;
	Elf64_Sym symbol;
	uint64_t i;
	int r;

	for (i = 0; i < symbols; i++) {
		memcpy(&symbol, cubin->data + symtab->sh_offset + i * sizeof(symbol), sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !(symbol.st_other & SYMBOL_ENTRY) ||
		    !symbol.st_shndx || symbol.st_shndx >= g->sections)
			continue;
		kernel = (struct gt_cubin_kernel){
			.name = get_string(cubin, symtab->sh_link, symbol.st_name),
			.arch = cubin->arch,
			.registers = g->registers[i],
			.static_shared = g->shared[symbol.st_shndx],
			.local_bytes = g->frame[i],
			.param_bytes = g->params[symbol.st_shndx],
		};
		if (!kernel.name)
			continue;
		r = fn(data, &kernel);
		if (r)
			return r;
	}
	return 0;
}

static int find_symtab(const struct cubin *cubin, Elf64_Shdr *ret_section)
{
	uint32_t i;

	for (i = 0; i < cubin->header.e_shnum; i++)
		if (!get_section(cubin, i, ret_section) && ret_section->sh_type == SHT_SYMTAB)
			return 0;
	return -EINVAL;
}

int gt_cubin_kernels(const void *data_, size_t size,
		     int (*fn)(void *data, const struct gt_cubin_kernel *kernel), void *data,
		     const char **ret_why)
{
	struct cubin cubin = { .data = data_, .size = size };
	struct gathered g;
	Elf64_Shdr symtab;
	uint64_t symbols;
	int r;

	*ret_why = "the cubin is cut off";
	if (size < sizeof(cubin.header))
		return -EINVAL;
	memcpy(&cubin.header, data_, sizeof(cubin.header));
	r = check_header(&cubin.header, ret_why);
	if (r < 0)
		return r;
	cubin.arch = arch_of(&cubin.header);
	*ret_why = "the cubin has no symbol table";
	if (find_symtab(&cubin, &symtab) < 0)
		return -EINVAL;
	symbols = symtab.sh_size / sizeof(Elf64_Sym);
	*ret_why = "out of memory";
	r = gather(&cubin, symbols, &g);
	if (r < 0)
		return r;
	r = tell_kernels(&cubin, &symtab, symbols, &g, fn, data);
	gathered_free(&g);
	return r;
}
