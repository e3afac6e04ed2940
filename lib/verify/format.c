/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of what a program prints, where they are constants: what would come out as it stands is refused. */
#include <ctype.h>
#include <string.h>

#include "lib/util/conversion.h"
#include "lib/verify/verifier.h"
#include "lib/wire/wire.h"

#define KNOWN "use %d, %i, %u, %x, %X, %p or %c, with # and 0, a width, l and ll"

/* How many bytes at p, a '%', to show of a conversion that is not known. */
static int shown(const char *p, const char *end)
{
	const char *at = p + 1;

	while (at < end && at < p + 16 && *at && strchr("#0123456789.*+- hljtz", *at))
		at++;
	return (int)(at - p) + (at < end && isprint((unsigned char)*at));
}

static int check_text(struct gt_verifier *v, unsigned insn, const char *p, const char *end, uint64_t args)
{
	struct gt_conversion conversion;
	size_t length;

	while ((p = memchr(p, '%', (size_t)(end - p)))) {
		if (p + 1 < end && p[1] == '%') {
			p += 2;
			continue;
		}
		length = gt_conversion_parse(p + 1, end, &conversion);
		if (!length)
			return gt_refuse(v, insn, KNOWN, "the conversion %.*s of the format does not exist on the GPU",
					 shown(p, end), p);
		if (!args--)
			return gt_refuse(v, insn, "pass an argument for each of them, or print in several calls",
					 "the format has more conversions than arguments");
		p += 1 + length;
	}
	return 0;
}

int gt_check_format(struct gt_verifier *v, struct gt_path *path, bool array)
{
	const struct gt_reg *regs = gt_state_frame(path->state)->regs;
	uint64_t args = array ? regs[4].range.umax / 8 : 3, offset = regs[1].range.bits.value;
	const struct gt_map_desc *map;
	const char *text;

	if (regs[1].type != GT_REG_VALUE || regs[1].map < 0 || !gt_scalar_is_const(&regs[1].range) ||
	    !gt_scalar_is_const(&regs[2].range))
		return 0;
	map = v->prog->maps[regs[1].map];
	if (!map->read_only || !map->contents)
		return 0;
	text = (const char *)map->contents + offset;
	return check_text(v, path->state->insn, text, text + strnlen(text, regs[2].range.umin),
			  args < GT_PRINTK_ARGS ? args : GT_PRINTK_ARGS);
}
