/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/symbol/module.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/symbol/bounds.h"
#include "lib/symbol/debug_file.h"
#include "lib/symbol/frame.h"
#include "lib/symbol/inlined.h"
#include "lib/util/demangle.h"
#include "lib/util/mappings.h"

/*
 * Its file is read, not mapped: whoever may write it may cut it off at any time, as a copy
 * over it does, and to touch memory that was mapped from there would be our end.
 */
static int give_elf(Dwfl_Module *dwfl, void **data, const char *name, GElf_Addr base, char **ret_path, Elf **ret_elf)
{
	struct gt_module *module = *data;
	int fd = module->fd;

	(void)dwfl;
	(void)name;
	(void)base;
	*ret_path = strdup(module->path);
	*ret_elf = module->elf;
	/* Both are libdwfl's now. */
	module->elf = NULL;
	module->fd = -1;
	return fd;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = give_elf,
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
	elf_end(module->elf);
	if (module->fd >= 0)
		close(module->fd);
	free(module->path);
	free(module);
}

/* The addresses that the linker gave to the first and behind the last byte that is loaded. */
static bool find_span(Elf *elf, GElf_Addr *ret_start, GElf_Addr *ret_end)
{
	size_t count;
	GElf_Phdr p;

	*ret_start = *ret_end = 0;
	if (elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || !p.p_memsz || p.p_vaddr + p.p_memsz < p.p_vaddr)
			continue;
		if (*ret_start == *ret_end || p.p_vaddr < *ret_start)
			*ret_start = p.p_vaddr;
		if (p.p_vaddr + p.p_memsz > *ret_end)
			*ret_end = p.p_vaddr + p.p_memsz;
	}
	return *ret_start < *ret_end;
}

static Dwfl_Module *report(struct gt_module *module)
{
	GElf_Addr start, end, bias;
	Dwfl_Module *reported;
	void **data;

	if (!find_span(module->elf, &start, &end))
		return NULL;
	dwfl_report_begin(module->dwfl);
	reported = dwfl_report_module(module->dwfl, module->path, start, end);
	dwfl_report_end(module->dwfl, NULL, NULL);
	if (!reported || !dwfl_module_info(reported, &data, NULL, NULL, NULL, NULL, NULL, NULL))
		return NULL;
	*data = module;
	return dwfl_module_getelf(reported, &bias) ? reported : NULL;
}

/* At first use.  Its addresses are then those that the linker gave them. */
static void open_module(struct gt_module *module)
{
	GElf_Addr build_id_address, bias;

	if (module->dwfl || module->fd < 0)
		return;
	module->reason = gt_bounds_excess(module->fd);
	if (module->reason) {
		close(module->fd);
		module->fd = -1;
		return;
	}
	elf_version(EV_CURRENT);
	module->dwfl = dwfl_begin(&callbacks);
	module->elf = elf_begin(module->fd, ELF_C_READ, NULL);
	if (module->dwfl && module->elf)
		module->module = report(module);
	if (!module->module) {
		module->reason = "its file is not an ELF file that can be read";
		return;
	}
	module->has_cfi = gt_cfi_open(&module->cfi, dwfl_module_getelf(module->module, &bias));
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

/*
 * libdw finds the nearest line before.  Where that one's code ends is lost when the
 * last line has none, as after a call that does not return; but units say what is theirs.
 */
static Dwfl_Line *line_at(Dwfl_Module *module, GElf_Addr address)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias);

	return unit && dwarf_haspc(unit, address - bias) > 0 ? dwfl_module_getsrc(module, address) : NULL;
}

static void set_line(Dwfl_Module *module, GElf_Addr address, struct gputrace_frame *frame)
{
	Dwfl_Line *line = line_at(module, address);
	const char *file;
	int number;

	file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	if (!file)
		return;
	frame->file = strndup(file, PATH_MAX);
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
	return gt_add_inlined(module->module, address, frame);
}

bool gt_module_rules(struct gt_module *module, uint64_t file_offset, struct gt_rules *ret_rules)
{
	GElf_Addr address, bias;

	open_module(module);
	if (!module->has_cfi || !address_of(module->module, file_offset, &address))
		return false;
	dwfl_module_getelf(module->module, &bias);
	return gt_cfi_find(&module->cfi, address - bias, ret_rules);
}
