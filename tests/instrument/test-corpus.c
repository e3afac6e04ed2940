/* SPDX-License-Identifier: Apache-2.0 */
/* Real modules: every point found, everything else left as it was. */
#include "tests/instrument/corpus.h"

static void check_count(const struct corpus_file *file, const char *text, uint32_t point,
			unsigned expected)
{
	const struct gt_probe probe = { .point = point, .function = "probe", .kernel = "*", .opcode = "*" };
	char *out = instrument(text, &probe, 1);

	ck_assert_msg(count_of(out, "call probe,") == expected, "%s, point %u: %u, not %u", file->name,
		      point, count_of(out, "call probe,"), expected);
	free(out);
}

START_TEST(counts)
{
	const struct corpus_file *file = &corpus[_i];
	char *text = corpus_load(file);

	check_count(file, text, GT_POINT_ENTRY, file->kernels);
	check_count(file, text, GT_POINT_EXIT, file->exits);
	check_count(file, text, GT_POINT_LOAD, file->loads);
	check_count(file, text, GT_POINT_STORE, file->stores);
	check_count(file, text, GT_POINT_ATOMIC, file->atomics);
	free(text);
}
END_TEST

static void cut_range(char *from, const char *to)
{
	memmove(from, to, strlen(to) + 1);
}

/* Cuts out everything from `from` up to and with `to`. */
static void cut(char *text, const char *from, const char *to)
{
	char *at = strstr(text, from), *end;

	if (!at)
		return;
	end = strstr(at, to);
	ck_assert_ptr_nonnull(end);
	cut_range(at, end + strlen(to));
}

/* A place of probes ends in a label; what fills the shared variable, in a store of the kernel's id. */
static void cut_sites(char *text)
{
	static const char begin[] = "{\n\t.reg .pred %__gt_p;", off[] = "\n__gt_off:\n\t}",
			  store[] = "st.shared.b32 [__gt_shared+32],";
	char *at = text, *end, *fill;

	while ((at = strstr(at, begin))) {
		end = strstr(at, off);
		fill = strstr(at, store);
		if (fill && (!end || fill < end))
			cut_range(at, strchr(fill, '}') + 1);
		else
			cut_range(at, end + strlen(off));
	}
}

/* Of variables in shared memory, which may be raised. */
static void cut_alignments(char *text)
{
	static const char said[] = ".shared .align ";
	char *at = text;

	while ((at = strstr(at, said))) {
		at += strlen(said);
		cut_range(at, at + strspn(at, "0123456789"));
	}
}

/* Leaves out blanks and parentheses (a kernel may have had no list at all). */
static void squeeze(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (!strchr(" \t\n()", *text))
			*to++ = *text;
	*to = '\0';
}

START_TEST(the_rest_is_untouched)
{
	static const struct gt_probe probes[] = {
		{ GT_POINT_ENTRY, GT_PER_BLOCK, 0, 0, "probe", "*", NULL, 0 },
		{ GT_POINT_EXIT, GT_PER_GROUP, 1, 0, "probe", "*", NULL, 1 },
		{ GT_POINT_LOAD, GT_PER_THREAD, 2, 0, "probe", "*", NULL, 2 },
		{ GT_POINT_STORE, GT_PER_WARP, 3, 0, "probe", "*", NULL, 3 },
		{ GT_POINT_ATOMIC, GT_PER_THREAD, 4, 0, "probe", "*", NULL, 4 },
		{ GT_POINT_INST, GT_PER_THREAD, 5, 0, "probe", "*", "*", 5 },
		{ GT_POINT_BLOCK, GT_PER_THREAD, 6, 0, "probe", "*", NULL, 6 },
	};
	static const char hidden[] = "\t.param .align 8 .b8 __gt_launch[24]\n";
	char *text = corpus_load(&corpus[_i]), *out = instrument(text, probes, 7), *at;

	cut(out, ".shared .align 16 .b8 __gt_shared", ";\n");
	cut(out, ".func probe(", "\tret;\n}\n");
	while ((at = strstr(out, hidden)))
		cut_range(at - (at[-2] == ',' ? 2 : 0), at + strlen(hidden));
	cut_sites(out);
	cut_alignments(text);
	cut_alignments(out);
	at = strstr(text, ".version 6.0");
	if (at)
		memcpy(at, ".version 6.3", 12);
	squeeze(text);
	squeeze(out);
	ck_assert_str_eq(text, out);
	free(text);
	free(out);
}
END_TEST

START_TEST(the_result_parses)
{
	static const struct gt_probe probe = { GT_POINT_LOAD, GT_PER_THREAD, 2, 0, "probe", "*", NULL, 2 };
	char *text = corpus_load(&corpus[_i]), *out = instrument(text, &probe, 1);
	struct gt_ptx *before = parse(text), *after = parse(out);
	unsigned k;

	ck_assert_uint_eq(gt_ptx_kernel_count(before), corpus[_i].kernels);
	ck_assert_uint_eq(gt_ptx_kernel_count(after), corpus[_i].kernels);
	for (k = 0; k < corpus[_i].kernels; k++) {
		const struct gt_ptx_kernel *a = gt_ptx_kernel(before, k), *b = gt_ptx_kernel(after, k);

		ck_assert_str_eq(a->name, b->name);
		ck_assert_uint_eq(b->param_count, a->param_count + 1);
		ck_assert_uint_eq(b->params[a->param_count].offset, a->hidden_offset);
		ck_assert_uint_eq(b->param_bytes, a->hidden_offset + 24);
		ck_assert_uint_eq(a->exits, b->exits);
		ck_assert_ptr_null(a->refusal);
		ck_assert_ptr_nonnull(b->refusal);
	}
	gt_ptx_free(before);
	gt_ptx_free(after);
	free(text);
	free(out);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("corpus");

	tcase_add_loop_test(tcase, counts, 0, CORPUS_COUNT);
	tcase_add_loop_test(tcase, the_rest_is_untouched, 0, CORPUS_COUNT);
	tcase_add_loop_test(tcase, the_result_parses, 0, CORPUS_COUNT);
	return run_case("corpus", tcase);
}
