/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream as bytes, for readers in other processes of this machine that have the
 * same version of the library.  Whoever sent them, they are not trusted.
 */
#ifndef GT_READER_MESSAGE_H
#define GT_READER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_queued;
struct gputrace_event;
struct gputrace_gpu;
struct gputrace_kernel;

#define GT_MESSAGE_MAX (1u << 20)	/* of an event whose program says that much and more */
#define GT_MESSAGE_MAGIC 0x6d74735f75706701ull

enum gt_message_kind {
	GT_MESSAGE_HELLO = 1,	/* the first */
	GT_MESSAGE_GPU,		/* before the first event about it */
	GT_MESSAGE_EVENT,
	GT_MESSAGE_END,		/* the last */
	GT_MESSAGE_KERNEL	/* a new one, or what is known of one by now */
};

struct gt_message_head {
	uint32_t size;		/* with this; a multiple of 8 */
	uint32_t kind;
};

struct gt_message_hello {
	struct gt_message_head head;
	uint64_t magic;
	char version[32];
};

struct gt_message_gpu {
	struct gt_message_head head;
	uint32_t index, arch, sm_count;
	uint8_t uuid[16];
	char pci_address[24], name[96];
	uint32_t unused;
};

/* The name and then the reason follow, each with a NUL, up to a multiple of 8. */
struct gt_message_kernel {
	struct gt_message_head head;
	uint64_t launches, plain_launches;
	uint32_t number, id, module, arch, registers, shared_bytes;
	int32_t pid, route;
	uint32_t name_size, reason_size;	/* the latter 0: there is none */
};

struct gt_message_end {
	struct gt_message_head head;
	uint64_t events;	/* that were sent, the LOST ones among them */
};

/* An event as a message into memory of gt_message_event_size() bytes; 0: it is too large. */
size_t gt_message_event_size(const struct gputrace_event *event);
void gt_message_write_event(const struct gputrace_event *event, void *memory);
/*
 * And back; gpus: GT_GPUS_MAX, by index.  head->size bytes can be read, at an address
 * divisible by 8.  -EPROTO: it makes no sense; -ENOMEM.
 */
int gt_message_read_event(const struct gt_message_head *head, struct gputrace_gpu *const *gpus,
			  struct gt_queued **ret_queued);

/* A kernel's message but for the texts; its head has the size of the whole.  false: it is too large. */
bool gt_message_write_kernel(const struct gputrace_kernel *kernel, struct gt_message_kernel *message);
/* Does it make sense?  head->size bytes can be read; then the texts are where it says. */
bool gt_message_check_kernel(const struct gt_message_head *head);
const char *gt_message_kernel_name(const struct gt_message_kernel *message);
const char *gt_message_kernel_reason(const struct gt_message_kernel *message);	/* or NULL */

void gt_message_write_gpu(const struct gputrace_gpu *gpu, struct gt_message_gpu *message);
/* Into gpus; -EPROTO, -ENOMEM. */
int gt_message_read_gpu(const struct gt_message_head *head, struct gputrace_gpu **gpus);

#endif
