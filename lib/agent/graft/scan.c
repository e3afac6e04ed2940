/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at a kernel's code before anything is done to it. */
#include <string.h>

#include "lib/agent/graft/calls.h"
#include "lib/agent/graft/edit.h"

#define FUNCTION_LIMIT (1u << 28)

static void scan_word(const struct gt_elf *elf, gt_word word, uint32_t at, bool entry, struct gt_scan *scan)
{
	scan->exits += gt_is_exit(word);
	if (gt_is_odd_exit(word))
		scan->refusal = "an exit of this kernel is of an unknown kind";
	if (gt_has_target(word) && entry && at && !gt_target(word, elf->arch, at))
		scan->refusal = "this kernel branches back to its first instruction";
	if (gt_op_proper(word) == GT_OPP_USETMAXREG) {
		unsigned value = gt_bits(word, 32, 32);

		if (gt_op_form(word) != 4)
			scan->refusal = "this kernel changes its number of registers in an unknown way";
		else if (!scan->fewest_registers || value < scan->fewest_registers)
			scan->fewest_registers = value;
	}
	scan->calls_away |= gt_call_of(word, 0) != GT_CALL_NONE;
	gt_uniform_mark(word, scan->uniform);
}

/* The linker will fill in what a relocation names: that instruction must stay as it is. */
static void scan_relocations(const struct gt_elf *elf, const struct gt_elf_kernel *kernel,
			     unsigned section, bool entry, bool exit, struct gt_scan *scan)
{
	const Elf64_Shdr *relocations = &elf->sections[section];
	const uint8_t *text = gt_elf_bytes(elf, kernel->text);
	size_t step = relocations->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	uint64_t i, offset, size = elf->sections[kernel->text].sh_size;

	for (i = 0; i < relocations->sh_size / step; i++) {
		memcpy(&offset, gt_elf_bytes(elf, section) + i * step, sizeof(offset));
		offset -= offset % GT_WORD;
		if (offset > size - GT_WORD)
			scan->refusal = "this kernel's relocations are damaged";
		else if ((entry && !offset) || (exit && gt_is_exit(gt_word_read(text + offset))))
			scan->refusal = "the linker changes an instruction that would have to move";
		else
			scan->calls_away |= gt_call_of(gt_word_read(text + offset), GT_MARK_LINKED) != GT_CALL_NONE;
	}
}

void gt_scan_code(const struct gt_elf *elf, const struct gt_elf_kernel *kernel, bool entry, bool exit,
		  struct gt_scan *ret_scan)
{
	const uint8_t *text = gt_elf_bytes(elf, kernel->text);
	uint64_t size = elf->sections[kernel->text].sh_size;

	memset(ret_scan, 0, sizeof(*ret_scan));
	if (size < 2 * GT_WORD || size % GT_WORD || size > FUNCTION_LIMIT) {
		ret_scan->refusal = "this kernel's code is damaged";
		return;
	}
	for (uint64_t at = 0; at < size; at += GT_WORD)
		scan_word(elf, gt_word_read(text + at), (uint32_t)at, entry, ret_scan);
	if (entry && gt_is_relative(gt_word_read(text)))
		ret_scan->refusal = "this kernel's first instruction cannot be moved";
	if (entry && gt_is_exit(gt_word_read(text)))
		ret_scan->refusal = "this kernel's first instruction is its end";
	if (kernel->rel)
		scan_relocations(elf, kernel, kernel->rel, entry, exit, ret_scan);
	if (kernel->rela)
		scan_relocations(elf, kernel, kernel->rela, entry, exit, ret_scan);
}
