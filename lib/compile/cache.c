/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/compile/cache.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/compile/cache-folder.h"
#include "lib/compile/helper-id.h"
#include "lib/compile/image-data.h"

#define MAGIC 0x3143544750ull	/* "PGTC1" */
#define ENTRY_MAX (16u << 20)
#define SYMBOLS_MAX 4096u

/* The file: this, then the name, the PTX text and the log, each with its NUL, then the symbols. */
struct header {
	uint64_t magic;
	uint8_t digest[GT_SHA256_BYTES];	/* of everything behind this header */
	uint32_t name_size, ptx_size, log_size, symbol_count;
	uint32_t probe_flags, reserved;
};

static void add_number(struct gt_sha256 *sha, uint64_t number)
{
	gt_sha256_add(sha, &number, sizeof(number));
}

/* With its length, so that neighbours cannot run into one another. */
static void add_text(struct gt_sha256 *sha, const char *text)
{
	add_number(sha, strlen(text));
	gt_sha256_add(sha, text, strlen(text));
}

/* This very library: another build may compile differently. */
static void add_library(struct gt_sha256 *sha)
{
	struct stat status;
	Dl_info info;

	if (!dladdr((void *)gt_cache_make_key, &info) || !info.dli_fname || stat(info.dli_fname, &status) < 0)
		return;
	add_text(sha, info.dli_fname);
	add_number(sha, (uint64_t)status.st_size);
	add_number(sha, (uint64_t)status.st_mtim.tv_sec);
	add_number(sha, (uint64_t)status.st_mtim.tv_nsec);
}

/* A program that prints is refused for its formats; other constants may change without it being compiled anew. */
static bool prints(const struct gt_prog *prog)
{
	for (unsigned i = 0; i < prog->insn_count; i++) {
		const struct bpf_insn *insn = &prog->insns[i];

		if (insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
		    (insn->imm == GT_HELPER_TRACE_PRINTK || insn->imm == GT_HELPER_TRACE_VPRINTK))
			return true;
	}
	return false;
}

static void add_map(struct gt_sha256 *sha, const struct gputrace_map *map, bool with_contents)
{
	add_text(sha, map->name);
	add_number(sha, map->desc.type);
	add_number(sha, map->desc.key_size);
	add_number(sha, map->desc.value_size);
	add_number(sha, map->desc.max_entries);
	add_number(sha, map->desc.flags);
	add_number(sha, (uint64_t)map->desc.read_only << 1 | (uint64_t)map->desc.host_memory);
	add_number(sha, map->layout.slots);
	add_number(sha, map->spread);
	if (with_contents && map->desc.contents)
		gt_sha256_add(sha, map->desc.contents, map->desc.value_size);
}

void gt_cache_make_key(const struct gputrace_program *program, unsigned level, struct gt_cache_key *ret_key)
{
	const struct gt_prog *prog = &program->prog;
	uint8_t digest[GT_SHA256_BYTES];
	struct gt_sha256 sha;
	unsigned i;

	gt_sha256_begin(&sha);
	add_number(&sha, MAGIC);
	add_library(&sha);
	add_number(&sha, level);
	add_text(&sha, prog->name);
	add_number(&sha, (uint64_t)prog->point << 32 | (uint32_t)prog->granularity);
	add_number(&sha, prog->context_size);
	add_number(&sha, prog->insn_count);
	gt_sha256_add(&sha, prog->insns, prog->insn_count * sizeof(*prog->insns));
	add_number(&sha, program->object->map_count);
	for (i = 0; i < program->object->map_count; i++)
		add_map(&sha, program->object->maps[i], prints(prog));
	for (i = 0; i < prog->line_count; i++) {
		add_number(&sha, (uint64_t)prog->lines[i].insn << 32 | prog->lines[i].line);
		add_text(&sha, prog->lines[i].file);
		add_text(&sha, prog->lines[i].text);
	}
	gt_sha256_end(&sha, digest);
	for (i = 0; i < sizeof(digest); i++)
		snprintf(ret_key->name + 2 * i, 3, "%02x", digest[i]);
}

static void digest_of(const void *data, size_t size, uint8_t digest[GT_SHA256_BYTES])
{
	struct gt_sha256 sha;

	gt_sha256_begin(&sha);
	gt_sha256_add(&sha, data, size);
	gt_sha256_end(&sha, digest);
}

/* ---- loading ---- */

/* A text of `size` bytes that ends in NUL, and nowhere before; NULL otherwise. */
static char *take_text(const char **at, size_t *left, uint32_t size)
{
	char *text;

	if (!size || size > *left || strnlen(*at, size) != size - 1)
		return NULL;
	text = strdup(*at);
	*at += size;
	*left -= size;
	return text;
}

static bool symbols_make_sense(const struct gputrace_image *image)
{
	unsigned i;

	for (i = 0; i < image->symbols.count; i++) {
		const struct gt_symbol *symbol = &image->symbols.list[i];

		if (symbol->map < GT_SYMBOL_RING0 || symbol->map >= (int)image->object->map_count ||
		    (unsigned)symbol->kind >= GT_SYMBOL_KINDS ||
		    !memchr(symbol->name, '\0', sizeof(symbol->name)))
			return false;
	}
	return true;
}

static bool take_symbols(const char *at, size_t left, uint32_t count, struct gputrace_image *image)
{
	size_t size = (size_t)count * sizeof(*image->symbols.list);

	if (count > SYMBOLS_MAX || left != size)
		return false;
	image->symbols.list = malloc(size + 1);
	if (!image->symbols.list)
		return false;
	memcpy(image->symbols.list, at, size);
	image->symbols.count = count;
	return symbols_make_sense(image);
}

static void forget(struct gputrace_image *image, char *log)
{
	free(image->main_name);
	free(image->ptx);
	free(image->symbols.list);
	image->main_name = image->ptx = NULL;
	image->symbols = (struct gt_symbols){};
	free(log);
}

static int parse(const char *data, size_t size, struct gputrace_image *image, char **ret_log)
{
	uint8_t digest[GT_SHA256_BYTES];
	struct header header;
	const char *at;
	size_t left;
	char *log;

	if (size < sizeof(header))
		return -ENOENT;
	memcpy(&header, data, sizeof(header));
	at = data + sizeof(header);
	left = size - sizeof(header);
	digest_of(at, left, digest);
	if (header.magic != MAGIC || memcmp(digest, header.digest, sizeof(digest)))
		return -ENOENT;
	image->main_name = take_text(&at, &left, header.name_size);
	image->ptx = take_text(&at, &left, header.ptx_size);
	log = take_text(&at, &left, header.log_size);
	if (!image->main_name || !image->ptx || !log || !take_symbols(at, left, header.symbol_count, image)) {
		forget(image, log);
		return -ENOENT;
	}
	image->probe_flags = header.probe_flags;
	*ret_log = log;
	return 0;
}

static int read_file(int folder, const char *name, char **ret_data, size_t *ret_size)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat status;
	ssize_t n = -1;
	char *data = NULL;

	if (fd < 0)
		return -ENOENT;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size <= ENTRY_MAX) {
		data = malloc((size_t)status.st_size + 1);
		if (data)
			n = read(fd, data, (size_t)status.st_size);
		/* The time says when it was last of use. */
		if (n == status.st_size)
			futimens(fd, NULL);
	}
	close(fd);
	if (n < 0 || n != status.st_size) {
		free(data);
		return -ENOENT;
	}
	*ret_data = data;
	*ret_size = (size_t)n;
	return 0;
}

int gt_cache_load(const struct gt_cache_key *key, struct gputrace_image *image, char **ret_log)
{
	int folder = gt_cache_folder_open(false), r;
	size_t size;
	char *data;

	if (folder < 0)
		return -ENOENT;
	r = read_file(folder, key->name, &data, &size);
	if (r >= 0) {
		r = parse(data, size, image, ret_log);
		free(data);
		if (r < 0)
			unlinkat(folder, key->name, 0);		/* damaged */
	}
	close(folder);
	return r;
}

/* ---- storing ---- */

static char *make_entry(const struct gputrace_image *image, const char *log, size_t *ret_size)
{
	struct header header = {
		.magic = MAGIC,
		.name_size = (uint32_t)strlen(image->main_name) + 1,
		.ptx_size = (uint32_t)strlen(image->ptx) + 1,
		.log_size = (uint32_t)strlen(log) + 1,
		.symbol_count = image->symbols.count,
		.probe_flags = image->probe_flags,
	};
	char *data = NULL;
	FILE *out = open_memstream(&data, ret_size);

	if (!out)
		return NULL;
	fwrite(&header, sizeof(header), 1, out);
	fwrite(image->main_name, header.name_size, 1, out);
	fwrite(image->ptx, header.ptx_size, 1, out);
	fwrite(log, header.log_size, 1, out);
	if (image->symbols.count)
		fwrite(image->symbols.list, sizeof(*image->symbols.list), image->symbols.count, out);
	if (fclose(out)) {
		free(data);
		return NULL;
	}
	digest_of(data + sizeof(header), *ret_size - sizeof(header), header.digest);
	memcpy(data, &header, sizeof(header));
	return data;
}

void gt_cache_store(const struct gt_cache_key *key, const struct gputrace_image *image, const char *log)
{
	int folder = gt_cache_folder_open(true);
	size_t size;
	char *data;

	if (folder < 0)
		return;
	data = make_entry(image, log, &size);
	if (data && size <= ENTRY_MAX) {
		gt_cache_folder_write(folder, key->name, data, size);
		gt_cache_folder_trim(folder);
	}
	free(data);
	close(folder);
}
