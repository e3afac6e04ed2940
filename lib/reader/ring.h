/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer's side of a ring in memory that its producers can scribble on. */
#ifndef GT_READER_RING_H
#define GT_READER_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/wire/wire.h"

struct gt_ring {
	uint8_t *data;
	uint64_t size;		/* a power of two */
	uint64_t tail;		/* position of the next record */
	uint64_t *published;	/* where producers look for the tail */
};

/*
 * Take the next record: its header into *ret_record and its payloads, 1 + ret_record->more
 * of them, each padded to 8 bytes, into `payload` (GT_RECORD_MAX_PAYLOAD bytes).  1; 0:
 * none is finished; -EPROTO: what is there cannot be a record, the ring is of no
 * more use.
 */
int gt_ring_take(struct gt_ring *ring, struct gt_record *ret_record, void *payload);

/*
 * What is at the tail will not be finished: who began it has been led away, or has ended.  Go on
 * at the first finished record behind it and before position `end`.  False: there is none, and
 * the tail stays.
 */
bool gt_ring_pass(struct gt_ring *ring, uint64_t end);

#define GT_RECORD_MAX_COUNT (1u + UINT8_MAX)	/* payloads of one record */
#define GT_BATCH_RECORDS 4096u
#define GT_BATCH_BYTES (4 * GT_RECORD_MAX_PAYLOAD)

/* Payloads of many records, each from a multiple of 8 bytes on. */
struct gt_batch {
	uint32_t count, bytes;
	uint32_t sizes[GT_BATCH_RECORDS];
	/* Full when another record might not fit. */
	uint8_t data[GT_BATCH_BYTES] __attribute__((aligned(8)));
};

/*
 * Take records until the batch is full, once around at most.  Only GT_REC_DATA gets into it.
 * How many were taken; *ret_error: as gt_ring_take() for the one behind them, 1: not tried.
 */
unsigned gt_ring_take_batch(struct gt_ring *ring, struct gt_batch *batch, int *ret_error);

#endif
