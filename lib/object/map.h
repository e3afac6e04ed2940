/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps inside the library: where a session puts them, and the memory of their
 * instances.  Public functions are in <gputrace/object.h>.
 */
#ifndef GT_OBJECT_MAP_H
#define GT_OBJECT_MAP_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/gputrace.h>

#include "lib/object/map-window.h"
#include "lib/object/prog.h"
#include "lib/wire/map.h"

struct gputrace_map;
struct gputrace_object;

enum gt_arena { GT_ARENA_DEV, GT_ARENA_HOST };

/* Where a session has put a map.  Offsets are from the start of the arena. */
struct gt_map_place {
	uint64_t offset;	/* of the map's memory; rings: of its data, in the host arena */
	uint64_t sum;		/* spread maps: where the sum of the copies is, in the host arena */
	/* Rings only */
	uint64_t ctl;		/* of struct gt_ring_ctl, in the device arena */
	uint64_t tail;		/* of the tail, in the host arena */
	uint16_t source;	/* for gt_record.source */
};

/*
 * Asks the owner of an instance's memory to bring it up to date; may block for
 * timeout_ms (-1: for ever).  0, -ETIMEDOUT, or another -errno.
 */
typedef int (*gt_map_refresh_fn)(void *data, int timeout_ms);

/* Of an instance that is not a CUDA context's. */
#define GT_INSTANCE_NOWHERE { .gpu = UINT32_MAX }

struct gt_map_instance {
	void *memory;
	int fd;			/* memory can be mapped from its start; -1: only by mremap(), if at all */
	struct gt_map_window window;	/* where memory is, if it is owned and there is a window */
	bool owned;		/* freed with the map */
	bool writable;		/* plain memory of this process: updates are allowed */
	gt_map_refresh_fn refresh;
	void *data;
	struct gputrace_instance_info info;
};

struct gputrace_map {
	struct gputrace_object *object;	/* not counted: the object owns the map */
	unsigned index;
	char *name;
	struct gt_map_desc desc;
	struct gt_map_layout layout;
	int layout_error;		/* why the GPU cannot have the map, or 0 */
	unsigned char *initial;		/* layout.bytes, NULL: all zeros */
	struct gt_map_place place;
	bool placed;
	bool added;			/* an array in the GPU's memory that programs only add to */
	bool read_too;			/* they do more to it, however they add */
	/*
	 * Copies on the GPU, one for the multiprocessors with the same number modulo this
	 * power of two; 0: the map is not spread.  For one that is only added to: the
	 * memory takes one addition to an address after another, so that warps everywhere
	 * would wait for each other.  `memory` of an instance is the sum.  Of an array by
	 * multiprocessor a copy is what one of them has, away from the others'.
	 */
	uint32_t spread;
	uint32_t spread_word;		/* bytes of each number that is added to: 4 or 8 */
	bool in_kernel;			/* programs of the operating system's kernel use it */
	bool shared;			/* so do programs on the GPU: both have the same memory */
	bool kernel_only;		/* and nobody else: it has no place on the GPU */
	bool hidden;			/* and we cannot look into it */
	bool live;			/* its one instance, live_instance, is the kernel's array */
	bool sealed;			/* constants that the kernel has a copy of by now */
	unsigned live_instance;
	struct gt_map_instance *instances;
	unsigned instance_count;
};

/* Can GPU programs use it?  0, or -errno with gt_error() text. */
int gt_map_check(const struct gputrace_map *map);

bool gt_map_is_ring(const struct gputrace_map *map);

/* Bytes to set aside in the arena (a multiple of GT_MAP_ALIGN) and which arena: rings' data are in the host arena. */
uint64_t gt_map_bytes(const struct gputrace_map *map);
enum gt_arena gt_map_arena(const struct gputrace_map *map);

/* Spread maps: bytes from one copy to the next. */
uint64_t gt_map_copy_bytes(const struct gputrace_map *map);

/* Write what every instance begins with: gt_map_bytes() bytes.  Rings: nothing. */
void gt_map_write_initial(const struct gputrace_map *map, void *memory);

/* The same for the GPU, where a map may be spread.  To memory of zeros. */
void gt_map_write_copies(const struct gputrace_map *map, void *memory);

/* Say where a session has put the map; valid until the next call. */
void gt_map_set_place(struct gputrace_map *map, const struct gt_map_place *place);

/*
 * Add an instance whose memory is `memory` (gt_map_bytes() bytes, read whenever
 * somebody looks, and never trusted).  The memory must stay until the map goes or
 * gt_map_keep_instance().  -ENOMEM; else *ret_index is the instance's number.
 * info: whose it is, NULL: no CUDA context's.
 */
int gt_map_add_instance(struct gputrace_map *map, void *memory, gt_map_refresh_fn refresh,
			void *data, const struct gputrace_instance_info *info, unsigned *ret_index);

/* A map that programs of the operating system's kernel use too lies in host memory; decided before it is placed. */
void gt_map_share(struct gputrace_map *map);

/* Its one instance, in memory of the kernel's array fd, which anyone may write.  -ENOMEM. */
int gt_map_go_live(struct gputrace_map *map, void *memory, int fd);

/* The instance's memory is about to go: keep a copy of its contents.  -ENOMEM, -ERANGE. */
int gt_map_keep_instance(struct gputrace_map *map, unsigned index);

/* The private instance of host images, made at first use; rings included. */
int gt_map_host_instance(struct gputrace_map *map, void **ret_memory);

/*
 * The memory behind an instance's number, as the public functions take it; initial
 * contents are made when first asked for.  Their errors.
 */
int gt_map_instance_memory(struct gputrace_map *map, int instance, bool write, void **ret_memory);
/* value_size NULL: none is given.  -EINVAL with gt_error() text. */
int gt_map_check_sizes(const struct gputrace_map *map, size_t key_size, const size_t *value_size);

/* The object with its last reference gone. */
void gt_map_free(struct gputrace_map *map);
int gt_map_new(struct gputrace_object *object, unsigned index, const struct gt_map_desc *desc,
	       uint32_t slots, const void *initial, size_t initial_size, struct gputrace_map **ret_map);

/*
 * Turn a declared map type into what this library calls it: bpftime's numbers
 * become the kernel's or GPUTRACE_MAP_TYPE_*, and the other fields follow.
 */
void gt_map_canonical(struct gt_map_desc *desc);

/* ---- pure functions over the memory of an instance, which may be hostile ---- */

/* Copy out every slot of an element: value_size * slots bytes.  0, -ENOENT, -EOPNOTSUPP. */
int gt_map_memory_lookup(const struct gt_map_layout *l, const void *memory, const void *key, void *value);
/* The kernel's errno values; arrays kept per something: value holds every slot. */
int gt_map_memory_update(const struct gt_map_layout *l, void *memory, const void *key,
			 const void *value, uint64_t flags);
int gt_map_memory_delete(const struct gt_map_layout *l, void *memory, const void *key);
/*
 * Copy out the elements that a map of the kinds above has, at most `capacity` of
 * them; how many there are, at most max_entries.  Nobody else writes the memory.
 */
uint32_t gt_map_memory_read(const struct gt_map_layout *l, const void *memory, void *keys, void *values,
			    uint32_t capacity);
/* key NULL, or not in the map: the first.  -ENOENT past the last. */
int gt_map_memory_next_key(const struct gt_map_layout *l, const void *memory, const void *key,
			   void *ret_key);

#endif
