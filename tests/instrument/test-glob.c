/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns for opcodes and names. */
#include <check.h>
#include <string.h>

#include "lib/util/glob.h"
#include "tests/suite.h"

static const struct {
	const char *pattern, *text;
	bool matches, with_sets;
} cases[] = {
	{ "ld.*", "ld.global.u32", true, true },
	{ "l?.*", "ld.global.u32", true, true },
	{ "", "", true, true },
	{ "*", "", true, true },
	{ "?", "", false, false },
	/* bpftime's accesses of memory */
	{ "[ls][dt].*", "ld.global.u32", false, true },
	{ "[ls][dt].*", "st.shared.v4.f32", false, true },
	{ "[ls][dt].*", "atom.global.add.u32", false, false },
	{ "[ls][dt].*", "ld", false, false },
	{ "[ls][dt].*", "ldu.global.u32", false, false },
	{ "[ls][dt].*", "[ls][dt].global", true, false },
	{ "a[b-d]e", "ace", false, true },
	{ "a[b-d]e", "aee", false, false },
	{ "a[b-d]e", "a-e", false, false },
	{ "a[!b-d]e", "aee", false, true },
	{ "a[!b-d]e", "ace", false, false },
	{ "a[^b-d]e", "ace", false, false },
	{ "a[!b]", "a", false, false },
	{ "[a-cx-z]", "y", false, true },
	{ "[a-cx-z]", "m", false, false },
	/* '-' at an edge and ']' in front are members */
	{ "[a-]", "-", false, true },
	{ "[-a]", "-", false, true },
	{ "[]a]", "]", false, true },
	{ "[]a]", "a", false, true },
	{ "[!]a]", "b", false, true },
	{ "[!]a]", "]", false, false },
	/* '*' and '?' are none inside */
	{ "[*]", "x", false, false },
	{ "[?]b", "?b", false, true },
	/* nothing closes it */
	{ "[ab", "[ab", true, true },
	{ "[ab", "a", false, false },
	{ "[", "[", true, true },
	{ "[]", "[]", true, true },
	{ "[!", "[!", true, true },
	{ "[a-", "[a-", true, true },
	/* after a star */
	{ "*[0-9]", "u32", false, true },
	{ "*[0-9]x", "u32", false, false },
	{ "*.[us]32*", "cvt.s16.u32.rn", false, true },
	{ "k(int(&)[4])", "k(int(&)[4])", true, false },
	{ "[\x80-\xff]", "\xc3", false, true },
};

START_TEST(match)
{
	const char *pattern = cases[_i].pattern, *text = cases[_i].text;

	ck_assert_msg(gt_glob(pattern, text, strlen(text)) == cases[_i].matches, "'%s' on '%s'", pattern, text);
	ck_assert_msg(gt_glob_sets(pattern, text, strlen(text)) == cases[_i].with_sets, "'%s' on '%s', with sets",
		      pattern, text);
}
END_TEST

/* The text need not end where its length says. */
START_TEST(length)
{
	ck_assert(gt_glob_sets("[ls]d", "ld.global", 2));
	ck_assert(!gt_glob_sets("[ls]d", "ld.global", 3));
	ck_assert(!gt_glob_sets("l[d]", "ld", 1));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("glob");

	tcase_add_loop_test(tcase, match, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tcase, length);
	return run_case("glob", tcase);
}
