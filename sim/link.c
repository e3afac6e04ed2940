/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linker.  It takes PTX, and its product is not a cubin but a container of
 * PTX that this device's load functions accept.  Every input is compiled when it
 * is added, and the whole at the end, so that errors show where they do with the
 * real one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/module.h"
#include "sim/stream.h"

struct CUlinkState_st {
	struct CUctx_st *ctx;
	struct sim_jit jit;
	struct sim_text *parts;
	size_t count;
	void *image;		/* once complete */
};

static unsigned target_of(const struct CUlinkState_st *state)
{
	return state->jit.target ? state->jit.target : state->ctx->gpu->machine.arch;
}

/* Does the text compile?  Symbols that other inputs may define can be missing until the end. */
static CUresult try_compile(struct CUlinkState_st *state, const struct sim_text *text,
			    const char *name, bool whole, struct sim_jit *jit)
{
	struct sim_device machine = state->ctx->gpu->machine;
	struct sim_error err = { .kind = SIM_OK };
	struct sim_module *module;
	char line[sizeof(err.text) + 256];

	machine.arch = target_of(state);
	if (sim_module_load(&machine, text->text, text->length, &module, &err) == 0) {
		sim_module_unload(module);
		return CUDA_SUCCESS;
	}
	if (err.kind == SIM_ERROR_UNRESOLVED && !whole)
		return CUDA_SUCCESS;
	if (name && *name) {
		snprintf(line, sizeof(line), "%.200s: %s", name, err.text);
		memcpy(err.text, line, sizeof(err.text) - 1);
	}
	return sim_jit_error(jit->buffer[SIM_JIT_ERROR] ? jit : &state->jit, &err);
}

/* Takes over the text, also on failure. */
static CUresult add(struct CUlinkState_st *state, struct sim_text *text, const char *name,
		    struct sim_jit *jit)
{
	CUresult r = try_compile(state, text, name, false, jit);
	struct sim_text *parts = NULL;

	if (r == CUDA_SUCCESS) {
		parts = realloc(state->parts, (state->count + 1) * sizeof(*parts));
		r = parts ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (r != CUDA_SUCCESS) {
		free(text->text);
		return r;
	}
	state->parts = parts;
	state->parts[state->count++] = *text;
	return CUDA_SUCCESS;
}

CUresult sim_cuLinkCreate_v2(unsigned count, CUjit_option *options, void **values,
			     CUlinkState *ret_state)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);
	struct CUlinkState_st *state;

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_state)
		return CUDA_ERROR_INVALID_VALUE;
	state = calloc(1, sizeof(*state));
	if (!state)
		return CUDA_ERROR_OUT_OF_MEMORY;
	state->ctx = ctx;
	r = sim_jit_open(&state->jit, count, options, values);
	if (r == CUDA_SUCCESS && !sim_handle_add(state, SIM_LINK))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r != CUDA_SUCCESS)
		free(state);
	else
		*ret_state = state;
	return r;
}

CUresult sim_cuLinkCreate(unsigned count, CUjit_option *options, void **values,
			  CUlinkState *ret_state)
{
	return sim_cuLinkCreate_v2(count, options, values, ret_state);
}

static CUresult check(CUlinkState state, const void *input, CUjitInputType type, unsigned count,
		      CUjit_option *options, void **values, struct sim_jit *jit)
{
	CUresult r = sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!sim_handle_is(state, SIM_LINK))
		return CUDA_ERROR_INVALID_HANDLE;
	r = sim_context_check(state->ctx);
	if (r != CUDA_SUCCESS)
		return r;
	if (!input || state->image)
		return CUDA_ERROR_INVALID_VALUE;
	if (type == CU_JIT_INPUT_NVVM || type == CU_JIT_INPUT_LIBRARY)
		return CUDA_ERROR_NOT_SUPPORTED;
	if ((unsigned)type > CU_JIT_INPUT_NVVM)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_jit_open(jit, count, options, values);
}

CUresult sim_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
			      const char *name, unsigned count, CUjit_option *options, void **values)
{
	struct sim_jit jit;
	struct sim_text text;
	CUresult r = check(state, data, type, count, options, values, &jit);

	r = r ? r : sim_image_text(data, size, target_of(state), &text);
	return r ? r : add(state, &text, name, &jit);
}

CUresult sim_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
			   const char *name, unsigned count, CUjit_option *options, void **values)
{
	return sim_cuLinkAddData_v2(state, type, data, size, name, count, options, values);
}

CUresult sim_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
			      unsigned count, CUjit_option *options, void **values)
{
	struct sim_jit jit;
	struct sim_text text;
	CUresult r = check(state, path, type, count, options, values, &jit);

	r = r ? r : sim_image_file(path, target_of(state), &text);
	return r ? r : add(state, &text, path, &jit);
}

CUresult sim_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned count,
			   CUjit_option *options, void **values)
{
	return sim_cuLinkAddFile_v2(state, type, path, count, options, values);
}

CUresult sim_cuLinkComplete(CUlinkState state, void **ret_image, size_t *ret_size)
{
	CUresult r = sim_ready();
	struct sim_text text;
	size_t size;

	if (r != CUDA_SUCCESS)
		return r;
	if (!sim_handle_is(state, SIM_LINK))
		return CUDA_ERROR_INVALID_HANDLE;
	r = sim_context_check(state->ctx);
	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_image || !state->count || state->image)
		return CUDA_ERROR_INVALID_VALUE;
	r = sim_ptx_join(state->parts, state->count, &text);
	if (r != CUDA_SUCCESS)
		return r;
	/* One input alone was compiled already, but for what it may lack. */
	r = try_compile(state, &text, NULL, true, &state->jit);
	r = r ? r : sim_image_pack(&text, &state->image, &size);
	free(text.text);
	if (r != CUDA_SUCCESS)
		return r;
	*ret_image = state->image;
	if (ret_size)
		*ret_size = size;
	return CUDA_SUCCESS;
}

CUresult sim_cuLinkDestroy(CUlinkState state)
{
	CUresult r = sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!sim_handle_is(state, SIM_LINK))
		return CUDA_ERROR_INVALID_HANDLE;
	sim_handle_remove(state);
	for (size_t i = 0; i < state->count; i++)
		free(state->parts[i].text);
	free(state->parts);
	free(state->image);
	free(state);
	return CUDA_SUCCESS;
}
