/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/symbol/inlined.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/symbol/frame.h"
#include "lib/symbol/module.h"
#include "lib/util/demangle.h"

/* Scopes in each other, or what holds functions: the file may nest them as deep as it likes. */
#define DEPTH_MAX 128u

static char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute memory, *attribute = dwarf_attr_integrate(die, DW_AT_linkage_name, &memory);
	const char *name;

	if (!attribute)
		attribute = dwarf_attr_integrate(die, DW_AT_name, &memory);
	name = attribute ? dwarf_formstring(attribute) : NULL;
	return name ? gt_demangle(name) : NULL;
}

/* Where the function that the scope stands for was called, a place in what it was inlined into. */
static void set_call_place(struct gputrace_frame *caller, Dwarf_Die *scope, Dwarf_Die *unit)
{
	Dwarf_Attribute memory;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	const char *path;
	size_t count;

	if (dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &memory), &line) ||
	    dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &memory), &file) ||
	    dwarf_getsrcfiles(unit, &files, &count) || file >= count)
		return;
	path = dwarf_filesrc(files, file, NULL, NULL);
	caller->file = path ? strndup(path, PATH_MAX) : NULL;
	caller->line = caller->file ? (uint32_t)line : 0;
}

/* The frame becomes that of the inlined function, and what it was is its caller. */
static int push_inlined(struct gputrace_frame *frame, struct gputrace_frame **outer, Dwarf_Die *scope,
			Dwarf_Die *unit)
{
	struct gputrace_frame *caller;
	char *name = name_of(scope);

	if (!name)
		return 0;
	caller = gt_frame_new(frame->address);
	if (!caller) {
		free(name);
		return -ENOMEM;
	}
	/* Between the innermost frames found so far and the function that holds them all. */
	caller->caller = (*outer)->caller;
	caller->name = (*outer)->name;
	caller->module = frame->module;
	caller->offset = frame->offset;
	caller->build_id = frame->build_id;
	caller->build_id_size = frame->build_id_size;
	(*outer)->name = name;
	(*outer)->caller = caller;
	set_call_place(caller, scope, unit);
	*outer = caller;
	return 0;
}

/* Its children may be functions, though it has no code itself. */
static bool holds_functions(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

/*
 * The scopes around the address in what is below `die`, by where they were put, outermost
 * first; how many, `count` of which are there already.  libdw's own function for this
 * calls itself as often as scopes are in each other, until there is no more stack.
 */
static unsigned find_scopes(Dwarf_Die *die, Dwarf_Addr address, Dwarf_Die *scopes, unsigned count, unsigned depth)
{
	Dwarf_Die child;
	unsigned found = count;

	if (depth == DEPTH_MAX || dwarf_child(die, &child))
		return count;
	do {
		if (dwarf_haspc(&child, address) > 0) {
			scopes[count] = child;
			return find_scopes(&child, address, scopes, count + 1, depth + 1);
		}
		if (holds_functions(&child))
			found = find_scopes(&child, address, scopes, count, depth + 1);
	} while (found == count && !dwarf_siblingof(&child, &child));
	return found;
}

int gt_add_inlined(Dwfl_Module *module, GElf_Addr address, struct gputrace_frame *frame)
{
	Dwarf_Addr bias;
	Dwarf_Die scopes[DEPTH_MAX], *unit = dwfl_module_addrdie(module, address, &bias);
	struct gputrace_frame *outer = frame;
	unsigned count = unit ? find_scopes(unit, address - bias, scopes, 0, 0) : 0;
	int r = 0;

	while (r == 0 && count--) {
		int tag = dwarf_tag(&scopes[count]);

		if (tag == DW_TAG_subprogram)
			break;
		if (tag == DW_TAG_inlined_subroutine)
			r = push_inlined(frame, &outer, &scopes[count], unit);
	}
	return r;
}
