/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/attach/uses.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/object.h>

#include "lib/object/elf-file.h"
#include "lib/object/object.h"
#include "lib/object/resolve.h"
#include "lib/util/error.h"
#include "lib/util/insn.h"

/* ---- GPU programs: opening the object has resolved what they refer to ---- */

static void uses_of_gpu_program(const struct gt_prog *prog, uint8_t *uses, unsigned count)
{
	for (unsigned i = 0; i < prog->insn_count; i++) {
		const struct bpf_insn *insn = &prog->insns[i];

		if (!gt_insn_is_wide(insn))
			continue;
		if ((insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE) &&
		    (uint32_t)insn->imm < count)
			uses[insn->imm] |= GT_USED_ON_GPU;
		i++;
	}
}

/* ---- programs for the kernel: libbpf will resolve them, here the file is read ---- */

struct walk {
	const struct gputrace_object *object;
	struct gt_elf_file file;
	struct gt_resolver resolver;
	uint8_t *uses;
	bool *seen;		/* by symbol: a function that some program reaches */
	unsigned *pending;	/* symbols of functions that are to be looked at */
	unsigned pending_count;
};

static void reach(struct walk *walk, const struct gt_elf_symbol *function)
{
	unsigned index = function ? (unsigned)(function - walk->file.symbols) : 0;

	if (!function || walk->seen[index])
		return;
	walk->seen[index] = true;
	walk->pending[walk->pending_count++] = index;
}

static void use_variables(struct walk *walk, const char *section)
{
	for (unsigned i = 0; i < walk->object->map_count; i++) {
		if (!strcmp(walk->object->maps[i]->name, section))
			walk->uses[i] |= GT_USED_IN_KERNEL;
	}
}

static void follow(struct walk *walk, unsigned section, uint64_t at, const struct bpf_insn *insn)
{
	const struct gt_elf_reloc *reloc = gt_elf_find_reloc(&walk->file, section, at);
	bool call = gt_insn_is_call(insn);
	uint64_t target = call ? ((uint64_t)(int64_t)insn->imm + 1) * 8 : (uint32_t)insn->imm;
	int map;

	if (reloc) {
		section = walk->file.symbols[reloc->symbol].section;
		target += walk->file.symbols[reloc->symbol].value;
	} else if (gt_insn_calls_function(insn)) {
		target += at;
	} else {
		return;
	}
	if (!section)
		return;
	if (section == walk->resolver.maps_section) {
		map = gt_resolve_map(&walk->resolver, target);
		if (map >= 0)
			walk->uses[map] |= GT_USED_IN_KERNEL;
	} else if (walk->file.sections[section].flags & SHF_EXECINSTR) {
		reach(walk, gt_elf_find_function(&walk->file, section, target));
	} else {
		use_variables(walk, walk->file.sections[section].name);
	}
}

static void look_at(struct walk *walk, const struct gt_elf_symbol *function)
{
	const struct gt_elf_section *section = &walk->file.sections[function->section];
	struct bpf_insn insn;

	if (section->type != SHT_PROGBITS || function->value > section->size ||
	    function->size > section->size - function->value)
		return;
	for (uint64_t at = function->value; at + 8 <= function->value + function->size; at += 8) {
		memcpy(&insn, (const char *)section->data + at, sizeof(insn));
		follow(walk, function->section, at, &insn);
	}
}

static void begin_with_programs(struct walk *walk)
{
	for (unsigned i = 0; i < walk->object->program_count; i++) {
		const struct gputrace_program *program = walk->object->programs[i];

		for (unsigned s = 0; s < walk->file.symbol_count; s++) {
			const struct gt_elf_symbol *symbol = &walk->file.symbols[s];

			if (program->point == GPUTRACE_POINT_KERNEL && symbol->type == STT_FUNC &&
			    symbol->section && !strcmp(symbol->name, program->name) &&
			    !strcmp(walk->file.sections[symbol->section].name, program->section))
				reach(walk, symbol);
		}
	}
}

static int uses_in_kernel(const struct gputrace_object *object, uint8_t *uses)
{
	struct walk walk = { .object = object, .uses = uses };
	int r = gt_elf_open(object->data, object->data_size, object->name, &walk.file);

	if (r < 0)
		return r;
	walk.resolver = (struct gt_resolver){
		.file = &walk.file,
		.object = (struct gputrace_object *)(uintptr_t)object,
		.maps_section = gt_elf_find_section(&walk.file, ".maps"),
	};
	walk.seen = calloc(walk.file.symbol_count + 1, sizeof(*walk.seen));
	walk.pending = calloc(walk.file.symbol_count + 1, sizeof(*walk.pending));
	if (walk.seen && walk.pending) {
		begin_with_programs(&walk);
		while (walk.pending_count)
			look_at(&walk, &walk.file.symbols[walk.pending[--walk.pending_count]]);
	} else {
		r = gt_error(-ENOMEM, "out of memory for %s", object->name);
	}
	free(walk.seen);
	free(walk.pending);
	gt_elf_close(&walk.file);
	return r;
}

int gt_map_uses(const struct gputrace_object *object, uint8_t *ret_uses)
{
	memset(ret_uses, 0, object->map_count);
	for (unsigned i = 0; i < object->program_count; i++)
		uses_of_gpu_program(&object->programs[i]->prog, ret_uses, object->map_count);
	return object->data ? uses_in_kernel(object, ret_uses) : 0;
}
