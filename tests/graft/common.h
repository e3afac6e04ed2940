/* SPDX-License-Identifier: Apache-2.0 */
/* Fixtures grafted with stubs, and a look into what came out. */
#ifndef TESTS_GRAFT_COMMON_H
#define TESTS_GRAFT_COMMON_H

#include <stddef.h>
#include <stdint.h>

#include "lib/agent/graft/elf.h"
#include "lib/agent/graft/graft.h"
#include "lib/agent/graft/insn.h"

#define ARCHS 4	/* the last only by force */
extern const unsigned archs[ARCHS];
#define KERNELS 10
extern const char *const kernel_names[KERNELS];

struct bytes {
	uint8_t *data;
	size_t size;
};

/* A file of tests/graft/data, malloc'd. */
struct bytes load(const char *name, unsigned arch);

struct gt_graft_stub *open_bytes(struct bytes bytes, uint32_t point);
struct gt_graft_stub *open_at(const char *name, unsigned arch, uint32_t point);
/* For the point that the name begins with: entry or exit. */
struct gt_graft_stub *open_stub(const char *name, unsigned arch);

/* One graft of all fixtures with the same stubs, kernel ids from 100 on. */
struct grafted {
	struct bytes before, after;
	struct gt_graft_stub *entry, *exit;
	struct gt_graft_plan plans[KERNELS];
	struct gt_graft_result results[KERNELS];
	char why[GT_GRAFT_WHY];
	int r;
};

/* entry, exit: names of stubs or NULL. */
void graft(struct grafted *g, unsigned arch, const char *entry, const char *exit);
void release(struct grafted *g);
unsigned index_of(const char *kernel);
/* Where in the first bank of constants its parameters begin. */
uint32_t base_of(unsigned arch, const char *kernel);

/* A kernel in one of the two files; gt_elf_close() what look() opened. */
struct view {
	struct gt_elf elf;
	struct gt_elf_kernel kernel;
	const uint8_t *text;
	uint64_t size;
};

void look(struct view *view, struct bytes bytes, const char *name);
gt_word word(const struct view *view, uint64_t at);
/* Where the first exit behind the entry leads: to the exits' stub.  before, after: the same kernel, which has an exit. */
uint64_t exit_leads_to(const struct view *before, const struct view *after, unsigned arch);

#endif
