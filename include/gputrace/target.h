/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUTRACE_TARGET_H
#define GPUTRACE_TARGET_H

#include <gputrace/common.h>

GPUTRACE_BEGIN_DECLS

struct gputrace_ctx;
struct gputrace_program;

/*
 * A traced program: the process started here and the children it starts, a
 * process that runs already, or the calling one; or some that are watched only.
 * Since 0.1.
 */
struct gputrace_target;

enum gputrace_device_kind {
	GPUTRACE_DEVICE_REAL,	/* the driver that the program finds by itself */
	GPUTRACE_DEVICE_SIM	/* the software device that comes with this library */
};

struct gputrace_spawn_opts {
	uint64_t size;
	uint32_t device;		/* enum gputrace_device_kind */
	uint32_t flags;			/* 0 */
	const char *agent;		/* path of libgputrace-agent.so; default: the installed one */
	uint64_t agent_ring_bytes;	/* per process, a power of two; default 4 MiB */
	uint64_t gpu_ring_bytes;	/* timeline ring per CUDA context, a power of two; default 4 MiB */
	char *const *envp;		/* environment; default: the caller's */
};

/*
 * Prepare to run argv[0] (searched in PATH) with the agent in it.  The process
 * exists and waits; attach programs, then call gputrace_target_resume().
 * -ENOENT: no such program, agent or software device; -EACCES: not executable, or
 * the agent not readable; -ENOEXEC: the agent is not a shared library; -EINVAL,
 * -E2BIG: argv, opts, GPUTRACE_ROUTE in the environment; -ENOMEM and the errors of fork(2) and socket(2).
 */
GPUTRACE_API int gputrace_target_spawn(struct gputrace_ctx *ctx, char *const argv[],
				       const struct gputrace_spawn_opts *opts,
				       struct gputrace_target **ret_target);

/*
 * Programs for kernels that were loaded before, too: a kernel's image is looked for among those that the
 * process's executable and shared libraries carry, and a copy of the kernel with the programs in it runs in
 * the kernel's place, with the same settings.  Not for kernels that use variables of their module, since a
 * copy would have its own, nor where it is not certain which image it was; the reason is listed.  Resuming
 * takes up to seconds longer when the process has large libraries, and the first launch of a kernel from
 * each image waits until the copy is made.  Since 0.1.
 */
#define GPUTRACE_LIVE_COPIES 1u

struct gputrace_live_opts {
	uint64_t size;
	const char *agent;		/* path of libgputrace-agent.so; default: the installed one */
	uint64_t agent_ring_bytes;	/* a power of two; default 4 MiB */
	uint64_t gpu_ring_bytes;	/* timeline ring per CUDA context, a power of two; default 4 MiB */
	uint32_t flags;			/* GPUTRACE_LIVE_COPIES */
	uint32_t reserved;
};

/*
 * Prepare to trace a process that is running and has loaded libcuda; its children
 * are not followed.  Attach programs, then call gputrace_target_resume(), which
 * puts the agent in: one thread is stopped for about a millisecond, none is
 * otherwise.  Images loaded from then on get programs; the kernels of those
 * loaded before are listed, and their launches recorded (but see GPUTRACE_LIVE_COPIES).
 * -ESRCH: no such process; -EPERM: it may not be traced (the sentence says why);
 * -EBUSY: a debugger traces it; -ENOEXEC: libraries cannot be loaded into it, or the agent is none;
 * -ENODEV: it has not loaded libcuda; -ENOENT, -EACCES: no agent, or it cannot be read;
 * -EINVAL, -E2BIG: pid, opts, GPUTRACE_ROUTE in the environment; -ENOMEM.
 */
GPUTRACE_API int gputrace_target_attach(struct gputrace_ctx *ctx, int pid,
					const struct gputrace_live_opts *opts,
					struct gputrace_target **ret_target);

/*
 * Prepare to trace the calling process itself, whether it has loaded libcuda or not;
 * otherwise as gputrace_target_attach().  For use in this process alone, not in a child
 * forked from it.  -ENOENT, -EACCES, -ENOEXEC, -EINVAL, -E2BIG, -ENOMEM: the same.
 */
GPUTRACE_API int gputrace_target_self(struct gputrace_ctx *ctx, const struct gputrace_live_opts *opts,
				      struct gputrace_target **ret_target);

/*
 * Let go of all processes of the target, which go on as they were: waits until the kernels
 * that carry programs have ended, at most timeout_ms (-1: for ever).  What was recorded
 * can still be read, to the end of the stream.  Kernels that were put into graphs
 * meanwhile keep their programs.  -ETIMEDOUT: it is done later, when they have ended;
 * or a thread was in a function of the driver all the time, for 10 s at most: then the
 * agent stays, idle, and lets go when the process is attached to again.  The sentence
 * says which of both.
 */
GPUTRACE_API int gputrace_target_detach(struct gputrace_target *target, int timeout_ms);

/*
 * Watch processes from outside, without an agent in them: `pid` and all that it has
 * started and will start, or GPUTRACE_EVERY_PROCESS, those that run and those that
 * are started later.  What the operating system's kernel sees can be recorded:
 * gputrace_attach_api() and gputrace_attach_functions(), and kernel programs of
 * gputrace_attach_object(); and metrics of all GPUs, gputrace_reader_add_metrics();
 * not kernels, nor programs on the GPU.  Begins when something is attached; a reader's
 * stream ends with the last of the processes, or when all that was attached is
 * detached, as gputrace_target_detach() does.  gputrace_target_resume() does nothing.
 * -ESRCH: no such process; -EINVAL: pid; -ENOMEM, -EMFILE.
 */
#define GPUTRACE_EVERY_PROCESS (-1)
GPUTRACE_API int gputrace_target_watch(struct gputrace_ctx *ctx, int pid,
				       struct gputrace_target **ret_target);

GPUTRACE_API struct gputrace_target *gputrace_target_ref(struct gputrace_target *target);

/*
 * The last unref detaches everything.  A program that still waits is killed; one
 * that runs goes on undisturbed, and is the caller's to wait for.
 */
GPUTRACE_API struct gputrace_target *gputrace_target_unref(struct gputrace_target *target);

/*
 * Let the program run; returns when it does.  -EALREADY: it does; -ESRCH: it is gone;
 * the errors of execve(2).
 * For a process that runs already: put the agent in, and wait until it is at work, at
 * most some 40 s.  -EAGAIN: no thread of it can be borrowed now (all compute without a
 * system call, or it is stopped); -EBUSY: it is traced already; -ECHILD: it was forked
 * from a traced process; -ENOEXEC: the agent cannot be loaded; -ENOENT: no libcuda;
 * -ENOSPC: no room for a few bytes of code; -EPERM, -EMFILE and the like: what the
 * process may not do; -ETIMEDOUT: the agent was not at work in time.
 */
GPUTRACE_API int gputrace_target_resume(struct gputrace_target *target);

GPUTRACE_API int gputrace_target_get_pid(const struct gputrace_target *target);

/*
 * Has the program ended?  1 and *ret_status (may be NULL) as of waitpid(2), 0 if it
 * runs.  Does not block.  Of a process that was not started here no status is known: 0.
 */
GPUTRACE_API int gputrace_target_has_exited(struct gputrace_target *target, int *ret_status);

/*
 * Serve the agents of this target: answer those that ask for their programs, take
 * in what they report.  Must be called whenever gputrace_target_get_fd() is
 * readable, since a program waits (at most ten seconds) in cuInit for its
 * answer; a gputrace_reader of the target does it by itself.  Does not block; 0.
 * The descriptor belongs to the target.
 */
GPUTRACE_API int gputrace_target_get_fd(const struct gputrace_target *target);
GPUTRACE_API int gputrace_target_dispatch(struct gputrace_target *target);

/* How many processes of the target have loaded the agent so far. */
GPUTRACE_API unsigned gputrace_target_count_agents(const struct gputrace_target *target);

/* Which way programs got into a CUDA kernel. */
enum gputrace_route { GPUTRACE_ROUTE_NONE, GPUTRACE_ROUTE_PTX, GPUTRACE_ROUTE_GRAFT };

/* A CUDA kernel that the target loaded; belongs to the target.  Known once a reader has taken it in.  Since 0.1. */
struct gputrace_kernel;

/* The kernel after `previous` (NULL: the first) in order of loading; NULL past the last. */
GPUTRACE_API const struct gputrace_kernel *
gputrace_target_next_kernel(struct gputrace_target *target, const struct gputrace_kernel *previous);

/*
 * As the linker knows it, and as a person reads it (the same when it is not mangled);
 * raw, as the program has it: see gputrace_escape().
 */
GPUTRACE_API const char *gputrace_kernel_get_name(const struct gputrace_kernel *kernel);
GPUTRACE_API const char *gputrace_kernel_get_display_name(const struct gputrace_kernel *kernel);
/*
 * The process that loaded it; its number there, from 1, which programs on the GPU see as kernel_id; and the number
 * of the image in which it came, from 1, or 0 if that was loaded before the process was attached to.
 */
GPUTRACE_API int gputrace_kernel_get_pid(const struct gputrace_kernel *kernel);
GPUTRACE_API uint32_t gputrace_kernel_get_id(const struct gputrace_kernel *kernel);
GPUTRACE_API uint32_t gputrace_kernel_get_module(const struct gputrace_kernel *kernel);
/* enum gputrace_route */
GPUTRACE_API int gputrace_kernel_get_route(const struct gputrace_kernel *kernel);
/* Why no program, or not every one meant for it, is in it: a sentence, valid until the reader waits again; else NULL. */
GPUTRACE_API const char *gputrace_kernel_get_reason(const struct gputrace_kernel *kernel);
/*
 * Is the program in it, at one place at least?  1 or 0.  A program for which the kernel has no place, such as one at
 * atomics where there are none, is not in it; nor is one that could not be put into it (the reason says why) or whose
 * pattern does not mean it.  Of a kernel of another target than the program's, or of another process's stream: 0.
 * The kernel's detached programs are still in it.  Since 0.1.
 */
GPUTRACE_API int gputrace_kernel_has_program(const struct gputrace_kernel *kernel, const struct gputrace_program *program);
/* Compute capability times ten of its code; registers per thread, bytes of static shared memory (0: not known). */
GPUTRACE_API uint32_t gputrace_kernel_get_arch(const struct gputrace_kernel *kernel);
GPUTRACE_API uint32_t gputrace_kernel_get_registers(const struct gputrace_kernel *kernel);
GPUTRACE_API uint32_t gputrace_kernel_get_shared_bytes(const struct gputrace_kernel *kernel);
/*
 * Does a program's pattern (gputrace_program_get_pattern()) mean a kernel of this
 * name, as the linker knows it?  The pattern is compared with that and with the
 * readable name: whole, without parameters, without template arguments.  1 or 0.
 */
GPUTRACE_API int gputrace_kernel_name_matches(const char *name, const char *pattern);
/* Successful launches seen by a reader of this target so far; a captured one counts once. */
GPUTRACE_API uint64_t gputrace_kernel_get_launches(const struct gputrace_kernel *kernel);
/*
 * Of these, launches of a kernel with a route that ran without programs all the same:
 * none was switched on, or the kernel with programs in it, which takes more registers,
 * could not be launched in this way.  For the latter there is a note in the stream, once
 * for each kernel.  Since 0.1.
 */
GPUTRACE_API uint64_t gputrace_kernel_get_plain_launches(const struct gputrace_kernel *kernel);

GPUTRACE_END_DECLS

#endif
