/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <gputrace/gputrace.h>
#include <stdlib.h>

#include "lib/export/chrome.h"
#include "lib/export/fold.h"
#include "lib/export/output.h"
#include "lib/util/error.h"

struct gputrace_writer {
	struct gt_output *output;
	/* One of them, by the format. */
	struct gt_chrome *chrome;
	struct gt_fold *fold;
	struct gputrace_symbolizer *symbolizer;	/* may be NULL */
	int error;	/* the first; later events would follow half a one */
};

static struct gputrace_writer *free_writer(struct gputrace_writer *writer)
{
	gt_chrome_free(writer->chrome);
	gt_fold_free(writer->fold);
	gputrace_symbolizer_unref(writer->symbolizer);
	if (writer->output)
		gt_output_close(writer->output);
	free(writer);
	return NULL;
}

int gputrace_writer_open(struct gputrace_ctx *ctx, const char *path, int format,
			 struct gputrace_writer **ret_writer)
{
	struct gputrace_writer *writer;
	int error;

	(void)ctx;	/* nothing to log and no default that applies */
	if (!path || !ret_writer)
		return gt_error(-EINVAL, "a writer needs a path and a place for its result");
	if (format != GPUTRACE_FORMAT_CHROME_JSON && format != GPUTRACE_FORMAT_FOLDED_STACKS)
		return gt_error(-EINVAL, "no such trace format: %d", format);
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return gt_error(-ENOMEM, "out of memory");
	error = gt_output_open(path, &writer->output);
	if (!error)
		error = format == GPUTRACE_FORMAT_CHROME_JSON ? gt_chrome_new(writer->output, &writer->chrome) :
								gt_fold_new(writer->output, &writer->fold);
	if (error) {
		free_writer(writer);
		return error;
	}
	*ret_writer = writer;
	return 0;
}

void gputrace_writer_set_symbolizer(struct gputrace_writer *writer, struct gputrace_symbolizer *symbolizer)
{
	gputrace_symbolizer_ref(symbolizer);
	gputrace_symbolizer_unref(writer->symbolizer);
	writer->symbolizer = symbolizer;
}

int gputrace_writer_add(struct gputrace_writer *writer, const struct gputrace_event *event)
{
	if (!writer || !event)
		return gt_error(-EINVAL, "no writer or no event");
	if (writer->error)
		return gt_error(writer->error, "the trace is incomplete: an earlier event could not be written");
	writer->error = writer->chrome ? gt_chrome_add(writer->chrome, event) :
					 gt_fold_add(writer->fold, event, writer->symbolizer);
	return writer->error;
}

int gputrace_writer_close(struct gputrace_writer *writer)
{
	int error, closing;

	if (!writer)
		return 0;
	error = writer->error;
	if (!error)
		error = writer->chrome ? gt_chrome_finish(writer->chrome) : gt_fold_finish(writer->fold);
	closing = gt_output_close(writer->output);
	writer->output = NULL;
	free_writer(writer);
	return error ? error : closing;
}
