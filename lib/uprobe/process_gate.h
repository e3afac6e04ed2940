/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A uprobe is there for one process or for all.  Programs that are for a process and those
 * that it starts get there through a gate, which is attached in their place.
 */
#ifndef GT_UPROBE_PROCESS_GATE_H
#define GT_UPROBE_PROCESS_GATE_H

#include <sys/types.h>

#include "lib/uprobe/process_filter.h"

struct bpf_program;

struct gt_process_gate {
	struct bpf_object *object;
	struct bpf_program *program;	/* to attach, with a program's number as the cookie */
	struct gt_process_filter processes;
	unsigned count;			/* of programs */
};

/*
 * For at most `max` programs.  Errors of bpf(2) without gt_error() text, -ESRCH also when the kernel
 * has no type information.  What cannot be seen is noted.  Between gt_bpf_log_begin() and gt_bpf_log_end().
 */
int gt_process_gate_open(struct gt_process_gate *gate, unsigned max, pid_t pid, struct gt_notes *notes);

/* Its number, or the errors of bpf(2): the kernel does not let it through gates. */
int gt_process_gate_add(struct gt_process_gate *gate, const struct bpf_program *program);

/* Once nothing is attached; one that was never opened is fine. */
void gt_process_gate_close(struct gt_process_gate *gate);

#endif
