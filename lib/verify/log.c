/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/verify/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/util/error.h"
#include "lib/verify/verifier.h"

static int make_room(struct gt_log *log, size_t wanted)
{
	size_t room = log->room ? log->room : 256;
	char *grown;

	while (room < wanted)
		room *= 2;
	if (room == log->room)
		return 0;
	grown = realloc(log->text, room);
	if (!grown)
		return -1;
	log->text = grown;
	log->room = room;
	return 0;
}

void gt_log_vprintf(struct gt_log *log, const char *format, va_list args)
{
	va_list again;
	int length;

	if (log->truncated)
		return;
	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		return;
	if (log->length + (size_t)length > GT_LOG_LIMIT) {
		log->truncated = 1;
		return;
	}
	if (make_room(log, log->length + (size_t)length + 1) < 0)
		return;
	vsnprintf(log->text + log->length, (size_t)length + 1, format, args);
	log->length += (size_t)length;
}

void gt_log_printf(struct gt_log *log, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	gt_log_vprintf(log, format, args);
	va_end(args);
}

static const struct gt_line *find_line(const struct gt_prog *prog, unsigned insn)
{
	const struct gt_line *found = NULL;

	for (unsigned i = 0; i < prog->line_count && prog->lines[i].insn <= insn; i++)
		found = &prog->lines[i];
	return found;
}

void gt_describe_insn(const struct gt_prog *prog, unsigned insn, char *text, size_t size)
{
	const struct gt_line *line = find_line(prog, insn);
	const struct bpf_insn *second = NULL;
	char code[GT_DISASM_SIZE];
	int used;

	if (insn >= prog->insn_count) {
		snprintf(text, size, "end of program");
		return;
	}
	if (insn + 1 < prog->insn_count)
		second = &prog->insns[insn + 1];
	gt_disasm(&prog->insns[insn], second, code);
	used = snprintf(text, size, "insn %u `%s`", insn, code);
	if (!line || used < 0 || (size_t)used >= size)
		return;
	if (line->text)
		snprintf(text + used, size - (size_t)used, " (%s:%u `%s`)",
			 line->file ? line->file : "?", line->line,
			 line->text + strspn(line->text, " \t"));
	else
		snprintf(text + used, size - (size_t)used, " (%s:%u)",
			 line->file ? line->file : "?", line->line);
}

int gt_refuse(struct gt_verifier *v, unsigned insn, const char *repair, const char *reason, ...)
{
	char where[GT_DESCRIPTION_SIZE], why[400];
	va_list args;

	va_start(args, reason);
	vsnprintf(why, sizeof(why), reason, args);
	va_end(args);
	gt_describe_insn(v->prog, insn, where, sizeof(where));
	/* The last line must be there however long the log has become. */
	v->log.truncated = 0;
	if (v->log.length > GT_LOG_LIMIT - 1024)
		v->log.length = GT_LOG_LIMIT - 1024;
	gt_log_printf(&v->log, "%s: %s: %s%s%s\n", v->prog->name ? v->prog->name : "program",
		      where, why, repair ? "; " : "", repair ? repair : "");
	return gt_error(-EACCES, "%s: %s: %s%s%s", v->prog->name ? v->prog->name : "program",
			where, why, repair ? "; " : "", repair ? repair : "");
}

static void say(struct gt_verifier *v, const char *begin, unsigned insn, const char *format, va_list args)
{
	char where[GT_DESCRIPTION_SIZE];

	if (v->opts.log_level < 1)
		return;
	gt_describe_insn(v->prog, insn, where, sizeof(where));
	gt_log_printf(&v->log, "%s%s: ", begin, where);
	gt_log_vprintf(&v->log, format, args);
	gt_log_printf(&v->log, "\n");
}

void gt_warn(struct gt_verifier *v, unsigned insn, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(v, GT_LOG_WARNS, insn, format, args);
	va_end(args);
}

void gt_hint(struct gt_verifier *v, unsigned insn, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(v, "hint: ", insn, format, args);
	va_end(args);
}

static void log_reg(struct gt_log *log, unsigned regno, const struct gt_reg *reg)
{
	static const char *const names[] = {
		[GT_REG_NONE] = "", [GT_REG_SCALAR] = "", [GT_REG_CONTEXT] = "context",
		[GT_REG_STACK] = "stack", [GT_REG_MAP] = "map", [GT_REG_VALUE] = "value",
		[GT_REG_RECORD] = "record", [GT_REG_FUNC] = "function",
	};

	gt_log_printf(log, " r%u=%s%s", regno, names[reg->type], reg->maybe_null ? "_or_null" : "");
	if (gt_scalar_is_const(&reg->range))
		gt_log_printf(log, gt_reg_is_pointer(reg) ? "%+lld" : "%lld", (long long)reg->range.bits.value);
	else
		gt_log_printf(log, "[u %llu..%llu s %lld..%lld bits %llx/%llx]",
			      (unsigned long long)reg->range.umin, (unsigned long long)reg->range.umax,
			      (long long)reg->range.smin, (long long)reg->range.smax,
			      (unsigned long long)reg->range.bits.value,
			      (unsigned long long)reg->range.bits.mask);
}

void gt_log_state(struct gt_verifier *v, const struct gt_state *state)
{
	const struct gt_frame *frame = gt_state_frame(state);
	const struct bpf_insn *insn = &v->prog->insns[state->insn];
	char code[GT_DISASM_SIZE];

	gt_disasm(insn, state->insn + 1 < v->prog->insn_count ? insn + 1 : NULL, code);
	gt_log_printf(&v->log, "%u: %s;", state->insn, code);
	for (unsigned i = 0; i < GT_REGS; i++)
		if (frame->regs[i].type != GT_REG_NONE)
			log_reg(&v->log, i, &frame->regs[i]);
	if (state->frame_count > 1)
		gt_log_printf(&v->log, " frame %u", state->frame_count - 1);
	gt_log_printf(&v->log, "\n");
}
