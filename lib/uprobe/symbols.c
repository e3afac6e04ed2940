/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/util/error.h"

/* The names asked for, sorted, so that the symbol table is gone through once. */
struct wanted {
	const char *name;
	uint32_t index;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct wanted *)a)->name, ((const struct wanted *)b)->name);
}

/* 0 where no segment of the file holds the address. */
static uint64_t file_offset(Elf *elf, uint64_t address)
{
	size_t count;
	GElf_Phdr p;

	if (elf_getphdrnum(elf, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X))
			continue;
		if (address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
			return address - p.p_vaddr + p.p_offset;
	}
	return 0;
}

static void match(Elf *elf, const struct wanted *wanted, size_t count, const char *name,
		  const GElf_Sym *symbol, uint64_t *offsets)
{
	struct wanted key = { .name = name };
	const struct wanted *hit;

	if (GELF_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || !name)
		return;
	hit = bsearch(&key, wanted, count, sizeof(*wanted), compare);
	if (hit)
		offsets[hit->index] = file_offset(elf, symbol->st_value);
}

static int scan(Elf *elf, const struct wanted *wanted, size_t count, uint64_t *offsets)
{
	Elf_Scn *section = NULL;
	Elf_Data *data;
	GElf_Shdr header;
	GElf_Sym symbol;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM)
			break;
	}
	data = section ? elf_getdata(section, NULL) : NULL;
	if (!data)
		return -ENOEXEC;
	for (int i = 0; gelf_getsym(data, i, &symbol); i++)
		match(elf, wanted, count, elf_strptr(elf, header.sh_link, symbol.st_name),
		      &symbol, offsets);
	return 0;
}

static int scan_file(const char *path, const struct wanted *wanted, size_t count, uint64_t *offsets)
{
	int fd, r;
	Elf *elf;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		r = -errno;
		return gt_error(r, "%s: %s", path, strerror(-r));
	}
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	r = elf && elf_kind(elf) == ELF_K_ELF ? scan(elf, wanted, count, offsets) : -ENOEXEC;
	elf_end(elf);
	close(fd);
	if (r < 0)
		return gt_error(r, "%s is not a shared library with exported functions", path);
	return 0;
}

int gt_library_symbols(const char *path, const char *(*name_of)(uint32_t index, void *data), void *data,
		    uint32_t count, uint64_t *offsets)
{
	struct wanted *wanted = calloc(count + 1, sizeof(*wanted));
	size_t n = 0;
	int r;

	if (!wanted)
		return gt_error(-ENOMEM, "no memory for the names of %u functions", count);
	memset(offsets, 0, count * sizeof(*offsets));
	for (uint32_t i = 0; i < count; i++) {
		wanted[n].name = name_of(i, data);
		wanted[n].index = i;
		n += wanted[n].name != NULL;
	}
	qsort(wanted, n, sizeof(*wanted), compare);
	r = scan_file(path, wanted, n, offsets);
	free(wanted);
	return r;
}
