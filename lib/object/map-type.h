/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of maps: what each number means, and the layout that it gets. */
#ifndef GT_OBJECT_MAP_TYPE_H
#define GT_OBJECT_MAP_TYPE_H

#include <stdbool.h>

#include "lib/object/map.h"

/* A type that only bpftime's GPU programs declare? */
bool gt_map_type_is_bpftime(uint32_t type);

/* slots: asked for by the author (map_extra), 0: default.  Errors of gt_map_layout(). */
int gt_map_type_layout(const struct gt_map_desc *desc, uint32_t slots,
		       struct gt_map_layout *ret_layout);

#endif
