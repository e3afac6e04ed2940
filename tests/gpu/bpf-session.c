/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/gpu/bpf-session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/compile/compile.h"
#include "tests/gpu/bpf-device.h"
#include "tests/gpu/bpf_probes_bpf.h"

#define BLOCK 256u
#define KERNEL_ID 77u
#define PORTABLE_MAPPED 3u
#define RING0_DATA sizeof(struct gt_host_arena)
#define RING0_BYTES 65536u

static uint64_t take(uint64_t *used, uint64_t bytes)
{
	uint64_t offset = *used;

	*used += (bytes + GT_MAP_ALIGN - 1) / GT_MAP_ALIGN * GT_MAP_ALIGN;
	return offset;
}

static void place_map(struct session *session, struct gputrace_map *map)
{
	struct gt_map_place place = {};

	place.offset = take(gt_map_arena(map) == GT_ARENA_HOST ? &session->host_bytes : &session->dev_bytes,
			    gt_map_bytes(map));
	if (gt_map_is_ring(map)) {
		place.source = (uint16_t)session->rings;
		place.ctl = session->rings * sizeof(struct gt_ring_ctl);
		place.tail = session->rings * sizeof(uint64_t);
		session->rings++;
	}
	gt_map_set_place(map, &place);
}

static void make_arenas(struct session *session)
{
	session->dev = device_memory(session->dev_bytes);
	session->host = mmap(NULL, session->host_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (session->host == MAP_FAILED)
		stop("no memory");
	CU(cuMemHostRegister_v2(session->host, session->host_bytes, PORTABLE_MAPPED));
	CU(cuMemHostGetDevicePointer_v2(&session->host_gpu, session->host, 0));
}

static void start_map(const struct session *session, const struct gputrace_map *map)
{
	struct gt_ring_ctl ctl = { .credits = (int64_t)gt_map_bytes(map) };

	if (gt_map_is_ring(map))
		session_set_ctl(session, map, &ctl);
	else if (map->initial)
		session_write(session, map, map->initial, map->layout.bytes);
}

void session_open(struct session *session)
{
	struct gputrace_map *map = NULL;

	memset(session, 0, sizeof(*session));
	session->dev_bytes = sizeof(struct gt_dev_arena);
	session->host_bytes = RING0_DATA + RING0_BYTES;
	session->rings = 1;
	if (gputrace_object_open_mem(NULL, bpf_probes_bpf, sizeof(bpf_probes_bpf), "bpf-probes", &session->object) < 0)
		stop("%s", gputrace_last_error());
	while ((map = gputrace_object_next_map(session->object, map)))
		place_map(session, map);
	make_arenas(session);
	while ((map = gputrace_object_next_map(session->object, map)))
		start_map(session, map);
}

void session_close(struct session *session)
{
	CU(cuMemFree_v2(session->dev));
	CU(cuMemHostUnregister(session->host));
	munmap(session->host, session->host_bytes);
	gputrace_object_unref(session->object);
}

char *session_link(struct session *session, const char *name, char **ret_function)
{
	const struct gt_link_env env = { .ring0_data = RING0_DATA, .ring0_size = RING0_BYTES };
	struct gputrace_compile_opts opts = { .size = sizeof(opts), .flags = GPUTRACE_COMPILE_UNCACHED };
	struct gputrace_program *program = gputrace_object_find_program(session->object, name);
	struct gputrace_image *image;
	char *text;

	if (!program)
		stop("there is no program %s", name);
	if (gputrace_compile_ptx(program, &opts, &image) < 0 ||
	    gt_image_link(image, session->linked++, &env, &text, ret_function) < 0)
		stop("%s: %s", name, gputrace_last_error());
	gputrace_image_unref(image);
	return text;
}

static void write_kernel(FILE *out, const char *name, const char *function)
{
	fprintf(out,
		".visible .entry %s(.param .b64 launch, .param .b64 dev, .param .b64 host, .param .b64 address,\n"
		"\t.param .b32 size)\n"
		"{\n"
		"\t.reg .b64 %%launch, %%dev, %%host, %%address;\n"
		"\t.reg .b32 %%size;\n"
		"\tld.param.b64 %%launch, [launch];\n"
		"\tld.param.b64 %%dev, [dev];\n"
		"\tld.param.b64 %%host, [host];\n"
		"\tld.param.b64 %%address, [address];\n"
		"\tld.param.b32 %%size, [size];\n"
		"\t{\n"
		"\t.param .b64 p0, p1, p2, p4, p5;\n"
		"\t.param .b32 p3, p6, p7;\n"
		"\tst.param.b64 [p0], %%launch;\n"
		"\tst.param.b64 [p1], %%dev;\n"
		"\tst.param.b64 [p2], %%host;\n"
		"\tst.param.b32 [p3], %u;\n"
		"\tst.param.b64 [p4], 0;\n"
		"\tst.param.b64 [p5], %%address;\n"
		"\tst.param.b32 [p6], %%size;\n"
		"\tst.param.b32 [p7], 0;\n"
		"\tcall %s, (p0, p1, p2, p3, p4, p5, p6, p7);\n"
		"\t}\n"
		"\tret;\n"
		"}\n", name, KERNEL_ID, function);
}

void *session_module(struct session *session, const char *const *names)
{
	char *text, *part, *function;
	void *module;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs(".version 7.0\n.target sm_75\n.address_size 64\n", out);
	for (; *names; names++) {
		part = session_link(session, *names, &function);
		fputs(part, out);
		write_kernel(out, *names, function);
		free(part);
		free(function);
	}
	fclose(out);
	module = load_module(text);
	free(text);
	return module;
}

struct gt_launch_param session_param(const struct session *session)
{
	return (struct gt_launch_param){
		.launch = 0xffffull << GT_LAUNCH_ID_BITS | 1, .dev = session->dev, .host = session->host_gpu,
	};
}

void session_launch(const struct session *session, void *function, unsigned threads, uint64_t address, uint32_t size)
{
	struct gt_launch_param param = session_param(session);
	void *params[] = { &param.launch, &param.dev, &param.host, &address, &size };

	launch(function, threads / BLOCK, BLOCK, params);
}

struct gputrace_map *session_map(const struct session *session, const char *name)
{
	struct gputrace_map *map = gputrace_object_find_map(session->object, name);

	if (!map)
		stop("there is no map %s", name);
	return map;
}

static uint64_t map_address(const struct session *session, const struct gputrace_map *map)
{
	return (gt_map_arena(map) == GT_ARENA_HOST ? session->host_gpu : session->dev) + map->place.offset;
}

void *session_read(const struct session *session, const struct gputrace_map *map)
{
	void *copy = malloc(gt_map_bytes(map));

	if (!copy)
		stop("no memory");
	CU(cuMemcpyDtoH_v2(copy, map_address(session, map), gt_map_bytes(map)));
	return copy;
}

void session_write(const struct session *session, const struct gputrace_map *map, const void *bytes, size_t size)
{
	CU(cuMemcpyHtoD_v2(map_address(session, map), bytes, size));
}

void session_clear(const struct session *session, const struct gputrace_map *map)
{
	CU(cuMemsetD8_v2(map_address(session, map), 0, gt_map_bytes(map)));
	start_map(session, map);
}

struct gt_ring session_ring(const struct session *session, const struct gputrace_map *map)
{
	return (struct gt_ring){
		.data = session->host + map->place.offset,
		.size = gt_map_bytes(map),
		.published = (uint64_t *)(void *)(session->host + map->place.tail),
	};
}

struct gt_ring_ctl session_ctl(const struct session *session, const struct gputrace_map *map)
{
	struct gt_ring_ctl ctl;

	CU(cuMemcpyDtoH_v2(&ctl, session->dev + map->place.ctl, sizeof(ctl)));
	return ctl;
}

void session_set_ctl(const struct session *session, const struct gputrace_map *map, const struct gt_ring_ctl *ctl)
{
	CU(cuMemcpyHtoD_v2(session->dev + map->place.ctl, ctl, sizeof(*ctl)));
}
