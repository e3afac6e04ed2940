/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1	/* tdestroy */
#include "kernel-table.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools-common.h"

struct kernel_row {
	char *name;
	uint64_t runs, total, least, most;	/* ns */
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct kernel_row *)a)->name, ((const struct kernel_row *)b)->name);
}

static int compare_totals(const void *a, const void *b)
{
	const struct kernel_row *p = *(struct kernel_row *const *)a, *q = *(struct kernel_row *const *)b;

	if (p->total != q->total)
		return p->total < q->total ? 1 : -1;
	return compare_names(p, q);
}

static void free_row(void *data)
{
	struct kernel_row *row = data;

	free(row->name);
	free(row);
}

/* With room for it in rows; NULL: no memory. */
static struct kernel_row *new_row(struct kernel_table *table, const char *name)
{
	struct kernel_row *row, **more;
	size_t room = table->room ? 2 * table->room : 64;

	if (table->count == table->room) {
		more = realloc(table->rows, room * sizeof(*more));
		if (!more)
			return NULL;
		table->rows = more;
		table->room = room;
	}
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->name = strdup(name);
	row->least = UINT64_MAX;
	if (!row->name || !tsearch(row, &table->by_name, compare_names)) {
		free_row(row);
		return NULL;
	}
	return table->rows[table->count++] = row;
}

static struct kernel_row *find_row(struct kernel_table *table, const char *name)
{
	const struct kernel_row key = { .name = (char *)name };
	struct kernel_row **found = tfind(&key, &table->by_name, compare_names);

	return found ? *found : new_row(table, name);
}

int kernel_table_add(struct kernel_table *table, const struct gputrace_event *event)
{
	int type = gputrace_event_get_type(event);
	uint64_t ns = gputrace_event_get_end(event) - gputrace_event_get_time(event);
	const char *name = gputrace_event_get_name(event);
	struct kernel_row *row;

	/* A copy without times says in its text why. */
	if (type != GPUTRACE_EVENT_KERNEL && (type != GPUTRACE_EVENT_COPY || gputrace_event_get_text(event)))
		return 0;
	row = find_row(table, name ? name : "(unknown kernel)");
	if (!row)
		return -ENOMEM;
	row->runs++;
	row->total += ns;
	row->least = ns < row->least ? ns : row->least;
	row->most = ns > row->most ? ns : row->most;
	table->total += ns;
	return 0;
}

static void print_row(const struct kernel_table *table, const struct kernel_row *row)
{
	tool_print_us(stdout, 14, row->total);
	printf(" %6.2f ", table->total ? 100.0 * (double)row->total / (double)table->total : 0);
	tool_print_us(stdout, 12, row->total / row->runs);
	putchar(' ');
	tool_print_us(stdout, 12, row->least);
	putchar(' ');
	tool_print_us(stdout, 12, row->most);
	printf(" %9" PRIu64 "  %s\n", row->runs, tool_printable(row->name));
}

void kernel_table_print(struct kernel_table *table)
{
	qsort(table->rows, table->count, sizeof(*table->rows), compare_totals);
	printf("%14s %6s %12s %12s %12s %9s  WHAT\n", "TOTAL us", "%", "MEAN us", "LEAST us", "MOST us", "RUNS");
	for (size_t i = 0; i < table->count; i++)
		print_row(table, table->rows[i]);
}

void kernel_table_clear(struct kernel_table *table)
{
	tdestroy(table->by_name, free_row);
	free(table->rows);
	*table = (struct kernel_table){ 0 };
}
