/* SPDX-License-Identifier: Apache-2.0 */
/* Why the kernel refused a BPF program. */
#ifndef GT_UPROBE_PERMISSION_H
#define GT_UPROBE_PERMISSION_H

/*
 * Turn the error of a failed step into what a person can act on and return it:
 * -EPERM (from -EACCES and -EPERM; names what this process lacks), -EOPNOTSUPP
 * (from -ENOSYS, -EOPNOTSUPP), others as they are.  what: "watch the driver's
 * calls"; detail: libbpf's last words or "".
 */
int gt_uprobe_error(int error, const char *what, const char *detail);

#endif
