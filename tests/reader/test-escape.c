/* SPDX-License-Identifier: Apache-2.0 */
/* Text of a traced program, made fit for a terminal. */
#include <check.h>
#include <gputrace/gputrace.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"

static const char *escape(const char *text)
{
	static char buffer[256];

	ck_assert_uint_eq(gputrace_escape(text, buffer, sizeof(buffer)), strlen(buffer));
	return buffer;
}

START_TEST(what_can_be_shown_stays)
{
	ck_assert_str_eq(escape("void f<int, 3>(char*) \\ 100%"), "void f<int, 3>(char*) \\ 100%");
	ck_assert_str_eq(escape("gr\u00f6\u00dfe \u2192 \U0001f680 \u00a0"), "gr\u00f6\u00dfe \u2192 \U0001f680 \u00a0");
	ck_assert_str_eq(escape(""), "");
	ck_assert_str_eq(escape(NULL), "");
}
END_TEST

START_TEST(what_a_terminal_obeys_does_not)
{
	ck_assert_str_eq(escape("\033[2J\a\b\r\n\t\x7f"), "\\x1b[2J\\x07\\x08\\x0d\\x0a\\x09\\x7f");
	/* CSI in its one-character form, as UTF-8 and as a bare byte. */
	ck_assert_str_eq(escape("a\xc2\x9b" "31mb"), "a\\xc2\\x9b31mb");
	ck_assert_str_eq(escape("a\x9b" "31mb"), "a\\x9b31mb");
	/* Right-to-left override. */
	ck_assert_str_eq(escape("a\u202eb"), "a\\xe2\\x80\\xaeb");
}
END_TEST

START_TEST(what_is_no_text_does_not)
{
	ck_assert_str_eq(escape("\xff" "a\xc3"), "\\xffa\\xc3");
	ck_assert_str_eq(escape("\xe2\x82"), "\\xe2\\x82");	/* the euro sign without its end */
	ck_assert_str_eq(escape("\xc0\xaf"), "\\xc0\\xaf");	/* a slash, too long */
	ck_assert_str_eq(escape("\xed\xa0\x80"), "\\xed\\xa0\\x80");	/* half a pair */
}
END_TEST

START_TEST(what_does_not_fit_is_left_out_whole)
{
	char buffer[8];

	memset(buffer, 'x', sizeof(buffer));
	ck_assert_uint_eq(gputrace_escape("ab\033cd", buffer, 6), 8);
	ck_assert_str_eq(buffer, "ab");
	ck_assert_uint_eq(gputrace_escape("ab\033cd", buffer, 7), 8);
	ck_assert_str_eq(buffer, "ab\\x1b");
	ck_assert_uint_eq(gputrace_escape("a\u2192", buffer, 4), 4);
	ck_assert_str_eq(buffer, "a");
	ck_assert_uint_eq(gputrace_escape("abc", NULL, 0), 3);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("escape");

	tcase_add_test(tcase, what_can_be_shown_stays);
	tcase_add_test(tcase, what_a_terminal_obeys_does_not);
	tcase_add_test(tcase, what_is_no_text_does_not);
	tcase_add_test(tcase, what_does_not_fit_is_left_out_whole);
	return run_case("escape", tcase);
}
