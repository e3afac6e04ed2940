/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/attach/link.h"
#include "lib/object/map.h"
#include "lib/target/area.h"
#include "lib/target/target.h"
#include "lib/util/error.h"
#include "lib/util/write_all.h"

/* Memory that fills itself through stdio. */
struct text {
	char *bytes;
	size_t size;
	FILE *file;
};

static int text_open(struct text *text)
{
	text->bytes = NULL;
	text->file = open_memstream(&text->bytes, &text->size);
	return text->file ? 0 : -ENOMEM;
}

static int text_close(struct text *text)
{
	int failed = fclose(text->file);

	text->file = NULL;
	return failed || !text->bytes ? -ENOMEM : 0;
}

static uint32_t put_string(struct text *strings, const char *string)
{
	long offset = ftell(strings->file);

	if (!string)
		return UINT32_MAX;
	fwrite(string, 1, strlen(string) + 1, strings->file);
	return (uint32_t)offset;
}

static void collect(const struct gputrace_target *target, struct text *ptx, struct text *strings,
		    struct gt_config_probe *records, uint32_t *ret_count)
{
	uint32_t count = 0;

	for (const struct gputrace_link *link = target->links; link; link = link->next) {
		if (!link->on_gpu || link->detached)
			continue;
		fputs(link->text ? link->text : "", ptx->file);
		for (unsigned i = 0; i < link->attached_count && count < GT_PROBES_MAX; i++) {
			const struct gt_probe *probe = &link->attached[i].probe;

			records[count++] = (struct gt_config_probe){
				.point = probe->point,
				.granularity = probe->granularity,
				.link = link->bit,
				.flags = probe->flags,
				.function = put_string(strings, probe->function),
				.kernel = put_string(strings, probe->kernel),
				.opcode = put_string(strings, probe->opcode),
				.number = probe->number,
			};
		}
	}
	fputc(0, ptx->file);
	fputc(0, strings->file);
	*ret_count = count;
}

static void list_shared(const struct gputrace_target *target, struct gt_config_shared *shared)
{
	for (unsigned i = 0; i < target->shared_count; i++) {
		shared[i].offset = target->shared[i].map->place.offset;
		shared[i].bytes = target->shared[i].bytes;
	}
}

/* malloc'd; NULL: out of memory. */
static struct gt_config_spread *list_spread(const struct gputrace_target *target, uint32_t *ret_count)
{
	const struct gt_layout *layout = &target->layout;
	struct gt_config_spread *list = calloc(layout->map_count + 1, sizeof(*list));

	*ret_count = 0;
	for (unsigned i = 0; list && i < layout->map_count; i++) {
		const struct gputrace_map *map = layout->maps[i];

		if (!map->spread)
			continue;
		list[(*ret_count)++] = (struct gt_config_spread){
			.copies = map->place.offset,
			.sum = map->place.sum,
			.copy_bytes = gt_map_copy_bytes(map),
			.count = map->spread,
			.word = map->spread_word,
			.bytes = map->layout.stride * map->layout.max_entries,
			.stride = map->layout.slot == GT_SLOT_SM ? map->layout.stride : 0,
		};
	}
	return list;
}

static uint32_t timeline_link(const struct gputrace_target *target)
{
	for (const struct gputrace_link *link = target->links; link; link = link->next) {
		if (link->timeline && !link->detached)
			return link->bit;
	}
	return UINT32_MAX;
}

uint32_t gt_config_recording(const struct gputrace_target *target)
{
	uint32_t flags = 0;

	for (const struct gputrace_link *link = target->links; link; link = link->next)
		flags |= link->detached ? 0 : link->recording;
	return flags;
}

/* Without the file, as in some containers, agents read the clock each time. */
static bool clock_is_counter(void)
{
	FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	char name[16] = "";
	bool is;

	if (!file)
		return false;
	is = fgets(name, sizeof(name), file) && !strcmp(name, "tsc\n");
	fclose(file);
	return is;
}

/* Of a call's stack as much as any link wants. */
static void fill_stacks(const struct gputrace_target *target, struct gt_config *config)
{
	for (const struct gputrace_link *link = target->links; link; link = link->next) {
		if (!link->detached && link->stack_frames > config->stack_frames)
			config->stack_frames = link->stack_frames;
		if (!link->detached && link->stack_bytes > config->stack_bytes)
			config->stack_bytes = link->stack_bytes;
	}
}

/* For tests and for whoever has to find out which of the two ways is at fault. */
int gt_config_route(uint32_t *ret_flags)
{
	static const struct {
		const char *name;
		uint32_t flags;
	} routes[] = {
		{ "", 0 }, { "ptx", GT_CONFIG_NO_GRAFT }, { "graft", GT_CONFIG_ONLY_GRAFT },
	};
	const char *route = secure_getenv("GPUTRACE_ROUTE");

	for (unsigned i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (strcmp(route ? route : "", routes[i].name))
			continue;
		*ret_flags = routes[i].flags;
		return 0;
	}
	*ret_flags = 0;
	return gt_error(-EINVAL, "GPUTRACE_ROUTE=%s in the environment: it may be ptx or graft, or not set",
			route);
}

int gt_config_make(const struct gputrace_target *target)
{
	struct gt_config_probe records[GT_PROBES_MAX];
	struct gt_config_shared shared[GT_SHARED_MAX];
	struct gt_config_spread *spread;
	struct gt_config config = {
		.magic = GT_WIRE_MAGIC,
		.version = GT_WIRE_VERSION,
		.timeline = timeline_link(target),
		.flags = GT_CONFIG_LIST | (target->software_device ? GT_CONFIG_STAMP : 0) | target->route_flags |
			 (target->copies ? GT_CONFIG_COPIES : 0) | (clock_is_counter() ? GT_CONFIG_TICKS : 0) |
			 (target->kind == GT_TARGET_SPAWNED ? 0 : GT_CONFIG_LIVE) | gt_config_recording(target),
		.shared_count = target->shared_count,
	};
	struct text ptx, strings;
	int fd, r;

	if (text_open(&ptx))
		return -ENOMEM;
	if (text_open(&strings)) {
		fclose(ptx.file);
		free(ptx.bytes);
		return -ENOMEM;
	}
	collect(target, &ptx, &strings, records, &config.probe_count);
	list_shared(target, shared);
	spread = list_spread(target, &config.spread_count);
	fill_stacks(target, &config);
	r = text_close(&ptx) | text_close(&strings) | (spread ? 0 : -ENOMEM);
	config.text_size = ptx.size;
	config.string_size = (uint32_t)strings.size;
	fd = r ? -1 : memfd_create("gputrace-config", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0) {
		r = gt_write_all(fd, &config, sizeof(config));
		if (!r)
			r = gt_write_all(fd, records, config.probe_count * sizeof(records[0]));
		if (!r)
			r = gt_write_all(fd, shared, config.shared_count * sizeof(shared[0]));
		if (!r)
			r = gt_write_all(fd, spread, config.spread_count * sizeof(spread[0]));
		if (!r)
			r = gt_write_all(fd, ptx.bytes, ptx.size);
		if (!r)
			r = gt_write_all(fd, strings.bytes, strings.size);
		if (!r && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
			r = -errno;
		if (r) {
			close(fd);
			fd = r;
		}
	} else {
		fd = r ? r : -errno;
	}
	free(ptx.bytes);
	free(strings.bytes);
	free(spread);
	return fd;
}

/* What a map begins with, wherever an instance of it may be looked at or copied from. */
static void fill_map(const struct gputrace_map *map, const struct gt_shm *shm, uint8_t *base)
{
	uint64_t offset = map->place.offset;

	/* The memory is new, so zeros are there already, and without taking pages. */
	if (gt_map_is_ring(map) || map->live || !map->initial)
		return;
	if (gt_map_arena(map) == GT_ARENA_DEV)
		gt_map_write_copies(map, base + shm->dev_template + offset);
	for (unsigned c = 0; c < shm->contexts; c++) {
		uint8_t *area = base + shm->areas + c * shm->area_size;

		gt_map_write_initial(map, area + gt_map_seen_at(map, shm));
	}
}

/* Credits of the GPU's rings and the initial contents of every map. */
static void fill(const struct gputrace_target *target, uint8_t *base)
{
	const struct gt_layout *layout = &target->layout;
	const struct gt_shm *shm = &layout->shm;
	struct gt_shm *header = (void *)base;
	struct gt_dev_arena *dev = (void *)(base + shm->dev_template);

	memcpy(header, shm, sizeof(*shm));
	header->recording = gt_config_recording(target);
	for (const struct gputrace_link *link = target->links; link; link = link->next) {
		if (link->on_gpu && !link->detached)
			header->switches |= 1ull << link->bit;
	}
	for (unsigned i = 0; i < layout->ring_count; i++)
		dev->ring[i].credits = (int64_t)layout->rings[i].size;
	for (unsigned i = 0; i < layout->map_count; i++)
		fill_map(layout->maps[i], shm, base);
}

int gt_shm_make(const struct gputrace_target *target)
{
	uint64_t total = target->layout.shm.total;
	int fd = memfd_create("gputrace", MFD_CLOEXEC | MFD_ALLOW_SEALING), r;
	void *base;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)total) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		r = -errno;
		close(fd);
		return r;
	}
	base = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED) {
		r = -errno;
		close(fd);
		return r;
	}
	fill(target, base);
	munmap(base, total);
	return fd;
}
