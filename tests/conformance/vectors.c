/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/vectors.h"

#include <errno.h>
#include <inttypes.h>
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

#define CALL_REGISTER (BPF_JMP | BPF_CALL | BPF_X)

void put(struct vector *v, uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
	if (v->count == VECTOR_INSNS)
		abort();
	v->insns[v->count++] = (struct bpf_insn){
		.code = code, .dst_reg = dst & 0xf, .src_reg = src & 0xf, .off = off, .imm = imm,
	};
	v->refused |= code == CALL_REGISTER;
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

void add_own_vectors(struct vectors *vectors)
{
	add_alu_vectors(vectors);
	add_jump_vectors(vectors);
	add_memory_vectors(vectors);
	add_atomic_vectors(vectors);
	add_control_vectors(vectors);
}

/* "0a1b": its bytes, at most `room`, or -1. */
static int read_bytes(const char *hex, uint8_t *bytes, size_t room)
{
	size_t count = strlen(hex) / 2;

	if (strlen(hex) % 2 || count > room)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (sscanf(hex + 2 * i, "%2hhx", &bytes[i]) != 1)
			return -1;
	}
	return (int)count;
}

/* "NAME RESULT INSTRUCTIONS MEMORY", all but the name in hexadecimal digits, the last with an 'm' before them. */
static bool read_vector(const char *line, struct vector *v)
{
	char insns[2 * sizeof(v->insns) + 1], memory[2 * VECTOR_MEMORY + 1] = "";
	struct bpf_insn read[VECTOR_INSNS];
	int bytes, size;

	_Static_assert(sizeof(v->name) == 64 && sizeof(insns) == 769 && sizeof(memory) == 161, "as scanned below");
	if (sscanf(line, "%63s %" SCNx64 " %768[0-9a-f] m%160[0-9a-f]", v->name, &v->expected, insns, memory) < 3)
		return false;
	bytes = read_bytes(insns, (uint8_t *)read, sizeof(read));
	size = read_bytes(memory, v->memory, sizeof(v->memory));
	if (bytes <= 0 || bytes % (int)sizeof(*read) || size < 0)
		return false;
	v->memory_size = (unsigned)size;
	for (int i = 0; i < bytes / (int)sizeof(*read); i++)
		put(v, read[i].code, read[i].dst_reg, read[i].src_reg, read[i].off, read[i].imm);
	return true;
}

void add_listed_vectors(struct vectors *vectors, const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) >= 0) {
		if (!read_vector(line, vector_new(vectors, " "))) {
			printf("%s: not a case of at most %u instructions and %u bytes: %s", path, VECTOR_INSNS,
			       VECTOR_MEMORY, line);
			exit(1);
		}
	}
	if (!file || !vectors->count) {
		printf("%s: %s\n", path, file ? "no cases in it" : strerror(errno));
		exit(1);
	}
	free(line);
	fclose(file);
}
