/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/export/gzip.h"
#include "lib/util/error.h"
#include "lib/util/write_all.h"

#define BUFFER_BYTES 65536

/*
 * Not a FILE: when a process is forked while we write and ends by exit(), its copy of a FILE's buffer
 * would go into the file as well.
 */
struct gt_output {
	int fd;
	struct gt_gzip *gzip;		/* NULL: as it is */
	char *path;
	int error;
	size_t used;
	char buffer[BUFFER_BYTES];
};

static int fail(struct gt_output *output, int error)
{
	output->error = error;
	return gt_error(output->error, "writing %s: %s", output->path, strerror(-output->error));
}

static void free_output(struct gt_output *output)
{
	gt_gzip_free(output->gzip);
	free(output->path);
	free(output);
}

/* A name must not promise what is not in the file.  Else whether it promises gzip. */
static int check_name(const char *path, bool *ret_gzip)
{
	static const char *const others[] = {
		".zst", ".zstd", ".xz", ".lzma", ".bz2", ".lz4", ".br", ".gzip", ".tgz", ".zip", ".7z",
	};
	const char *suffix = strrchr(path, '.');

	*ret_gzip = suffix && !strcasecmp(suffix, ".gz");
	for (unsigned i = 0; suffix && i < sizeof(others) / sizeof(others[0]); i++) {
		if (!strcasecmp(suffix, others[i]))
			return gt_error(-EINVAL, "%s: a file is compressed here when its name ends in .gz, and not as %s", path,
					suffix);
	}
	return 0;
}

static int open_file(struct gt_output *output)
{
	output->fd = open(output->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return output->fd < 0 ? gt_error(-errno, "creating %s: %s", output->path, strerror(errno)) : 0;
}

int gt_output_open(const char *path, struct gt_output **ret_output)
{
	struct gt_output *output;
	bool gzip;
	int r = check_name(path, &gzip);

	if (r)
		return r;
	output = calloc(1, sizeof(*output));
	if (!output)
		return gt_error(-ENOMEM, "out of memory");
	output->path = strdup(path);
	output->gzip = gzip ? gt_gzip_new() : NULL;
	r = output->path && (output->gzip || !gzip) ? open_file(output) : gt_error(-ENOMEM, "out of memory");
	if (r)
		free_output(output);
	else
		*ret_output = output;
	return r;
}

static int write_out(struct gt_output *output, const char *text, size_t size, bool last)
{
	int r = output->gzip ? gt_gzip_write(output->gzip, output->fd, text, size, last) :
			       gt_write_all(output->fd, text, size);

	return r ? fail(output, r) : 0;
}

static int flush(struct gt_output *output, bool last)
{
	size_t size = output->used;

	output->used = 0;
	return write_out(output, output->buffer, size, last);
}

int gt_output_write(struct gt_output *output, const char *text, size_t size)
{
	if (output->error)
		return fail(output, output->error);
	if (size > BUFFER_BYTES - output->used && flush(output, false))
		return output->error;
	if (size > BUFFER_BYTES)
		return write_out(output, text, size, false);
	memcpy(output->buffer + output->used, text, size);
	output->used += size;
	return 0;
}

int gt_output_close(struct gt_output *output)
{
	int error;

	if (!output->error)
		flush(output, true);
	if (close(output->fd) && !output->error)
		output->error = -errno;
	error = output->error ? fail(output, output->error) : 0;
	free_output(output);
	return error;
}
