/* SPDX-License-Identifier: Apache-2.0 */
/* The time that kernels, copies and memsets ran for, added up by their names. */
#ifndef KERNEL_TABLE_H
#define KERNEL_TABLE_H

#include <gputrace/gputrace.h>
#include <stddef.h>
#include <stdint.h>

/* Begins as zeros. */
struct kernel_table {
	void *by_name;		/* of tsearch(3) */
	struct kernel_row **rows;
	size_t count, room;
	uint64_t total;		/* ns */
};

/* Events of other types, and those without times, are not for it.  0; -ENOMEM. */
int kernel_table_add(struct kernel_table *table, const struct gputrace_event *event);

/* On the standard output, the longest total first; with something in it. */
void kernel_table_print(struct kernel_table *table);

void kernel_table_clear(struct kernel_table *table);

#endif
