/* SPDX-License-Identifier: Apache-2.0 */
/* What the text says of a kernel and its variables: registers, alignment, target. */
#include "tests/instrument/common.h"

/* Of the copy, and of the kernel beside it. */
START_TEST(registers_are_limited)
{
	static const unsigned which[] = { 0 };
	const struct gt_ptx_plan plan = {
		.kernel_id = 1, .probes = which, .probe_count = 1, .copy = "k2", .max_registers = 40, .own_max_registers = 32,
	};
	struct gt_probe probe = probe_at(GT_POINT_ENTRY);
	char *out = weave_with(HEADER ".entry k() .maxntid 128 { ret; }", &probe, 1, &plan, 0, NULL);

	ck_assert_msg(strstr(out, ".entry k() .maxntid 128 .maxnreg 32\n{") != NULL, "%s", out);
	ck_assert_msg(strstr(strstr(out, ".entry k2"), " .maxntid 128 .maxnreg 40\n{") != NULL, "%s", out);
	free(out);
	out = weave_with(HEADER ".entry k() .maxnreg 64 { ret; }", &probe, 1, &plan, 0, NULL);
	ck_assert_uint_eq(count_of(out, ".maxnreg"), 2);	/* its own */
	free(out);
}
END_TEST

/* Arrays in shared memory that fill whole 16 bytes, and those that the launch gives a size. */
static const struct {
	const char *said, *becomes;
} alignments[] = {
	{ ".shared .align 4 .b8 s[64];", ".shared .align 16 .b8 s[64];" },
	{ ".shared .align 4 .f32 s[2][2];", ".shared .align 16 .f32 s[2][2];" },
	{ ".shared .align 8 .v2 .f32 s[2];", ".shared .align 16 .v2 .f32 s[2];" },
	{ ".shared\t.align /* */ 0x2 .b8 s[0x10];", ".shared\t.align /* */ 16 .b8 s[0x10];" },
	{ ".shared .align 4 .b8 s[32], t[16];", ".shared .align 16 .b8 s[32], t[16];" },
	{ ".shared .align 4 .b32 s[2*8][4];", ".shared .align 16 .b32 s[2*8][4];" },
	{ ".shared .align 4 .b8 s[60];", NULL },
	{ ".shared .align 4 .b32 s;", NULL },
	{ ".shared .align 4 .b8 s[32], t[4];", NULL },
	{ ".shared .align 4 .b8 s[4*4];", NULL },	/* not worked out */
	{ ".shared .align 32 .b8 s[32];", NULL },
	{ ".shared .align 4 .v4 .b32 s[2];", NULL },	/* as it is of itself */
	{ ".shared .align 16 .b8 s[32];", NULL },
	{ ".shared .b8 s[32];", NULL },
	{ ".local .align 4 .b8 s[32];", NULL },
};

/* Within a kernel, and once more in its copy. */
START_TEST(shared_memory_is_aligned)
{
	const char *said = alignments[_i].said, *becomes = alignments[_i].becomes;
	struct gt_probe probe = probe_at(GT_POINT_ENTRY);
	char text[512], *out;

	snprintf(text, sizeof(text), HEADER ".entry k {%s ret; }", said);
	in_copies = 1;
	out = instrument(text, &probe, 1);
	in_copies = 0;
	ck_assert_msg(count_of(out, becomes ? becomes : said) == 2, "%s", out);
	free(out);
}
END_TEST

START_TEST(launched_shared_memory_is_aligned)
{
	struct gt_probe probe = probe_at(GT_POINT_ENTRY);
	char *out = instrument(HEADER ".extern .shared .align 4 .b8 d[];\n.global .align 4 .b8 g[16];\n.entry k { ret; }",
			       &probe, 1);

	ck_assert_ptr_nonnull(strstr(out, ".extern .shared .align 16 .b8 d[];\n.global .align 4 .b8 g[16];\n.entry k"));
	free(out);
}
END_TEST

START_TEST(target_and_features_are_kept)
{
	static const char header[] = "// x\n.version 8.5\n.target sm_90a, debug\n.address_size 64\n";
	struct gt_probe probe = probe_at(GT_POINT_ENTRY);
	char text[256], *out;

	snprintf(text, sizeof(text), "%s.entry k { ret; }", header);
	out = instrument(text, &probe, 1);
	ck_assert_int_eq(strncmp(out, header, strlen(header)), 0);
	ck_assert_int_eq(strncmp(out + strlen(header) - 1, "\n\n.func probe", 13), 0);
	free(out);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("directives");

	tcase_add_test(tcase, registers_are_limited);
	LOOP(shared_memory_is_aligned, alignments);
	tcase_add_test(tcase, launched_shared_memory_is_aligned);
	tcase_add_test(tcase, target_and_features_are_kept);
	return run_case("directives", tcase);
}
