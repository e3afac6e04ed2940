/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/symbol/rules.h"

#include <dwarf.h>
#include <string.h>

#include "lib/symbol/cursor.h"

#define SECTION_BYTES_MAX (256u << 20)
#define STEPS_MAX 65536u	/* instructions of one function */
#define STATES_MAX 8u		/* that are remembered at a time */
#define TABLE_HEADER 12u
#define TABLE_ENTRY 8u

/* ---- sections ---- */

static Elf_Data *section_data(Elf *elf, const char *name, uint64_t *ret_address)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *found = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		if (!found || strcmp(found, name))
			continue;
		*ret_address = header.sh_addr;
		return header.sh_type != SHT_NOBITS && header.sh_size <= SECTION_BYTES_MAX ? elf_rawdata(section, NULL) : NULL;
	}
	return NULL;
}

static struct gt_cursor cursor_of(const Elf_Data *data, uint64_t offset)
{
	const uint8_t *bytes = data->d_buf;
	uint64_t size = bytes ? data->d_size : 0;

	if (offset > size)
		return (struct gt_cursor){ .failed = true };
	return (struct gt_cursor){ .at = bytes + offset, .end = bytes + size };
}

/* The table that linkers make: sorted by address, both numbers relative to the table's own, of 4 bytes. */
bool gt_cfi_open(struct gt_cfi *cfi, Elf *elf)
{
	struct gt_cursor head;

	*cfi = (struct gt_cfi){ .ident = (unsigned char *)elf_getident(elf, NULL) };
	cfi->entries = section_data(elf, ".eh_frame", &cfi->entries_address);
	cfi->table = section_data(elf, ".eh_frame_hdr", &cfi->table_address);
	if (!cfi->ident || cfi->ident[EI_CLASS] != ELFCLASS64 || cfi->ident[EI_DATA] != ELFDATA2LSB || !cfi->entries ||
	    !cfi->table)
		return false;
	head = cursor_of(cfi->table, 0);
	if (gt_cursor_unsigned(&head, 1) != 1 ||
	    gt_cursor_unsigned(&head, 1) != (DW_EH_PE_pcrel | DW_EH_PE_sdata4) ||
	    gt_cursor_unsigned(&head, 1) != DW_EH_PE_udata4 ||
	    gt_cursor_unsigned(&head, 1) != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return false;
	gt_cursor_take(&head, 4);
	cfi->count = (uint32_t)gt_cursor_unsigned(&head, 4);
	return !head.failed && (uint64_t)cfi->count * TABLE_ENTRY <= (uint64_t)(head.end - head.at);
}

/* ---- the entry that covers an address ---- */

struct entry {
	struct gt_cursor initial, code;	/* instructions: of all entries of the kind, and its own */
	uint64_t start, end;
	uint64_t code_factor, data_factor;
};

static uint64_t table_number(const struct gt_cfi *cfi, uint32_t index, unsigned which)
{
	struct gt_cursor cursor = cursor_of(cfi->table, TABLE_HEADER + (uint64_t)index * TABLE_ENTRY + 4 * which);

	return cfi->table_address + (uint64_t)gt_cursor_signed(&cursor, 4);
}

/* Where in the section the last entry is that begins at or before the address. */
static bool search(const struct gt_cfi *cfi, uint64_t address, uint64_t *ret_offset)
{
	uint32_t low = 0, high = cfi->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table_number(cfi, middle, 0) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_offset = low ? table_number(cfi, low - 1, 1) - cfi->entries_address : 0;
	return low && *ret_offset < cfi->entries->d_size;
}

static unsigned pointer_size(unsigned encoding)
{
	unsigned format = encoding & 7;

	return format == DW_EH_PE_udata4 ? 4 : format == DW_EH_PE_udata8 || format == DW_EH_PE_absptr ? 8 : 0;
}

/* How the entry's addresses are encoded; -1: unknown. */
static int address_encoding(const Dwarf_CIE *cie)
{
	struct gt_cursor data = { .at = cie->augmentation_data, .end = cie->augmentation_data + cie->augmentation_data_size };
	int found = DW_EH_PE_absptr;

	for (const char *letter = cie->augmentation; *letter; letter++) {
		if (*letter == 'R')
			found = (int)gt_cursor_unsigned(&data, 1);
		else if (*letter == 'L')
			gt_cursor_take(&data, 1);
		else if (*letter == 'P')
			gt_cursor_take(&data, pointer_size((unsigned)gt_cursor_unsigned(&data, 1)));
		else if (!strchr("zSB", *letter))
			return -1;
	}
	return data.failed ? -1 : found;
}

static bool read_entry(const struct gt_cfi *cfi, uint64_t offset, struct entry *entry)
{
	Dwarf_CFI_Entry fde, cie;
	Dwarf_Off next;
	unsigned size;
	int encoding;

	if (dwarf_next_cfi(cfi->ident, cfi->entries, true, offset, &next, &fde) || dwarf_cfi_cie_p(&fde) ||
	    dwarf_next_cfi(cfi->ident, cfi->entries, true, fde.fde.CIE_pointer, &next, &cie) || !dwarf_cfi_cie_p(&cie) ||
	    cie.cie.return_address_register != GT_PC)
		return false;
	encoding = address_encoding(&cie.cie);
	size = encoding < 0 ? 0 : pointer_size((unsigned)encoding);
	if (!size || (encoding & 0x70 & ~DW_EH_PE_pcrel) || encoding & DW_EH_PE_indirect)
		return false;
	entry->code = (struct gt_cursor){ .at = fde.fde.start, .end = fde.fde.end };
	entry->start = encoding & DW_EH_PE_pcrel ?
		       cfi->entries_address + (uint64_t)(entry->code.at - (const uint8_t *)cfi->entries->d_buf) : 0;
	entry->start += (uint64_t)gt_cursor_signed(&entry->code, size);
	entry->end = entry->start + gt_cursor_unsigned(&entry->code, size);
	if (cie.cie.augmentation[0] == 'z')
		gt_cursor_take(&entry->code, gt_cursor_leb(&entry->code, false));
	entry->initial = (struct gt_cursor){ .at = cie.cie.initial_instructions, .end = cie.cie.initial_instructions_end };
	entry->code_factor = cie.cie.code_alignment_factor;
	entry->data_factor = (uint64_t)cie.cie.data_alignment_factor;
	return !entry->code.failed;
}

/* ---- its instructions ---- */

struct machine {
	struct gt_cursor code;
	uint64_t code_factor, data_factor;
	uint64_t place, address;	/* for which the rules hold by now; for which they are wanted */
	struct gt_rules rules, initial;
	struct gt_rules states[STATES_MAX];
	unsigned depth;
};

/* Those of other registers are read over. */
static void set_rule(struct machine *m, uint64_t number, struct gt_rule rule)
{
	if (number < GT_REGISTERS)
		m->rules.of[number] = rule;
}

static void set_saved(struct machine *m, uint64_t number, uint64_t factored)
{
	set_rule(m, number, (struct gt_rule){ .kind = GT_RULE_SAVED, .offset = factored * m->data_factor });
}

static void set_expression(struct machine *m, uint64_t number, enum gt_rule_kind kind)
{
	struct gt_rule rule = { .kind = kind, .size = gt_cursor_leb(&m->code, false) };

	rule.bytes = gt_cursor_take(&m->code, rule.size);
	if (number == UINT64_MAX)
		m->rules.cfa = rule;
	else
		set_rule(m, number, rule);
}

static void set_cfa(struct machine *m, uint64_t base, uint64_t offset)
{
	m->rules.base = base;
	m->rules.cfa = (struct gt_rule){ .kind = GT_RULE_SAVED, .offset = offset };
}

static void restore(struct machine *m, uint64_t number)
{
	if (number < GT_REGISTERS)
		m->rules.of[number] = m->initial.of[number];
}

/* The instructions that have an operand in their lower bits. */
static void short_step(struct machine *m, uint8_t opcode)
{
	uint8_t operand = opcode & 0x3f;

	if ((opcode & 0xc0) == DW_CFA_advance_loc)
		m->place += operand * m->code_factor;
	else if ((opcode & 0xc0) == DW_CFA_offset)
		set_saved(m, operand, gt_cursor_leb(&m->code, false));
	else
		restore(m, operand);
}

/* Those of a register; false: it is none of them. */
static bool register_step(struct machine *m, uint8_t opcode)
{
	struct gt_cursor before = m->code;
	uint64_t number = gt_cursor_leb(&m->code, false);

	switch (opcode) {
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
		set_saved(m, number, gt_cursor_leb(&m->code, opcode == DW_CFA_offset_extended_sf));
		return true;
	case DW_CFA_restore_extended:
		restore(m, number);
		return true;
	case DW_CFA_undefined:
		set_rule(m, number, (struct gt_rule){ .kind = GT_RULE_GONE });
		return true;
	case DW_CFA_same_value:
		set_rule(m, number, (struct gt_rule){ .kind = GT_RULE_SAME });
		return true;
	case DW_CFA_register:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		gt_cursor_leb(&m->code, false);
		set_rule(m, number, (struct gt_rule){ .kind = GT_RULE_UNKNOWN });
		return true;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		set_expression(m, number, opcode == DW_CFA_expression ? GT_RULE_SAVED_AT : GT_RULE_VALUE);
		return true;
	case DW_CFA_def_cfa:
		set_cfa(m, number, gt_cursor_leb(&m->code, false));
		return true;
	case DW_CFA_def_cfa_sf:
		set_cfa(m, number, gt_cursor_leb(&m->code, true) * m->data_factor);
		return true;
	case DW_CFA_def_cfa_register:
		m->rules.base = number;
		return true;
	default:
		m->code = before;
		return false;
	}
}

/* false: it is unknown, or cannot be followed. */
static bool long_step(struct machine *m, uint8_t opcode)
{
	switch (opcode) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_advance_loc1:
		m->place += gt_cursor_unsigned(&m->code, 1) * m->code_factor;
		return true;
	case DW_CFA_advance_loc2:
		m->place += gt_cursor_unsigned(&m->code, 2) * m->code_factor;
		return true;
	case DW_CFA_advance_loc4:
		m->place += gt_cursor_unsigned(&m->code, 4) * m->code_factor;
		return true;
	case DW_CFA_remember_state:
		if (m->depth == STATES_MAX)
			return false;
		m->states[m->depth++] = m->rules;
		return true;
	case DW_CFA_restore_state:
		if (!m->depth)
			return false;
		m->rules = m->states[--m->depth];
		return true;
	case DW_CFA_def_cfa_offset:
		m->rules.cfa.offset = gt_cursor_leb(&m->code, false);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		m->rules.cfa.offset = gt_cursor_leb(&m->code, true) * m->data_factor;
		return true;
	case DW_CFA_def_cfa_expression:
		set_expression(m, UINT64_MAX, GT_RULE_VALUE);
		return true;
	case DW_CFA_GNU_args_size:
		gt_cursor_leb(&m->code, false);
		return true;
	default:
		return register_step(m, opcode);
	}
}

/* Up to the place that is wanted. */
static bool follow(struct machine *m, struct gt_cursor code)
{
	m->code = code;
	for (unsigned steps = 0; m->code.at < m->code.end && steps < STEPS_MAX; steps++) {
		uint8_t opcode = *m->code.at++;

		if (opcode & 0xc0)
			short_step(m, opcode);
		else if (!long_step(m, opcode))
			return false;
		if (m->code.failed)
			return false;
		if (m->place > m->address)
			return true;
	}
	return m->code.at == m->code.end;
}

bool gt_cfi_find(const struct gt_cfi *cfi, uint64_t address, struct gt_rules *ret_rules)
{
	struct machine m = { .address = address, .rules.cfa.kind = GT_RULE_UNKNOWN };
	struct entry entry;
	uint64_t offset;

	if (!search(cfi, address, &offset) || !read_entry(cfi, offset, &entry) || address < entry.start ||
	    address >= entry.end)
		return false;
	m.place = entry.start;
	m.code_factor = entry.code_factor;
	m.data_factor = entry.data_factor;
	if (!follow(&m, entry.initial))
		return false;
	m.initial = m.rules;
	if (!follow(&m, entry.code))
		return false;
	*ret_rules = m.rules;
	return true;
}
