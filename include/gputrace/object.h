/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUTRACE_OBJECT_H
#define GPUTRACE_OBJECT_H

#include <gputrace/common.h>

GPUTRACE_BEGIN_DECLS

struct gputrace_ctx;

/*
 * An opened BPF object file: its programs and its maps.  Programs and maps
 * belong to their object and live as long as it does.  Since 0.1.
 */
struct gputrace_object;
struct gputrace_program;
struct gputrace_map;

/*
 * Open an ELF file that clang made with `-target bpf`.
 * -ENOENT, -EACCES: the file; -ENOEXEC: not ELF, not BPF, or damaged;
 * -ENOTSUP: a map or section kind this library does not know; -ENOMEM.
 * The sentence names what is wrong.
 */
GPUTRACE_API int gputrace_object_open_file(struct gputrace_ctx *ctx, const char *path,
					   struct gputrace_object **ret_object);

/* The same from memory, which is copied.  name is used in messages. */
GPUTRACE_API int gputrace_object_open_mem(struct gputrace_ctx *ctx, const void *data, size_t size,
					  const char *name, struct gputrace_object **ret_object);

GPUTRACE_API struct gputrace_object *gputrace_object_ref(struct gputrace_object *object);
GPUTRACE_API struct gputrace_object *gputrace_object_unref(struct gputrace_object *object);

/*
 * An object without a file, for programs made of instructions: those who want
 * only the compiler begin here.  name is used in messages.  -ENOMEM.
 */
GPUTRACE_API int gputrace_object_new(struct gputrace_ctx *ctx, const char *name,
				     struct gputrace_object **ret_object);

/* What gputrace_object_add_map() makes; size = sizeof. */
struct gputrace_map_opts {
	uint64_t size;
	uint32_t type;		/* as gputrace_map_get_type() */
	uint32_t key_size, value_size, max_entries;
	uint32_t flags;		/* map_flags of BPF, GPUTRACE_MAP_HOST */
	uint32_t slots;		/* arrays kept per thread, warp or block: how many; default by kind */
};

/*
 * Add a map; the n-th map added has index n - 1.  -EINVAL, -E2BIG: opts; sizes
 * that the type cannot have; -ENOTSUP: a type that GPU programs cannot use; -ENOMEM.
 */
GPUTRACE_API int gputrace_object_add_map(struct gputrace_object *object, const char *name,
					 const struct gputrace_map_opts *opts,
					 struct gputrace_map **ret_map);

/*
 * Add a program of `count` eight-byte BPF instructions (struct bpf_insn), which
 * are copied.  The main function comes first, then those it calls; loads of map
 * addresses hold the map's index where the kernel takes a file descriptor
 * (BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE).  section is named as in an object
 * file; NULL: the program belongs to no kernel, r1 is the address of plain
 * memory and r2 its length, and it can be compiled only without verification.
 * -ENOTSUP: section; -EINVAL: no instructions; -ENOMEM.
 */
GPUTRACE_API int gputrace_object_add_program(struct gputrace_object *object, const char *name,
					     const char *section, const void *instructions,
					     size_t count, struct gputrace_program **ret_program);

/* The program or map after `previous` (NULL: the first); NULL past the last. */
GPUTRACE_API struct gputrace_program *gputrace_object_next_program(struct gputrace_object *object,
								   struct gputrace_program *previous);
GPUTRACE_API struct gputrace_map *gputrace_object_next_map(struct gputrace_object *object,
							   struct gputrace_map *previous);

/*
 * By name; NULL when there is none, which is no error.  Functions of programs and maps that
 * return int take NULL for a mistake: -EINVAL.
 */
GPUTRACE_API struct gputrace_program *gputrace_object_find_program(struct gputrace_object *object,
								   const char *name);
GPUTRACE_API struct gputrace_map *gputrace_object_find_map(struct gputrace_object *object,
							   const char *name);

/* Where a program runs, from the name of its section. */
enum gputrace_point {
	GPUTRACE_POINT_KERNEL,		/* in the operating system's kernel: libbpf's own sections */
	GPUTRACE_POINT_ENTRY,		/* on the GPU, and so below: at entry of a CUDA kernel */
	GPUTRACE_POINT_EXIT,		/* at every way out */
	GPUTRACE_POINT_LOAD,
	GPUTRACE_POINT_STORE,
	GPUTRACE_POINT_ATOMIC,
	GPUTRACE_POINT_INST,
	GPUTRACE_POINT_BLOCK
};

/* For which threads of a CUDA kernel a program runs. */
enum gputrace_granularity {
	GPUTRACE_PER_THREAD,
	GPUTRACE_PER_WARP,	/* the thread with lane 0 */
	GPUTRACE_PER_BLOCK	/* the thread with index (0,0,0) of its block */
};

GPUTRACE_API const char *gputrace_program_get_name(const struct gputrace_program *program);
GPUTRACE_API const char *gputrace_program_get_section(const struct gputrace_program *program);
GPUTRACE_API int gputrace_program_get_point(const struct gputrace_program *program);
GPUTRACE_API int gputrace_program_get_granularity(const struct gputrace_program *program);
/* The glob over kernel names, "*" if the section names none; NULL for GPUTRACE_POINT_KERNEL. */
GPUTRACE_API const char *gputrace_program_get_pattern(const struct gputrace_program *program);

/* GPUTRACE_POINT_INST: the glob over opcodes; else NULL. */
GPUTRACE_API const char *gputrace_program_get_opcode(const struct gputrace_program *program);

GPUTRACE_API const char *gputrace_map_get_name(const struct gputrace_map *map);
/* BPF_MAP_TYPE_* of the kernel, or GPUTRACE_MAP_TYPE_* of <gputrace/bpf/gputrace_gpu.h>. */
GPUTRACE_API uint32_t gputrace_map_get_type(const struct gputrace_map *map);
GPUTRACE_API uint32_t gputrace_map_get_key_size(const struct gputrace_map *map);
GPUTRACE_API uint32_t gputrace_map_get_value_size(const struct gputrace_map *map);
GPUTRACE_API uint32_t gputrace_map_get_max_entries(const struct gputrace_map *map);

/*
 * A GPU map exists once for each CUDA context that runs its programs: these are
 * its instances, numbered from 0 in the order in which a reader of the target takes
 * in the contexts.  Before any program runs there is none, and values set with instance GPUTRACE_INSTANCE_INITIAL are
 * what every later instance begins with.
 *
 * A shared map, one that programs in the operating system's kernel and programs on
 * the GPU of the same object use, has one instance in all, for the kernel and every
 * context of every process.  It is there from gputrace_attach_object() on, begins
 * with the values set before, and is read and written directly: both its number
 * and GPUTRACE_INSTANCE_INITIAL mean what is in it at the moment, without a refresh.
 * Global variables are shared like this too; constants (.rodata) are copied to both
 * sides when their object is attached.  Let each element be written by one side
 * only: most GPUs reach host memory over PCIe, where their atomic operations and
 * the CPU's on one element do not exclude each other.
 */
#define GPUTRACE_INSTANCE_INITIAL (-1)

GPUTRACE_API int gputrace_map_count_instances(const struct gputrace_map *map);

/* Whose an instance is. */
struct gputrace_instance_info {
	uint64_t size;		/* the caller's sizeof(struct gputrace_instance_info) */
	int32_t pid;		/* 0: all processes', a shared map */
	uint32_t context;	/* as gputrace_event_get_context() */
	uint32_t gpu;		/* as gputrace_gpu_get_index(); UINT32_MAX: no GPU's, a shared map */
	uint32_t reserved;
	uint8_t uuid[16];	/* of the GPU */
};

/*
 * Fill info, as much of it as info->size says.  -ERANGE: no such instance; -EINVAL:
 * info->size is smaller than itself.
 */
GPUTRACE_API int gputrace_map_get_instance_info(const struct gputrace_map *map, int instance,
						struct gputrace_instance_info *info);

/*
 * Fetch the maps' contents from the GPUs, for lookups that follow.  Blocks until
 * every live context has answered, at most timeout_ms (-1: for ever).  For
 * processes that have ended, the last contents stay.  What programs only add to may
 * lack what kernels that still run have added last (see gputrace-programs(7)).
 * -ETIMEDOUT: a target did not answer, older contents stay.
 */
GPUTRACE_API int gputrace_object_refresh_maps(struct gputrace_object *object, int timeout_ms);

/*
 * Read an element as of the last refresh.  value_size bytes are written; for
 * arrays kept per thread, warp, block or SM that is the map's value size times
 * the number of them, in order of their index (see gputrace_map_get_slots()).
 * -ENOENT: no such key; -ERANGE: no such instance; -EINVAL: a size does not
 * fit the map; -EOPNOTSUPP: this kind of map has no elements.
 */
GPUTRACE_API int gputrace_map_lookup(struct gputrace_map *map, int instance,
				     const void *key, size_t key_size,
				     void *value, size_t value_size);

/*
 * Set an element's initial value (instance GPUTRACE_INSTANCE_INITIAL), or an element
 * of a shared map; flags as in bpf_map_update_elem.  -EOPNOTSUPP: instances of other
 * maps belong to their GPU; -EBUSY: constants that the operating system's kernel has
 * by now; others as gputrace_map_lookup() and bpf_map_update_elem.
 */
GPUTRACE_API int gputrace_map_update(struct gputrace_map *map, int instance,
				     const void *key, size_t key_size,
				     const void *value, size_t value_size, uint64_t flags);

/*
 * The key after `key` (NULL: the first).  -ENOENT past the last.
 */
GPUTRACE_API int gputrace_map_next_key(struct gputrace_map *map, int instance,
				       const void *key, void *ret_key, size_t key_size);

/* Remove an initial element.  -ENOENT: no such key; -EINVAL: arrays keep their elements; else as lookup. */
GPUTRACE_API int gputrace_map_delete(struct gputrace_map *map, int instance,
				     const void *key, size_t key_size);

/* For gputrace_map_sum(): every instance but the initial values. */
#define GPUTRACE_INSTANCE_ALL (-2)

/*
 * The sum of an element over its slots, of a map whose values are unsigned
 * integers of 4 or 8 bytes, modulo 2^64.  With GPUTRACE_INSTANCE_ALL over all instances as
 * well; those without the key count as 0, and so does an array that is in no CUDA
 * context so far.  -ENOENT: none has the key; -EINVAL: values of another size; else
 * as lookup.
 */
GPUTRACE_API int gputrace_map_sum(struct gputrace_map *map, int instance,
				  const void *key, size_t key_size, uint64_t *ret_sum);

/*
 * Copy out all elements at once, at most `capacity`: keys one behind another, and
 * values as gputrace_map_lookup() gives them, one behind another.  The map's memory
 * is copied first, so that nothing changes between two elements.  -ENOSPC: there
 * are more; keys, values and *ret_count hold the first ones then, as an exception.
 */
GPUTRACE_API int gputrace_map_read_all(struct gputrace_map *map, int instance, void *keys,
				       void *values, uint32_t capacity, uint32_t *ret_count);

/*
 * The values of an array themselves, to be read without copying: the value of slot s
 * of element i is at *ret_values + (i * slots + s) * *ret_stride, with i from 0 to
 * max_entries - 1, and *ret_stride the value size rounded up to 8 bytes.  They belong
 * to the object and stay until its last reference is gone, also when the target
 * ends; not to be written.  What is in them is of the last refresh and changes with
 * the next one; of GPUTRACE_MAP_HOST and shared maps, of the moment, while programs
 * write them: each word is whole, several need not go together.  -EOPNOTSUPP: the
 * map is no array; -ERANGE: no such instance; -ENOMEM, -EINVAL: the system does not
 * map the memory once more.
 */
GPUTRACE_API int gputrace_map_borrow_values(struct gputrace_map *map, int instance,
					    const void **ret_values, size_t *ret_stride);

/* Values kept for each key: 1, or the number of threads, warps, blocks or SMs. */
GPUTRACE_API uint32_t gputrace_map_get_slots(const struct gputrace_map *map);

GPUTRACE_END_DECLS

#endif
