/* SPDX-License-Identifier: Apache-2.0 */
/* The public side of the compiler. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/compile.h>
#include <gputrace/object.h>

#include "lib/compile/cache.h"
#include "lib/compile/image-data.h"
#include "lib/compile/ir.h"
#include "lib/compile/llvm.h"
#include "lib/compile/proof.h"
#include "lib/ctx.h"
#include "lib/util/error.h"
#include "lib/verify/verify.h"

#define DEFAULT_LEVEL 2u

static int read_opts(const struct gputrace_compile_opts *opts, struct gputrace_compile_opts *known)
{
	int r = gt_opts_read(opts, sizeof(uint64_t), known, sizeof(*known));

	if (r)
		return r;
	if (known->reserved || known->flags & ~(GPUTRACE_COMPILE_UNVERIFIED | GPUTRACE_COMPILE_UNCACHED))
		return gt_error(-E2BIG, "compile options hold flags, or a reserved field, that this version does not know");
	if (known->verifier_log > GPUTRACE_VERIFIER_STATES)
		return gt_error(-EINVAL, "the verifier's log has no level %u", known->verifier_log);
	if (known->optimize > 3 && known->optimize != GPUTRACE_OPTIMIZE_NONE)
		return gt_error(-EINVAL, "optimisation level %u is none of 1 to 3", known->optimize);
	if (known->optimize == GPUTRACE_OPTIMIZE_NONE)
		known->optimize = 0;
	else if (!known->optimize)
		known->optimize = DEFAULT_LEVEL;
	return 0;
}

static void free_image(struct gputrace_image *image)
{
	gt_host_free(image->host);
	free(image->ptx);
	free(image->main_name);
	free(image->symbols.list);
	gputrace_object_unref(image->object);
	free(image);
}

static struct gputrace_image *new_image(struct gputrace_program *program)
{
	struct gputrace_image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	image->refs = 1;
	image->object = gputrace_object_ref(program->object);
	image->context_size = program->prog.context_size;
	return image;
}

static int take_code(LLVMMemoryBufferRef buffer, bool gpu, const struct gt_prog *prog,
		     struct gputrace_image *image)
{
	const char *data = LLVMGetBufferStart(buffer);
	size_t size = LLVMGetBufferSize(buffer);

	if (gpu)
		return gt_ptx_tidy(data, size, prog, &image->ptx);
	return gt_host_load(data, size, image, &image->host);
}

static int compile_module(struct gt_llvm *llvm, const struct gt_verify_result *proof,
			  const struct gputrace_program *program, unsigned level,
			  struct gputrace_image *image)
{
	struct gt_ir ir = {
		.prog = &program->prog,
		.facts = proof ? proof->facts : NULL,
		.loop_budget = proof ? proof->loop_budget : 0,
		.object = program->object,
		.gpu = llvm->gpu,
		.symbols = &image->symbols,
		.context = llvm->context,
		.module = llvm->module,
	};
	LLVMMemoryBufferRef buffer;
	int r;

	r = gt_ir_translate(&ir);
	image->main_name = ir.main_name;
	if (r >= 0)
		r = gt_llvm_optimize(llvm, image->main_name, level);
	if (r >= 0)
		r = gt_llvm_emit(llvm, &buffer);
	if (r < 0)
		return r;
	r = take_code(buffer, llvm->gpu, &program->prog, image);
	LLVMDisposeMemoryBuffer(buffer);
	return r;
}

static int compile_image(const struct gputrace_program *program, const struct gt_verify_result *proof,
			 bool gpu, unsigned level, struct gputrace_image *image)
{
	struct gt_llvm llvm;
	int r;

	r = gt_llvm_open(gpu, &llvm);
	if (r < 0)
		return r;
	r = compile_module(&llvm, proof, program, level, image);
	gt_llvm_close(&llvm);
	if (proof)
		image->probe_flags = (uint32_t)proof->wants;
	return r;
}

static int prove_and_compile(struct gputrace_program *program, const struct gputrace_compile_opts *opts, bool gpu,
			     struct gputrace_image *image)
{
	const struct gt_verify_result *proof = NULL;
	int r = 0;

	if (!(opts->flags & GPUTRACE_COMPILE_UNVERIFIED))
		r = gt_program_prove(program, &proof);
	if (proof)
		gt_program_set_log(program, strdup(proof->log));
	return r < 0 ? r : compile_image(program, proof, gpu, opts->optimize, image);
}

/* GPU programs are looked for in the cache first. */
static int compile_cached(struct gputrace_program *program, const struct gputrace_compile_opts *opts,
			  struct gputrace_image *image)
{
	struct gt_cache_key key;
	char *log;
	int r;

	gt_cache_make_key(program, opts->optimize, &key);
	if (gt_cache_load(&key, image, &log) == 0) {
		gt_program_set_log(program, log);
		return 0;
	}
	r = prove_and_compile(program, opts, true, image);
	if (r >= 0)
		gt_cache_store(&key, image, gputrace_program_get_log(program));
	return r;
}

/* It was verified for a log with warnings, which is kept with the program and with what is in the cache. */
static int take_other_log(struct gputrace_program *program, const struct gputrace_compile_opts *opts)
{
	static const unsigned levels[] = {
		[GPUTRACE_VERIFIER_WARNINGS] = 1, [GPUTRACE_VERIFIER_REFUSALS] = 0, [GPUTRACE_VERIFIER_STATES] = 2,
	};

	if (opts->verifier_log == GPUTRACE_VERIFIER_WARNINGS || opts->flags & GPUTRACE_COMPILE_UNVERIFIED ||
	    !program->prog.context_size)
		return 0;
	return gt_program_log_at(program, levels[opts->verifier_log]);
}

static int compile(struct gputrace_program *program, const struct gputrace_compile_opts *user_opts, bool gpu,
		   struct gputrace_image **ret_image)
{
	struct gputrace_compile_opts opts;
	struct gputrace_image *image;
	int r = gt_program_check(program);

	if (!r)
		r = read_opts(user_opts, &opts);
	if (r < 0)
		return r;
	gt_program_set_log(program, NULL);
	if (program->point == GPUTRACE_POINT_KERNEL)
		return gt_error(-EOPNOTSUPP, "program %s (section %s) is for the operating system's kernel",
				program->name, program->section);
	image = new_image(program);
	if (!image)
		return gt_error(-ENOMEM, "out of memory for program %s", program->name);
	if (gpu && !(opts.flags & (GPUTRACE_COMPILE_UNVERIFIED | GPUTRACE_COMPILE_UNCACHED)))
		r = compile_cached(program, &opts, image);
	else
		r = prove_and_compile(program, &opts, gpu, image);
	if (!r || r == -EACCES)
		r = take_other_log(program, &opts) ? -ENOMEM : r;
	if (r < 0) {
		free_image(image);
		return r;
	}
	*ret_image = image;
	return 0;
}

int gputrace_compile_ptx(struct gputrace_program *program, const struct gputrace_compile_opts *opts,
			 struct gputrace_image **ret_image)
{
	return compile(program, opts, true, ret_image);
}

int gputrace_compile_host(struct gputrace_program *program, const struct gputrace_compile_opts *opts,
			  struct gputrace_image **ret_image)
{
	return compile(program, opts, false, ret_image);
}

struct gputrace_image *gputrace_image_ref(struct gputrace_image *image)
{
	if (image)
		__atomic_fetch_add(&image->refs, 1, __ATOMIC_RELAXED);
	return image;
}

struct gputrace_image *gputrace_image_unref(struct gputrace_image *image)
{
	if (image && __atomic_fetch_sub(&image->refs, 1, __ATOMIC_ACQ_REL) == 1)
		free_image(image);
	return NULL;
}

const char *gputrace_image_get_ptx(const struct gputrace_image *image)
{
	return image->ptx;
}

const char *gputrace_program_get_log(const struct gputrace_program *program)
{
	return program->log ? program->log : "";
}

int gputrace_image_run(const struct gputrace_image *image, const void *context, size_t context_size,
		       uint64_t *ret_value)
{
	if (!image->host)
		return gt_error(-EINVAL, "only images compiled for the host can be run here");
	if (image->context_size && context_size != image->context_size)
		return gt_error(-EINVAL, "the program's context has %u bytes, not %zu", image->context_size,
				context_size);
	if (context_size > UINT32_MAX)
		return gt_error(-EINVAL, "a memory of %zu bytes is too large", context_size);
	*ret_value = gt_host_run(image->host, context, (uint32_t)context_size);
	return 0;
}

uint32_t gt_image_wants(const struct gputrace_image *image)
{
	return image->probe_flags;
}
