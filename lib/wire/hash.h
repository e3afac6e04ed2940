/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash tables: one algorithm, compiled for the GPU, for host images and for the
 * library.  Lock-free; any number of threads may use a table at once.
 *
 * Lists.  Each bucket is a list of nodes in the order of (hash, key), so that a
 * key has one place.  A link word holds the next node's number (from 1; 0 ends the
 * list), a mark that says that the node holding the word has been deleted, and a
 * tag that every change increments, so that a compare-and-swap on a word read
 * earlier fails if anything happened in between (M. Michael, "High performance
 * dynamic lock-free hash tables and list-based sets", 2002).  An element comes by
 * the swap of the link that leads to it and goes by the mark in its own.
 *
 * Nodes come from a pool.  `ref` counts who needs the node: the list, and
 * threads that are about to write its value; at 0 the node is free.  Its upper
 * half counts lives, so that a thread can tell whether the node it pinned is
 * still the one it found.
 *
 * Counts.  The header counts places taken and elements.  A place is taken before
 * an element comes and given back after it has gone; an element is counted after
 * it has come and uncounted before it goes.  So at any moment
 *	elements counted <= elements there are <= places taken,
 * and "full" is said when the first has reached max_entries while the key was away.
 * In between, what is missing is another thread's next step; only if that does not
 * come in all tries, "full" is said of the places.
 *
 * Tries.  Each operation is tried, and a try that could not change anything leaves
 * nothing behind and is made again: another thread has got ahead meanwhile.
 * Nothing waits within a try.  Threads of a warp begin a try together, or one that
 * is to take the next step could stand still at the end of the loop until those
 * that wait for it have used up all their tries.
 *
 * An update writes in place.  Of several at once one writes; the others count
 * as having come just before, and were overwritten.  One whose element is deleted
 * before it can write counts as having come just before that.
 *
 * Least-recently-used tables make room when they are full: of the nodes behind a
 * place in the pool that changes, one that has not been looked up since it was
 * last passed over is deleted.
 *
 * The memory may be scribbled on by others: numbers are masked and walks are
 * bounded, so nothing outside the map is touched and everything ends.
 *
 * Before including this, define
 *   GT_HASH_FN                      storage class and attributes of the functions
 *   gt_hash_load(t, p)                 64-bit load, acquire
 *   gt_hash_load_plain(t, p)           64-bit load, relaxed
 *   gt_hash_store(t, p, v)             64-bit store, relaxed
 *   gt_hash_cas(t, p, expected, v)     compare and swap, acquire and release; gives the old value
 *   gt_hash_add(t, p, v)               fetch and add, acquire and release
 *   gt_hash_or(t, p, v)                fetch and or, acquire and release
 *   gt_hash_fence(t)                   acquire and release
 *   gt_hash_copy(t, to, from, n)       copy bytes into a node's value, 8 at a time where possible
 *   gt_hash_group()                    this thread's company: those who call gt_hash_any() together
 *   gt_hash_any(group, condition)      true for one of them?
 *   gt_hash_pause(tries)               before a try is made again
 * with pointers of type GT_HASH_MEM uint64_t *.
 */
#ifndef GT_WIRE_HASH_H
#define GT_WIRE_HASH_H

#include "lib/wire/map.h"

#define GT_HASH_INDEX 0xffffffffull
#define GT_HASH_MARK (1ull << 32)
#define GT_HASH_TAG (1ull << 33)	/* one */
#define GT_HASH_LIFE (1ull << 32)	/* one */
#define GT_HASH_WRITER (1ull << 31)
#define GT_HASH_ELEMENT (1ull << 32)	/* one, in the header's counts */
#define GT_HASH_PLACE 1ull
#define GT_HASH_WALK 4096u		/* steps of one try */
#define GT_HASH_TRIES 2048u		/* a kernel must not stand still for a table that all its threads want */
#define GT_HASH_PROBES 64u		/* nodes of the pool that one try looks at for a free one */
#define GT_HASH_SWEEP 256u		/* and for one to evict */
/* Of a try that changed nothing. */
#define GT_HASH_AGAIN 1
#define GT_HASH_NO_PLACE 2		/* all are taken, some for elements that have not come or gone yet */

/* The kernel's flags of bpf_map_update_elem. */
#define GT_HASH_NOEXIST 1u
#define GT_HASH_EXIST 2u

struct gt_hash_table {
	GT_HASH_MEM unsigned char *memory;
	uint32_t key_bytes, value_size, node_bytes;
	uint32_t buckets, nodes, max_entries;
	uint64_t nodes_offset;
	int lru;			/* least-recently-used: makes room when it is full */
	int host_memory;		/* the CPU may look on: wider scope on the GPU */
};

/* Where a key is, or would be. */
struct gt_hash_place {
	GT_HASH_MEM uint64_t *link;	/* the word that leads to it */
	uint64_t link_word;
	uint64_t next_word;		/* found: the node's own link */
	uint32_t node;			/* found: its number */
	uint32_t life;
};

GT_HASH_FN GT_HASH_MEM struct gt_hash_node *gt_hash_node(const struct gt_hash_table *t, uint32_t number)
{
	uint64_t index = (number - 1) & (t->nodes - 1);

	return (GT_HASH_MEM struct gt_hash_node *)(t->memory + t->nodes_offset + index * t->node_bytes);
}

GT_HASH_FN GT_HASH_MEM uint64_t *gt_hash_key(GT_HASH_MEM struct gt_hash_node *node)
{
	return (GT_HASH_MEM uint64_t *)(node + 1);
}

GT_HASH_FN GT_HASH_MEM unsigned char *gt_hash_value(const struct gt_hash_table *t,
						    GT_HASH_MEM struct gt_hash_node *node)
{
	return (GT_HASH_MEM unsigned char *)(node + 1) + t->key_bytes;
}

GT_HASH_FN GT_HASH_MEM uint64_t *gt_hash_head(const struct gt_hash_table *t, uint64_t hash)
{
	return (GT_HASH_MEM uint64_t *)(t->memory + sizeof(struct gt_hash_header)) +
	       (hash & (t->buckets - 1));
}

GT_HASH_FN uint64_t gt_hash_of(const struct gt_hash_table *t, const uint64_t *key)
{
	uint64_t hash = 0x9e3779b97f4a7c15ull;
	uint32_t i;

	for (i = 0; i < t->key_bytes / 8; i++) {
		hash = (hash ^ key[i]) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
	}
	hash *= 0xc4ceb9fe1a85ec53ull;
	return hash ^ (hash >> 29);
}

/* Below, equal to or above 0 as the key sorts before, at or after the node. */
GT_HASH_FN int gt_hash_compare(const struct gt_hash_table *t, const uint64_t *key, uint64_t hash,
			       GT_HASH_MEM struct gt_hash_node *node)
{
	GT_HASH_MEM uint64_t *other = gt_hash_key(node);
	uint64_t word = gt_hash_load_plain(t, &node->hash);
	uint32_t i;

	if (hash != word)
		return hash < word ? -1 : 1;
	for (i = 0; i < t->key_bytes / 8; i++) {
		word = gt_hash_load_plain(t, &other[i]);
		if (key[i] != word)
			return key[i] < word ? -1 : 1;
	}
	return 0;
}

/* The list no longer needs the node. */
GT_HASH_FN void gt_hash_drop(const struct gt_hash_table *t, GT_HASH_MEM struct gt_hash_node *node)
{
	gt_hash_add(t, &node->ref, -1ull);
}

/*
 * Find a key: 1 found, 0 not, -EBUSY gave up; *place is set for the first two.
 * Takes deleted nodes that it meets out of the list.
 */
GT_HASH_FN int gt_hash_find(const struct gt_hash_table *t, const uint64_t *key, uint64_t hash,
			    struct gt_hash_place *place)
{
	GT_HASH_MEM struct gt_hash_node *node;
	GT_HASH_MEM uint64_t *head = gt_hash_head(t, hash);
	GT_HASH_MEM uint64_t *link = head;
	uint64_t word = gt_hash_load(t, link);
	uint64_t next, ref, want;
	uint32_t steps;
	int order;

	for (steps = 0; steps < GT_HASH_WALK; steps++) {
		place->link = link;
		place->link_word = word;
		place->node = (uint32_t)(word & GT_HASH_INDEX);
		if (!place->node)
			return 0;
		node = gt_hash_node(t, place->node);
		next = gt_hash_load_plain(t, &node->next);
		ref = gt_hash_load_plain(t, &node->ref);
		order = gt_hash_compare(t, key, hash, node);
		/*
		 * What was read holds only if the node was in the list all the
		 * while: then the word that leads to it has not changed.
		 */
		gt_hash_fence(t);
		if (gt_hash_load_plain(t, link) != word) {
			link = head;
			word = gt_hash_load(t, link);
			continue;
		}
		if (next & GT_HASH_MARK) {
			want = ((word + GT_HASH_TAG) & ~GT_HASH_INDEX) | (next & GT_HASH_INDEX);
			if (gt_hash_cas(t, link, word, want) == word) {
				gt_hash_drop(t, node);
				word = want;
			} else {
				link = head;
				word = gt_hash_load(t, link);
			}
			continue;
		}
		if (order == 0) {
			place->next_word = next;
			place->life = (uint32_t)(ref >> 32);
			return 1;
		}
		if (order < 0)
			return 0;
		link = &node->next;
		word = next;
	}
	return -EBUSY;
}

/* A free node, taken; 0 when none was met. */
GT_HASH_FN uint32_t gt_hash_take(const struct gt_hash_table *t, uint64_t start)
{
	GT_HASH_MEM struct gt_hash_node *node;
	uint64_t ref;
	uint32_t i, number;

	for (i = 0; i < GT_HASH_PROBES; i++) {
		number = (uint32_t)((start + i) & (t->nodes - 1)) + 1;
		node = gt_hash_node(t, number);
		ref = gt_hash_load_plain(t, &node->ref);
		if ((ref & GT_HASH_INDEX) || gt_hash_cas(t, &node->ref, ref, ref + GT_HASH_LIFE + 1) != ref)
			continue;
		/* Who reads what is written from here on finds the link changed that led him here. */
		gt_hash_fence(t);
		return number;
	}
	return 0;
}

GT_HASH_FN void gt_hash_fill(const struct gt_hash_table *t, GT_HASH_MEM struct gt_hash_node *node,
			     const uint64_t *key, uint64_t hash, const void *value)
{
	GT_HASH_MEM uint64_t *to = gt_hash_key(node);
	uint32_t i;

	gt_hash_store(t, &node->hash, hash);
	gt_hash_store(t, &node->used, 0);
	for (i = 0; i < t->key_bytes / 8; i++)
		gt_hash_store(t, &to[i], key[i]);
	gt_hash_copy(t, gt_hash_value(t, node), value, t->value_size);
}

/* Write the value of a node found, unless it has been deleted since or another thread is writing. */
GT_HASH_FN void gt_hash_write(const struct gt_hash_table *t, const struct gt_hash_place *place,
			      const void *value)
{
	GT_HASH_MEM struct gt_hash_node *node = gt_hash_node(t, place->node);
	uint64_t old = gt_hash_add(t, &node->ref, 1);

	if ((uint32_t)(old >> 32) == place->life &&
	    !(gt_hash_or(t, &node->ref, GT_HASH_WRITER) & GT_HASH_WRITER)) {
		gt_hash_copy(t, gt_hash_value(t, node), value, t->value_size);
		gt_hash_add(t, &node->ref, -GT_HASH_WRITER - 1);
		return;
	}
	gt_hash_drop(t, node);
}

GT_HASH_FN void gt_hash_count(const struct gt_hash_table *t, uint64_t change)
{
	gt_hash_add(t, &((GT_HASH_MEM struct gt_hash_header *)t->memory)->counts, change);
}

/* Take a place: 0, -E2BIG: the table is full, or GT_HASH_NO_PLACE. */
GT_HASH_FN int gt_hash_reserve(const struct gt_hash_table *t)
{
	GT_HASH_MEM uint64_t *counts = &((GT_HASH_MEM struct gt_hash_header *)t->memory)->counts;
	uint64_t old = gt_hash_load(t, counts);

	if ((uint32_t)old < t->max_entries) {
		old = gt_hash_add(t, counts, GT_HASH_PLACE);
		if ((uint32_t)old < t->max_entries)
			return 0;
		gt_hash_count(t, -GT_HASH_PLACE);
	}
	return (int32_t)(old >> 32) >= (int32_t)t->max_entries ? -E2BIG : GT_HASH_NO_PLACE;
}

GT_HASH_FN void gt_hash_use(const struct gt_hash_table *t, uint32_t number)
{
	GT_HASH_MEM struct gt_hash_node *node = gt_hash_node(t, number);

	if (t->lru && !gt_hash_load_plain(t, &node->used))
		gt_hash_store(t, &node->used, 1);
}

/* Of one try: 0, -ENOENT or GT_HASH_AGAIN. */
GT_HASH_FN int gt_hash_try_delete(const struct gt_hash_table *t, const uint64_t *key, uint64_t hash)
{
	GT_HASH_MEM struct gt_hash_node *node;
	struct gt_hash_place place;
	uint64_t want;
	int r = gt_hash_find(t, key, hash, &place);

	if (r <= 0)
		return r < 0 ? GT_HASH_AGAIN : -ENOENT;
	node = gt_hash_node(t, place.node);
	gt_hash_count(t, -GT_HASH_ELEMENT);
	want = (place.next_word + GT_HASH_TAG) | GT_HASH_MARK;
	if (gt_hash_cas(t, &node->next, place.next_word, want) != place.next_word) {
		gt_hash_count(t, GT_HASH_ELEMENT);
		return GT_HASH_AGAIN;
	}
	want = ((place.link_word + GT_HASH_TAG) & ~GT_HASH_INDEX) | (place.next_word & GT_HASH_INDEX);
	if (gt_hash_cas(t, place.link, place.link_word, want) == place.link_word)
		gt_hash_drop(t, node);
	else
		gt_hash_find(t, key, hash, &place);	/* takes it out, if nobody has */
	gt_hash_count(t, -GT_HASH_PLACE);
	return 0;
}

/*
 * Delete an element that has not been used lately, if one is met.  In the second
 * round those count that the first has passed over.
 */
GT_HASH_FN void gt_hash_evict(const struct gt_hash_table *t, uint64_t start)
{
	GT_HASH_MEM struct gt_hash_node *node;
	const uint64_t *key;
	uint32_t i;

	for (i = 0; i < 2 * GT_HASH_SWEEP; i++) {
		node = gt_hash_node(t, (uint32_t)((start + i % GT_HASH_SWEEP) & (t->nodes - 1)) + 1);
		if (!(gt_hash_load(t, &node->ref) & GT_HASH_INDEX))
			continue;
		if (gt_hash_load_plain(t, &node->used)) {
			gt_hash_store(t, &node->used, 0);
			continue;
		}
		/* Should the node get another key meanwhile, then it is that one's element, or none. */
		key = (const uint64_t *)gt_hash_key(node);
		if (gt_hash_try_delete(t, key, gt_hash_of(t, key)) == 0)
			return;
	}
}

/* The key is not at its place: 0, -E2BIG, GT_HASH_AGAIN or GT_HASH_NO_PLACE. */
GT_HASH_FN int gt_hash_insert(const struct gt_hash_table *t, const struct gt_hash_place *place,
			      const uint64_t *key, uint64_t hash, const void *value, uint64_t start)
{
	GT_HASH_MEM struct gt_hash_node *node;
	uint64_t word;
	uint32_t number;
	int r = gt_hash_reserve(t);

	if (r && t->lru) {
		gt_hash_evict(t, start);
		return GT_HASH_NO_PLACE;
	}
	/* Was the key still away when the table was full? */
	if (r == -E2BIG)
		return gt_hash_load(t, place->link) == place->link_word ? -E2BIG : GT_HASH_AGAIN;
	if (r)
		return r;
	number = gt_hash_take(t, start);
	if (!number) {
		gt_hash_count(t, -GT_HASH_PLACE);
		return GT_HASH_AGAIN;
	}
	node = gt_hash_node(t, number);
	gt_hash_fill(t, node, key, hash, value);
	word = gt_hash_load_plain(t, &node->next) + GT_HASH_TAG;
	gt_hash_store(t, &node->next, (word & ~(GT_HASH_INDEX | GT_HASH_MARK)) | place->node);
	word = (place->link_word + GT_HASH_TAG) & ~GT_HASH_INDEX;
	if (gt_hash_cas(t, place->link, place->link_word, word | number) == place->link_word) {
		gt_hash_count(t, GT_HASH_ELEMENT);
		return 0;
	}
	gt_hash_drop(t, node);
	gt_hash_count(t, -GT_HASH_PLACE);
	return GT_HASH_AGAIN;
}

GT_HASH_FN int gt_hash_try_update(const struct gt_hash_table *t, const uint64_t *key, uint64_t hash,
				  const void *value, uint64_t flags, uint64_t start)
{
	struct gt_hash_place place;
	int r = gt_hash_find(t, key, hash, &place);

	if (r < 0)
		return GT_HASH_AGAIN;
	if (!r)
		return flags == GT_HASH_EXIST ? -ENOENT : gt_hash_insert(t, &place, key, hash, value, start);
	if (flags == GT_HASH_NOEXIST)
		return -EEXIST;
	gt_hash_write(t, &place, value);
	gt_hash_use(t, place.node);
	return 0;
}

/* key: key_bytes, padded with zeros.  0, -EEXIST, -ENOENT, -E2BIG as in the kernel; -EBUSY gave up. */
GT_HASH_FN int gt_hash_update(const struct gt_hash_table *t, const uint64_t *key, const void *value,
			      uint64_t flags)
{
	uint64_t hash = gt_hash_of(t, key), start = hash >> 32;
	uint32_t group = gt_hash_group(), tries;
	int r = flags > GT_HASH_EXIST ? -EINVAL : GT_HASH_AGAIN;

	for (tries = 0; tries < GT_HASH_TRIES && gt_hash_any(group, r > 0); tries++) {
		if (tries)
			gt_hash_pause(tries);
		if (r > 0)
			r = gt_hash_try_update(t, key, hash, value, flags, start + tries * GT_HASH_PROBES);
	}
	if (r == GT_HASH_NO_PLACE)
		return -E2BIG;
	return r > 0 ? -EBUSY : r;
}

/* 0, or -ENOENT as in the kernel; -EBUSY gave up. */
GT_HASH_FN int gt_hash_delete(const struct gt_hash_table *t, const uint64_t *key)
{
	uint64_t hash = gt_hash_of(t, key);
	uint32_t group = gt_hash_group(), tries;
	int r = GT_HASH_AGAIN;

	for (tries = 0; tries < GT_HASH_TRIES && gt_hash_any(group, r > 0); tries++)
		if (r > 0)
			r = gt_hash_try_delete(t, key, hash);
	return r > 0 ? -EBUSY : r;
}

/* The value's address, or NULL. */
GT_HASH_FN GT_HASH_MEM unsigned char *gt_hash_lookup(const struct gt_hash_table *t, const uint64_t *key)
{
	uint64_t hash = gt_hash_of(t, key);
	struct gt_hash_place place;
	uint32_t tries;
	int r = -EBUSY;

	for (tries = 0; tries < GT_HASH_TRIES && r < 0; tries++)
		r = gt_hash_find(t, key, hash, &place);
	if (r <= 0)
		return 0;
	gt_hash_use(t, place.node);
	return gt_hash_value(t, gt_hash_node(t, place.node));
}

#endif
