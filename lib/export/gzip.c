/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/gzip.h"

#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>

#include "lib/util/write_all.h"

#define OUT_BYTES 65536
#define PART_BYTES (1u << 30)	/* zlib counts in 32 bits */

/* Who reads events must not fall behind: the fastest makes traces a tenth as long, the slowest a fifteenth. */
#define LEVEL Z_BEST_SPEED
#define AS_GZIP (MAX_WBITS + 16)	/* rather than with zlib's own header */
#define MEMORY_LEVEL 8

struct gt_gzip {
	z_stream stream;
	unsigned char out[OUT_BYTES];
};

struct gt_gzip *gt_gzip_new(void)
{
	struct gt_gzip *gzip = calloc(1, sizeof(*gzip));

	if (gzip && deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, AS_GZIP, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return NULL;
	}
	return gzip;
}

void gt_gzip_free(struct gt_gzip *gzip)
{
	if (gzip)
		deflateEnd(&gzip->stream);
	free(gzip);
}

/* What zlib was given, and what comes of it at once. */
static int drain(struct gt_gzip *gzip, int fd, int flush)
{
	z_stream *stream = &gzip->stream;
	int r;

	do {
		stream->next_out = gzip->out;
		stream->avail_out = OUT_BYTES;
		deflate(stream, flush);
		r = gt_write_all(fd, gzip->out, OUT_BYTES - stream->avail_out);
	} while (!r && !stream->avail_out);
	return r;
}

int gt_gzip_write(struct gt_gzip *gzip, int fd, const void *bytes, size_t size, bool last)
{
	int r;

	gzip->stream.next_in = bytes;
	do {
		gzip->stream.avail_in = size < PART_BYTES ? (uInt)size : PART_BYTES;
		size -= gzip->stream.avail_in;
		r = drain(gzip, fd, last && !size ? Z_FINISH : Z_NO_FLUSH);
	} while (!r && size);
	return r;
}
