/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a file that a program chose is read. */
#ifndef GT_SYMBOL_BOUNDS_H
#define GT_SYMBOL_BOUNDS_H

/*
 * NULL: libelf and libdw may have it.  Else why not: they take as much memory as the
 * file says, in each of its sections, which may lie over one another or unfold.
 */
const char *gt_bounds_excess(int fd);

#endif
