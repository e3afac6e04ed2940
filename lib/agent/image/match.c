/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <string.h>

#include "lib/agent/image/demangle.h"
#include "lib/agent/image/image.h"
#include "lib/util/glob.h"

/* Blanks in C++ names are a matter of taste: "unsigned int*, T<A<int> >". */
static char *without_blanks(const char *s)
{
	char *text = malloc(strlen(s) + 1), *to = text;

	if (!text)
		return NULL;
	for (; *s; s++)
		if (*s != ' ')
			*to++ = *s;
	*to = '\0';
	return text;
}

static int matches(const char *glob, const char *name)
{
	char *text = without_blanks(name);
	int yes = text && gt_glob(glob, text, strlen(text));

	free(text);
	return yes;
}

static int is_identifier(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/*
 * Words of the glob that demangling does not make up must stand in the mangled
 * name.  Saves the demangling of the thousands of kernels that nobody means.
 */
static int may_match(const char *glob, const char *name)
{
	static const char made_up[] =
		"void wchar_t bool char signed unsigned short int long __int128 float double __float128 "
		"decltype nullptr char32_t char16_t char8_t auto half _Float16 bfloat16_t _Float32 _Float64 "
		"_Float128 const volatile restrict true false sizeof std allocator basic_string string "
		"istream ostream iostream operator new delete lambda unnamed type anonymous namespace abi "
		"literal";
	size_t n;

	for (; *glob; glob += n) {
		for (n = 0; is_identifier(glob[n]); n++)
			;
		/* A number may be the value of a template argument. */
		if (n && !(*glob >= '0' && *glob <= '9') && !memmem(made_up, sizeof(made_up) - 1, glob, n) &&
		    !memmem(name, strlen(name), glob, n))
			return 0;
		n += !n;
	}
	return 1;
}

int gt_kernel_matches(const char *glob, const char *name)
{
	struct gt_demangled parts;
	char *plain_glob;
	int yes;

	if (gt_glob(glob, name, strlen(name)))
		return 1;
	if (!may_match(glob, name) || gt_demangle_function(name, &parts) < 0)
		return 0;
	plain_glob = without_blanks(glob);
	yes = plain_glob &&
	      (matches(plain_glob, parts.full) || matches(plain_glob, parts.call) ||
	       matches(plain_glob, parts.name) || matches(plain_glob, parts.plain));
	free(plain_glob);
	free(parts.memory);
	return yes;
}
