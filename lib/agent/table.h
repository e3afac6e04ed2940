/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointer to pointer, read without locks by every launch and written rarely.
 * Writers must not run at the same time.
 */
#ifndef GT_AGENT_TABLE_H
#define GT_AGENT_TABLE_H

struct gt_table;

/* NULL if absent.  Never blocks. */
void *gt_table_get(struct gt_table *const *table, const void *key);

/* Set or replace; value NULL removes.  -ENOMEM. */
int gt_table_set(struct gt_table **table, const void *key, void *value);

#endif
