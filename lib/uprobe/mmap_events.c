/* SPDX-License-Identifier: Apache-2.0 */
/* One ring of the operating system's kernel for each processor; nobody is woken, the reader looks by itself. */
#include "lib/uprobe/mmap_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/util/mappings.h"

#define DATA_PAGES 64		/* about 2000 records; a power of two */
#define RECORD_MAX 65536u	/* its size is of 16 bits */

struct ring {
	int fd;
	struct perf_event_mmap_page *page;	/* followed by the data */
};

struct gt_mmap_events {
	struct ring *rings;
	unsigned count;
	size_t page_size;
	_Alignas(uint64_t) char record[RECORD_MAX];
};

/* PERF_RECORD_MMAP2 */
struct mmap_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[];
};

static size_t ring_bytes(const struct gt_mmap_events *events)
{
	return (1 + DATA_PAGES) * events->page_size;
}

static int open_ring(struct gt_mmap_events *events, int processor)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.mmap = 1, .mmap2 = 1, .exclude_kernel = 1, .watermark = 1, .wakeup_watermark = UINT32_MAX,
	};
	struct ring *ring = &events->rings[events->count];
	void *memory;

	ring->fd = (int)syscall(SYS_perf_event_open, &attr, -1, processor, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return errno == ENODEV ? 0 : -errno;	/* a processor that is switched off */
	memory = mmap(NULL, ring_bytes(events), PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (memory == MAP_FAILED) {
		int r = -errno;

		close(ring->fd);
		return r;
	}
	ring->page = memory;
	events->count++;
	return 0;
}

int gt_mmap_events_open(struct gt_mmap_events **ret_events)
{
	long processors = sysconf(_SC_NPROCESSORS_CONF);
	struct gt_mmap_events *events = calloc(1, sizeof(*events));
	int r = 0;

	if (events && processors > 0)
		events->rings = calloc((size_t)processors, sizeof(*events->rings));
	if (!events || !events->rings) {
		free(events);
		return -ENOMEM;
	}
	events->page_size = (size_t)sysconf(_SC_PAGESIZE);
	for (long i = 0; !r && i < processors; i++)
		r = open_ring(events, (int)i);
	if (r) {
		gt_mmap_events_close(events);
		return r;
	}
	*ret_events = events;
	return 0;
}

void gt_mmap_events_close(struct gt_mmap_events *events)
{
	if (!events)
		return;
	for (unsigned i = 0; i < events->count; i++) {
		munmap(events->rings[i].page, ring_bytes(events));
		close(events->rings[i].fd);
	}
	free(events->rings);
	free(events);
}

/* The record at this place, which may go over the ring's end, in one piece; its size. */
static size_t copy_record(struct gt_mmap_events *events, const struct ring *ring, uint64_t at)
{
	size_t size = DATA_PAGES * events->page_size, begin = at & (size - 1), first;
	const char *data = (const char *)ring->page + events->page_size;
	struct perf_event_header header;

	/* Records are of multiples of eight bytes, as is a header. */
	memcpy(&header, data + begin, sizeof(header));
	first = header.size < size - begin ? header.size : size - begin;
	memcpy(events->record, data + begin, first);
	memcpy(events->record + first, data, header.size - first);
	return header.size;
}

static void read_mapping(struct gt_mmap_events *events, size_t size,
			 void (*fn)(void *data, int pid, const struct gt_mapping *mapping), void *data)
{
	struct mmap_record *record = (void *)events->record;
	struct gt_mapping mapping;

	if (size <= sizeof(*record))
		return;
	events->record[size - 1] = '\0';
	mapping = (struct gt_mapping){
		.start = record->start, .end = record->start + record->length, .offset = record->offset,
		.device = (uint64_t)record->major << 32 | record->minor, .inode = record->inode,
		.executable = true, .from_event = true, .path = record->path,
	};
	fn(data, (int)record->pid, &mapping);
}

bool gt_mmap_events_read(struct gt_mmap_events *events,
			 void (*fn)(void *data, int pid, const struct gt_mapping *mapping), void *data)
{
	bool complete = true;

	for (unsigned i = 0; i < events->count; i++) {
		const struct ring *ring = &events->rings[i];
		uint64_t tail = ring->page->data_tail;
		/* Pairs with the kernel's write barrier before it moves the head. */
		uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);

		while (tail < head) {
			size_t size = copy_record(events, ring, tail);
			const struct perf_event_header *header = (const void *)events->record;

			if (size < sizeof(*header))
				break;
			if (header->type == PERF_RECORD_MMAP2)
				read_mapping(events, size, fn, data);
			complete &= header->type != PERF_RECORD_LOST;
			tail += size;
		}
		/* The kernel may write there once it sees this. */
		__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
	}
	return complete;
}
