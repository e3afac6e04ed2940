/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/util/error.h"
#include "lib/util/write_all.h"

#define BUFFER_BYTES 65536

/*
 * Not a FILE: when a process is forked while we write and ends by exit(), its copy of a FILE's buffer
 * would go into the file as well.
 */
struct gt_output {
	int fd;
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

int gt_output_open(const char *path, struct gt_output **ret_output)
{
	struct gt_output *output = calloc(1, sizeof(*output));
	int error;

	if (output)
		output->path = strdup(path);
	if (!output || !output->path) {
		free(output);
		return gt_error(-ENOMEM, "out of memory");
	}
	output->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (output->fd < 0) {
		error = gt_error(-errno, "creating %s: %s", path, strerror(errno));
		free(output->path);
		free(output);
		return error;
	}
	*ret_output = output;
	return 0;
}

static int write_out(struct gt_output *output, const char *text, size_t size)
{
	int r = gt_write_all(output->fd, text, size);

	return r ? fail(output, r) : 0;
}

static int flush(struct gt_output *output)
{
	size_t size = output->used;

	output->used = 0;
	return write_out(output, output->buffer, size);
}

int gt_output_write(struct gt_output *output, const char *text, size_t size)
{
	if (output->error)
		return fail(output, output->error);
	if (size > BUFFER_BYTES - output->used && flush(output))
		return output->error;
	if (size > BUFFER_BYTES)
		return write_out(output, text, size);
	memcpy(output->buffer + output->used, text, size);
	output->used += size;
	return 0;
}

int gt_output_close(struct gt_output *output)
{
	int error;

	if (!output->error)
		flush(output);
	if (close(output->fd) && !output->error)
		output->error = -errno;
	error = output->error ? fail(output, output->error) : 0;
	free(output->path);
	free(output);
	return error;
}
