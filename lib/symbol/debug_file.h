/* SPDX-License-Identifier: Apache-2.0 */
/* The file that a module's DWARF was moved to. */
#ifndef GT_SYMBOL_DEBUG_FILE_H
#define GT_SYMBOL_DEBUG_FILE_H

#include <elfutils/libdwfl.h>

/* To be libdwfl's find_debuginfo, with these folders as its debuginfo_path. */
int gt_debug_file_find(Dwfl_Module *module, void **data, const char *module_name, GElf_Addr base,
		       const char *path, const char *link, GElf_Word checksum, char **ret_path);
extern char *gt_debug_file_folders;

#endif
