/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the PTX compiler: the log buffers. */
#include <stdio.h>
#include <string.h>

#include "sim/image.h"

CUresult sim_jit_open(struct sim_jit *jit, unsigned count, const CUjit_option *options, void **values)
{
	memset(jit, 0, sizeof(*jit));
	if (count && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++) {
		switch ((int)options[i]) {
		case CU_JIT_INFO_LOG_BUFFER:
			jit->buffer[SIM_JIT_INFO] = values[i];
			break;
		case CU_JIT_ERROR_LOG_BUFFER:
			jit->buffer[SIM_JIT_ERROR] = values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			jit->size[SIM_JIT_INFO] = (unsigned)(uintptr_t)values[i];
			jit->used_slot[SIM_JIT_INFO] = &values[i];
			break;
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			jit->size[SIM_JIT_ERROR] = (unsigned)(uintptr_t)values[i];
			jit->used_slot[SIM_JIT_ERROR] = &values[i];
			break;
		case CU_JIT_TARGET:
			jit->target = (unsigned)(uintptr_t)values[i];
			break;
		case CU_JIT_GLOBAL_SYMBOL_NAMES:
		case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
		case CU_JIT_GLOBAL_SYMBOL_COUNT:
			return CUDA_ERROR_NOT_SUPPORTED;
		default:
			/* The others steer optimisation, of which there is none. */
			break;
		}
	}
	for (int which = 0; which < 2; which++) {
		if (jit->used_slot[which])
			*jit->used_slot[which] = NULL;
		if (jit->buffer[which] && jit->size[which])
			jit->buffer[which][0] = '\0';
	}
	return CUDA_SUCCESS;
}

void sim_jit_log(struct sim_jit *jit, int which, const char *text)
{
	size_t used = jit->used[which], left = jit->size[which] - used;
	int n;

	if (!jit->buffer[which] || left < 2)
		return;
	n = snprintf(jit->buffer[which] + used, left, "%s\n", text);
	if (n < 0)
		return;
	jit->used[which] = used + ((size_t)n < left ? (size_t)n : left - 1);
	if (jit->used_slot[which])
		*jit->used_slot[which] = (void *)(uintptr_t)jit->used[which];
}

CUresult sim_jit_error(struct sim_jit *jit, const struct sim_error *err)
{
	sim_jit_log(jit, SIM_JIT_ERROR, err->text);
	return err->kind == SIM_ERROR_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
}
