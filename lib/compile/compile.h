/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler inside the library: making compiled programs part of a probe text. */
#ifndef GT_COMPILE_COMPILE_H
#define GT_COMPILE_COMPILE_H

#include <stdint.h>

struct gputrace_image;

/* What a session adds to the places of the maps, which gt_map_set_place() fixed. */
struct gt_link_env {
	uint64_t ring0_data, ring0_size;	/* ring 0 in the host arena: printed text goes there */
	uint64_t pid_tgid;			/* what bpf_get_current_pid_tgid() gives */
};

/*
 * The image's PTX with numbers in place of symbols.  Every function's name begins
 * with "gt<number>_", so that images linked under different numbers can stand in
 * one module.  *ret_text and *ret_function, the name of the function to call, are
 * malloc'd.  -EINVAL: a host image, or a map without a place; -ENOMEM.
 */
int gt_image_link(const struct gputrace_image *image, unsigned number, const struct gt_link_env *env,
		  char **ret_text, char **ret_function);

/* GT_PROBE_*: what the program wants of its caller. */
uint32_t gt_image_wants(const struct gputrace_image *image);

/*
 * The timeline's probes: __gt_timeline_entry (once per block at entry) and
 * __gt_timeline_exit (at exit, one for each group of threads that leave together;
 * how many comes as size).  slots: offset of the launch slots in the device arena;
 * ring_data, ring_size: ring 0 in the host arena.  malloc'd; NULL: out of memory.
 */
char *gt_timeline_link(uint64_t slots, uint64_t ring_data, uint64_t ring_size);

/* The same before numbers are put in: GT_TIMELINE_SLOTS, _TAIL, _DONE, _DATA, _SIZE and _MASK. */
const char *gt_timeline_text(void);

#endif
