/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/instrument/site.h"

#include <stdio.h>
#include <string.h>

#include "lib/agent/instrument/lex.h"
#include "lib/wire/wire.h"

/* The switch lies in the upper half of the launch word, above the launch id. */
#define SWITCH_SHIFT (GT_LAUNCH_ID_BITS - 32)

#define COPY "__gt_params"	/* of the parameters, in local memory */

static uint32_t switch_bit(const struct gt_probe *probe)
{
	return 1u << (probe->link + SWITCH_SHIFT);
}

/* A piece of the program's text, comments left out. */
static void write_range(struct ptx_text *out, const struct gt_ptx *ptx, struct ptx_range range)
{
	struct ptx_lexer lexer = { ptx->text, range.at + range.length, range.at };
	struct ptx_token token;

	for (gt_lex(&lexer, &token); token.length; gt_lex(&lexer, &token))
		gt_text_add(out, ptx->text + token.at, token.length);
}

/* "ld.SPACE.TYPE REGISTER, [the launch parameter + offset]" */
static void write_load(struct ptx_text *out, const struct ptx_site *site, const char *type,
		       const char *reg, unsigned offset)
{
	gt_text_printf(out, "\tld.%s.%s %s, [%s+%u];\n", site->kernel ? "param" : "shared", type,
		       reg, site->kernel ? PTX_HIDDEN : PTX_SHARED, offset);
}

/* %__gt_p: %__gt_t is so to the number ("lt"), or the guard's predicate does not hold. */
static void write_compare(struct ptx_text *out, const struct ptx_site *site, const char *how, uint32_t number)
{
	const struct ptx_statement *guard = site->guard;

	gt_text_printf(out, "\tsetp.%s.%su32 %%__gt_p, %%__gt_t, %u", how, guard ? "or." : "", number);
	if (guard) {
		gt_text_puts(out, guard->flags & PTX_NEGATED ? ", " : ", !");
		gt_text_add(out, site->ptx->text + guard->predicate, guard->predicate_length);
	}
	gt_text_puts(out, ";\n");
}

/* %__gt_p: none of the bits is on, or the guard's predicate does not hold. */
static void write_off(struct ptx_text *out, const struct ptx_site *site, uint32_t bits)
{
	gt_text_printf(out, "\tand.b32 %%__gt_t, %%__gt_w, %u;\n", bits);
	write_compare(out, site, "eq", 0);
}

static void write_leave(struct ptx_text *out, const char *label)
{
	gt_text_printf(out, "\t@%%__gt_p bra %s;\n", label);
}

/* Leaves for `label` unless this thread is the elected one; open: also when %__gt_p says that nothing is on. */
static void write_election(struct ptx_text *out, uint32_t granularity, int open, const char *label)
{
	switch (granularity) {
	case GT_PER_WARP:
		gt_text_puts(out, "\t" PTX_LANE "\n");
		break;
	case GT_PER_BLOCK:
		gt_text_puts(out, "\t" PTX_FIRST_THREAD "\n");
		break;
	case GT_PER_GROUP:
		gt_text_puts(out, "\tactivemask.b32 %__gt_t;\n"
				  "\tpopc.b32 %__gt_s, %__gt_t;\n"
				  "\tmov.u32 %__gt_u, %lanemask_lt;\n"
				  "\tand.b32 %__gt_t, %__gt_t, %__gt_u;\n");
		break;
	default:
		if (open)
			write_leave(out, label);
		return;
	}
	gt_text_puts(out, open ? "\tsetp.ne.or.u32 %__gt_p, %__gt_t, 0, %__gt_p;\n" :
				 "\tsetp.ne.u32 %__gt_p, %__gt_t, 0;\n");
	write_leave(out, label);
}

static void write_params_address(struct ptx_text *out, const struct ptx_site *site)
{
	const struct ptx_kernel *kernel = site->kernel;

	if (!kernel) {
		write_load(out, site, "b64", "%__gt_q", PTX_SHARED_PARAMS);
	} else if (!kernel->public.param_count) {
		gt_text_puts(out, "\tmov.b64 %__gt_q, 0;\n");
	} else if (site->params == PTX_PARAMS_COPY) {
		gt_text_puts(out, "\tmov.u64 %__gt_q, " COPY ";\n"
				  "\tcvta.local.u64 %__gt_q, %__gt_q;\n");
	} else {
		gt_text_puts(out, "\tmov.b64 %__gt_q, ");
		write_range(out, site->ptx, kernel->param_names[0]);
		gt_text_puts(out, ";\n\tcvta.param.u64 %__gt_q, %__gt_q;\n");
	}
	/* How long the block is goes into the bits that no address uses. */
	if (kernel && kernel->public.param_count)
		gt_text_printf(out, "\tor.b64 %%__gt_q, %%__gt_q, %llu;\n",
			       (unsigned long long)kernel->public.param_bytes << 48);
}

static void write_address(struct ptx_text *out, const struct ptx_site *site)
{
	const struct ptx_access *access = site->access;
	int shifted = access->offset.length != 0;

	switch (access->base_kind) {
	case PTX_BASE_REG64:
	case PTX_BASE_SYMBOL:
		gt_text_puts(out, "\tmov.u64 %__gt_a, ");
		write_range(out, site->ptx, access->base);
		if (shifted) {
			gt_text_puts(out, ";\n\tadd.s64 %__gt_a, %__gt_a, ");
			write_range(out, site->ptx, access->offset);
		}
		break;
	case PTX_BASE_REG32:
		gt_text_puts(out, shifted ? "\tadd.s32 %__gt_u, " : "\tmov.u32 %__gt_u, ");
		write_range(out, site->ptx, access->base);
		if (shifted) {
			gt_text_puts(out, ", ");
			write_range(out, site->ptx, access->offset);
		}
		gt_text_puts(out, ";\n\tcvt.u64.u32 %__gt_a, %__gt_u");
		break;
	case PTX_BASE_NUMBER:
		gt_text_puts(out, "\tmov.u64 %__gt_a, ");
		write_range(out, site->ptx, access->offset);
		break;
	default:
		gt_text_puts(out, "\tmov.u64 %__gt_a, 0;\n");
		return;
	}
	gt_text_puts(out, ";\n");
	/* Probes are told generic addresses. */
	if (access->space == GT_SPACE_SHARED)
		gt_text_printf(out, "\tcvta.shared%s.u64 %%__gt_a, %%__gt_a;\n",
			       access->cluster ? "::cluster" : "");
	else if (access->space == GT_SPACE_LOCAL)
		gt_text_puts(out, "\tcvta.local.u64 %__gt_a, %__gt_a;\n");
}

static void write_size(struct ptx_text *out, const struct ptx_site *site)
{
	const struct ptx_access *access = site->access;

	gt_text_puts(out, "\tmov.b32 %__gt_s, ");
	if (access->size_operand.length)
		write_range(out, site->ptx, access->size_operand);
	else
		gt_text_printf(out, "%u", access->size);
	gt_text_puts(out, ";\n");
	if (access->nothing_if.length) {
		gt_text_puts(out, "\tselp.b32 %__gt_s, 0, %__gt_s, ");
		write_range(out, site->ptx, access->nothing_if);
		gt_text_puts(out, ";\n");
	}
}

static int is_memory(const struct gt_probe *probe)
{
	return probe->point == GT_POINT_LOAD || probe->point == GT_POINT_STORE ||
	       probe->point == GT_POINT_ATOMIC;
}

static void set_told(struct ptx_source sources[PTX_ARG_COUNT])
{
	sources[PTX_ARG_ADDRESS] = (struct ptx_source){ "mov.b64", GT_PTX_TOLD_ADDRESS };
	sources[PTX_ARG_SIZE] = (struct ptx_source){ "cvt.u32.u32", GT_PTX_TOLD_BYTES };
	sources[PTX_ARG_SPACE] = (struct ptx_source){ "cvt.u32.u32", GT_PTX_TOLD_SPACE };
}

/* What the arguments come from; those that take more than one instruction are made ready. */
static void write_sources(struct ptx_text *out, const struct ptx_site *site,
			  const struct gt_probe *probe, const uint8_t uses[PTX_ARG_COUNT],
			  char kernel[16], char space[16], struct ptx_source sources[PTX_ARG_COUNT])
{
	int memory = site->access && is_memory(probe);
	int sized = probe->granularity == GT_PER_GROUP;
	const char *load64 = site->kernel ? "ld.param.b64" : "ld.shared.b64";

	/* cvt rather than mov: the function may take 32 bits into a register of 64, as ld can. */
	snprintf(kernel, 16, "%u", site->kernel_id);
	snprintf(space, 16, "%u", memory ? site->access->space : 0);
	sources[PTX_ARG_LAUNCH] = (struct ptx_source){ load64, site->kernel ? "[" PTX_HIDDEN "+0]" : "[" PTX_SHARED "+0]" };
	sources[PTX_ARG_DEV] = (struct ptx_source){ load64, site->kernel ? "[" PTX_HIDDEN "+8]" : "[" PTX_SHARED "+8]" };
	sources[PTX_ARG_HOST] = (struct ptx_source){ load64, site->kernel ? "[" PTX_HIDDEN "+16]" : "[" PTX_SHARED "+16]" };
	sources[PTX_ARG_KERNEL] = site->kernel ? (struct ptx_source){ "cvt.u32.u32", kernel } :
		(struct ptx_source){ "ld.shared.b32", "[" PTX_SHARED "+32]" };
	sources[PTX_ARG_PARAMS] = (struct ptx_source){ "mov.b64", "0" };
	if (probe->flags & GT_PROBE_WANTS_PARAMS) {
		sources[PTX_ARG_PARAMS].operand = "%__gt_q";
		if (uses[PTX_ARG_PARAMS])
			write_params_address(out, site);
	}
	sources[PTX_ARG_ADDRESS] = (struct ptx_source){ "mov.b64", memory ? "%__gt_a" : "0" };
	if (memory && uses[PTX_ARG_ADDRESS])
		write_address(out, site);
	sources[PTX_ARG_SIZE] = (struct ptx_source){ "cvt.u32.u32", memory || sized ? "%__gt_s" : "0" };
	if (memory && !sized && uses[PTX_ARG_SIZE])
		write_size(out, site);
	sources[PTX_ARG_SPACE] = (struct ptx_source){ "cvt.u32.u32", space };
	if (site->ptx->told)
		set_told(sources);
}

/* The arguments are declared, stored and passed in one scope. */
static void write_call(struct ptx_text *out, const struct gt_probe *probe,
		       const struct ptx_source sources[PTX_ARG_COUNT])
{
	static const uint8_t wide[PTX_ARG_COUNT] = { 1, 1, 1, 0, 1, 1, 0, 0 };
	const char *value;
	unsigned i;

	gt_text_puts(out, "\t{\n"
		     "\t.param .b64 __gt_0; .param .b64 __gt_1; .param .b64 __gt_2; .param .b32 __gt_3;\n"
		     "\t.param .b64 __gt_4; .param .b64 __gt_5; .param .b32 __gt_6; .param .b32 __gt_7;\n");
	for (i = 0; i < PTX_ARG_COUNT; i++) {
		value = sources[i].operand;
		if (*value == '[') {		/* st.param takes no memory operand */
			value = wide[i] ? "%__gt_l" : "%__gt_k";
			gt_text_printf(out, "\t%s %s, %s;\n", sources[i].opcode, value,
				       sources[i].operand);
		}
		gt_text_printf(out, "\tst.param.b%u [__gt_%u], %s;\n", wide[i] ? 64 : 32, i, value);
	}
	gt_text_puts(out, "\tcall ");
	gt_text_puts(out, probe->function);
	gt_text_puts(out, ", (__gt_0, __gt_1, __gt_2, __gt_3, __gt_4, __gt_5, __gt_6, __gt_7);\n\t}\n");
}

/* With the warps of a block that have no elected thread, in stubs, that was seen to take longer than it saves (sm_90). */
static int goes_ahead(const struct ptx_site *site, unsigned index)
{
	const struct ptx_inline *in = &site->inlines->of[index];

	return !in->called && in->ahead && (site->probes[index].granularity == GT_PER_WARP || !site->ptx->written_out);
}

/* What sums up bytes does so where the text says how many they are. */
static enum ptx_inline_how how_to_write(const struct ptx_site *site, unsigned index)
{
	const struct ptx_access *access = site->access;

	if (goes_ahead(site, index))
		return PTX_INLINE_AHEAD;
	if (!site->kernel)
		return PTX_INLINE_PLAIN;
	if (!site->holds[index])
		return PTX_INLINE_PREPARED;
	if (site->leaving)
		return PTX_INLINE_PLAIN;
	if (access && site->inlines->of[index].sums.sizes &&
	    (access->size_operand.length || access->size > PTX_SUM_SIZE_MAX))
		return PTX_INLINE_PLAIN;
	return PTX_INLINE_SUMS;
}

/* open: see write_election(). */
static void write_probe(struct ptx_text *out, const struct ptx_site *site, unsigned index, int open)
{
	static const uint8_t all[PTX_ARG_COUNT] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	const struct gt_probe *probe = &site->probes[index];
	struct ptx_inline *in = &site->inlines->of[index];
	int ahead = goes_ahead(site, index);
	struct ptx_source sources[PTX_ARG_COUNT];
	char kernel[16], space[16];

	if (!ahead)
		write_election(out, probe->granularity, open, "__gt_next");
	write_sources(out, site, probe, in->called ? all : in->uses, kernel, space, sources);
	if (ahead) {
		gt_inline_write_ahead(out, site->inlines, index, sources);
		write_election(out, probe->granularity, open, "__gt_next");
	}
	if (in->called)
		write_call(out, probe, sources);
	else
		gt_inline_write(out, site->inlines, index, how_to_write(site, index), sources);
}

static void open_scope(struct ptx_text *out)
{
	gt_text_puts(out, "{\n"
		     "\t.reg .pred %__gt_p;\n"
		     "\t.reg .b32 %__gt_w, %__gt_t, %__gt_u, %__gt_s, %__gt_k;\n"
		     "\t.reg .b64 %__gt_l, %__gt_d, %__gt_h, %__gt_q, %__gt_a;\n");
}

void gt_site_write(struct ptx_text *out, const struct ptx_site *site)
{
	/* One question rather than two, whose answers do not wait for each other; who leaves by a guard must be asked first. */
	int together = site->count == 1 && !site->guard;
	const struct gt_probe *probe;
	uint32_t bits = 0;
	unsigned i;

	for (i = 0; i < site->count; i++)
		bits |= switch_bit(&site->probes[site->which[i]]);
	open_scope(out);
	write_load(out, site, "b32", "%__gt_w", 4);
	write_off(out, site, bits);
	if (!together)
		write_leave(out, "__gt_off");
	for (i = 0; i < site->count; i++) {
		probe = &site->probes[site->which[i]];
		gt_text_puts(out, "\t{\n");
		if (bits != switch_bit(probe)) {
			gt_text_printf(out, "\tand.b32 %%__gt_t, %%__gt_w, %u;\n"
				       "\tsetp.eq.u32 %%__gt_p, %%__gt_t, 0;\n"
				       "\t@%%__gt_p bra __gt_next;\n", switch_bit(probe));
		}
		write_probe(out, site, site->which[i], together);
		gt_text_puts(out, "__gt_next:\n\t}\n");
	}
	gt_text_puts(out, "__gt_off:\n\t}\n\t");
}

static void write_totals(struct ptx_text *out, const struct ptx_site *site, unsigned index)
{
	static const uint8_t simple[PTX_ARG_COUNT];
	struct ptx_source sources[PTX_ARG_COUNT];
	char kernel[16], space[16];

	write_sources(out, site, &site->probes[index], simple, kernel, space, sources);
	gt_inline_write_totals(out, site->inlines, index, sources);
}

void gt_site_write_totals(struct ptx_text *out, const struct ptx_site *site, uint32_t enough)
{
	unsigned i;

	open_scope(out);
	gt_text_puts(out, "\tmov.b32 %__gt_t, 0;\n");
	for (i = 0; i < site->count; i++)
		if (site->holds[site->which[i]] == PTX_HOLDS)
			gt_sums_write_any(out, &site->inlines->of[site->which[i]].sums);
	write_compare(out, site, "lt", enough);
	write_leave(out, "__gt_off");
	for (i = 0; i < site->count; i++)
		if (site->holds[site->which[i]] == PTX_HOLDS)
			write_totals(out, site, site->which[i]);
	gt_text_puts(out, "__gt_off:\n\t}\n\t");
}

/* Copies `step` bytes of a parameter; at: from its own start. */
static void copy_piece(struct ptx_text *out, const struct ptx_site *site, uint32_t index,
		       uint32_t at, uint32_t step)
{
	const struct ptx_kernel *kernel = site->kernel;
	const char *reg = step == 8 ? "%__gt_a" : "%__gt_t";

	gt_text_printf(out, "\tld.param.b%u %s, [", 8 * step, reg);
	write_range(out, site->ptx, kernel->param_names[index]);
	gt_text_printf(out, "+%u];\n\tst.local.b%u [" COPY "+%u], %s;\n", at, 8 * step,
		       kernel->params[index].offset + at, reg);
}

void gt_site_copy_params(struct ptx_text *out, const struct ptx_site *site, uint32_t links)
{
	const struct gt_ptx_kernel *kernel = &site->kernel->public;
	uint32_t i, at, step;

	gt_text_printf(out, "\n\t.local .align 8 .b8 " COPY "[%u];\n\t", kernel->hidden_offset + 8);
	open_scope(out);
	write_load(out, site, "b32", "%__gt_w", 4);
	write_off(out, site, links << SWITCH_SHIFT);
	write_leave(out, "__gt_off");
	for (i = 0; i < kernel->param_count; i++) {
		const struct gt_ptx_param *param = &kernel->params[i];

		for (at = 0; at < param->size; at += step) {
			step = 8;
			while ((param->offset + at) % step || param->size - at < step)
				step /= 2;
			copy_piece(out, site, i, at, step);
		}
	}
	gt_text_puts(out, "__gt_off:\n\t}\n\t");
}

void gt_site_fill_shared(struct ptx_text *out, const struct ptx_site *site, uint32_t links,
			 int wants_params)
{
	uint64_t mask = GT_LAUNCH_ID_MASK | (uint64_t)links << GT_LAUNCH_ID_BITS;

	if (!links) {
		gt_text_puts(out, "\n\tst.shared.b64 [" PTX_SHARED "], 0;\n\t");
		return;
	}
	gt_text_puts(out, "\n\t");
	open_scope(out);
	write_load(out, site, "b64", "%__gt_l", 0);
	write_load(out, site, "b64", "%__gt_d", 8);
	write_load(out, site, "b64", "%__gt_h", 16);
	gt_text_printf(out, "\tand.b64 %%__gt_l, %%__gt_l, %#llx;\n", (unsigned long long)mask);
	gt_text_puts(out, "\tst.shared.b64 [" PTX_SHARED "], %__gt_l;\n"
		     "\tst.shared.b64 [" PTX_SHARED "+8], %__gt_d;\n"
		     "\tst.shared.b64 [" PTX_SHARED "+16], %__gt_h;\n");
	if (wants_params) {
		write_params_address(out, site);
		gt_text_printf(out, "\tst.shared.b64 [" PTX_SHARED "+%u], %%__gt_q;\n",
			       PTX_SHARED_PARAMS);
	}
	gt_text_printf(out, "\tst.shared.b32 [" PTX_SHARED "+%u], %u;\n\t}\n\t",
		       PTX_SHARED_KERNEL, site->kernel_id);
}
