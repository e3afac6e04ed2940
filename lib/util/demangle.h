/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_UTIL_DEMANGLE_H
#define GT_UTIL_DEMANGLE_H

/*
 * A C++ name as a person reads it, the name itself when it is not mangled, the beginning
 * of one that is longer than 65535 bytes; malloc'd, NULL: no memory.
 */
char *gt_demangle(const char *name);

#endif
