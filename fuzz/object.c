/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a BPF object: opened, and what is in it listed. */
#include <gputrace/gputrace.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gputrace_program *program = NULL;
	struct gputrace_map *map = NULL;
	struct gputrace_object *object;
	size_t total = 0;

	if (gputrace_object_open_mem(NULL, data, size, "fuzz", &object) < 0)
		return 0;
	while ((program = gputrace_object_next_program(object, program)))
		total += strlen(gputrace_program_get_name(program));
	while ((map = gputrace_object_next_map(object, map)))
		total += gputrace_map_get_slots(map);
	gputrace_object_unref(object);
	(void)total;
	return 0;
}
