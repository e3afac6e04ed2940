/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier's text: a growing string with a limit. */
#ifndef GT_VERIFY_LOG_H
#define GT_VERIFY_LOG_H

#include <stdarg.h>
#include <stddef.h>

struct bpf_insn;
struct gt_prog;

#define GT_LOG_LIMIT (1u << 20)

/* How a line begins that warns of what is likely wrong. */
#define GT_LOG_WARNS "warning: "

struct gt_log {
	char *text;		/* NULL until something was written */
	size_t length, room;
	int truncated;
};

/* Beyond the limit, and without memory, text is dropped. */
void gt_log_printf(struct gt_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
void gt_log_vprintf(struct gt_log *log, const char *format, va_list args);

/* disasm.c: an instruction as text, in the notation of the kernel and llvm. */
#define GT_DISASM_SIZE 96
void gt_disasm(const struct bpf_insn *insn, const struct bpf_insn *second, char text[GT_DISASM_SIZE]);

/* "insn 7 `r0 = *(u64 *)(r1 + 8)` (vec.bpf.c:12 `u64 x = *p;`)" */
#define GT_DESCRIPTION_SIZE 320
void gt_describe_insn(const struct gt_prog *prog, unsigned insn, char *text, size_t size);

#endif
