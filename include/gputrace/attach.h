/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUTRACE_ATTACH_H
#define GPUTRACE_ATTACH_H

#include <gputrace/common.h>

GPUTRACE_BEGIN_DECLS

struct gputrace_target;
struct gputrace_object;
struct gputrace_program;

/*
 * Something attached to a target.  Dropping the last reference detaches it: what
 * it counted stays readable, its code stops running at the next launch (kernels
 * that were put into a graph before keep running it).  Since 0.1.
 */
struct gputrace_link;

GPUTRACE_API struct gputrace_link *gputrace_link_ref(struct gputrace_link *link);
GPUTRACE_API struct gputrace_link *gputrace_link_unref(struct gputrace_link *link);

/*
 * Detach now.  May be called at any time, also twice and after the target has
 * ended: then it does nothing and returns 0.
 */
GPUTRACE_API int gputrace_link_detach(struct gputrace_link *link);

/*
 * Attach one GPU program: it is verified and compiled, and put into every
 * matching kernel that the target loads from now on.
 * -EACCES, -EOPNOTSUPP: as gputrace_compile_ptx(); -ENOSPC: 16 GPU links were made
 * for this target, detached ones included, or its objects have more than 63 ring
 * buffers; -EBUSY: gputrace_target_resume() was called before,
 * or the program's object is attached to another target, or the program was added to
 * it when others were attached, and reads a map that those only add to;
 * -EOPNOTSUPP also: its processes are only watched (gputrace_target_watch()); -ENOMEM.
 */
GPUTRACE_API int gputrace_attach_program(struct gputrace_target *target,
					 struct gputrace_program *program,
					 struct gputrace_link **ret_link);

/*
 * Attach everything in an object: GPU programs as above, kernel programs through
 * libbpf.  All or nothing.  Uprobes run for the target's process and those that it
 * starts; of processes that are only watched, in every file of the library that they
 * have or load later, unless the section names a path.  A map that both kinds use is one map for both, which
 * must be a BPF_MAP_TYPE_ARRAY (BPF_F_MMAPABLE need not be said).
 * Further errors: those of libbpf and bpf(2); -ENOEXEC: it holds no programs; -EPERM: no
 * permission for kernel programs; -EOPNOTSUPP: both use a map of another type; -EBUSY: both use a map
 * that gputrace_attach_program() has put on the GPU before, or a program under valgrind has a
 * uprobe's file mapped; -ENOSPC: 32 maps are shared.
 */
GPUTRACE_API int gputrace_attach_object(struct gputrace_target *target,
					struct gputrace_object *object,
					struct gputrace_link **ret_link);

/*
 * Record start and end of every kernel on the GPU (GPUTRACE_EVENT_KERNEL).  Start: when the
 * first of blocks 0 to 31 entered the kernel.  End: when the memory acknowledged the addition
 * by which the last thread counts itself out, about 0.6 us after the kernel's last instruction.
 * -EALREADY: it is attached; -ENOSPC, -EBUSY, -EOPNOTSUPP, -ENOMEM: as gputrace_attach_program().
 */
GPUTRACE_API int gputrace_attach_timeline(struct gputrace_target *target,
					  struct gputrace_link **ret_link);

struct gputrace_api_opts {
	uint64_t size;
	/*
	 * Path of libcuda to watch; default: the one the loader finds, or the software device's; of
	 * processes that are only watched, every file by that name that they load.
	 */
	const char *library;
	/*
	 * Kernel ring buffer, a power of two; default 4 MiB, with stack_bytes 32 MiB and at
	 * least 1 MiB; a quarter of it for each thread's ring in the agent.
	 */
	uint64_t ring_bytes;
	uint32_t flags;		/* GPUTRACE_API_* */
	/*
	 * Most frames of the caller's stack to take with each call, up to 127; default: no
	 * stacks.  With stack_bytes up to 1024, which is then the default.
	 */
	uint32_t stack_frames;
	/*
	 * Default: stacks are found by frame pointers, and end where code has none.  Else the
	 * most bytes of its stack, a multiple of 8 up to 61440, that the calling thread copies
	 * with each call: the reader finds the callers in the copy by the call frame
	 * information (.eh_frame) of the files that the process has mapped; by frame pointers
	 * only where there is no such information.  x86-64 only.
	 */
	uint32_t stack_bytes;
	uint32_t reserved;	/* 0 */
};

#define GPUTRACE_API_UPROBES 1	/* by uprobes or not at all */
#define GPUTRACE_API_AGENT 2	/* by the agent's hooks */
#define GPUTRACE_API_QUERIES 4	/* also functions that only ask (cuCtxGetCurrent, ...): many calls, little news */

/*
 * Record the target's driver API calls (GPUTRACE_EVENT_API): loading, launching,
 * memory, copies, synchronisation.  By uprobes, which see every call; where those
 * are not permitted, or no libcuda is found for them, by hooks of the agent, and
 * a GPUTRACE_EVENT_NOTE says so and why.  The hooks need no privileges and cost far
 * less; they do not see the first cuInit and what comes before it, calls that never
 * return, and what the driver calls within a launch or a load.
 * Of processes that are only watched, the driver that programs started from here load
 * and those that they have loaded by now are watched at once.  Another file, such as a
 * container brings, is met when the reader next looks: its calls are seen from then on,
 * and a GPUTRACE_EVENT_NOTE says so.  At most 256 files.
 * A file is not watched while a program under valgrind has it mapped, which a uprobe's
 * breakpoint would end.
 * -EBUSY: hooks are wanted and gputrace_target_resume() was called before; -EINVAL, -E2BIG: opts; -ESRCH: the target has ended;
 * -ENOMEM; -EOPNOTSUPP: hooks are wanted and the processes are only watched, or
 * stack_bytes on another processor than x86-64.  With
 * GPUTRACE_API_UPROBES, if a library is named, and after
 * gputrace_target_resume(), when hooks cannot take the place of uprobes: -EPERM: not allowed (the sentence says what is
 * missing); -EBUSY: the command, or a program that has the file mapped, runs under
 * valgrind; -ENOENT: no libcuda; -EOPNOTSUPP: the operating system's kernel has no BPF
 * or uprobes; -ENOEXEC: the library is none.
 */
GPUTRACE_API int gputrace_attach_api(struct gputrace_target *target,
				     const struct gputrace_api_opts *opts,
				     struct gputrace_link **ret_link);

/*
 * Record the ranges, marks and names of threads that the target's programs and
 * libraries make known by NVTX 3 (GPUTRACE_EVENT_RANGE, _MARK, _THREAD), at about
 * 100 ns for each end of a range.  A reader that NVTX_INJECTION64_PATH named before
 * is called too.
 * -EBUSY: gputrace_target_resume() was called before; -EOPNOTSUPP:
 * its processes are only watched; -ENOMEM.
 */
GPUTRACE_API int gputrace_attach_nvtx(struct gputrace_target *target, struct gputrace_link **ret_link);

/*
 * Record when copies and memsets run on the GPU (GPUTRACE_EVENT_COPY): the agent records
 * an event of its own in the program's stream before each one and behind it.  Those are
 * all that the program calls for, of CUDA 3.2 and newer (cuMemcpy*, cuMemset*), but for
 * those that are captured into graphs.  A stream is busy for some microseconds longer;
 * not after a function that waits for its copy, as cuMemcpyDtoH does: that one's copy
 * ends when it returns.  The time between the two events holds what the driver and the host
 * need to get the copy going as well, which makes short copies some microseconds longer.
 * -EBUSY: gputrace_target_resume() was called before; -EOPNOTSUPP:
 * its processes are only watched; -ENOMEM.  Since 0.1.
 */
GPUTRACE_API int gputrace_attach_copies(struct gputrace_target *target, struct gputrace_link **ret_link);

struct gputrace_functions_opts {
	uint64_t size;
	uint64_t ring_bytes;	/* kernel ring buffer, a power of two; default 4 MiB, with stack_bytes 32 MiB */
	uint32_t flags;		/* 0 */
	uint32_t stack_frames, stack_bytes;	/* as in struct gputrace_api_opts */
	uint32_t reserved;	/* 0 */
};

/*
 * Record the target's calls of other functions (GPUTRACE_EVENT_CALL): those in
 * `library` whose names, as the linker knows them, match `pattern` ('*' any text,
 * '?' any character), exported or, where the file has its symbol table, not.
 * `library` is the path of a shared library or executable, or a name without a
 * slash: of a library that the running target has loaded, else of one that the
 * loader finds with this process's LD_LIBRARY_PATH.  Processes of the target that
 * load it later are watched too; of processes that are only watched, a name without a
 * slash means every file by that name, as with gputrace_attach_api().  At most 16,384
 * functions; each call costs about two microseconds.  Functions that begin with an
 * instruction that the kernel cannot replace by a breakpoint are left out, and a
 * GPUTRACE_EVENT_NOTE says so.
 * -ENOENT: no such library, or nothing in it matches; -ENOEXEC: it has no symbols,
 * or nothing but such functions;
 * -E2BIG: more functions than that; else as gputrace_attach_api().
 */
GPUTRACE_API int gputrace_attach_functions(struct gputrace_target *target, const char *library,
					   const char *pattern,
					   const struct gputrace_functions_opts *opts,
					   struct gputrace_link **ret_link);

GPUTRACE_END_DECLS

#endif
