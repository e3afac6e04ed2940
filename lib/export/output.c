/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/util/error.h"

struct gt_output {
	FILE *file;
	char *path;
	int error;
};

static int fail(struct gt_output *output, int error)
{
	output->error = error ? error : -EIO;
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
	output->file = fopen(path, "we");
	if (!output->file) {
		error = gt_error(-errno, "creating %s: %s", path, strerror(errno));
		free(output->path);
		free(output);
		return error;
	}
	*ret_output = output;
	return 0;
}

int gt_output_write(struct gt_output *output, const char *text, size_t size)
{
	if (output->error)
		return fail(output, output->error);
	errno = 0;
	if (fwrite(text, 1, size, output->file) != size)
		return fail(output, -errno);
	return 0;
}

int gt_output_close(struct gt_output *output)
{
	int error;

	errno = 0;
	if (fclose(output->file) && !output->error)
		output->error = errno ? -errno : -EIO;
	error = output->error ? fail(output, output->error) : 0;
	free(output->path);
	free(output);
	return error;
}
