/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/stack_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/export/output.h"
#include "lib/util/error.h"

#define NAME_BYTES_MAX (256u << 20)	/* of all nodes */

struct gt_stack_node {
	struct gt_stack_node *parent;
	struct gt_stack_node *next;	/* of all, in the order of their making */
	struct gt_stack_node *chain;	/* in the table */
	uint64_t sum;
	char name[];
};

struct gt_stack_tree {
	struct gt_stack_node *first, **last;
	struct gt_stack_node **table;
	unsigned count, room;		/* a power of two */
	uint64_t name_bytes;
	struct gt_stack_node *more;	/* for what is too many; NULL: not yet */
};

struct gt_stack_tree *gt_stack_tree_new(void)
{
	struct gt_stack_tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	tree->room = 1024;
	tree->last = &tree->first;
	tree->table = calloc(tree->room, sizeof(*tree->table));
	if (!tree->table) {
		free(tree);
		return NULL;
	}
	return tree;
}

void gt_stack_tree_free(struct gt_stack_tree *tree)
{
	if (!tree)
		return;
	while (tree->first) {
		struct gt_stack_node *node = tree->first;

		tree->first = node->next;
		free(node);
	}
	free(tree->table);
	free(tree);
}

static struct gt_stack_node **bucket(const struct gt_stack_tree *tree, const struct gt_stack_node *parent,
				     const char *name)
{
	uint64_t hash = (uintptr_t)parent;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3ull;
	return &tree->table[(hash ^ hash >> 32) & (tree->room - 1)];
}

/* With no memory for a larger table the smaller one does. */
static void grow(struct gt_stack_tree *tree)
{
	struct gt_stack_node **table = calloc(2 * (size_t)tree->room, sizeof(*table));

	if (!table)
		return;
	free(tree->table);
	tree->table = table;
	tree->room *= 2;
	for (struct gt_stack_node *node = tree->first; node; node = node->next) {
		struct gt_stack_node **head = bucket(tree, node->parent, node->name);

		node->chain = *head;
		*head = node;
	}
}

static struct gt_stack_node *add_node(struct gt_stack_tree *tree, struct gt_stack_node *parent, const char *name)
{
	struct gt_stack_node **head = bucket(tree, parent, name), *node;
	size_t size = strlen(name) + 1;

	node = calloc(1, sizeof(*node) + size);
	if (!node)
		return NULL;
	memcpy(node->name, name, size);
	tree->name_bytes += size;
	node->parent = parent;
	node->chain = *head;
	*head = node;
	*tree->last = node;
	tree->last = &node->next;
	if (++tree->count > 2 * tree->room)
		grow(tree);
	return node;
}

struct gt_stack_node *gt_stack_tree_below(struct gt_stack_tree *tree, struct gt_stack_node *parent,
					  const char *name)
{
	for (struct gt_stack_node *node = *bucket(tree, parent, name); node; node = node->chain) {
		if (node->parent == parent && !strcmp(node->name, name))
			return node;
	}
	if (tree->count >= GT_STACK_NODES_MAX || tree->name_bytes > NAME_BYTES_MAX) {
		if (!tree->more)
			tree->more = add_node(tree, NULL, GT_STACK_NODES_MORE);
		return tree->more;
	}
	return add_node(tree, parent, name);
}

void gt_stack_node_add(struct gt_stack_node *node, uint64_t amount)
{
	node->sum += amount;
}

/* ---- writing ---- */

/* What separates frames and lines cannot be in a name. */
static void print_name(FILE *line, const char *name)
{
	for (; *name; name++)
		fputc(*name == ';' ? ':' : (unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name, line);
}

/* From the root: as deep as the stack is, some hundred nodes at most. */
static void print_path(FILE *line, const struct gt_stack_node *node)
{
	if (node->parent) {
		print_path(line, node->parent);
		fputc(';', line);
	}
	print_name(line, node->name);
}

int gt_stack_tree_write(const struct gt_stack_tree *tree, struct gt_output *output)
{
	for (const struct gt_stack_node *node = tree->first; node; node = node->next) {
		char *text = NULL;
		size_t size;
		FILE *line;
		int r;

		if (!node->sum)
			continue;
		line = open_memstream(&text, &size);
		if (!line)
			return gt_error(-ENOMEM, "out of memory");
		print_path(line, node);
		fprintf(line, " %" PRIu64 "\n", node->sum);
		r = fclose(line) ? gt_error(-ENOMEM, "out of memory") : gt_output_write(output, text, size);
		free(text);
		if (r)
			return r;
	}
	return 0;
}
