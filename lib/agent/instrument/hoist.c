/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/instrument/hoist.h"

#include <stdlib.h>

#include "lib/agent/instrument/fixed.h"

#define WORTH 8u		/* instructions for each register that is kept */

static void note_needs(struct ptx_fixed *fixed, const struct ptx_statement *statement)
{
	struct ptx_operands operands = gt_operands(fixed->ptx, statement);
	struct ptx_fixed_register *known;

	while (gt_operands_next(&operands)) {
		known = gt_fixed_register(fixed, &operands.token);
		if (known)
			known->needed = 1;
	}
}

/* False: too many registers for what is gained. */
static int choose_kept(const struct ptx_fixed *fixed, struct ptx_hoist *hoist)
{
	uint32_t i;

	for (i = 0; i < fixed->count; i++) {
		if (!fixed->registers[i].needed || fixed->registers[i].statement == PTX_NONE)
			continue;
		if (hoist->kept_count == PTX_HOIST_KEPT)
			return 0;
		hoist->kept[hoist->kept_count++] = fixed->registers[i].statement;
	}
	return hoist->kept_count && hoist->count >= WORTH * hoist->kept_count;
}

int gt_hoist_find(const struct gt_ptx *ptx, const struct ptx_function *function, struct ptx_hoist *ret_hoist)
{
	struct ptx_hoist hoist = { 0 };
	struct ptx_fixed fixed;
	int r = gt_fixed_find(ptx, function, NULL, &fixed);
	uint32_t i;

	if (r < 0)
		return r;
	for (i = 0; i < function->statement_count; i++) {
		if (fixed.is[i])
			hoist.count++;
		else if (gt_fixed_statement(&fixed, i)->kind == PTX_INSTRUCTION)
			note_needs(&fixed, gt_fixed_statement(&fixed, i));
	}
	hoist.moved = fixed.is;
	fixed.is = NULL;
	if (!choose_kept(&fixed, &hoist))
		gt_hoist_free(&hoist);
	gt_fixed_free(&fixed);
	*ret_hoist = hoist;
	return 0;
}

void gt_hoist_free(struct ptx_hoist *hoist)
{
	free(hoist->moved);
	*hoist = (struct ptx_hoist){ 0 };
}

/* ---- writing ---- */

static void write_kept_name(struct ptx_text *out, unsigned number, uint32_t kept)
{
	gt_text_printf(out, "%%__gt_h%u_%u", number, kept);
}

/* The register that it defines. */
static void write_defined(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_statement *statement)
{
	struct ptx_operands operands = gt_operands(ptx, statement);

	gt_operands_next(&operands);
	gt_text_add(out, ptx->text + operands.token.at, operands.token.length);
}

static void write_moved(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_statement *statement)
{
	gt_text_puts(out, "\t.reg .b32 ");
	write_defined(out, ptx, statement);
	gt_text_puts(out, "; ");
	gt_text_add(out, ptx->text + statement->at, gt_statement_end(ptx, statement) - statement->at);
	gt_text_puts(out, "\n");
}

void gt_hoist_write_entry(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_function *function,
			  const struct ptx_hoist *hoist, unsigned number)
{
	const struct ptx_statement *statements = &ptx->statements[function->statement];
	uint32_t i;

	for (i = 0; i < hoist->kept_count; i++) {
		gt_text_puts(out, "\n\t.reg .b32 ");
		write_kept_name(out, number, i);
		gt_text_puts(out, ";");
	}
	gt_text_puts(out, "\n\t{\n");
	for (i = 0; i < function->statement_count; i++)
		if (hoist->moved[i])
			write_moved(out, ptx, &statements[i]);
	for (i = 0; i < hoist->kept_count; i++) {
		gt_text_puts(out, "\tmov.b32 ");
		write_kept_name(out, number, i);
		gt_text_puts(out, ", ");
		write_defined(out, ptx, &statements[hoist->kept[i]]);
		gt_text_puts(out, ";\n");
	}
	gt_text_puts(out, "\t}\n\t");
}

void gt_hoist_write_use(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_function *function,
			const struct ptx_hoist *hoist, uint32_t statement, unsigned number)
{
	uint32_t i;

	for (i = 0; i < hoist->kept_count; i++) {
		if (hoist->kept[i] != statement)
			continue;
		gt_text_puts(out, "mov.b32 ");
		write_defined(out, ptx, &ptx->statements[function->statement + statement]);
		gt_text_puts(out, ", ");
		write_kept_name(out, number, i);
		gt_text_puts(out, ";");
	}
}
