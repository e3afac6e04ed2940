/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/object/lines.h"
#include "lib/object/map-type.h"
#include "lib/util/error.h"
#include "lib/util/insn.h"

#define INSNS_MAX 1000000u

/* A function in the output. */
struct function {
	unsigned section;
	uint64_t offset, size;	/* bytes in its section */
	unsigned at;		/* first instruction in the output */
};

/* A reference to a function whose place in the output is not yet known. */
struct fixup {
	unsigned insn;		/* in the output */
	unsigned function;
};

struct linker {
	const struct gt_resolver *resolver;
	const char *program;
	struct bpf_insn *insns;
	unsigned insn_count;
	struct function *functions;
	unsigned function_count;
	struct fixup *fixups;
	unsigned fixup_count;
};

static void *grow(void *list, unsigned count, size_t element)
{
	return realloc(list, (count + 1) * element);
}

static int out_of_memory(const struct linker *linker)
{
	return gt_error(-ENOMEM, "out of memory for program %s", linker->program);
}

/* Index of a function in the output, added at first mention. */
static int want_function(struct linker *linker, unsigned section, uint64_t offset, unsigned *ret_index)
{
	const struct gt_elf_file *file = linker->resolver->file;
	const struct gt_elf_symbol *symbol;
	struct function *more;
	unsigned i;

	for (i = 0; i < linker->function_count; i++) {
		if (linker->functions[i].section == section && linker->functions[i].offset == offset) {
			*ret_index = i;
			return 0;
		}
	}
	symbol = gt_elf_find_function(file, section, offset);
	if (!symbol)
		return gt_error(-ENOEXEC, "program %s calls a function that does not exist "
				"(section %s, byte %llu)", linker->program,
				file->sections[section].name, (unsigned long long)offset);
	more = grow(linker->functions, linker->function_count, sizeof(*more));
	if (!more)
		return out_of_memory(linker);
	linker->functions = more;
	more[linker->function_count] = (struct function){ section, offset, symbol->size, 0 };
	*ret_index = linker->function_count++;
	return 0;
}

static int add_fixup(struct linker *linker, unsigned insn, unsigned section, uint64_t offset)
{
	struct fixup *more;
	unsigned function;
	int r;

	r = want_function(linker, section, offset, &function);
	if (r < 0)
		return r;
	more = grow(linker->fixups, linker->fixup_count, sizeof(*more));
	if (!more)
		return out_of_memory(linker);
	linker->fixups = more;
	more[linker->fixup_count++] = (struct fixup){ insn, function };
	return 0;
}

static int use_map(struct linker *linker, struct bpf_insn *insn, int pseudo, int map, int32_t offset)
{
	int r = gt_map_check(linker->resolver->object->maps[map]);

	if (r < 0)
		return r;
	insn[0].src_reg = (uint8_t)(pseudo & 0xf);
	insn[0].imm = map;
	insn[1].imm = offset;
	return 0;
}

static bool is_code(const struct gt_elf_section *section)
{
	return section->type == SHT_PROGBITS && (section->flags & SHF_EXECINSTR);
}

/* A 64-bit immediate that names a map, data, or a function. */
static int link_address(struct linker *linker, unsigned at, const struct gt_elf_symbol *symbol)
{
	const struct gt_resolver *resolver = linker->resolver;
	struct bpf_insn *insn = &linker->insns[at];
	uint64_t offset = symbol->value + (uint32_t)insn[0].imm;
	int map;

	if (!symbol->section)
		return gt_error(-ENOTSUP, "program %s uses %s, which the object does not define",
				linker->program, symbol->name);
	if (symbol->section == resolver->maps_section) {
		map = gt_resolve_map(resolver, offset);
		if (map < 0)
			return gt_error(-ENOEXEC, "program %s uses a map that does not exist (%s)",
					linker->program, symbol->name);
		return use_map(linker, insn, BPF_PSEUDO_MAP_FD, map, 0);
	}
	if (is_code(&resolver->file->sections[symbol->section])) {
		insn[0].src_reg = BPF_PSEUDO_FUNC;
		insn[1].imm = 0;
		return add_fixup(linker, at, symbol->section, offset);
	}
	map = (int)resolver->data_maps[symbol->section] - 1;
	if (map < 0)
		return gt_error(-ENOTSUP, "program %s refers to section %s, which is neither code, maps "
				"nor data", linker->program,
				resolver->file->sections[symbol->section].name);
	if (offset > INT32_MAX)
		return gt_error(-ENOEXEC, "program %s refers to data past the end of section %s",
				linker->program, resolver->file->sections[symbol->section].name);
	return use_map(linker, insn, BPF_PSEUDO_MAP_VALUE, map, (int32_t)offset);
}

static int link_call(struct linker *linker, unsigned at, const struct gt_elf_symbol *symbol)
{
	int64_t target = (int64_t)symbol->value + ((int64_t)linker->insns[at].imm + 1) * 8;

	if (!symbol->section || target < 0)
		return gt_error(-ENOTSUP, "program %s calls %s, which the object does not define",
				linker->program, *symbol->name ? symbol->name : "a function");
	return add_fixup(linker, at, symbol->section, (uint64_t)target);
}

static int link_insn(struct linker *linker, const struct function *function, unsigned at, bool last)
{
	const struct gt_elf_file *file = linker->resolver->file;
	struct bpf_insn *insn = &linker->insns[at];
	uint64_t offset = function->offset + (uint64_t)(at - function->at) * 8;
	const struct gt_elf_reloc *reloc = gt_elf_find_reloc(file, function->section, offset);
	int64_t target;

	if (gt_insn_is_wide(insn) && last)
		return gt_error(-ENOEXEC, "program %s ends in the middle of an instruction",
				linker->program);
	if (reloc && reloc->type == GT_R_BPF_64_64 && gt_insn_is_wide(insn))
		return link_address(linker, at, &file->symbols[reloc->symbol]);
	if (reloc && reloc->type == GT_R_BPF_64_32 && gt_insn_is_call(insn)) {
		insn->src_reg = BPF_PSEUDO_CALL;
		return link_call(linker, at, &file->symbols[reloc->symbol]);
	}
	if (reloc)
		return gt_error(-ENOTSUP, "program %s has a relocation of type %u that BPF code cannot "
				"have", linker->program, reloc->type);
	if (gt_insn_calls_function(insn)) {
		target = (int64_t)offset + ((int64_t)insn->imm + 1) * 8;
		if (target < 0)
			return gt_error(-ENOEXEC, "program %s calls outside its section",
					linker->program);
		return add_fixup(linker, at, function->section, (uint64_t)target);
	}
	return 0;
}

/* Copy a function's instructions to the end of the output and resolve what they name. */
static int append_function(struct linker *linker, unsigned index)
{
	struct function function = linker->functions[index];
	const struct gt_elf_section *section = &linker->resolver->file->sections[function.section];
	unsigned count = (unsigned)(function.size / 8), i;
	struct bpf_insn *more;
	bool wide;
	int r;

	if (!is_code(section) || function.offset > section->size || function.offset % 8 ||
	    function.size % 8 || !function.size || function.size > section->size - function.offset)
		return gt_error(-ENOEXEC, "program %s: a function lies outside section %s",
				linker->program, section->name);
	if (count > INSNS_MAX - linker->insn_count)
		return gt_error(-ENOEXEC, "program %s has more than %u instructions", linker->program,
				INSNS_MAX);
	more = realloc(linker->insns, (size_t)(linker->insn_count + count) * sizeof(*more));
	if (!more)
		return out_of_memory(linker);
	linker->insns = more;
	function.at = linker->insn_count;
	linker->functions[index].at = function.at;
	memcpy(more + function.at, (const char *)section->data + function.offset, function.size);
	linker->insn_count += count;
	for (i = 0; i < count; i++) {
		wide = gt_insn_is_wide(&linker->insns[function.at + i]);
		r = link_insn(linker, &function, function.at + i, i + 1 == count);
		if (r < 0)
			return r;
		i += wide;
	}
	return 0;
}

static void apply_fixups(struct linker *linker)
{
	unsigned i;

	for (i = 0; i < linker->fixup_count; i++) {
		const struct fixup *fixup = &linker->fixups[i];

		linker->insns[fixup->insn].imm =
			(int32_t)linker->functions[fixup->function].at - (int32_t)fixup->insn - 1;
	}
}

static int find_lines(const struct linker *linker, struct gt_prog *prog)
{
	struct gt_lines lines = {};
	unsigned i;
	int r;

	for (i = 0; i < linker->function_count; i++) {
		const struct function *function = &linker->functions[i];

		r = gt_lines_add(&lines, linker->resolver->file, linker->resolver->btf,
				 function->section, function->offset, function->size, function->at);
		if (r < 0) {
			free(lines.lines);
			return r;
		}
	}
	prog->lines = lines.lines;
	prog->line_count = lines.count;
	return 0;
}

int gt_resolve_program(const struct gt_resolver *resolver, const struct gt_elf_symbol *symbol,
		       struct gputrace_program *program)
{
	struct linker linker = { .resolver = resolver, .program = program->name };
	unsigned i;
	int r;

	r = want_function(&linker, symbol->section, symbol->value, &i);
	for (i = 0; r >= 0 && i < linker.function_count; i++)
		r = append_function(&linker, i);
	if (r >= 0)
		r = find_lines(&linker, &program->prog);
	if (r >= 0) {
		apply_fixups(&linker);
		program->prog.insns = linker.insns;
		program->prog.insn_count = linker.insn_count;
		linker.insns = NULL;
	}
	free(linker.insns);
	free(linker.functions);
	free(linker.fixups);
	return r;
}

int gt_resolve_map(const struct gt_resolver *resolver, uint64_t offset)
{
	const struct gt_elf_file *file = resolver->file;
	unsigned i, m;

	for (i = 0; i < file->symbol_count; i++) {
		const struct gt_elf_symbol *symbol = &file->symbols[i];

		if (symbol->section != resolver->maps_section || symbol->value != offset ||
		    symbol->type != STT_OBJECT)
			continue;
		for (m = 0; m < resolver->object->map_count; m++)
			if (!strcmp(resolver->object->maps[m]->name, symbol->name))
				return (int)m;
	}
	return -ENOENT;
}

static bool names_bpftime_map(const struct gt_resolver *resolver, const struct gt_elf_symbol *symbol,
			      int32_t imm, const bool *is_bpftime)
{
	int map;

	if (symbol->section != resolver->maps_section || !symbol->section)
		return false;
	map = gt_resolve_map(resolver, symbol->value + (uint32_t)imm);
	return map >= 0 && is_bpftime[map];
}

bool gt_resolve_looks_like_bpftime(const struct gt_resolver *resolver,
				   const struct gt_elf_symbol *symbol, const bool *is_bpftime)
{
	const struct gt_elf_file *file = resolver->file;
	const struct gt_elf_section *section = &file->sections[symbol->section];
	const struct gt_elf_reloc *reloc;
	struct bpf_insn insn;
	uint64_t at;

	if (!is_code(section) || symbol->value > section->size ||
	    symbol->size > section->size - symbol->value)
		return false;
	for (at = symbol->value; at + 8 <= symbol->value + symbol->size; at += 8) {
		memcpy(&insn, (const char *)section->data + at, sizeof(insn));
		if (gt_insn_is_call(&insn) && !insn.src_reg &&
		    insn.imm >= GT_BPFTIME_HELPER_FIRST && insn.imm <= GT_BPFTIME_HELPER_LAST)
			return true;
		reloc = gt_elf_find_reloc(file, symbol->section, at);
		if (reloc && names_bpftime_map(resolver, &file->symbols[reloc->symbol], insn.imm,
					       is_bpftime))
			return true;
	}
	return false;
}
