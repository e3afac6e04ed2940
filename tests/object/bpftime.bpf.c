/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture of test-object.c: programs written for bpftime, beside one for the kernel. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, 1502);	/* one value per GPU thread */
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} per_thread SEC(".maps");

struct {
	__uint(type, 1513);	/* an array in host memory */
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} host_array SEC(".maps");

struct {
	__uint(type, 1527);	/* a ring for each thread */
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} ring SEC(".maps");

static const __u64 (*get_globaltimer)(void) = (void *)502;

SEC("kprobe/_Z9vectorAddPKfS0_Pf")
int mangled(void *ctx)
{
	return 0;
}

SEC("kretprobe/cuda__Z9vectorAddPKfS0_Pf")
int prefixed(void *ctx)
{
	return 0;
}

SEC("kprobe/by_helper")
int by_helper(void *ctx)
{
	return get_globaltimer() != 0;
}

SEC("kretprobe/by_map")
int by_map(void *ctx)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&per_thread, &key) != 0;
}

SEC("kprobe/__memcapture")
int memory(void *ctx)
{
	__u64 value = 1;

	bpf_perf_event_output(ctx, &ring, 0, &value, sizeof(value));
	return 0;
}

SEC("kprobe/do_sys_open")
int kernel(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
