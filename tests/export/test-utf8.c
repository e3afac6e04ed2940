/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/export/utf8.h"
#include "tests/suite.h"

#define R "\xef\xbf\xbd"	/* U+FFFD */

static const struct {
	const char *bytes, *clean;
} cases[] = {
	{ "", "" },
	{ "vecadd", "vecadd" },
	{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
	{ "\xe2\x82\xac", "\xe2\x82\xac" },
	{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
	{ "\xff", R },
	{ "a\x80z", "a" R "z" },
	{ "\xc3", R },				/* cut off */
	{ "\xe2\x82", R R },
	{ "\xf0\x9f\x98", R R R },
	{ "\xc0\xaf", R R },			/* '/' in two bytes */
	{ "\xe0\x80\xaf", R R R },		/* '/' in three */
	{ "\xed\xa0\x80", R R R },		/* a surrogate */
	{ "\xf4\x90\x80\x80", R R R R },	/* past U+10FFFF */
	{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
	{ "\xc3\xbc\xc3(", "\xc3\xbc" R "(" },
};

START_TEST(cleans)
{
	size_t size = 0;
	char *clean = gt_utf8_clean(cases[_i].bytes, strlen(cases[_i].bytes), &size);

	ck_assert_ptr_nonnull(clean);
	ck_assert_str_eq(clean, cases[_i].clean);
	ck_assert_uint_eq(size, strlen(cases[_i].clean));
	free(clean);
}
END_TEST

START_TEST(valid_prefix)
{
	ck_assert_uint_eq(gt_utf8_valid_prefix("abc", 3), 3);
	ck_assert_uint_eq(gt_utf8_valid_prefix("ab\xff" "c", 4), 2);
	ck_assert_uint_eq(gt_utf8_valid_prefix("ab\xc3\xbc", 3), 2);
	ck_assert_uint_eq(gt_utf8_valid_prefix("ab\xc3\xbc", 4), 4);
}
END_TEST

int main(void)
{
	TCase *group = tcase_create("utf8");

	tcase_add_loop_test(group, cleans, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(group, valid_prefix);
	return run_case("utf8", group);
}
