/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/util/error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last_text[1024];
static _Thread_local int last_vendor;

static int remember(int error, int vendor, const char *format, va_list args)
{
	vsnprintf(last_text, sizeof(last_text), format, args);
	last_vendor = vendor;
	return error;
}

int gt_error(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	remember(error, 0, format, args);
	va_end(args);
	return error;
}

int gt_error_vendor(int error, int vendor, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	remember(error, vendor, format, args);
	va_end(args);
	return error;
}

const char *gt_error_text(void)
{
	return last_text;
}

int gt_error_vendor_code(void)
{
	return last_vendor;
}
