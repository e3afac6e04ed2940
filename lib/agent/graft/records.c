/* SPDX-License-Identifier: Apache-2.0 */
/* What .nv.info.KERNEL says of a kernel: read, and written anew with probes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/edit.h"

#define HIDDEN_BYTES ((uint32_t)sizeof(struct gt_launch_param))
/* Size of a parameter above, "in the constant bank" and its number below. */
#define HIDDEN_KIND (HIDDEN_BYTES << 18 | 0x1f000u)

static void read_property(const struct gt_note_record *record, struct gt_properties *p)
{
	switch (record->attribute) {
	case GT_ATTR_CBANK_PARAM_SIZE:
		p->param_bytes = record->value;
		break;
	case GT_ATTR_MAXREG:
		p->reg_cap = record->value;
		break;
	case GT_ATTR_KPARAM_V2:
		p->wide_params = true;
		p->param_count++;
		break;
	case GT_ATTR_KPARAM:
		p->param_count++;
		break;
	case GT_ATTR_API_VERSION:
		if (record->payload && record->value == 4)
			p->api_version = gt_read32(record->payload);
		break;
	case GT_ATTR_PARAM_CBANK:
		if (!record->payload || record->value != 8 ||
		    (gt_read32(record->payload + 4) & 0xffff) < p->param_base)
			p->refusal = "this kernel's parameters are at an unknown place";
		else
			p->param_base = gt_read32(record->payload + 4) & 0xffff;
		break;
	case GT_ATTR_MAX_THREADS:
	case GT_ATTR_REQNTID:
		if (record->payload && record->value == 12) {
			uint64_t threads = 1;

			for (int i = 0; i < 3; i++) {
				threads *= gt_read32(record->payload + 4 * i);
				if (threads > 1024)
					threads = 1024;
			}
			p->max_threads = (uint32_t)threads;
		}
		break;
	}
}

void gt_read_properties(const struct gt_elf *elf, const struct gt_elf_kernel *kernel,
			struct gt_properties *ret_properties)
{
	struct gt_note_walk walk = gt_note_begin(elf, kernel->info);
	struct gt_properties p = { .param_base = gt_elf_param_base(elf->arch) };
	struct gt_note_record record;

	while (gt_note_next(&walk, &record))
		read_property(&record, &p);
	if (walk.at != walk.end)
		p.refusal = "this kernel's records are damaged";
	else if (!p.refusal && p.param_bytes && !p.param_count)
		p.refusal = "this kernel's parameters are not described";
	else if (!p.refusal && elf->sections[kernel->constants].sh_size != p.param_base + p.param_bytes)
		p.refusal = "this kernel's constants are not of the size that its parameters ask for";
	*ret_properties = p;
}

/* ---- writing ---- */

struct rewrite {
	const struct gt_graft_plan *plan;
	const struct gt_new_code *code;
	uint32_t ordinal, hidden_offset;
	bool wide_params;
	unsigned registers, base, constants_symbol;
	struct gt_bytes out;
	bool too_long;
	/* Already written. */
	bool hidden, param_size, param_cbank, exits, lists[GT_LISTS], coop_masks, sw_war, ctaidz;
};

static void put_sized(struct rewrite *rw, uint8_t attribute, const void *data, size_t size)
{
	uint8_t head[4] = { GT_FORMAT_SIZED, attribute, (uint8_t)size, (uint8_t)(size >> 8) };

	if (size > UINT16_MAX) {
		rw->too_long = true;
		return;
	}
	gt_bytes_add(&rw->out, head, sizeof(head));
	gt_bytes_add(&rw->out, data, size);
}

static void put_half(struct rewrite *rw, uint8_t attribute, uint32_t value)
{
	uint8_t record[4] = { GT_FORMAT_HALF, attribute, (uint8_t)value, (uint8_t)(value >> 8) };

	gt_bytes_add(&rw->out, record, sizeof(record));
}

static void put_hidden_param(struct rewrite *rw)
{
	uint8_t payload[12] = { 0 };

	gt_write32(payload + 4, rw->ordinal | rw->hidden_offset << 16);
	gt_write32(payload + 8, rw->wide_params ? HIDDEN_BYTES : HIDDEN_KIND);
	put_sized(rw, rw->wide_params ? GT_ATTR_KPARAM_V2 : GT_ATTR_KPARAM, payload, sizeof(payload));
	rw->hidden = true;
}

static void put_param_size(struct rewrite *rw)
{
	put_half(rw, GT_ATTR_CBANK_PARAM_SIZE, rw->hidden_offset + HIDDEN_BYTES);
	rw->param_size = true;
}

static void put_param_cbank(struct rewrite *rw, uint32_t symbol)
{
	uint8_t payload[8];

	gt_write32(payload, symbol);
	gt_write32(payload + 4, rw->base | (rw->hidden_offset + HIDDEN_BYTES) << 16);
	put_sized(rw, GT_ATTR_PARAM_CBANK, payload, sizeof(payload));
	rw->param_cbank = true;
}

static void put_exits(struct rewrite *rw)
{
	if (rw->code->exits.size)
		put_sized(rw, GT_ATTR_EXITS, rw->code->exits.data, rw->code->exits.size);
	rw->exits = true;
}

static void add_offsets(struct gt_bytes *bytes, const struct gt_offsets *list, uint32_t base)
{
	for (unsigned i = 0; i < list->count; i++) {
		uint32_t value = list->values[i] + base;

		gt_bytes_add(bytes, &value, sizeof(value));
	}
}

/* NULL: there is none for this point, or it did not go in. */
static const struct gt_graft_stub *written_stub(const struct rewrite *rw, unsigned point)
{
	return rw->code->body[point] ? gt_graft_plan_stub(rw->plan, point) : NULL;
}

/* The kernel's own list, then those of the stubs; `which` of them or, if GT_LISTS, the masks. */
static void put_list(struct rewrite *rw, unsigned which, uint8_t attribute, const struct gt_note_record *own)
{
	struct gt_bytes bytes = { 0 };

	if (own)
		gt_bytes_add(&bytes, own->payload, own->value);
	for (unsigned point = 0; point < GT_GRAFT_POINTS; point++) {
		const struct gt_graft_stub *stub = written_stub(rw, point);

		if (stub && which < GT_LISTS)
			add_offsets(&bytes, &stub->lists[which], rw->code->body[point]);
		else if (stub)
			add_offsets(&bytes, &stub->coop_masks, 0);
	}
	if (bytes.size)
		put_sized(rw, attribute, bytes.data, bytes.size);
	rw->out.failed |= bytes.failed;
	free(bytes.data);
}

static void put_sw_war(struct rewrite *rw, uint32_t own)
{
	uint8_t payload[4];

	for (unsigned point = 0; point < GT_GRAFT_POINTS; point++)
		own |= written_stub(rw, point) ? written_stub(rw, point)->sw_war : 0;
	gt_write32(payload, own);
	if (own)
		put_sized(rw, GT_ATTR_SW_WAR, payload, sizeof(payload));
	rw->sw_war = true;
}

/* True: written in another form. */
static bool rewrite_list(struct rewrite *rw, const struct gt_note_record *record)
{
	unsigned i;

	if (!record->payload)
		return false;
	if (record->attribute == GT_ATTR_COOP_MASKS && !rw->coop_masks) {
		put_list(rw, GT_LISTS, record->attribute, record);
		rw->coop_masks = true;
		return true;
	}
	for (i = 0; i < GT_LISTS; i++)
		if (record->attribute == gt_list_attribute[i] && !rw->lists[i]) {
			put_list(rw, i, record->attribute, record);
			rw->lists[i] = true;
			return true;
		}
	return false;
}

static bool rewrite_record(struct rewrite *rw, const struct gt_note_record *record)
{
	switch (record->attribute) {
	case GT_ATTR_KPARAM:
	case GT_ATTR_KPARAM_V2:
		if (!rw->hidden)
			put_hidden_param(rw);
		return false;
	case GT_ATTR_CBANK_PARAM_SIZE:
		put_param_size(rw);
		return true;
	case GT_ATTR_PARAM_CBANK:
		put_param_cbank(rw, gt_read32(record->payload));
		return true;
	case GT_ATTR_MAXREG:
		if (record->value >= rw->registers)
			return false;
		put_half(rw, GT_ATTR_MAXREG, rw->registers);
		return true;
	case GT_ATTR_EXITS:
		if (!rw->plan->exit)
			return false;
		if (!rw->exits)
			put_exits(rw);
		return true;
	case GT_ATTR_CTAIDZ_USED:
		rw->ctaidz = true;
		return false;
	case GT_ATTR_SW_WAR:
		if (!record->payload || record->value != 4)
			return false;
		put_sw_war(rw, gt_read32(record->payload));
		return true;
	}
	return rewrite_list(rw, record);
}

static void put_missing(struct rewrite *rw)
{
	bool reads_ctaidz = false;

	if (!rw->hidden)
		put_hidden_param(rw);
	if (!rw->param_size)
		put_param_size(rw);
	if (!rw->param_cbank)
		put_param_cbank(rw, rw->constants_symbol);
	if (rw->plan->exit && !rw->exits)
		put_exits(rw);
	if (!rw->coop_masks)
		put_list(rw, GT_LISTS, GT_ATTR_COOP_MASKS, NULL);
	for (unsigned i = 0; i < GT_LISTS; i++)
		if (!rw->lists[i])
			put_list(rw, i, gt_list_attribute[i], NULL);
	if (!rw->sw_war)
		put_sw_war(rw, 0);
	for (unsigned point = 0; point < GT_GRAFT_POINTS; point++)
		reads_ctaidz |= written_stub(rw, point) && written_stub(rw, point)->ctaidz;
	if (!rw->ctaidz && reads_ctaidz)
		gt_bytes_add(&rw->out, (uint8_t[4]){ GT_FORMAT_NONE, GT_ATTR_CTAIDZ_USED, 0, 0 }, 4);
}

int gt_write_records(const struct gt_elf *elf, const struct gt_elf_kernel *kernel, const struct gt_graft_plan *plan,
		     const struct gt_new_code *code, const struct gt_properties *properties,
		     uint32_t hidden_offset, unsigned registers, unsigned constants_symbol,
		     struct gt_bytes *ret_records)
{
	struct rewrite rw = {
		.plan = plan, .code = code, .ordinal = properties->param_count, .hidden_offset = hidden_offset,
		.wide_params = properties->wide_params,
		.registers = registers, .base = properties->param_base, .constants_symbol = constants_symbol,
	};
	struct gt_note_walk walk = gt_note_begin(elf, kernel->info);
	struct gt_note_record record;

	while (gt_note_next(&walk, &record))
		if (!rewrite_record(&rw, &record))
			gt_bytes_add(&rw.out, record.start, record.size);
	put_missing(&rw);
	if (rw.out.failed || rw.too_long) {
		free(rw.out.data);
		return rw.too_long ? -E2BIG : -ENOMEM;
	}
	*ret_records = rw.out;
	return 0;
}
