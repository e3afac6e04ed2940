/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All GPU programs of BPF objects as one module of PTX, with maps at made-up places.
 *
 * usage: print-programs OBJECT...
 */
#include <gputrace/gputrace.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/compile/compile.h"
#include "lib/object/object.h"
#include "tests/conformance/wrap.h"

static const struct gt_link_env env = { .ring0_data = 4096, .ring0_size = 65536 };

static void place_maps(struct gputrace_object *object)
{
	struct gt_map_place place = { .offset = 1 << 20, .ctl = 256, .tail = 8, .source = 1 };
	struct gputrace_map *map = NULL;

	while ((map = gputrace_object_next_map(object, map)))
		if (gt_map_check(map) == 0)
			gt_map_set_place(map, &place);
}

static int print_program(struct gputrace_program *program, unsigned number)
{
	struct gputrace_compile_opts opts = { .size = sizeof(opts), .flags = GPUTRACE_COMPILE_UNCACHED };
	struct gputrace_image *image;
	char *text, *function;
	int r;

	r = gputrace_compile_ptx(program, &opts, &image);
	if (r < 0)
		return r;
	r = gt_image_link(image, number, &env, &text, &function);
	gputrace_image_unref(image);
	if (r < 0)
		return r;
	fputs(text, stdout);
	free(text);
	free(function);
	return 0;
}

static int print_object(const char *path, unsigned *number)
{
	struct gputrace_program *program = NULL;
	struct gputrace_object *object;
	int r;

	r = gputrace_object_open_file(NULL, path, &object);
	if (r < 0)
		return r;
	place_maps(object);
	while (r >= 0 && (program = gputrace_object_next_program(object, program)))
		if (gputrace_program_get_point(program) != GPUTRACE_POINT_KERNEL)
			r = print_program(program, (*number)++);
	gputrace_object_unref(object);
	return r;
}

int main(int argc, char **argv)
{
	unsigned number = 0;

	wrap_header(stdout);
	for (int i = 1; i < argc; i++) {
		if (print_object(argv[i], &number) < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], gputrace_last_error());
			return 1;
		}
	}
	return number ? 0 : 1;
}
