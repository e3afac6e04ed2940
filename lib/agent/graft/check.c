/* SPDX-License-Identifier: Apache-2.0 */
/* Compares grafted machine code with the original. */
#include "lib/agent/graft/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/edit.h"
#include "lib/agent/graft/registers.h"
#include "lib/agent/graft/why.h"

#define HIDDEN_BYTES ((uint32_t)sizeof(struct gt_launch_param))

struct check {
	struct gt_elf before, after;
	struct gt_elf_kernel *kernels;
	unsigned kernel_count;
	bool *compared;			/* by section: need not be equal, has been looked at */
	const struct gt_graft_plan *plans;
	const struct gt_graft_result *results;
	unsigned *grafted;		/* by symbol: index of its plan and 1, 0: not grafted */
};

static bool same_bytes(const struct check *c, unsigned section, uint64_t size)
{
	return !memcmp(gt_elf_bytes(&c->before, section), gt_elf_bytes(&c->after, section), size);
}

/* ---- one kernel ---- */

static uint64_t count_exits(const struct check *c, unsigned text)
{
	uint64_t exits = 0, at;

	for (at = 0; at < c->after.sections[text].sh_size; at += GT_WORD)
		exits += gt_is_exit(gt_word_read(gt_elf_bytes(&c->after, text) + at));
	return exits;
}

/* Each entry of the list is an EXIT, each EXIT is in the list. */
static bool exits_are_listed(const struct check *c, unsigned text, const struct gt_note_record *record)
{
	uint64_t size = c->after.sections[text].sh_size;
	uint32_t last = 0, at;

	for (unsigned i = 0; i + 4 <= record->value; i += 4) {
		at = gt_read32(record->payload + i);
		if ((i && at <= last) || at % GT_WORD || at > size - GT_WORD ||
		    !gt_is_exit(gt_word_read(gt_elf_bytes(&c->after, text) + at)))
			return false;
		last = at;
	}
	return record->value / 4 == count_exits(c, text);
}

static bool may_change(uint8_t attribute)
{
	switch (attribute) {
	case GT_ATTR_CTAIDZ_USED:
	case GT_ATTR_KPARAM:
	case GT_ATTR_KPARAM_V2:
	case GT_ATTR_CBANK_PARAM_SIZE:
	case GT_ATTR_PARAM_CBANK:
	case GT_ATTR_MAXREG:
	case GT_ATTR_EXITS:
	case GT_ATTR_S2RCTAID:
	case GT_ATTR_LD_CACHEMOD:
	case GT_ATTR_ATOM_SYS:
	case GT_ATTR_COOP_OFFSETS:
	case GT_ATTR_COOP_MASKS:
	case GT_ATTR_WARP_WIDE:
	case GT_ATTR_SW_WAR:
		return true;
	}
	return false;
}

static bool next_constant(struct gt_note_walk *walk, struct gt_note_record *record)
{
	while (gt_note_next(walk, record))
		if (!may_change(record->attribute))
			return true;
	return false;
}

/* Records that have nothing to do with probes are there as before, in their order. */
static bool other_records_kept(const struct check *c, unsigned info)
{
	struct gt_note_walk old = gt_note_begin(&c->before, info), new = gt_note_begin(&c->after, info);
	struct gt_note_record a, b;
	bool more_a, more_b;

	for (;;) {
		more_a = next_constant(&old, &a);
		more_b = next_constant(&new, &b);
		if (!more_a || !more_b)
			return more_a == more_b && new.at == new.end;
		if (a.size != b.size || memcmp(a.start, b.start, a.size))
			return false;
	}
}

/* The record of this attribute in the old file, the `skip`th; false: there is none. */
static bool find_old(const struct check *c, unsigned info, uint8_t attribute, unsigned skip,
		     struct gt_note_record *ret_record)
{
	struct gt_note_walk walk = gt_note_begin(&c->before, info);

	while (gt_note_next(&walk, ret_record))
		if (ret_record->attribute == attribute && !skip--)
			return true;
	return false;
}

static bool same_record(const struct gt_note_record *a, const struct gt_note_record *b)
{
	return a->size == b->size && !memcmp(a->start, b->start, a->size);
}

/* The old list, then offsets of instructions in the stubs (masks: any). */
static bool list_grew(const struct check *c, const struct gt_elf_kernel *kernel, const struct gt_note_record *new)
{
	struct gt_note_record old = { 0 };
	uint32_t at;

	if (!find_old(c, kernel->info, new->attribute, 0, &old))
		old.value = 0;
	if (!new->payload || new->value % 4 || new->value < old.value ||
	    (old.value && memcmp(new->payload, old.payload, old.value)))
		return false;
	for (unsigned i = old.value; i < new->value && new->attribute != GT_ATTR_COOP_MASKS; i += 4) {
		at = gt_read32(new->payload + i);
		if (at % GT_WORD || at < c->before.sections[kernel->text].sh_size ||
		    at >= c->after.sections[kernel->text].sh_size)
			return false;
	}
	return true;
}

struct seen {
	unsigned params, hidden, param_size, param_cbank, exits;
};

static bool see_param(const struct check *c, const struct gt_elf_kernel *kernel, const struct gt_graft_result *result,
		      const struct gt_note_record *record, struct seen *seen)
{
	uint32_t kind = record->attribute == GT_ATTR_KPARAM_V2 ? HIDDEN_BYTES : HIDDEN_BYTES << 18 | 0x1f000u;
	struct gt_note_record old;

	if (record->payload && record->value == 12 && !gt_read32(record->payload) &&
	    gt_read32(record->payload + 4) == (result->param_count | result->hidden_offset << 16) &&
	    gt_read32(record->payload + 8) == kind) {
		seen->hidden++;
		return true;
	}
	return find_old(c, kernel->info, record->attribute, seen->params++, &old) && same_record(&old, record);
}

/* Where the kernel's parameters have always been. */
static uint32_t param_base(const struct check *c, const struct gt_elf_kernel *kernel)
{
	struct gt_note_record old;

	if (find_old(c, kernel->info, GT_ATTR_PARAM_CBANK, 0, &old) && old.payload && old.value == 8)
		return gt_read32(old.payload + 4) & 0xffff;
	return gt_elf_param_base(c->before.arch);
}

static bool see_param_cbank(const struct check *c, const struct gt_elf_kernel *kernel, uint32_t bytes,
			    const struct gt_note_record *record)
{
	struct gt_note_record old;
	uint32_t symbol;

	if (!record->payload || record->value != 8 ||
	    gt_read32(record->payload + 4) != (param_base(c, kernel) | bytes << 16))
		return false;
	symbol = gt_read32(record->payload);
	if (find_old(c, kernel->info, GT_ATTR_PARAM_CBANK, 0, &old))
		return symbol == gt_read32(old.payload);
	return symbol < c->after.symbol_count && c->after.symbols[symbol].st_shndx == kernel->constants;
}

static bool see_number(const struct check *c, const struct gt_elf_kernel *kernel, const struct gt_graft_plan *plan,
		       const struct gt_graft_result *result, const struct gt_note_record *record)
{
	struct gt_note_record old;
	bool had = find_old(c, kernel->info, record->attribute, 0, &old);
	uint32_t war = 0;

	for (unsigned point = 0; point < GT_GRAFT_POINTS; point++)
		war |= gt_graft_stub_in(plan, result, point) ? gt_graft_stub_in(plan, result, point)->sw_war : 0;

	switch (record->attribute) {
	case GT_ATTR_CTAIDZ_USED:
		return record->format == GT_FORMAT_NONE && !record->value;
	case GT_ATTR_MAXREG:
		return had && record->format == old.format &&
		       record->value == (old.value < result->registers ? result->registers : old.value);
	case GT_ATTR_SW_WAR:
		if (had && (!old.payload || old.value != 4))
			return same_record(&old, record);
		return record->payload && record->value == 4 &&
		       gt_read32(record->payload) == (war | (had ? gt_read32(old.payload) : 0));
	}
	return false;
}

/* Is a record that may differ from before as it should be? */
static bool see(const struct check *c, const struct gt_elf_kernel *kernel, const struct gt_graft_plan *plan,
		const struct gt_graft_result *result, const struct gt_note_record *record, struct seen *seen)
{
	uint32_t bytes = result->hidden_offset + HIDDEN_BYTES;
	struct gt_note_record old;

	switch (record->attribute) {
	case GT_ATTR_KPARAM:
	case GT_ATTR_KPARAM_V2:
		return see_param(c, kernel, result, record, seen);
	case GT_ATTR_CBANK_PARAM_SIZE:
		seen->param_size++;
		return record->format == GT_FORMAT_HALF && record->value == bytes;
	case GT_ATTR_PARAM_CBANK:
		seen->param_cbank++;
		return see_param_cbank(c, kernel, bytes, record);
	case GT_ATTR_EXITS:
		seen->exits++;
		if (plan->exit)
			return record->payload && exits_are_listed(c, kernel->text, record);
		return find_old(c, kernel->info, GT_ATTR_EXITS, seen->exits - 1, &old) && same_record(&old, record);
	case GT_ATTR_CTAIDZ_USED:
	case GT_ATTR_MAXREG:
	case GT_ATTR_SW_WAR:
		return see_number(c, kernel, plan, result, record);
	}
	return !may_change(record->attribute) || list_grew(c, kernel, record);
}

static const char *check_records(const struct check *c, const struct gt_elf_kernel *kernel,
				 const struct gt_graft_plan *plan, const struct gt_graft_result *result)
{
	struct gt_note_walk walk = gt_note_begin(&c->after, kernel->info);
	struct gt_note_record record;
	struct seen seen = { 0 };

	if (!other_records_kept(c, kernel->info))
		return "records that should not have changed have";
	while (gt_note_next(&walk, &record))
		if (!see(c, kernel, plan, result, &record, &seen))
			return "a record of the kernel is not right";
	if (seen.params != result->param_count || seen.hidden != 1)
		return "the hidden parameter is not described right";
	if (seen.param_size != 1 || seen.param_cbank != 1)
		return "the size of the parameters is not right";
	if (plan->exit && seen.exits != 1)
		return "the list of exits is not right";
	return NULL;
}

static const char *check_constants(const struct check *c, const struct gt_elf_kernel *kernel,
				   const struct gt_graft_result *result)
{
	uint64_t old = c->before.sections[kernel->constants].sh_size;
	uint64_t size = c->after.sections[kernel->constants].sh_size, i;

	for (i = old; i < size; i++)
		if (gt_elf_bytes(&c->after, kernel->constants)[i])
			return "the constants are not right";
	if (size != param_base(c, kernel) + (uint64_t)result->hidden_offset + HIDDEN_BYTES ||
	    old > size || !same_bytes(c, kernel->constants, old))
		return "the constants are not right";
	return NULL;
}

/* Above those that any stub names; check_limit() sees about the kernel's. */
static bool kept_apart(const struct gt_graft_plan *plan, const struct gt_graft_result *result)
{
	unsigned first = result->kept + GT_REGISTERS_UNNAMED;

	if (!result->kept)
		return true;
	for (unsigned point = GT_POINT_LOAD; point < GT_GRAFT_POINTS; point++)
		if (gt_graft_stub_in(plan, result, point) && gt_detour_registers(gt_graft_plan_stub(plan, point)) > first)
			return false;
	return plan->entry && plan->exit && plan->entry->registers <= first && plan->exit->registers <= first &&
	       result->registers > first;
}

static const char *check_kernel(struct check *c, const struct gt_elf_kernel *kernel, unsigned index)
{
	const struct gt_graft_plan *plan = &c->plans[index];
	const struct gt_graft_result *result = &c->results[index];
	struct gt_code_pair pair = {
		.before = gt_elf_bytes(&c->before, kernel->text), .after = gt_elf_bytes(&c->after, kernel->text),
		.before_size = c->before.sections[kernel->text].sh_size,
		.after_size = c->after.sections[kernel->text].sh_size,
		.arch = c->before.arch, .entry = plan->entry, .exit = plan->exit,
		.detours = result->detours, .accesses = gt_graft_result_accesses(result), .kept = result->kept,
		.hidden = param_base(c, kernel) + result->hidden_offset,
	};
	const char *wrong = gt_check_code(&pair);

	if (!wrong && !kept_apart(plan, result))
		wrong = "registers are kept that the probes use";
	if (!wrong && c->after.symbols[kernel->symbol].st_size != pair.after_size)
		wrong = "the symbol's size is not right";
	if (!wrong)
		wrong = check_records(c, kernel, plan, result);
	if (!wrong)
		wrong = check_constants(c, kernel, result);
	c->compared[kernel->text] = c->compared[kernel->info] = c->compared[kernel->constants] = true;
	c->grafted[kernel->symbol] = index + 1;
	return wrong;
}

static const struct gt_elf_kernel *find_kernel(const struct check *c, const char *name)
{
	for (unsigned i = 0; i < c->kernel_count; i++)
		if (!strcmp(c->kernels[i].name, name))
			return &c->kernels[i];
	return NULL;
}

/* ---- the rest of the file ---- */

static const char *check_symbols(const struct check *c)
{
	if (c->after.symbol_count != c->before.symbol_count)
		return "symbols are missing";
	for (unsigned i = 0; i < c->before.symbol_count; i++) {
		Elf64_Sym old = c->before.symbols[i];

		if (c->grafted[i])
			old.st_size = c->after.symbols[i].st_size;
		if (memcmp(&old, &c->after.symbols[i], sizeof(old)))
			return "a symbol has changed";
	}
	return NULL;
}

static bool is_limit(uint8_t attribute)
{
	return attribute == GT_ATTR_REGCOUNT || attribute == GT_ATTR_FRAME_SIZE ||
	       attribute == GT_ATTR_MIN_STACK || attribute == GT_ATTR_MAX_STACK;
}

/* Index of the plan for the kernel of which the record gives a limit, and 1; 0: of no grafted one. */
static unsigned limit_of(const struct check *c, const struct gt_note_record *record)
{
	uint32_t symbol = record->payload && record->value == 8 ? gt_read32(record->payload) : UINT32_MAX;

	return is_limit(record->attribute) && symbol < c->before.symbol_count ? c->grafted[symbol] : 0;
}

/* What the stubs need of it; those at accesses, beyond what the kernel has. */
static uint32_t limit_of_stubs(const struct gt_graft_plan *plan, const struct gt_graft_result *result, uint8_t attribute,
			       uint32_t own)
{
	uint32_t limit = own, need;

	for (unsigned point = 0; point < GT_GRAFT_POINTS; point++) {
		const struct gt_graft_stub *stub = gt_graft_stub_in(plan, result, point);

		if (!stub)
			continue;
		if (point >= GT_POINT_LOAD)
			need = own + gt_detour_stack(stub);
		else
			need = attribute == GT_ATTR_FRAME_SIZE ? stub->frame : stub->min_stack;
		limit = need > limit ? need : limit;
	}
	return limit;
}

/* old: NULL if there was none. */
static const char *check_limit(const struct check *c, unsigned index, const struct gt_note_record *old,
			       const struct gt_note_record *new)
{
	uint32_t value = old ? gt_read32(old->payload + 4) : 0;

	if (old && memcmp(old->start, new->start, 8))
		return "a record has changed";
	if (new->attribute == GT_ATTR_REGCOUNT) {
		if (value > c->results[index].registers)
			return "the number of registers is not right";
		if (c->results[index].kept && c->results[index].kept + GT_REGISTERS_UNNAMED < value)
			return "registers of the kernel are kept over it";
		value = c->results[index].registers;
	} else {
		value = limit_of_stubs(&c->plans[index], &c->results[index], new->attribute, value);
	}
	return gt_read32(new->payload + 4) == value && (new->attribute != GT_ATTR_REGCOUNT || value <= 255) ?
	       NULL : "a kernel's limits are not right";
}

/* Module records: limits of grafted kernels may grow, and new ones may follow the old. */
static const char *check_module(const struct check *c)
{
	struct gt_note_walk old = gt_note_begin(&c->before, c->before.info);
	struct gt_note_walk new = gt_note_begin(&c->after, c->after.info);
	struct gt_note_record a, b;
	const char *wrong = NULL;
	unsigned index;
	bool more;

	while (!wrong && gt_note_next(&new, &b)) {
		more = gt_note_next(&old, &a);
		index = limit_of(c, &b);
		if (index && (!more || a.size == b.size))
			wrong = check_limit(c, index - 1, more ? &a : NULL, &b);
		else if (!more || a.size != b.size || memcmp(a.start, b.start, a.size))
			wrong = "a record has changed";
	}
	return wrong || (old.at == old.end && new.at == new.end) ? wrong : "records are missing";
}

static const char *check_headers(const struct check *c, unsigned i)
{
	Elf64_Shdr old = c->before.sections[i], new = c->after.sections[i];

	old.sh_offset = new.sh_offset;
	if (c->compared[i]) {
		old.sh_size = new.sh_size;
		/* Older architectures keep the number of registers here. */
		if (c->before.arch < 90 && old.sh_flags & SHF_EXECINSTR) {
			if (new.sh_info >> 24 < old.sh_info >> 24)
				return "the number of registers is not right";
			old.sh_info = (old.sh_info & 0xffffff) | (new.sh_info & 0xff000000u);
		}
	}
	if (memcmp(&old, &new, sizeof(old)))
		return "a section has changed";
	if (new.sh_type != SHT_NULL && new.sh_addralign > 1 && new.sh_offset % new.sh_addralign)
		return "a section is not aligned";
	if (!c->compared[i] && new.sh_type != SHT_NOBITS && new.sh_type != SHT_NULL && !same_bytes(c, i, new.sh_size))
		return "bytes that should not have changed have";
	return NULL;
}

static const char *check_file(struct check *c)
{
	Elf64_Ehdr old = c->before.header, new = c->after.header;
	const char *wrong = NULL;

	old.e_shoff = new.e_shoff;
	old.e_phoff = new.e_phoff;
	if (memcmp(&old, &new, sizeof(old)))
		return "the header has changed";
	c->compared[c->before.symtab] = c->compared[c->before.info] = true;
	wrong = check_symbols(c);
	if (!wrong)
		wrong = check_module(c);
	for (unsigned i = 0; !wrong && i < c->before.count; i++)
		wrong = check_headers(c, i);
	return wrong;
}

static int check_all(struct check *c, unsigned plan_count, char *why)
{
	const struct gt_elf_kernel *kernel;
	const char *wrong;
	int r = gt_elf_kernels(&c->before, &c->kernels, &c->kernel_count);

	c->compared = calloc(c->before.count, sizeof(*c->compared));
	c->grafted = calloc(c->before.symbol_count + (size_t)1, sizeof(*c->grafted));
	if (r < 0 || !c->compared || !c->grafted)
		return -ENOMEM;
	if (c->before.count != c->after.count || c->before.symtab != c->after.symtab ||
	    c->before.info != c->after.info)
		return gt_graft_fail(why, "the grafted code failed the check: sections are missing");
	for (unsigned i = 0; i < plan_count; i++) {
		if (!c->results[i].done)
			continue;
		kernel = find_kernel(c, c->plans[i].name);
		wrong = kernel && kernel->info && kernel->constants ?
			check_kernel(c, kernel, i) : "a kernel is missing";
		if (wrong)
			return gt_graft_fail(why, "the grafted code of %.80s failed the check: %s", c->plans[i].name,
					     wrong);
	}
	wrong = check_file(c);
	return wrong ? gt_graft_fail(why, "the grafted code failed the check: %s", wrong) : 0;
}

int gt_graft_check(const void *before, size_t before_size, const void *after, size_t after_size,
		   const struct gt_graft_plan *plans, unsigned plan_count,
		   const struct gt_graft_result *results, char why[GT_GRAFT_WHY])
{
	struct check c = { .plans = plans, .results = results };
	const char *text;
	int r = gt_elf_open(before, before_size, &c.before, &text);

	if (!r)
		r = gt_elf_open(after, after_size, &c.after, &text);
	if (r < 0)
		gt_graft_fail(why, "the grafted code failed the check: %s", text);
	else
		r = check_all(&c, plan_count, why);
	free(c.kernels);
	free(c.compared);
	free(c.grafted);
	gt_elf_close(&c.before);
	gt_elf_close(&c.after);
	return r;
}
