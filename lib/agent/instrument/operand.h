/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory an instruction touches. */
#ifndef GT_INSTRUMENT_OPERAND_H
#define GT_INSTRUMENT_OPERAND_H

#include "lib/agent/instrument/lex.h"
#include "lib/agent/instrument/names.h"
#include "lib/agent/instrument/ptx.h"

/*
 * 1 and *ret_access when the instruction counts as a load, store or atomic,
 * else 0.  operands: the tokens after the opcode, the ';' left out.
 */
int gt_access_read(const char *text, const struct ptx_names *names, const char *opcode,
		    const struct ptx_token *operands, uint32_t count,
		    struct ptx_access *ret_access);

/* Bytes of a PTX type word such as ".u32" (dot optional); 0: no type. */
uint32_t gt_ptx_type_size(const char *word, uint32_t length);

/* The value of a decimal, hexadecimal, octal or binary number; 0 or -EINVAL. */
int gt_ptx_number(const char *word, uint32_t length, uint32_t *ret_value);

#endif
