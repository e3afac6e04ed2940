/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/bpf_log.h"

#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static libbpf_print_fn_t previous;
static _Thread_local struct gt_bpf_log *current;

static int keep(struct gt_bpf_log *log, const char *format, va_list args)
{
	const size_t room = sizeof(log->text);
	size_t used = strlen(log->text), size;
	char *line = NULL;
	int n = vasprintf(&line, format, args);

	if (n < 0)
		return n;
	/* The end of a long message counts: a verifier's log says there what is wrong. */
	size = strlen(line);
	if (size >= room)
		memmove(line, line + size - room + 1, room);
	size = strlen(line);
	if (used + size >= room)
		used = 0;
	memcpy(log->text + used, line, size + 1);
	free(line);
	return n;
}

__attribute__((format(printf, 2, 0)))
static int print(enum libbpf_print_level level, const char *format, va_list args)
{
	if (!current)
		return previous ? previous(level, format, args) : 0;
	return level == LIBBPF_WARN ? keep(current, format, args) : 0;
}

void gt_bpf_log_begin(struct gt_bpf_log *log)
{
	log->text[0] = '\0';
	pthread_mutex_lock(&lock);
	current = log;
	previous = libbpf_set_print(print);
}

void gt_bpf_log_end(void)
{
	libbpf_print_fn_t found = libbpf_set_print(previous);

	/* Somebody else's, set meanwhile, stays. */
	if (found != print)
		libbpf_set_print(found);
	current = NULL;
	pthread_mutex_unlock(&lock);
}

const char *gt_bpf_log_last(struct gt_bpf_log *log)
{
	size_t size = strlen(log->text);
	char *line;

	while (size && log->text[size - 1] == '\n')
		log->text[--size] = '\0';
	line = strrchr(log->text, '\n');
	line = line ? line + 1 : log->text;
	return strncmp(line, "libbpf: ", 8) ? line : line + 8;
}

/* The verifier ends its log with a line of statistics, after its complaint. */
const char *gt_bpf_log_verdict(struct gt_bpf_log *log)
{
	char *statistics = strstr(log->text, "\nprocessed ");

	if (statistics)
		*statistics = '\0';
	return gt_bpf_log_last(log);
}
