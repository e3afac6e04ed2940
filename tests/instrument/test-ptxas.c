/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's assembler, where there is one, accepts what comes out. */
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/agent/graft/registers.h"
#include "lib/agent/image/image.h"
#include "tests/instrument/corpus.h"

#define NAME_SIZE 64

static char ptxas[4096];

/* $PTXAS, or the first ptxas on $PATH. */
static int find_ptxas(void)
{
	const char *path = getenv("PATH"), *given = getenv("PTXAS");
	size_t n;

	if (given) {
		snprintf(ptxas, sizeof(ptxas), "%s", given);
		return access(ptxas, X_OK) == 0;
	}
	for (; path && *path; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		snprintf(ptxas, sizeof(ptxas), "%.*s/ptxas", (int)n, path);
		if (n && !access(ptxas, X_OK))
			return 1;
	}
	return 0;
}

/* For linking: functions may be missing.  The code is then in the file `out`. */
static int assemble_to(char out[NAME_SIZE], const char *text, const char *arch, int for_linking)
{
	char file[] = "/tmp/test-ptxas-XXXXXX", option[32];
	int fd = mkstemp(file), status = -1;
	pid_t pid;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	snprintf(out, NAME_SIZE, "%s.cubin", file);
	snprintf(option, sizeof(option), "-arch=%s", arch);
	pid = fork();
	if (!pid) {
		execl(ptxas, "ptxas", option, "-w", file, "-o", out, for_linking ? "-c" : NULL, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	unlink(file);
	return status;
}

static int assemble_as(const char *text, const char *arch, int for_linking)
{
	char out[NAME_SIZE];
	int status = assemble_to(out, text, arch, for_linking);

	unlink(out);
	return status;
}

static int assemble(const char *text, const char *arch)
{
	return assemble_as(text, arch, 0);
}

static const struct gt_probe every[] = {
	{ GT_POINT_ENTRY, GT_PER_BLOCK, 0, 0, "probe", "*", NULL, 0 },
	{ GT_POINT_EXIT, GT_PER_GROUP, 1, GT_PROBE_WANTS_PARAMS, "probe", "*", NULL, 1 },
	{ GT_POINT_LOAD, GT_PER_THREAD, 2, 0, "probe", "*", NULL, 2 },
	{ GT_POINT_STORE, GT_PER_WARP, 3, GT_PROBE_WANTS_PARAMS, "probe", "*", NULL, 3 },
	{ GT_POINT_ATOMIC, GT_PER_THREAD, 4, 0, "probe", "*", NULL, 4 },
	{ GT_POINT_INST, GT_PER_THREAD, 5, 0, "probe", "*", "*", 5 },
	{ GT_POINT_BLOCK, GT_PER_THREAD, 6, 0, "probe", "*", NULL, 6 },
};

/* Short enough to be written out, with a label that kernels may have too. */
static const char short_probe[] =
	".visible .func probe(.param .b64 l, .param .b64 d, .param .b64 h, .param .b32 k,\n"
	"\t.param .b64 p, .param .b64 a, .param .b32 s, .param .b32 c)\n{\n"
	"\t.reg .b64 %rd<4>; .reg .b32 %r<3>; .reg .pred %p<2>;\n"
	"\tld.param.b64 %rd1, [a]; ld.param.b32 %r1, [s]; ld.param.b64 %rd2, [p];\n"
	"\tsetp.eq.u64 %p1, %rd2, %rd1; @%p1 bra $L__BB0_2; ld.param.b64 %rd3, [d];\n"
	"\tred.global.add.u64 [%rd3], %rd1; red.global.add.u32 [%rd3+8], %r1;\n"
	"$L__BB0_2:\n\tret;\n}\n";

/* Works something out that is the same at all places of a kernel. */
static const char place_probe[] =
	".visible .func probe(.param .b64 l, .param .b64 d, .param .b64 h, .param .b32 k,\n"
	"\t.param .b64 p, .param .b64 a, .param .b32 s, .param .b32 c)\n{\n"
	"\t.reg .b32 %r<12>; .reg .b64 %rd<4>;\n"
	"\tmov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r1, %r2, %r3;\n"
	"\tmov.u32 %r5, %laneid; shl.b32 %r6, %r4, 3; and.b32 %r7, %r6, 0xfff; add.u32 %r8, %r7, %r5;\n"
	"\tld.param.b64 %rd1, [d]; mul.wide.u32 %rd2, %r8, 8; add.s64 %rd3, %rd1, %rd2;\n"
	"\tred.global.add.u64 [%rd3], 1;\n\tret;\n}\n";

static void check_with(const struct corpus_file *file, const char *probe_text, const struct gt_probe *which,
		       unsigned probes)
{
	char *text = corpus_load(file), *out = instrument_with(text, probe_text, which, probes);
	unsigned i;

	for (i = 0; i < 2 && file->archs[i]; i++)
		ck_assert_msg(assemble(out, file->archs[i]) == 0, "%s for %s", file->name, file->archs[i]);
	free(text);
	free(out);
}

static void check(const struct corpus_file *file, const char *probe_text, unsigned probes)
{
	check_with(file, probe_text, every, probes);
}

/* Sums up calls and bytes. */
static const char sums_probe[] =
	".visible .func probe(.param .b64 l, .param .b64 d, .param .b64 h, .param .b32 k,\n"
	"\t.param .b64 p, .param .b64 a, .param .b32 s, .param .b32 c)\n{\n"
	"\t.reg .b32 %r<4>; .reg .b64 %rd<8>;\n"
	"\tmov.u32 %r1, %smid; shl.b32 %r2, %r1, 7; and.b32 %r3, %r2, 32640; cvt.u64.u32 %rd1, %r3;\n"
	"\tld.param.u64 %rd2, [d]; add.s64 %rd3, %rd2, %rd1; mov.u64 %rd4, 1;\n"
	"\tred.relaxed.gpu.global.add.u64 [%rd3], %rd4; ld.param.u32 %rd5, [s]; add.s64 %rd6, %rd3, 8;\n"
	"\tred.relaxed.gpu.global.add.u64 [%rd6], %rd5; red.relaxed.gpu.global.add.u32 [%rd3+16], 3;\n\tret;\n}\n";

START_TEST(every_point_with_sums)
{
	struct gt_probe probes[7];

	memcpy(probes, every, sizeof(probes));
	for (unsigned i = 0; i < 7; i++)
		probes[i].flags |= GT_PROBE_ADDS_LATER;
	check_with(&corpus[_i], sums_probe, probes, 7);
}
END_TEST

START_TEST(entry_and_exit)
{
	check(&corpus[_i], PROBE("probe"), 2);
}
END_TEST

START_TEST(every_point)
{
	check(&corpus[_i], PROBE("probe"), 7);
}
END_TEST

START_TEST(every_point_written_out)
{
	check(&corpus[_i], short_probe, 7);
}
END_TEST

START_TEST(every_point_with_numbers)
{
	check(&corpus[_i], place_probe, 7);
}
END_TEST

START_TEST(every_point_in_copies)
{
	in_copies = 1;
	check(&corpus[_i], short_probe, 7);
}
END_TEST

/* The way to the parameters before PTX 7.7. */
START_TEST(copied_parameters)
{
	char *out = instrument(".version 6.0\n.target sm_75\n.address_size 64\n"
			       ".entry k(.param .u32 a, .param .align 4 .b8 s[15], .param .u64 c)\n"
			       "{ .reg .pred %p; .reg .b32 %r; ld.param.u32 %r, [a]; setp.eq.u32 %p, %r, 3; @%p ret; }\n",
			       every, 2);

	ck_assert_int_eq(assemble(out, "sm_75"), 0);
	free(out);
}
END_TEST

/* Probes that use what only newer targets have are linked to older modules, which stay what they are. */
START_TEST(older_targets)
{
	static const char probe[] = PROBE("probe");
	char *out = instrument(".version 5.0\n.target sm_52\n.address_size 64\n"
			       ".entry k(.param .u64 a)\n"
			       "{ .reg .pred %p; .reg .b32 %r; .reg .b64 %a; ld.param.u64 %a, [a]; ld.global.u32 %r, [%a];\n"
			       "shfl.down.b32 %r, %r, 1, 31; st.global.u32 [%a], %r; ret; }\n", every, 7);
	char alone[sizeof(GT_PTX_PROBES_HEADER) + sizeof(probe)];

	ck_assert_ptr_nonnull(strstr(out, ".target sm_52"));
	ck_assert_ptr_null(strstr(out, ".visible .func probe"));
	ck_assert_int_eq(assemble_as(out, "sm_90", 1), 0);
	strcpy(stpcpy(alone, GT_PTX_PROBES_HEADER), probe);
	ck_assert_int_eq(assemble_as(alone, "sm_90", 1), 0);
	free(out);
}
END_TEST

/* LDS.128: opcode 0x984, with 6 in bits 73 to 75. */
static unsigned count_wide(const uint64_t *words, size_t bytes)
{
	unsigned count = 0;

	for (size_t i = 0; i < bytes / 16; i++)
		count += (words[2 * i] & 0xfff) == 0x984 && (words[2 * i + 1] >> 9 & 7) == 6;
	return count;
}

/* In the code of the kernel. */
static unsigned wide_loads(const char *text, const char *arch, int for_linking, const char *kernel)
{
	char out[NAME_SIZE], name[NAME_SIZE];
	Elf_Scn *section = NULL;
	unsigned count = 0;
	size_t names;
	GElf_Shdr header;
	Elf_Data *data;
	Elf *elf;
	int fd;

	ck_assert_int_eq(assemble_to(out, text, arch, for_linking), 0);
	snprintf(name, sizeof(name), ".text.%s", kernel);
	elf_version(EV_CURRENT);
	fd = open(out, O_RDONLY | O_CLOEXEC);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	ck_assert_int_eq(elf_getshdrstrndx(elf, &names), 0);
	while ((section = elf_nextscn(elf, section))) {
		ck_assert_ptr_nonnull(gelf_getshdr(section, &header));
		if (strcmp(elf_strptr(elf, names, header.sh_name), name))
			continue;
		data = elf_rawdata(section, NULL);
		count += count_wide(data->d_buf, data->d_size);
	}
	elf_end(elf);
	close(fd);
	unlink(out);
	return count;
}

/*
 * The driver compiles for linking, and then knows of shared memory only what is said of
 * its alignment: a row of 16 floats would be loaded one by one.  The loop over rows is unrolled
 * eight times.
 */
START_TEST(rows_are_loaded_as_before)
{
	static const struct corpus_file file = { .name = "tiles.ptx" };
	static const struct gt_probe entry = { .function = "probe", .kernel = "*" };
	const char *arch = _i ? "sm_90" : "sm_75";
	char *text = corpus_load(&file), *out;

	in_copies = 1;
	out = instrument(text, &entry, 1);
	in_copies = 0;
	ck_assert_uint_eq(wide_loads(text, arch, 0, "tiles"), 8 * 16 / 4);
	ck_assert_uint_eq(wide_loads(text, arch, 1, "tiles"), 0);
	ck_assert_uint_eq(wide_loads(out, arch, 1, "tiles"), 8 * 16 / 4);
	ck_assert_uint_eq(wide_loads(out, arch, 1, "tiles" COPY), 8 * 16 / 4);
	free(text);
	free(out);
}
END_TEST

struct needs {
	const char *kernel;
	unsigned registers, local_bytes;
};

static int note_needs(void *data, const struct gt_cubin_kernel *code)
{
	struct needs *needs = data;

	if (strcmp(code->name, needs->kernel))
		return 0;
	needs->registers = code->registers;
	needs->local_bytes = code->local_bytes;
	return 1;
}

/* What the kernel takes, compiled for sm_90. */
static struct needs needs_of(const char *text, int for_linking, const char *kernel)
{
	struct needs needs = { .kernel = kernel };
	char out[NAME_SIZE], *code = calloc(1, 1 << 20);
	const char *why;
	size_t size;
	FILE *file;

	ck_assert_int_eq(assemble_to(out, text, "sm_90", for_linking), 0);
	file = fopen(out, "rb");
	ck_assert_ptr_nonnull(file);
	size = fread(code, 1, 1 << 20, file);
	fclose(file);
	unlink(out);
	ck_assert_int_eq(gt_cubin_kernels(code, size, note_needs, &needs, &why), 1);
	free(code);
	return needs;
}

/* As many blocks at a time as of the program's own machine code. */
START_TEST(as_few_registers_as_before)
{
	static const struct corpus_file file = { .name = "bins.ptx" };
	static const struct gt_probe entry = { .function = "probe", .kernel = "*" };
	static const unsigned which[] = { 0 };
	struct gt_ptx_plan plan = { .kernel_id = 1, .probes = which, .probe_count = 1, .copy = "bins" COPY };
	char *text = corpus_load(&file), *out;
	unsigned own = needs_of(text, 0, "bins").registers, linked, copy;
	struct gt_ptx *ptx = parse(text);
	struct gt_ptx_error error;
	struct needs needs;
	size_t length;

	ck_assert_int_eq(gt_ptx_instrument(ptx, place_probe, &entry, 1, &plan, &out, &length, &error), 0);
	linked = needs_of(out, 1, "bins").registers;
	copy = needs_of(out, 1, "bins" COPY).registers;
	free(out);
	ck_assert_uint_gt(linked, own);
	plan.max_registers = gt_registers_alike(own, linked, copy);
	plan.own_max_registers = gt_registers_alike(own, linked, linked);
	ck_assert_int_eq(gt_ptx_instrument(ptx, place_probe, &entry, 1, &plan, &out, &length, &error), 0);
	needs = needs_of(out, 1, "bins");
	ck_assert_uint_le(needs.registers, (own + 7) / 8 * 8);
	ck_assert_uint_eq(needs.local_bytes, 0);
	needs = needs_of(out, 1, "bins" COPY);
	ck_assert_uint_le(needs.registers, (own + (copy > linked ? copy - linked : 0) + 7) / 8 * 8);
	ck_assert_uint_eq(needs.local_bytes, 0);
	gt_ptx_free(ptx);
	free(text);
	free(out);
}
END_TEST

START_TEST(a_fault_is_seen)	/* the check itself works */
{
	ck_assert_int_ne(assemble(".version 8.0\n.target sm_75\n.entry k { rot; }\n", "sm_75"), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("ptxas");

	if (!find_ptxas()) {
		printf("skipped: no ptxas in $PATH or $PTXAS\n");
		return 77;
	}
	tcase_add_test(tcase, a_fault_is_seen);
	tcase_add_loop_test(tcase, entry_and_exit, 0, CORPUS_COUNT);
	tcase_add_loop_test(tcase, every_point, 0, CORPUS_COUNT);
	tcase_add_loop_test(tcase, every_point_written_out, 0, CORPUS_COUNT);
	tcase_add_loop_test(tcase, every_point_with_numbers, 0, CORPUS_COUNT);
	tcase_add_loop_test(tcase, every_point_with_sums, 0, CORPUS_COUNT);
	tcase_add_loop_test(tcase, every_point_in_copies, 0, CORPUS_COUNT);
	tcase_add_test(tcase, copied_parameters);
	tcase_add_test(tcase, older_targets);
	tcase_add_loop_test(tcase, rows_are_loaded_as_before, 0, 2);
	tcase_add_test(tcase, as_few_registers_as_before);
	return run_case("ptxas", tcase);
}
