/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/process_gate.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>

#include "lib/uprobe/process_gate_bpf.h"

static int load(struct gt_process_gate *gate, unsigned max, pid_t pid)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "gt_gate");
	int r;

	gate->object = bpf_object__open_mem(gt_process_gate_bpf, sizeof(gt_process_gate_bpf), &opts);
	if (!gate->object)
		return -errno;
	gate->program = bpf_object__find_program_by_name(gate->object, "gt_gate");
	r = gt_process_filter_configure(&gate->processes, gate->object, pid);
	if (r == 0)
		r = bpf_map__set_max_entries(bpf_object__find_map_by_name(gate->object, "programs"), max);
	return r == 0 ? bpf_object__load(gate->object) : r;
}

int gt_process_gate_open(struct gt_process_gate *gate, unsigned max, pid_t pid, struct gt_notes *notes)
{
	int r = load(gate, max, pid);

	if (r == 0)
		r = gt_process_filter_start(&gate->processes, pid, notes);
	if (r < 0)
		gt_process_gate_close(gate);
	return r;
}

int gt_process_gate_add(struct gt_process_gate *gate, const struct bpf_program *program)
{
	int map = bpf_object__find_map_fd_by_name(gate->object, "programs"), fd = bpf_program__fd(program);
	uint32_t key = gate->count;
	int r = bpf_map_update_elem(map, &key, &fd, BPF_ANY);

	return r < 0 ? r : (int)gate->count++;
}

void gt_process_gate_close(struct gt_process_gate *gate)
{
	gt_process_filter_stop(&gate->processes);
	bpf_object__close(gate->object);
	*gate = (struct gt_process_gate){ .object = NULL };
}
