/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fill an object from its file: maps as BTF describes them, global variables and
 * programs from the ELF sections.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/object.h>

#include "lib/object/elf-file.h"
#include "lib/object/map-definition.h"
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

static int note_kind(struct loader *loader, bool is_bpftime)
{
	bool *more = realloc(loader->is_bpftime, (loader->object->map_count + 1) * sizeof(*more));

	if (!more)
		return gt_error(-ENOMEM, "out of memory for %s", loader->object->name);
	loader->is_bpftime = more;
	more[loader->object->map_count] = is_bpftime;
	return 0;
}

static int add_declared_maps(struct loader *loader)
{
	struct gputrace_object *object = loader->object;
	unsigned count = gt_map_definition_count(object->btf), i;
	struct gt_map_definition definition;
	struct gputrace_map *map;
	int r;

	if (!count && gt_elf_find_section(&loader->file, ".maps"))
		return gt_error(-ENOEXEC, "%s: its maps are not described: compile it with -g", object->name);
	for (i = 0; i < count; i++) {
		r = gt_map_definition_read(object->btf, i, object->name, &definition);
		if (r >= 0)
			r = note_kind(loader, gt_map_type_is_bpftime(definition.desc.type));
		if (r >= 0)
			r = gt_object_add_map(object, &definition.desc, definition.extra, NULL, 0, &map);
		if (r < 0)
			return r;
	}
	return 0;
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
	int r;

	if (section->size > GT_MAP_MAX_BYTES)
		return gt_error(-ENOEXEC, "%s: section %s is too large", loader->object->name,
				section->name);
	r = note_kind(loader, false);
	if (r < 0)
		return r;
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

static int print_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

/* libbpf would print what it dislikes; its print function is one for the process. */
static struct btf *parse_btf(const void *data, uint32_t size)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	libbpf_print_fn_t before;
	struct btf *btf;

	pthread_mutex_lock(&lock);
	before = libbpf_set_print(print_nothing);
	btf = btf__new(data, size);
	libbpf_set_print(before);
	pthread_mutex_unlock(&lock);
	return btf;
}

static int read_btf(struct loader *loader)
{
	unsigned index = gt_elf_find_section(&loader->file, ".BTF");
	const struct gt_elf_section *section = &loader->file.sections[index];

	if (!index || !section->data || section->size > UINT32_MAX)
		return 0;
	loader->object->btf = parse_btf(section->data, (uint32_t)section->size);
	if (!loader->object->btf)
		return gt_error(-ENOEXEC, "%s is damaged: section .BTF makes no sense", loader->object->name);
	return 0;
}

int gt_object_load_file(struct gputrace_object *object)
{
	struct loader loader = { .object = object };
	int r;

	r = gt_elf_open(object->data, object->data_size, object->name, &loader.file);
	if (r < 0)
		return r;
	r = read_btf(&loader);
	if (r >= 0)
		r = add_declared_maps(&loader);
	if (r >= 0)
		r = add_data_maps(&loader);
	if (r >= 0) {
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
