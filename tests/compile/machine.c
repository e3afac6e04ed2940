/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/compile/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/instrument/flatten.h"
#include "lib/compile/compile.h"
#include "lib/object/object.h"
#include "tests/sim/plain.h"

#define RING0_BYTES 65536u
#define RING0_DATA sizeof(struct gt_host_arena)

static uint64_t take(uint64_t *used, uint64_t bytes, uint64_t room)
{
	uint64_t offset = *used;

	*used += (bytes + 255) / 256 * 256;
	ck_assert_uint_le(*used, room);
	return offset;
}

static void start_ring(struct machine *machine, unsigned index, uint64_t bytes)
{
	machine_ctl(machine, index)->credits = (int64_t)bytes;
}

static void place_map(struct machine *machine, struct gputrace_map *map)
{
	struct gt_map_place place = {};
	bool on_host = gt_map_arena(map) == GT_ARENA_HOST;
	unsigned index;

	if (on_host)
		place.offset = take(&machine->host_used, gt_map_bytes(map), MACHINE_HOST_BYTES);
	else
		place.offset = take(&machine->dev_used, gt_map_bytes(map), MACHINE_DEV_BYTES);
	if (gt_map_is_ring(map)) {
		place.source = (uint16_t)machine->rings;
		place.ctl = machine->rings * sizeof(struct gt_ring_ctl);
		place.tail = machine->rings * sizeof(uint64_t);
		start_ring(machine, machine->rings++, gt_map_bytes(map));
	}
	gt_map_set_place(map, &place);
	gt_map_write_initial(map, (on_host ? machine->host : machine->dev) + place.offset);
	ck_assert_int_eq(gt_map_add_instance(map, (on_host ? machine->host : machine->dev) + place.offset, NULL,
					     NULL, NULL, &index), 0);
}

struct machine *machine_new(bool flat)
{
	struct machine *machine = calloc(1, sizeof(*machine));
	struct gputrace_map *map = NULL;

	ck_assert_ptr_nonnull(machine);
	machine->flat = flat;
	machine->object = open_probes();
	machine->dev = aligned_alloc(256, MACHINE_DEV_BYTES);
	machine->host = aligned_alloc(256, MACHINE_HOST_BYTES);
	ck_assert(machine->dev && machine->host);
	memset(machine->dev, 0, MACHINE_DEV_BYTES);
	memset(machine->host, 0, MACHINE_HOST_BYTES);
	machine->dev_used = sizeof(struct gt_dev_arena);
	machine->host_used = RING0_DATA + RING0_BYTES;
	machine->rings = 1;
	start_ring(machine, 0, RING0_BYTES);
	while ((map = gputrace_object_next_map(machine->object, map)))
		place_map(machine, map);
	machine->slots = take(&machine->dev_used, sizeof(struct gt_launch_slots), MACHINE_DEV_BYTES);
	machine->out = open_memstream(&machine->text, &machine->text_size);
	fputs(".version 7.0\n.target sm_75\n.address_size 64\n", machine->out);
	return machine;
}

void machine_free(struct machine *machine)
{
	fclose(machine->out);
	free(machine->text);
	free(machine->dev);
	free(machine->host);
	gputrace_object_unref(machine->object);
	free(machine);
}

static void write_call(FILE *out, const char *function, const char *size)
{
	fprintf(out,
		"\t{\n"
		"\t.param .b64 p0, p1, p2, p4, p5;\n"
		"\t.param .b32 p3, p6, p7;\n"
		"\tst.param.b64 [p0], %%launch;\n"
		"\tst.param.b64 [p1], %%dev;\n"
		"\tst.param.b64 [p2], %%host;\n"
		"\tst.param.b32 [p3], 77;\n"
		"\tst.param.b64 [p4], 0;\n"
		"\tst.param.b64 [p5], 0;\n"
		"\tst.param.b32 [p6], %s;\n"
		"\tst.param.b32 [p7], 0;\n"
		"\tcall %s, (p0, p1, p2, p3, p4, p5, p6, p7);\n"
		"\t}\n",
		size, function);
}

static void begin_kernel(FILE *out, const char *name)
{
	fprintf(out,
		".visible .entry %s(.param .b64 launch, .param .b64 dev, .param .b64 host)\n"
		"{\n"
		"\t.reg .b64 %%launch, %%dev, %%host;\n"
		"\t.reg .b32 %%t, %%u, %%n;\n"
		"\t.reg .pred %%p, %%q;\n"
		"\tld.param.b64 %%launch, [launch];\n"
		"\tld.param.b64 %%dev, [dev];\n"
		"\tld.param.b64 %%host, [host];\n", name);
}

static char *flatten(char *text, const char *function)
{
	const struct gt_probe probe = { .function = function };
	const unsigned which = 0;
	const char *why = "";
	char *flat;

	ck_assert_msg(!gt_probe_text_flatten(text, &probe, &which, 1, &flat, &why), "%s", why);
	ck_assert_ptr_null(strstr(flat, "\tcall"));
	free(text);
	return flat;
}

char *machine_link(struct machine *machine, const char *program, char **ret_function)
{
	static unsigned number;
	const struct gt_link_env env = { .ring0_data = RING0_DATA, .ring0_size = RING0_BYTES };
	struct gputrace_image *image = compile_probe(machine->object, program, true);
	char *text;

	ck_assert_msg(gt_image_link(image, number++, &env, &text, ret_function) == 0, "%s", gputrace_last_error());
	gputrace_image_unref(image);
	return text;
}

void machine_add(struct machine *machine, const char *program)
{
	char *function, *text = machine_link(machine, program, &function);

	if (machine->flat)
		text = flatten(text, function);
	fputs(text, machine->out);
	begin_kernel(machine->out, program);
	write_call(machine->out, function, "0");
	fputs("\tret;\n}\n", machine->out);
	free(text);
	free(function);
}

static void write_exit(FILE *out, const char *label)
{
	fprintf(out,
		"\tactivemask.b32 %%t;\n"
		"\tpopc.b32 %%n, %%t;\n"
		"\tmov.u32 %%u, %%lanemask_lt;\n"
		"\tand.b32 %%t, %%t, %%u;\n"
		"\tsetp.ne.u32 %%p, %%t, 0;\n"
		"\t@%%p bra %s;\n", label);
	write_call(out, "__gt_timeline_exit", "%n");
	fprintf(out, "%s:\n\tret;\n", label);
}

static const char *value_of(const char *at, const struct machine_place *place)
{
	for (; place && place->name; place++)
		if (!strncmp(at, place->name, strlen(place->name)))
			return place->value;
	return NULL;
}

/* The timeline's probes, to which special registers have the values of `place`. */
static void write_timeline(struct machine *machine, const struct machine_place *place)
{
	char *text = gt_timeline_link(machine->slots, RING0_DATA, RING0_BYTES);
	const char *value;

	ck_assert_ptr_nonnull(text);
	for (const char *at = text; *at; at++) {
		value = value_of(at, place);
		if (value) {
			fputs(value, machine->out);
			at = strchr(at, ';');
		}
		fputc(*at, machine->out);
	}
	free(text);
}

void machine_add_timed(struct machine *machine, unsigned early, const struct machine_place *place)
{
	FILE *out = machine->out;

	write_timeline(machine, place);
	begin_kernel(out, "timed");
	fputs("\tmov.u32 %t, %tid.x;\n"
	      "\tsetp.ne.u32 %p, %t, 0;\n"
	      "\t@%p bra ENTERED;\n", out);
	write_call(out, "__gt_timeline_entry", "0");
	fprintf(out,
		"ENTERED:\n"
		"\tmov.u32 %%t, %%laneid;\n"
		"\tsetp.ge.u32 %%q, %%t, %u;\n"
		"\t@%%q bra LATE;\n", early);
	write_exit(out, "GONE1");
	fputs("LATE:\n", out);
	write_exit(out, "GONE2");
	fputs("}\n", out);
}

/* ---- running ---- */

static int within(const uint8_t *arena, uint64_t bytes, uint64_t addr, uint64_t size, uint64_t *ret_base,
		  uint64_t *ret_size)
{
	if (addr < (uintptr_t)arena || size > bytes || addr - (uintptr_t)arena > bytes - size)
		return -1;
	*ret_base = (uintptr_t)arena;
	*ret_size = bytes;
	return 0;
}

static int check_address(void *data, uint64_t addr, uint64_t size, uint64_t *ret_base, uint64_t *ret_size)
{
	struct machine *machine = data;

	if (!within(machine->dev, MACHINE_DEV_BYTES, addr, size, ret_base, ret_size))
		return 0;
	return within(machine->host, MACHINE_HOST_BYTES, addr, size, ret_base, ret_size);
}

void machine_run(struct machine *machine, const char *kernel, uint64_t launch, unsigned blocks, unsigned threads)
{
	struct sim_device device = plain_device();
	struct gt_launch_param param = {
		.launch = launch, .dev = (uintptr_t)machine->dev, .host = (uintptr_t)machine->host,
	};
	struct sim_launch how = {
		.grid = { blocks, 1, 1 }, .block = { threads, 1, 1 }, .grid_id = 1, .params = &param,
	};
	struct sim_module *module;
	struct sim_error error;
	struct sim_kernel *found;

	device.check = check_address;
	device.data = machine;
	fflush(machine->out);
	ck_assert_msg(!sim_module_load(&device, machine->text, machine->text_size, &module, &error), "%s",
		      error.text);
	found = sim_module_find_kernel(module, kernel);
	ck_assert_ptr_nonnull(found);
	ck_assert_msg(!sim_kernel_run(found, &how, &error), "%s", error.text);
	sim_module_unload(module);
}

struct gt_ring_ctl *machine_ctl(struct machine *machine, unsigned index)
{
	return (struct gt_ring_ctl *)machine->dev + index;
}

struct test_ring machine_ring(struct machine *machine, unsigned index)
{
	struct gputrace_map *map = gputrace_object_find_map(machine->object, "ring");

	return (struct test_ring){
		.data = machine->host + (index ? map->place.offset : RING0_DATA),
		.size = index ? gt_map_bytes(map) : RING0_BYTES,
		.tail = (uint64_t *)machine->host + index,
	};
}
