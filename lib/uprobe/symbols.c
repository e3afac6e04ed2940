/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "lib/util/error.h"
#include "lib/util/regular_file.h"

struct walk {
	Elf *elf;
	int (*fn)(void *data, const char *name, uint64_t offset);
	void *data;
};

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

static int visit(const struct walk *walk, const char *name, const GElf_Sym *symbol)
{
	uint64_t offset;

	if (GELF_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || !name)
		return 0;
	offset = file_offset(walk->elf, symbol->st_value);
	return offset ? walk->fn(walk->data, name, offset) : 0;
}

static int scan_table(const struct walk *walk, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;
	int r = 0;

	for (int i = 0; !r && data && gelf_getsym(data, i, &symbol); i++)
		r = visit(walk, elf_strptr(walk->elf, header->sh_link, symbol.st_name), &symbol);
	return r;
}

static int scan(const struct walk *walk, bool all)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int r = -ENOEXEC;

	while ((section = elf_nextscn(walk->elf, section))) {
		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_DYNSYM && !(all && header.sh_type == SHT_SYMTAB)))
			continue;
		r = scan_table(walk, section, &header);
		if (r)
			break;
	}
	return r;
}

int gt_file_functions(const char *path, bool all,
		      int (*fn)(void *data, const char *name, uint64_t offset), void *data)
{
	struct walk walk = { .fn = fn, .data = data };
	bool readable;
	int fd, r;

	/* A process that loads it may have chosen it, and may cut it off: what was mapped would be our end then. */
	fd = gt_open_regular(AT_FDCWD, path, 0, 0);
	if (fd == -ENODEV)
		return gt_error(-ENOEXEC, "%s is not a shared library with exported functions", path);
	if (fd < 0)
		return gt_error(fd, "%s: %s", path, strerror(-fd));
	elf_version(EV_CURRENT);
	walk.elf = elf_begin(fd, ELF_C_READ, NULL);
	readable = walk.elf && elf_kind(walk.elf) == ELF_K_ELF;
	r = readable ? scan(&walk, all) : -ENOEXEC;
	elf_end(walk.elf);
	close(fd);
	if (r == -ENOEXEC)
		return gt_error(r, all && readable ? "%s has no symbols: it is stripped" :
				"%s is not a shared library with exported functions", path);
	return r;
}
