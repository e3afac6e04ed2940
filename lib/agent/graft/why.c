/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/graft/why.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "lib/agent/graft/graft.h"

int gt_graft_fail(char *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, GT_GRAFT_WHY, format, args);
	va_end(args);
	return -EINVAL;
}
