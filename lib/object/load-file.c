/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fill an object from its file.  libbpf reads the map definitions and checks the
 * file as a whole; programs are taken from the ELF sections, since libbpf resolves
 * references only when it loads them into the operating system's kernel.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/object.h>

#include "lib/object/elf-file.h"
#include "lib/object/map-type.h"
#include "lib/object/object.h"
#include "lib/object/resolve.h"
#include "lib/object/section-name.h"
#include "lib/util/error.h"

struct loader {
	struct gputrace_object *object;
	struct gt_elf_file file;
	unsigned *data_maps;	/* by section: index of its map + 1 */
	bool *is_bpftime;	/* by map */
	struct gt_resolver resolver;
};

/* libbpf's complaints, to be part of ours.  Its print function is one for the process. */
static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local char complaint[256];

static int keep_complaint(enum libbpf_print_level level, const char *format, va_list args)
{
	char *end;

	if (level != LIBBPF_WARN || *complaint)
		return 0;
	vsnprintf(complaint, sizeof(complaint), format, args);
	end = strchr(complaint, '\n');
	if (end)
		*end = '\0';
	return 0;
}

static int libbpf_open(const struct gputrace_object *object, struct bpf_object **ret_bpf)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "gputrace");
	libbpf_print_fn_t before;
	struct bpf_object *bpf;
	const char *text;
	int error;

	*complaint = '\0';
	pthread_mutex_lock(&print_lock);
	before = libbpf_set_print(keep_complaint);
	errno = 0;
	bpf = bpf_object__open_mem(object->data, object->data_size, &opts);
	error = errno;
	libbpf_set_print(before);
	pthread_mutex_unlock(&print_lock);
	if (bpf) {
		*ret_bpf = bpf;
		return 0;
	}
	text = strncmp(complaint, "libbpf: ", 8) ? complaint : complaint + 8;
	if (error == ENOMEM || error == ENOTSUP)
		return gt_error(-error, "%s: %s", object->name, *text ? text : strerror(error));
	return gt_error(-ENOEXEC, "%s is not a usable BPF object: %s", object->name,
			*text ? text : "libbpf cannot read it");
}

static int add_declared_map(struct loader *loader, const struct bpf_map *bpf)
{
	struct gt_map_desc desc = {
		.name = bpf_map__name(bpf),
		.type = bpf_map__type(bpf),
		.key_size = bpf_map__key_size(bpf),
		.value_size = bpf_map__value_size(bpf),
		.max_entries = bpf_map__max_entries(bpf),
		.flags = bpf_map__map_flags(bpf),
	};
	uint64_t extra = bpf_map__map_extra(bpf);
	struct gputrace_map *map;
	bool *more;
	int r;

	more = realloc(loader->is_bpftime, (loader->object->map_count + 1) * sizeof(*more));
	if (!more)
		return gt_error(-ENOMEM, "out of memory for map %s", desc.name);
	loader->is_bpftime = more;
	more[loader->object->map_count] = gt_map_type_is_bpftime(desc.type);
	r = gt_object_add_map(loader->object, &desc, extra > UINT32_MAX ? UINT32_MAX : (uint32_t)extra,
			      NULL, 0, &map);
	return r;
}

static int add_declared_maps(struct loader *loader)
{
	struct bpf_object *bpf;
	struct bpf_map *map;
	int r;

	r = libbpf_open(loader->object, &bpf);
	if (r < 0)
		return r;
	bpf_object__for_each_map(map, bpf) {
		if (bpf_map__is_internal(map))
			continue;
		r = add_declared_map(loader, map);
		if (r < 0)
			break;
	}
	bpf_object__close(bpf);
	return r;
}

static bool has_prefix(const char *name, const char *prefix)
{
	size_t length = strlen(prefix);

	return !strncmp(name, prefix, length) && (!name[length] || name[length] == '.');
}

/* Global variables: one array of one element for each data section. */
static int add_data_map(struct loader *loader, unsigned index)
{
	const struct gt_elf_section *section = &loader->file.sections[index];
	struct gt_map_desc desc = {
		.name = section->name,
		.type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = (uint32_t)section->size,
		.max_entries = 1,
		.read_only = has_prefix(section->name, ".rodata"),
	};
	struct gputrace_map *map;
	bool *more;
	int r;

	if (section->size > GT_MAP_MAX_BYTES)
		return gt_error(-ENOEXEC, "%s: section %s is too large", loader->object->name,
				section->name);
	more = realloc(loader->is_bpftime, (loader->object->map_count + 1) * sizeof(*more));
	if (!more)
		return gt_error(-ENOMEM, "out of memory for section %s", section->name);
	loader->is_bpftime = more;
	more[loader->object->map_count] = false;
	r = gt_object_add_map(loader->object, &desc, 0, section->data,
			      section->data ? section->size : 0, &map);
	if (r < 0)
		return r;
	loader->data_maps[index] = map->index + 1;
	return 0;
}

static int add_data_maps(struct loader *loader)
{
	unsigned i;
	int r;

	loader->data_maps = calloc(loader->file.section_count, sizeof(*loader->data_maps));
	if (!loader->data_maps)
		return gt_error(-ENOMEM, "out of memory for %s", loader->object->name);
	for (i = 1; i < loader->file.section_count; i++) {
		const struct gt_elf_section *section = &loader->file.sections[i];

		if (!(section->flags & SHF_ALLOC) || !section->size)
			continue;
		if (!has_prefix(section->name, ".data") && !has_prefix(section->name, ".rodata") &&
		    !has_prefix(section->name, ".bss"))
			continue;
		r = add_data_map(loader, i);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Where a program runs: the section's name tells, with bpftime's use of the kernel's names. */
static int find_point(const struct loader *loader, const struct gt_elf_symbol *symbol,
		      struct gt_attach_point *ret_point)
{
	const char *section = loader->file.sections[symbol->section].name;
	bool certain;

	if (gt_section_parse_bpftime(section, symbol->name, ret_point, &certain) &&
	    (certain || gt_resolve_looks_like_bpftime(&loader->resolver, symbol, loader->is_bpftime)))
		return 0;
	return gt_section_parse(section, ret_point);
}

static int add_program(struct loader *loader, const struct gt_elf_symbol *symbol)
{
	struct gputrace_program *program;
	struct gt_attach_point point;
	int r;

	r = find_point(loader, symbol, &point);
	if (r >= 0)
		r = gt_object_add_program(loader->object, symbol->name,
					  loader->file.sections[symbol->section].name, &point, &program);
	if (r < 0 || point.point == GPUTRACE_POINT_KERNEL)
		return r;
	return gt_resolve_program(&loader->resolver, symbol, program);
}

/* Functions of .text are called by programs; those of any other section are programs. */
static bool is_program(const struct loader *loader, const struct gt_elf_symbol *symbol)
{
	const struct gt_elf_section *section = &loader->file.sections[symbol->section];

	return symbol->section && symbol->type == STT_FUNC && symbol->binding != STB_LOCAL &&
	       section->type == SHT_PROGBITS && (section->flags & SHF_EXECINSTR) &&
	       strcmp(section->name, ".text");
}

static int compare_symbols(const void *a, const void *b)
{
	const struct gt_elf_symbol *left = *(const struct gt_elf_symbol *const *)a;
	const struct gt_elf_symbol *right = *(const struct gt_elf_symbol *const *)b;

	if (left->section != right->section)
		return left->section < right->section ? -1 : 1;
	return left->value < right->value ? -1 : left->value > right->value;
}

/* In the order of the file, which is the author's. */
static int add_programs(struct loader *loader)
{
	const struct gt_elf_symbol **list;
	unsigned i, count = 0;
	int r = 0;

	list = calloc(loader->file.symbol_count + 1, sizeof(*list));
	if (!list)
		return gt_error(-ENOMEM, "out of memory for %s", loader->object->name);
	for (i = 0; i < loader->file.symbol_count; i++)
		if (is_program(loader, &loader->file.symbols[i]))
			list[count++] = &loader->file.symbols[i];
	qsort(list, count, sizeof(*list), compare_symbols);
	for (i = 0; i < count && r >= 0; i++)
		r = add_program(loader, list[i]);
	free(list);
	return r;
}

static void read_btf(struct loader *loader)
{
	unsigned index = gt_elf_find_section(&loader->file, ".BTF");
	const struct gt_elf_section *section = &loader->file.sections[index];

	if (index && section->data && section->size <= UINT32_MAX)
		loader->object->btf = btf__new(section->data, (uint32_t)section->size);
}

int gt_object_load_file(struct gputrace_object *object)
{
	struct loader loader = { .object = object };
	int r;

	r = gt_elf_open(object->data, object->data_size, object->name, &loader.file);
	if (r < 0)
		return r;
	r = add_declared_maps(&loader);
	if (r >= 0)
		r = add_data_maps(&loader);
	if (r >= 0) {
		read_btf(&loader);
		loader.resolver = (struct gt_resolver){
			.file = &loader.file,
			.btf = object->btf,
			.object = object,
			.maps_section = gt_elf_find_section(&loader.file, ".maps"),
			.data_maps = loader.data_maps,
		};
		r = add_programs(&loader);
	}
	free(loader.is_bpftime);
	free(loader.data_maps);
	gt_elf_close(&loader.file);
	return r;
}
