/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/answers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RULES_MAX 8u

/* FUNCTION:DEVICE:FROM:RESULT or FUNCTION:DEVICE:FROM:<DESCRIPTOR; the function "*" is any. */
struct rule {
	char function[48];
	unsigned device, from, asked;
	int result, wait_for;		/* wait_for -1: nothing */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rule rules[RULES_MAX];
static unsigned rule_count;

static void read_rule(const char *text)
{
	struct rule rule = { .wait_for = -1 };
	char end;

	if (rule_count == RULES_MAX ||
	    (sscanf(text, "%47[^:]:%u:%u:%d%c", rule.function, &rule.device, &rule.from, &rule.result, &end) != 4 &&
	     sscanf(text, "%47[^:]:%u:%u:<%d%c", rule.function, &rule.device, &rule.from, &rule.wait_for, &end) != 4)) {
		fprintf(stderr, "gputrace software device: GPUTRACE_SIM_NVML: \"%s\" makes no sense\n", text);
		abort();
	}
	rules[rule_count++] = rule;
}

void sim_answers_read(void)
{
	const char *text = getenv("GPUTRACE_SIM_NVML");
	char *copy = text ? strdup(text) : NULL, *rest = copy, *one;

	rule_count = 0;
	while ((one = strsep(&rest, ",")))
		read_rule(one);
	free(copy);
}

/* The first rule that this question is under, when its time has come. */
static struct rule find(const char *function, unsigned device)
{
	struct rule found = { .wait_for = -1 };

	pthread_mutex_lock(&lock);
	for (unsigned i = rule_count; i-- > 0;) {
		struct rule *rule = &rules[i];

		if (rule->device == device && (!strcmp(rule->function, "*") || !strcmp(rule->function, function)) &&
		    ++rule->asked >= rule->from)
			found = *rule;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

enum gt_nvml_return sim_answer(const char *function, unsigned device)
{
	struct rule rule = find(function, device);
	char byte;

	while (rule.wait_for >= 0 && read(rule.wait_for, &byte, 1) < 0)
		;
	return (enum gt_nvml_return)rule.result;
}
