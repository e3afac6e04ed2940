/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libbpf has to say, kept instead of printed.  Its print callback belongs to
 * the whole process, and the program that uses this library may use libbpf too:
 * between begin and end only messages of the calling thread are kept, others go
 * where they would have gone, and end puts back what begin found.
 */
#ifndef GT_UPROBE_BPF_LOG_H
#define GT_UPROBE_BPF_LOG_H

struct gt_bpf_log {
	char text[8192];	/* warnings, the last ones when they are many */
};

/* Not recursive; other threads wait in begin until end. */
void gt_bpf_log_begin(struct gt_bpf_log *log);
void gt_bpf_log_end(void);

/* The last line of the messages, without "libbpf: " and newline; "" when there was none. */
const char *gt_bpf_log_last(struct gt_bpf_log *log);

/* The line in which the verifier says what is wrong; the last line when there is none such. */
const char *gt_bpf_log_verdict(struct gt_bpf_log *log);

#endif
