/* SPDX-License-Identifier: Apache-2.0 */
/* Another reader of annotations, which was there before the agent: it writes down what it is told. */
#include <stdint.h>
#include <stdio.h>

typedef void function(void);

int InitializeInjectionNvtx2(const void *(*get_export)(uint32_t));

static int push(const char *text)
{
	printf("other: push %s\n", text);
	return 40;
}

static int pop(void)
{
	printf("other: pop\n");
	return 41;
}

static uint64_t start(const char *text)
{
	printf("other: start %s\n", text);
	return 1234;
}

static void end(uint64_t id)
{
	printf("other: end %d\n", (int)id);
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void *(*get_export)(uint32_t))
{
	const struct {
		uint64_t size;
		int (*get_table)(int module, function ****places, unsigned *count);
	} *callbacks = get_export(1);
	function ***places;
	unsigned count;

	if (!callbacks->get_table(1, &places, &count))
		return 0;
	*places[5] = (function *)start;
	*places[7] = (function *)end;
	*places[9] = (function *)push;
	*places[11] = (function *)pop;
	return 1;
}
