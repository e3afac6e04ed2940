/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by stack: a tree of names, whose leaves and inner nodes have a number each. */
#ifndef GT_EXPORT_STACK_TREE_H
#define GT_EXPORT_STACK_TREE_H

#include <stdint.h>

struct gt_output;
struct gt_stack_tree;
struct gt_stack_node;

struct gt_stack_tree *gt_stack_tree_new(void);
void gt_stack_tree_free(struct gt_stack_tree *tree);

#define GT_STACK_NODES_MAX (1u << 20)
#define GT_STACK_NODES_MORE "[too many different stacks]"

/*
 * The node of that name below another (NULL: a root); NULL: no memory.  A traced program
 * can make up as many as it likes: when there are too many, new ones are all one root.
 */
struct gt_stack_node *gt_stack_tree_below(struct gt_stack_tree *tree, struct gt_stack_node *parent,
					  const char *name);
void gt_stack_node_add(struct gt_stack_node *node, uint64_t amount);

/* A line for each node with a sum: names from the root, joined by ';', and the sum.  0, -ENOMEM, gt_output_write()'s. */
int gt_stack_tree_write(const struct gt_stack_tree *tree, struct gt_output *output);

#endif
