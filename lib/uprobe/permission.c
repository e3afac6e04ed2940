/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/permission.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/util/error.h"

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* The effective capabilities, all when they cannot be read. */
static uint64_t capabilities(void)
{
	uint64_t value = ~0ull;
	char line[128];
	FILE *f = fopen("/proc/self/status", "re");

	if (!f)
		return value;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "CapEff: %" SCNx64, &value) == 1)
			break;
	}
	fclose(f);
	return value;
}

static int read_int(const char *path, int otherwise)
{
	FILE *f = fopen(path, "re");
	int value;

	if (!f)
		return otherwise;
	if (fscanf(f, "%d", &value) != 1)
		value = otherwise;
	fclose(f);
	return value;
}

static bool locked_down(void)
{
	char line[128] = "";
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");

	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	return strstr(line, "[confidentiality]");
}

static int refused(const char *what, const char *detail)
{
	uint64_t caps = capabilities();
	bool admin = caps >> CAP_SYS_ADMIN & 1;
	bool bpf = admin || caps >> CAP_BPF & 1;
	bool perfmon = admin || caps >> CAP_PERFMON & 1;
	struct rlimit limit;

	if (!bpf || !perfmon)
		return gt_error(-EPERM, "not allowed to %s: this process lacks %s%s%s; run it as root or "
				"give it CAP_BPF and CAP_PERFMON (kernel.unprivileged_bpf_disabled is %d)",
				what, bpf ? "" : "CAP_BPF", !bpf && !perfmon ? " and " : "",
				perfmon ? "" : "CAP_PERFMON",
				read_int("/proc/sys/kernel/unprivileged_bpf_disabled", 0));
	if (locked_down())
		return gt_error(-EPERM, "not allowed to %s: the kernel is locked down "
				"(confidentiality), which forbids BPF programs to read memory", what);
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur < 16u << 20)
		return gt_error(-EPERM, "not allowed to %s although the capabilities are there: the limit "
				"on locked memory is %llu KiB (ulimit -l), which kernels before 5.11 count "
				"BPF maps against%s%s", what,
				(unsigned long long)limit.rlim_cur >> 10, *detail ? "; " : "", detail);
	return gt_error(-EPERM, "not allowed to %s although the capabilities are there: a security "
			"module or a container's system call filter may forbid bpf(2) or "
			"perf_event_open(2)%s%s", what, *detail ? "; " : "", detail);
}

static int lacking(const char *what, const char *detail)
{
	if (access(KERNEL_TYPES, R_OK))
		return gt_error(-EOPNOTSUPP, "cannot %s: this kernel shows no type information (BTF, "
				"CONFIG_DEBUG_INFO_BTF): " KERNEL_TYPES " is not there%s%s",
				what, *detail ? "; " : "", detail);
	return gt_error(-EOPNOTSUPP, "this kernel cannot %s: it needs BPF (CONFIG_BPF_SYSCALL), uprobes "
			"(CONFIG_UPROBE_EVENTS) and attach cookies (Linux 5.15)%s%s",
			what, *detail ? "; " : "", detail);
}

int gt_uprobe_error(int error, const char *what, const char *detail)
{
	switch (error) {
	case -EPERM:
	case -EACCES:
		return refused(what, detail);
	case -ENOSYS:
	case -EOPNOTSUPP:
		return lacking(what, detail);
	default:
		return gt_error(error, "cannot %s: %s%s%s", what, strerror(-error),
				*detail ? "; " : "", detail);
	}
}
