/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose agent lies: it takes its orders as an agent does, and then writes
 * whatever it likes into the memory that it shares with the controller.  The same
 * SEED does the same each time, as far as the controller reads as fast.
 *
 *	scribbler SEED ROUNDS
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/wire/proto.h"

#define RING 65536u	/* bytes, of each of the agent's and the GPU's */
#define PAGE 4096u

static uint64_t state;
static bool late;	/* near the end: a ring that makes no sense is not read any more */

static uint64_t random_number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t below(uint64_t n)
{
	return random_number() % n;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What tends to be at some edge. */
static uint64_t nasty(void)
{
	static const uint64_t values[] = {
		0, 1, 2, 3, 7, 8, 16, 31, 32, 63, 64, 127, 255, 4095, 4096, 65535, 65536, 65537, INT32_MAX, UINT32_MAX,
		(uint64_t)INT32_MAX + 1, INT64_MAX, UINT64_MAX, UINT64_MAX - 7, 1ull << 63, 1ull << 62, 1ull << 34, 1ull << 20,
	};
	uint64_t i = below(sizeof(values) / sizeof(values[0]) + 4);

	if (i < sizeof(values) / sizeof(values[0]))
		return values[i];
	return i & 1 ? random_number() : now() + below(2000000000) - 1000000000;
}

/* ---- the controller ---- */

static uint8_t *base;
static struct gt_shm *shm;
static int line;

static void fail(const char *what)
{
	perror(what);
	exit(3);
}

static void say(uint32_t type, uint64_t value)
{
	struct gt_msg message = { GT_WIRE_MAGIC, GT_WIRE_VERSION, type, value };

	send(line, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void say_hello(void)
{
	struct gt_msg_hello hello = { .msg = { GT_WIRE_MAGIC, GT_WIRE_VERSION, GT_MSG_HELLO, 0 }, .command = "scribbler" };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *door = getenv(GT_ENV_SOCKET);

	if (!door)
		exit(0);
	memcpy(hello.secret, door, GT_SECRET_SIZE);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", door + GT_SECRET_SIZE + 1);
	line = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (connect(line, (struct sockaddr *)&address, sizeof(address)) ||
	    send(line, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello))
		fail("connect");
}

static void take_orders(void)
{
	struct gt_msg message;
	union {
		char bytes[CMSG_SPACE((2 + GT_SHARED_MAX) * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { &message, sizeof(message) };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes) };
	uint64_t total;
	int memory;

	if (recvmsg(line, &header, 0) != sizeof(message) || !CMSG_FIRSTHDR(&header))
		fail("recvmsg");
	memcpy(&memory, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(memory));
	shm = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, memory, 0);
	if (shm == MAP_FAILED)
		fail("mmap");
	total = shm->total;
	munmap(shm, PAGE);
	base = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (base == MAP_FAILED)
		fail("mmap");
	/* What we write over is not what we go by. */
	shm = malloc(sizeof(*shm));
	memcpy(shm, base, sizeof(*shm));
}

/* ---- records ---- */

struct ring {
	uint8_t *data;
	const uint64_t *tail;
	uint64_t size, head, read;	/* read: up to here, as far as we know */
};

#define GPU_RINGS 4u	/* of the first contexts */
static struct ring agent, threads[4], gpus[GPU_RINGS];

/* The tail may be one that we have written over: then it is taken to have been read. */
static void make_room(struct ring *ring, uint64_t length)
{
	for (int i = 0; i < 20 && ring->head + length - ring->read > ring->size; i++) {
		uint64_t tail = __atomic_load_n(ring->tail, __ATOMIC_ACQUIRE);

		if (tail > ring->read && tail <= ring->head)
			ring->read = tail;
		else
			usleep(200);
	}
	if (ring->head + length - ring->read > ring->size)
		ring->read = ring->head;
}

static void put(struct ring *ring, unsigned type, const uint8_t *payload, uint32_t size)
{
	struct gt_record record = { .len = (uint32_t)sizeof(record) + ((size + 7) & ~7u), .type = (uint8_t)type,
				    .size = size, .seq = (uint32_t)(ring->head >> 3) + 1 };
	uint64_t words[2];

	make_room(ring, record.len);
	memcpy(words, &record, sizeof(words));
	for (uint32_t i = 0; i < size; i += 8) {
		uint64_t word = 0;

		memcpy(&word, payload + i, size - i < 8 ? size - i : 8);
		*(uint64_t *)(void *)(ring->data + ((ring->head + 16 + i) & (ring->size - 1))) = word;
	}
	*(uint64_t *)(void *)(ring->data + ((ring->head + 8) & (ring->size - 1))) = words[1];
	__atomic_store_n((uint64_t *)(void *)(ring->data + (ring->head & (ring->size - 1))), words[0], __ATOMIC_RELEASE);
	ring->head += record.len;
}

static uint32_t make_text(uint8_t *to, uint32_t size)
{
	static const char bytes[] = "_ZN12345IiLEjS_T0_v*%s%d%llx\\\"\n\x1b;:\xff\xe2\x82 ";

	for (uint32_t i = 0; i + 1 < size; i++)
		to[i] = below(3) ? (uint8_t)bytes[below(sizeof(bytes) - 1)] : (uint8_t)below(256);
	if (size)
		to[size - 1] = 0;
	return size;
}

static uint64_t an_id(void)
{
	return (below(64) + 1) << GT_SLOT_BITS | below(4);
}

static uint32_t make_function(uint8_t *payload)
{
	struct gt_rec_function r = { .kernel = (uint32_t)below(100), .module = 1, .route = (uint32_t)below(3), .arch = 90,
				     .registers = 32, .name_size = 1 + (uint32_t)below(2000), .reason_size = 1 + (uint32_t)below(300) };

	make_text(payload + sizeof(r), r.name_size);
	make_text(payload + sizeof(r) + r.name_size, r.reason_size);
	memcpy(payload, &r, sizeof(r));
	return (uint32_t)sizeof(r) + r.name_size + r.reason_size;
}

static uint32_t make_launch(uint8_t *payload)
{
	struct gt_rec_launch r = { .launch = an_id(), .enter = now(), .leave = now(), .kernel = (uint32_t)below(100),
				   .tid = (uint32_t)below(10), .context = (uint32_t)below(GPU_RINGS),
				   .flags = (uint32_t)below(8), .grid = { 1, 1, 1 }, .block = { 32, 1, 1 } };

	memcpy(payload, &r, sizeof(r));
	return sizeof(r);
}

static uint32_t make_context(uint8_t *payload)
{
	struct gt_rec_context r = { .context = (uint32_t)below(200), .area = (uint32_t)below(GPU_RINGS),
				    .device = (int)below(4), .name = "a GPU" };

	r.uuid[0] = (uint8_t)below(4);
	memcpy(payload, &r, sizeof(r));
	return sizeof(r);
}

static uint32_t make_clock(uint8_t *payload)
{
	uint64_t t = now();
	struct gt_rec_clock r = { .context = (uint32_t)below(GPU_RINGS), .before = t - 1000, .after = t, .gpu = t - 500 };

	memcpy(payload, &r, sizeof(r));
	return sizeof(r);
}

static uint32_t make_copy(uint8_t *payload)
{
	struct gt_rec_copy r = { .launch = an_id(), .enter = now(), .leave = now(), .bytes = nasty(), .tid = (uint32_t)below(10),
				 .context = (uint32_t)below(GPU_RINGS), .kind = (uint32_t)below(9),
				 .untimed = (uint16_t)(below(3) ? 0 : below(7)), .waits = (uint16_t)below(2) };

	memcpy(payload, &r, sizeof(r));
	return sizeof(r);
}

static uint32_t make_copy_time(uint8_t *payload)
{
	struct gt_rec_copy_time r = { .launch = an_id(), .start = now(), .end = below(4) ? now() : 0,
				      .error = below(8) ? below(100) : nasty() };

	memcpy(payload, &r, sizeof(r));
	return sizeof(r);
}

static uint32_t make_event_clock(uint8_t *payload)
{
	uint64_t t = now();
	struct gt_rec_event_clock r = { .context = (uint32_t)below(GPU_RINGS), .before = t - 1000, .after = t, .at = t - 500,
					.error = below(100) };

	memcpy(payload, &r, sizeof(r));
	return sizeof(r);
}

static uint32_t make_call(uint8_t *payload);

/* An address in our code, or anything. */
static uint64_t a_place(void)
{
	return below(2) ? (uint64_t)(uintptr_t)make_call + below(4096) : below(2) ? (uint64_t)(uintptr_t)usleep + below(4096) : nasty();
}

static uint32_t make_call(uint8_t *payload)
{
	struct gt_rec_call r = { .enter = now(), .leave = now(), .function = (uint32_t)below(400), .tid = (uint32_t)below(10),
				 .arg_count = (uint8_t)below(GT_CALL_ARGS + 1), .within = (uint8_t)below(3),
				 .stack_count = (uint16_t)below(GT_CALL_FRAMES + 1) };
	uint32_t words = (r.within ? GT_CALL_WITHIN_WORDS : 0) + r.arg_count + r.stack_count;

	/* Registers and a copy of the stack. */
	if (below(2))
		r.stack_bytes = (uint32_t)(sizeof(struct gt_stack_registers) + below(300) * 8);
	words += r.stack_bytes / 8;
	for (uint32_t i = 0; i < words; i++) {
		uint64_t word = a_place();

		memcpy(payload + sizeof(r) + i * 8, &word, 8);
	}
	memcpy(payload, &r, sizeof(r));
	return (uint32_t)sizeof(r) + words * 8;
}

static uint32_t make_range(uint8_t *payload)
{
	struct gt_rec_range r = { .time = now(), .id = below(50), .tid = (uint32_t)below(10), .kind = (uint32_t)below(5),
				  .name_size = 1 + (uint32_t)below(100), .domain_size = 1 + (uint32_t)below(20) };

	make_text(payload + sizeof(r), r.name_size);
	make_text(payload + sizeof(r) + r.name_size, r.domain_size);
	memcpy(payload, &r, sizeof(r));
	return (uint32_t)sizeof(r) + r.name_size + r.domain_size;
}

static uint32_t make_note(uint8_t *payload)
{
	struct gt_rec_note r = { .level = 4, .text_size = 1 + (uint32_t)below(200) };

	make_text(payload + sizeof(r), r.text_size);
	memcpy(payload, &r, sizeof(r));
	return (uint32_t)sizeof(r) + r.text_size;
}

static uint32_t make_kernel(uint8_t *payload)
{
	struct gt_rec_kernel r = { .launch = an_id(), .kernel = (uint32_t)below(100), .start = now(), .end = now() };

	memcpy(payload, &r, sizeof(r));
	return sizeof(r);
}

static uint32_t make_print(uint8_t *payload)
{
	struct gt_rec_printk r = { .time = now(), .launch = an_id(), .fmt_size = (uint32_t)below(GT_PRINTK_MAX) };

	for (unsigned i = 0; i < GT_PRINTK_ARGS; i++)
		r.args[i] = nasty();
	make_text(payload + sizeof(r), r.fmt_size);
	memcpy(payload, &r, sizeof(r));
	return (uint32_t)sizeof(r) + r.fmt_size;
}

static uint32_t make_data(uint8_t *payload)
{
	return make_text(payload, (uint32_t)below(500));
}

/* As it would be, or with something else in some of its fields. */
static void send_record(struct ring *ring, unsigned type, uint32_t (*make)(uint8_t *payload))
{
	uint8_t payload[8192] = { 0 };
	uint32_t size = make(payload);

	for (uint64_t n = below(3); n && size; n--) {
		uint64_t value = nasty(), width = 1ull << below(4), at = below(size < 128 ? size : 128) & ~(width - 1);

		memcpy(payload + at, &value, width);
	}
	if (!below(20))
		size = (uint32_t)below(sizeof(payload));
	put(ring, type, payload, size);
}

static void some_record(void)
{
	static const struct {
		unsigned type;
		uint32_t (*make)(uint8_t *payload);
	} kinds[] = {
		{ GT_REC_FUNCTION, make_function }, { GT_REC_LAUNCH, make_launch }, { GT_REC_CONTEXT, make_context },
		{ GT_REC_CLOCK, make_clock }, { GT_REC_CALL, make_call }, { GT_REC_RANGE, make_range }, { GT_REC_NOTE, make_note },
		{ GT_REC_COPY, make_copy }, { GT_REC_COPY_TIME, make_copy_time }, { GT_REC_EVENT_CLOCK, make_event_clock },
		{ GT_REC_KERNEL, make_kernel }, { GT_REC_PRINTK, make_print }, { GT_REC_DATA, make_data },
	};
	uint64_t i = below(sizeof(kinds) / sizeof(kinds[0]));
	struct ring *ring = kinds[i].type == GT_REC_KERNEL || kinds[i].type == GT_REC_PRINTK || kinds[i].type == GT_REC_DATA ?
			    &gpus[below(GPU_RINGS)] : below(2) || !shm->thread_ring_size ? &agent : &threads[below(4)];

	send_record(ring, kinds[i].type, kinds[i].make);
}

/* ---- everything else that is shared ---- */

static struct gt_host_arena *area(uint64_t i)
{
	return (void *)(base + shm->areas + i * shm->area_size);
}

static void write_anywhere(uint64_t from, uint64_t size)
{
	uint64_t at = (from + below(size)) & ~7ull;

	if (at + 8 <= shm->total)
		*(volatile uint64_t *)(void *)(base + at) = nasty();
}

/* Not over the rings' records: after that they are not read any more. */
static void scribble(void)
{
	uint64_t i = below(GPU_RINGS), behind = (uint64_t)((uint8_t *)area(i) - base);
	uint64_t rings = (sizeof(struct gt_host_arena) + PAGE - 1) / PAGE * PAGE + RING;

	switch (below(6)) {
	case 0:
		write_anywhere(0, sizeof(struct gt_shm));
		break;
	case 1:
		write_anywhere(shm->thread_rings, GT_THREAD_RINGS * sizeof(struct gt_thread_ring));
		break;
	case 2:
		write_anywhere(behind, sizeof(struct gt_host_arena));
		break;
	case 3:
		write_anywhere(behind + rings, shm->area_size - rings);
		break;
	case 4:
		write_anywhere(behind + shm->snapshot, sizeof(struct gt_dev_arena));
		__atomic_fetch_add(&area(i)->snapshot, 1, __ATOMIC_RELEASE);
		break;
	default:
		area(i)->state = (uint32_t)below(4);
	}
}

static void announce_contexts(void)
{
	for (uint32_t i = 0; i < GPU_RINGS; i++) {
		struct gt_rec_context r = { .context = i, .area = i, .name = "a GPU", .arch = 90 };

		put(&agent, GT_REC_CONTEXT, (const uint8_t *)&r, sizeof(r));
		area(i)->state = GT_CONTEXT_LIVE;
	}
}

static void find_rings(void)
{
	struct gt_thread_ring *blocks = (void *)(base + shm->thread_rings);

	agent = (struct ring){ base + shm->agent_ring, &((struct gt_shm *)(void *)base)->agent_tail, shm->agent_ring_size, 0, 0 };
	for (unsigned i = 0; i < 4; i++)
		threads[i] = (struct ring){ (uint8_t *)(blocks + GT_THREAD_RINGS) + i * shm->thread_ring_size,
					    &blocks[i].tail, shm->thread_ring_size, 0, 0 };
	for (unsigned i = 0; i < GPU_RINGS; i++)
		gpus[i] = (struct ring){ (uint8_t *)area(i) + (sizeof(struct gt_host_arena) + PAGE - 1) / PAGE * PAGE,
					 &area(i)->ring_tail[0], RING, 0, 0 };
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	state = (argc > 1 ? strtoul(argv[1], NULL, 10) : 0) * 0x9e3779b97f4a7c15ull + 88172645463325252ull;
	say_hello();
	take_orders();
	find_rings();
	say(GT_MSG_READY, 1);
	announce_contexts();
	for (unsigned long i = 0; i < rounds; i++) {
		late = i > rounds - rounds / 8;
		some_record();
		if (!below(4))
			scribble();
		if (!below(100))
			say(GT_MSG_FLUSHED, nasty());
	}
	/* At last over everything. */
	for (unsigned i = 0; i < 20000; i++)
		write_anywhere(0, below(2) ? shm->areas + GPU_RINGS * shm->area_size : shm->total);
	return 0;
}
