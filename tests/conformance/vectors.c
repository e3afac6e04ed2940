/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/vectors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vector *vector_new(struct vectors *vectors, const char *format, ...)
{
	struct vector *v;
	va_list args;

	vectors->list = realloc(vectors->list, (vectors->count + 1) * sizeof(*v));
	if (!vectors->list)
		abort();
	v = &vectors->list[vectors->count++];
	memset(v, 0, sizeof(*v));
	va_start(args, format);
	vsnprintf(v->name, sizeof(v->name), format, args);
	va_end(args);
	return v;
}

void put(struct vector *v, uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
	if (v->count == VECTOR_INSNS)
		abort();
	v->insns[v->count++] = (struct bpf_insn){
		.code = code, .dst_reg = dst & 0xf, .src_reg = src & 0xf, .off = off, .imm = imm,
	};
}

void put_imm64(struct vector *v, uint8_t dst, uint64_t value)
{
	put(v, BPF_LD | BPF_IMM | BPF_DW, dst, 0, 0, (int32_t)value);
	put(v, 0, 0, 0, 0, (int32_t)(value >> 32));
}

void put_exit(struct vector *v)
{
	put(v, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}
