/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callers found in copies of this process's own stack: against what the functions know of
 * where they return to, and when registers, stack and files say anything.
 */
#include <check.h>
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <gputrace/gputrace.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/symbol/expression.h"
#include "lib/symbol/process.h"
#include "lib/symbol/rules.h"
#include "lib/symbol/unwind.h"
#include "lib/util/mappings.h"
#include "tests/suite.h"

#define COPY 8192
#define FRAMES 64

static struct gputrace_symbolizer *symbolizer;

/* What was copied where the innermost function was. */
static struct gt_stack_registers registers;
static uint8_t copy[COPY];

static struct gt_mappings mappings;	/* our own, as they are while stacks are looked into */
static uint64_t frames[FRAMES];
static unsigned count;
static int end;

static void setup(void)
{
	ck_assert_int_eq(gputrace_symbolizer_new(NULL, &symbolizer), 0);
}

static void teardown(void)
{
	gputrace_symbolizer_unref(symbolizer);
	gt_mappings_free(&mappings);
}

static void unwind(const struct gt_stack_registers *from, const uint8_t *bytes, size_t size, unsigned max)
{
	count = gt_symbolizer_unwind(symbolizer, getpid(), gt_symbol_now(), from, bytes, size, frames, max, &end);
}

/* ---- a stack of which is known what it holds ---- */

/*
 * Notes the registers as they are in its caller once it has returned, and copies what
 * is on the stack there.  No sanitizer looks: it is more than one function's.
 */
void note_registers(struct gt_stack_registers *registers);
asm(".text\n"
    "note_registers:\n"
    "	mov (%rsp), %rax\n"
    "	mov %rax, (%rdi)\n"
    "	lea 8(%rsp), %rax\n"
    "	mov %rax, 8(%rdi)\n"
    "	mov %rbx, 16(%rdi)\n"
    "	mov %rbp, 24(%rdi)\n"
    "	mov %r12, 32(%rdi)\n"
    "	mov %r13, 40(%rdi)\n"
    "	mov %r14, 48(%rdi)\n"
    "	mov %r15, 56(%rdi)\n"
    "	ret\n");

__attribute__((no_sanitize("address"))) static void copy_stack(void)
{
	for (size_t i = 0; i < COPY; i += 8)
		*(uint64_t *)(void *)(copy + i) = *(volatile uint64_t *)(uintptr_t)(registers.sp + i);
}

#define NOINLINE __attribute__((noinline))
#define HERE __asm__ volatile("" ::: "memory")
#define RETURNS_TO ((uint64_t)(uintptr_t)__builtin_return_address(0))

static uint64_t returns_to[3];

static NOINLINE void inner(void)
{
	returns_to[0] = RETURNS_TO;
	note_registers(&registers);
	copy_stack();
	HERE;
}

static NOINLINE void middle(void)
{
	returns_to[1] = RETURNS_TO;
	inner();
	HERE;
}

/* Enough room above for all of the copy. */
static NOINLINE void outer(void)
{
	volatile uint8_t room[2 * COPY];

	room[0] = 1;
	returns_to[2] = RETURNS_TO;
	middle();
	room[1] = room[0];
}

START_TEST(callers_are_those_that_called)
{
	outer();
	unwind(&registers, copy, COPY, FRAMES);
	ck_assert_uint_eq(count, 3);
	ck_assert_uint_eq(frames[0], registers.pc);
	ck_assert_uint_eq(frames[1], returns_to[0]);
	ck_assert_uint_eq(frames[2], returns_to[1]);
	/* outer() has more on the stack than was copied. */
	ck_assert_int_eq(end, GPUTRACE_STACK_CUT);
	unwind(&registers, copy, COPY, 2);
	ck_assert_uint_eq(count, 2);
	ck_assert_int_eq(end, GPUTRACE_STACK_FULL);
	unwind(&registers, copy, 0, FRAMES);
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(end, GPUTRACE_STACK_CUT);
	unwind(&registers, copy, COPY, 0);
	ck_assert_uint_eq(count, 0);
}
END_TEST

/* ---- registers and stacks that say anything ---- */

/* Code in memory without a file, and so without call frame information. */
static uint64_t made_code(const uint8_t *code, size_t size)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(page, MAP_FAILED);
	memcpy(page, code, size);
	ck_assert_int_eq(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
	return (uintptr_t)page + 1;
}

static const uint8_t no_exit[] = { 0x90, 0x90 };

/* Each frame pointer leads to itself, or back down; or the code adds nothing to the stack pointer. */
START_TEST(no_stack_goes_round_in_circles)
{
	uint64_t pc = made_code(no_exit, sizeof(no_exit)), words[4] = { 0x10000, pc, 0x10000, pc };
	struct gt_stack_registers from = { .pc = pc, .sp = 0x10000, .rbp = 0x10000 };

	unwind(&from, (uint8_t *)words, sizeof(words), FRAMES);
	ck_assert_uint_eq(count, 2);
	ck_assert_int_eq(end, GPUTRACE_STACK_LOST);
	words[0] = 0x10010;
	unwind(&from, (uint8_t *)words, sizeof(words), FRAMES);
	ck_assert_uint_eq(count, 3);
	ck_assert_int_eq(end, GPUTRACE_STACK_LOST);
	words[2] = 0;
	unwind(&from, (uint8_t *)words, sizeof(words), FRAMES);
	ck_assert_uint_eq(count, 3);
	ck_assert_int_eq(end, GPUTRACE_STACK_COMPLETE);
}
END_TEST

/* add $16,%rsp; pop %rbp; ret: at sp 16 bytes, the old rbp, where it returns to. */
START_TEST(code_that_is_about_to_return)
{
	static const uint8_t exits[] = { 0x90, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3 };
	uint64_t next = made_code(no_exit, sizeof(no_exit)), last = next + 16;
	uint64_t words[] = { 0, 0, 0x20020, next, 0, last };
	struct gt_stack_registers from = { .pc = made_code(exits, sizeof(exits)), .sp = 0x20000, .rbp = 4711 };

	unwind(&from, (uint8_t *)words, sizeof(words), FRAMES);
	ck_assert_uint_eq(count, 3);
	ck_assert_uint_eq(frames[0], from.pc);
	ck_assert_uint_eq(frames[1], next);
	ck_assert_uint_eq(frames[2], last);
	ck_assert_int_eq(end, GPUTRACE_STACK_COMPLETE);
}
END_TEST

static uint64_t seed;

static uint64_t random_number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* What would lead on, mostly. */
static uint64_t any_word(void)
{
	switch (random_number() % 8) {
	case 0:
		return random_number();
	case 1:
		return random_number() % 4096;
	case 2:
		return UINT64_MAX - random_number() % 64;
	case 3:
		return registers.pc + random_number() % 64;
	case 4:
		return (uintptr_t)malloc + random_number() % 4096;
	default:
		return registers.sp + random_number() % (COPY + 64);
	}
}

static void read_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(gt_mappings_read(&mappings, f), 0);
	fclose(f);
}

/* Whatever came in: frames in code that the process has, and an end. */
static void assert_sound(const struct gt_stack_registers *from, unsigned max)
{
	ck_assert_uint_ge(count, 1);
	ck_assert_uint_le(count, max);
	ck_assert_uint_eq(frames[0], from->pc);
	for (unsigned i = 1; i < count; i++)
		ck_assert_ptr_nonnull(gt_mappings_find(&mappings, frames[i] - 1));
	ck_assert_int_gt(end, GPUTRACE_STACK_UNKNOWN);
	ck_assert_int_le(end, GPUTRACE_STACK_LOST);
	ck_assert(end != GPUTRACE_STACK_FULL || count == max);
}

START_TEST(any_registers_and_stack)
{
	seed = 0x9e3779b97f4a7c15ull * (unsigned)(_i + 1);
	outer();
	read_mappings();
	for (int round = 0; round < 200; round++) {
		struct gt_stack_registers from = registers;
		uint8_t bytes[COPY];
		unsigned max = 1 + random_number() % FRAMES;

		memcpy(bytes, copy, COPY);
		for (unsigned n = random_number() % 64; n; n--)
			memcpy(bytes + random_number() % (COPY / 8) * 8, &(uint64_t){ any_word() }, 8);
		for (unsigned n = random_number() % 4; n; n--)
			memcpy((uint8_t *)&from + random_number() % (sizeof(from) / 8) * 8, &(uint64_t){ any_word() }, 8);
		unwind(&from, bytes, random_number() % (COPY + 1), max);
		assert_sound(&from, max);
	}
}
END_TEST

/* ---- files that say anything ---- */

struct part {
	uint64_t offset, size;
};

/* The file's bytes, and where its call frame information and its code are. */
static uint8_t *read_library(size_t *ret_size, struct part *ret_rules, struct part *ret_code)
{
	int fd = open(LIBRARY, O_RDONLY | O_CLOEXEC);
	Elf_Scn *section = NULL;
	struct stat status;
	uint8_t *bytes;
	size_t names;
	Elf *elf;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &status), 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	ck_assert_int_eq(elf_getshdrstrndx(elf, &names), 0);
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : "";

		if (!strcmp(name, ".eh_frame"))
			*ret_rules = (struct part){ header.sh_offset, header.sh_size };
		if (!strcmp(name, ".text"))
			*ret_code = (struct part){ header.sh_offset, header.sh_size };
	}
	elf_end(elf);
	*ret_size = (size_t)status.st_size;
	bytes = malloc(*ret_size);
	ck_assert_int_eq(pread(fd, bytes, *ret_size, 0), status.st_size);
	close(fd);
	return bytes;
}

/* As the code of a library that has been loaded; it is never run. */
static uint8_t *map_file(char *path, const uint8_t *bytes, size_t size)
{
	int fd = mkstemp(path);
	uint8_t *code;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
	code = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(code, MAP_FAILED);
	close(fd);
	return code;
}

/* From places all over its code, with bytes changed in its call frame information or anywhere. */
START_TEST(any_file)
{
	struct part rules = { 0 }, code = { 0 }, all;
	size_t size;
	uint8_t *bytes = read_library(&size, &rules, &code), *mapped;
	char path[] = "/tmp/gt-unwind-XXXXXX";

	ck_assert_uint_gt(rules.size, 64);
	ck_assert_uint_gt(code.size, 64);
	seed = 0x9e3779b97f4a7c15ull * (unsigned)(_i + 1);
	all = _i % 4 ? rules : (struct part){ 0, size };
	outer();
	for (unsigned n = 1 + random_number() % 16; _i && n; n--)
		bytes[all.offset + random_number() % all.size] = (uint8_t)random_number();
	mapped = map_file(path, bytes, size);
	read_mappings();
	for (unsigned i = 1; i < code.size; i++) {
		struct gt_stack_registers from = registers;

		from.pc = (uintptr_t)mapped + code.offset + i;
		from.rbp = registers.sp + 64;
		unwind(&from, copy, COPY, FRAMES);
		assert_sound(&from, FRAMES);
	}
	munmap(mapped, size);
	ck_assert_int_eq(unlink(path), 0);
	free(bytes);
}
END_TEST

/* ---- rules ---- */

static Elf *open_elf(const char *path, struct gt_cfi *cfi)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	ck_assert_int_ge(fd, 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	ck_assert_ptr_nonnull(elf);
	ck_assert_int_eq(elf_cntl(elf, ELF_C_FDREAD), 0);
	close(fd);
	ck_assert(gt_cfi_open(cfi, elf));
	return elf;
}

static const unsigned kept[] = { GT_RBX, GT_RBP, GT_R12, GT_R13, GT_R14, GT_R15, GT_PC };

/* elfutils gives operations where we have kinds.  It takes rbx for a register that no function keeps, if nothing is said. */
static void assert_same_rule(const struct gt_rule *rule, Dwarf_Frame *frame, unsigned number, uint64_t address)
{
	Dwarf_Op memory[3], *ops;
	size_t n;
	enum gt_rule_kind kind = GT_RULE_SAVED_AT;

	ck_assert_int_eq(dwarf_frame_register(frame, (int)number, memory, &ops, &n), 0);
	if (!n)
		kind = ops && (number != GT_RBX || rule->kind != GT_RULE_SAME) ? GT_RULE_GONE : GT_RULE_SAME;
	else if (ops == memory)
		kind = ops[0].atom == DW_OP_call_frame_cfa ? GT_RULE_SAVED : GT_RULE_UNKNOWN;
	ck_assert_msg(rule->kind == kind, "register %u at %#lx: %d, not %d", number, (long)address, (int)rule->kind,
		      (int)kind);
	if (kind == GT_RULE_SAVED)
		ck_assert_uint_eq(rule->offset, n == 2 ? ops[1].number : 0);
}

/* All over the C library's code. */
START_TEST(rules_are_those_that_elfutils_reads)
{
	struct gt_cfi cfi;
	struct gt_rules rules;
	Dl_info info;
	Elf *elf;
	Dwarf_CFI *other;
	unsigned compared = 0;

	ck_assert_int_ne(dladdr((void *)(uintptr_t)malloc, &info), 0);
	elf = open_elf(info.dli_fname, &cfi);
	other = dwarf_getcfi_elf(elf);
	ck_assert_ptr_nonnull(other);
	for (uint64_t address = 0x20000; address < 0x1a0000; address += 61) {
		bool found = gt_cfi_find(&cfi, address, &rules);
		Dwarf_Frame *frame = NULL;
		Dwarf_Op *ops;
		size_t n;

		ck_assert_int_eq(found, !dwarf_cfi_addrframe(other, address, &frame));
		if (!found)
			continue;
		ck_assert_int_eq(dwarf_frame_cfa(frame, &ops, &n), 0);
		if (rules.cfa.kind == GT_RULE_SAVED) {
			ck_assert_uint_eq(n, 1);
			ck_assert_int_eq(ops->atom, DW_OP_bregx);
			ck_assert_uint_eq(rules.base, ops->number);
			ck_assert_uint_eq(rules.cfa.offset, ops->number2);
		}
		for (unsigned i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
			assert_same_rule(&rules.of[kept[i]], frame, kept[i], address);
		free(frame);
		compared++;
	}
	ck_assert_uint_gt(compared, 10000);
	dwarf_cfi_end(other);
	elf_end(elf);
}
END_TEST

/* Of each function of hostile-rules.S, behind the instructions. */
START_TEST(rules_that_no_compiler_makes)
{
	static const struct { const char *function; bool found; } functions[] = {
		{ "huge_register", true }, { "large_register", true }, { "deep_states", false }, { "no_state", false },
		{ "known_rules", true },
	};
	void *library = dlopen(HOSTILE, RTLD_NOW);
	struct gt_rules rules;
	struct gt_cfi cfi;
	Elf *elf = open_elf(HOSTILE, &cfi);
	Dl_info info;

	ck_assert_ptr_nonnull(library);
	for (unsigned i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *place = dlsym(library, functions[i].function);

		ck_assert_ptr_nonnull(place);
		ck_assert_int_ne(dladdr(place, &info), 0);
		ck_assert_msg(gt_cfi_find(&cfi, (uint64_t)((char *)place - (char *)info.dli_fbase) + 2, &rules) ==
			      functions[i].found, "%s", functions[i].function);
	}
	ck_assert_uint_eq(rules.base, GT_RSP);
	ck_assert_uint_eq(rules.cfa.offset, 24);
	ck_assert_int_eq(rules.of[GT_PC].kind, GT_RULE_SAVED);
	ck_assert_uint_eq(rules.of[GT_PC].offset, (uint64_t)-8);
	dlclose(library);
	elf_end(elf);
}
END_TEST

/* ---- expressions ---- */

static int evaluate(const char *code, size_t size, uint64_t *ret_value)
{
	static const struct gt_registers known = {
		.value = { [GT_RBP] = 0x1008, [GT_RSP] = 0x1000 }, .known = 1u << GT_RBP | 1u << GT_RSP,
	};
	static const uint64_t words[] = { 11, 22, 33 }, cfa = 0x1010;
	const struct gt_stack stack = { .start = 0x1000, .size = sizeof(words), .bytes = (const uint8_t *)words };

	return gt_expression_evaluate((const uint8_t *)code, size, &known, &cfa, &stack, ret_value);
}

#define CODE(text) text, sizeof(text) - 1

/* 0x76: breg6 (rbp), 0x77: breg7 (rsp), with a signed LEB128; 0x06: deref; 0x30: lit0. */
START_TEST(expressions)
{
	uint64_t value;

	ck_assert_int_eq(evaluate(CODE("\x76\x78\x06"), &value), 0);	/* what is at rbp - 8 */
	ck_assert_uint_eq(value, 11);
	ck_assert_int_eq(evaluate(CODE("\x38\x1c"), &value), 0);	/* cfa - 8 */
	ck_assert_uint_eq(value, 0x1008);
	ck_assert_int_eq(evaluate(CODE("\x77\x80\x01\x1a"), &value), 0);	/* cfa & (rsp + 128) */
	ck_assert_uint_eq(value, 0x1000);
	ck_assert_int_eq(evaluate(CODE("\x09\xf0\x22\x23\x81\x01"), &value), 0);	/* cfa - 16 + 129 */
	ck_assert_uint_eq(value, 0x1081);
	ck_assert_int_eq(evaluate(CODE("\x77\x11\x06"), &value), -ENODATA);	/* at rsp + 17 */
	ck_assert_int_eq(evaluate(CODE("\x77\x7f\x06"), &value), -EFAULT);
	ck_assert_int_eq(evaluate(CODE("\x70\x00"), &value), -EINVAL);	/* rax is not known */
	ck_assert_int_eq(evaluate(CODE("\x8f\x00"), &value), -EINVAL);	/* there is no register 31 */
	ck_assert_int_eq(evaluate(CODE("\x1c"), &value), -EINVAL);	/* minus, of one word */
	ck_assert_int_eq(evaluate(CODE("\x77"), &value), -EINVAL);	/* cut off */
	ck_assert_int_eq(evaluate(CODE("\x77\xff\xff"), &value), -EINVAL);
	ck_assert_int_eq(evaluate(CODE("\x28\xfd\xff"), &value), -EOPNOTSUPP);	/* a branch back */
	ck_assert_int_eq(evaluate(CODE("\x31\x31\x31\x31\x31\x31\x31"), &value), 0);
	ck_assert_int_eq(evaluate(CODE("\x31\x31\x31\x31\x31\x31\x31\x31"), &value), -EINVAL);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("unwind");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, callers_are_those_that_called);
	tcase_add_test(tcase, no_stack_goes_round_in_circles);
	tcase_add_test(tcase, code_that_is_about_to_return);
	tcase_add_loop_test(tcase, any_registers_and_stack, 0, 16);
	tcase_add_loop_test(tcase, any_file, 0, 64);
	tcase_add_test(tcase, rules_are_those_that_elfutils_reads);
	tcase_add_test(tcase, rules_that_no_compiler_makes);
	tcase_add_test(tcase, expressions);
	return run_case("unwind", tcase);
}
