/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/symbol/bounds.h"

#include <gelf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX (4ull << 30)	/* what the reasons say */

/* libelf would make something for each, of as many as the file says. */
static bool has_too_many_sections(int fd)
{
	Elf64_Ehdr header;

	return pread(fd, &header, sizeof(header), 0) == sizeof(header) && !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
	       header.e_ident[EI_CLASS] == ELFCLASS64 && !header.e_shnum && header.e_shoff;
}

/* Once it is in memory. */
static uint64_t bytes_of(Elf *elf, int fd, Elf_Scn *section)
{
	const char *name;
	size_t names;
	GElf_Shdr header;
	uint64_t bytes;
	uint8_t old[12];
	Elf64_Chdr compressed;

	if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
		return 0;
	bytes = header.sh_size;
	if (header.sh_flags & SHF_COMPRESSED) {
		if (pread(fd, &compressed, sizeof(compressed), (off_t)header.sh_offset) == sizeof(compressed) &&
		    compressed.ch_size > bytes)
			bytes = compressed.ch_size;
		return bytes;
	}
	/* As it was before: "ZLIB" and eight bytes, the highest first. */
	name = elf_getshdrstrndx(elf, &names) ? NULL : elf_strptr(elf, names, header.sh_name);
	if (name && !strncmp(name, ".zdebug", 7) && pread(fd, old, sizeof(old), (off_t)header.sh_offset) == sizeof(old)) {
		uint64_t unfolded = 0;

		for (unsigned i = 4; i < sizeof(old); i++)
			unfolded = unfolded << 8 | old[i];
		bytes = unfolded > bytes ? unfolded : bytes;
	}
	return bytes;
}

static bool sections_take_too_much(Elf *elf, int fd)
{
	Elf_Scn *section = NULL;
	uint64_t total = 0;

	while (total <= BYTES_MAX && (section = elf_nextscn(elf, section))) {
		uint64_t bytes = bytes_of(elf, fd, section);

		total += bytes < BYTES_MAX ? bytes : BYTES_MAX + 1;
	}
	return total > BYTES_MAX;
}

const char *gt_bounds_excess(int fd)
{
	struct stat status;
	bool too_much;
	Elf *elf;

	if (fstat(fd, &status) || (uint64_t)status.st_size > BYTES_MAX)
		return "its file is larger than 4 GiB";
	if (has_too_many_sections(fd))
		return "its file has more than 65279 sections";
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	too_much = elf && sections_take_too_much(elf, fd);
	elf_end(elf);
	return too_much ? "its file says that there is more than 4 GiB in its sections" : NULL;
}
