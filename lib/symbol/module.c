/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/symbol/module.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/symbol/debug_file.h"
#include "lib/symbol/frame.h"
#include "lib/util/demangle.h"
#include "lib/util/mappings.h"

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = gt_debug_file_find,
	.debuginfo_path = &gt_debug_file_folders,
	.section_address = dwfl_offline_section_address,
};

struct gt_module *gt_module_new(const struct gt_mapping *mapping, int fd, const char *reason)
{
	struct gt_module *module = calloc(1, sizeof(*module));

	if (module)
		module->path = strdup(mapping->path[0] ? mapping->path : "[memory]");
	if (!module || !module->path) {
		free(module);
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	module->device = mapping->device;
	module->inode = mapping->inode;
	module->fd = fd;
	module->missing = module->reason = reason;
	return module;
}

void gt_module_free(struct gt_module *module)
{
	if (module->dwfl)
		dwfl_end(module->dwfl);
	if (module->fd >= 0)
		close(module->fd);
	free(module->path);
	free(module);
}

/* Its addresses are then those that the linker gave them. */
static void open_module(struct gt_module *module)
{
	GElf_Addr build_id_address;

	module->dwfl = dwfl_begin(&callbacks);
	if (module->dwfl) {
		dwfl_report_begin(module->dwfl);
		module->module = dwfl_report_elf(module->dwfl, module->path, module->path, module->fd, 0, true);
		/* On success the descriptor is libdwfl's. */
		if (module->module)
			module->fd = -1;
		dwfl_report_end(module->dwfl, NULL, NULL);
	}
	if (!module->module) {
		module->reason = "its file is not an ELF file that can be read";
		return;
	}
	module->build_id_size = dwfl_module_build_id(module->module, &module->build_id, &build_id_address);
	if (module->build_id_size < 0)
		module->build_id_size = 0;
}

/* false: no loaded segment of the file holds the offset. */
static bool address_of(Dwfl_Module *module, uint64_t file_offset, GElf_Addr *ret_address)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	size_t count;
	GElf_Phdr p;

	if (!elf || elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD)
			continue;
		if (file_offset >= p.p_offset && file_offset - p.p_offset < p.p_filesz) {
			*ret_address = file_offset - p.p_offset + p.p_vaddr + bias;
			return true;
		}
	}
	return false;
}

/* ---- functions that were inlined ---- */

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
	caller->file = path ? strdup(path) : NULL;
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

static int add_inlined(Dwfl_Module *module, GElf_Addr address, struct gputrace_frame *frame)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias);
	struct gputrace_frame *outer = frame;
	Dwarf_Die *scopes, innermost;
	int count = unit ? dwarf_getscopes(unit, address - bias, &scopes) : 0;
	int r = 0;

	if (count <= 0)
		return 0;
	innermost = scopes[0];
	free(scopes);
	/* By where they were put, not by where they were written; innermost first. */
	count = dwarf_getscopes_die(&innermost, &scopes);
	if (count <= 0)
		return 0;
	for (int i = 0; i < count && r == 0; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_subprogram)
			break;
		if (tag == DW_TAG_inlined_subroutine)
			r = push_inlined(frame, &outer, &scopes[i], unit);
	}
	free(scopes);
	return r;
}

/* ---- */

static void set_line(Dwfl_Module *module, GElf_Addr address, struct gputrace_frame *frame)
{
	Dwfl_Line *line = dwfl_module_getsrc(module, address);
	const char *file;
	int number;

	file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	if (!file)
		return;
	frame->file = strdup(file);
	frame->line = frame->file && number > 0 ? (uint32_t)number : 0;
}

/* A function's name; not that of the nearest one before a place that no symbol covers. */
static const char *symbol_at(Dwfl_Module *module, GElf_Addr address)
{
	GElf_Off distance;
	GElf_Sym symbol;
	const char *name = dwfl_module_addrinfo(module, address, &distance, &symbol, NULL, NULL, NULL);

	return name && (!symbol.st_size || distance < symbol.st_size) ? name : NULL;
}

int gt_module_resolve(struct gt_module *module, uint64_t file_offset, struct gputrace_frame *frame)
{
	GElf_Addr address;
	const char *name;

	if (!module->dwfl && module->fd >= 0)
		open_module(module);
	frame->module = module->path;
	frame->offset = file_offset;
	frame->reason = module->reason;
	if (!module->module)
		return 0;
	frame->build_id = module->build_id;
	frame->build_id_size = (size_t)module->build_id_size;
	if (!address_of(module->module, file_offset, &address)) {
		frame->reason = "the file has no code there";
		return 0;
	}
	frame->offset = address;
	name = symbol_at(module->module, address);
	if (!name) {
		frame->reason = "the file has no symbol for it";
		return 0;
	}
	frame->name = gt_demangle(name);
	if (!frame->name)
		return -ENOMEM;
	set_line(module->module, address, frame);
	return add_inlined(module->module, address, frame);
}
