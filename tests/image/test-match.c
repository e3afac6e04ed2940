/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel names: demangled by the Itanium rules, and matched by patterns. */
#include <errno.h>
#include <string.h>

#include "lib/agent/image/demangle.h"
#include "lib/agent/image/image.h"
#include "tests/image/common.h"

/* Mangled by compilers, demangled by c++filt. */
static const struct {
	const char *mangled, *full, *name, *plain;
} names[] = {
	{ "_Z6vecaddPKfS0_Pfi", "vecadd(float const*, float const*, float*, int)", "vecadd", "vecadd" },
	{ "_Z2k2IdEvPT_i", "void k2<double>(double*, int)", "k2<double>", "k2" },
	{ "_Z4fillIfLi128EEv6matrixT_scS0_", "void fill<float, 128>(matrix, float, short, char, matrix)",
	  "fill<float, 128>", "fill" },
	{ "_ZN2ns1kIfLi3ELb1EEEvPT_S2_iPFviE", "void ns::k<float, 3, true>(float*, float*, int, void (*)(int))",
	  "ns::k<float, 3, true>", "ns::k" },
	{ "_ZN45_GLOBAL__N__5b9a9652_12_templates_cu_e22fa7bb6hiddenEPi", "(anonymous namespace)::hidden(int*)",
	  "(anonymous namespace)::hidden", "(anonymous namespace)::hidden" },
	{ "_Z1fRA3_iPFvdE", "f(int (&) [3], void (*)(double))", "f", "f" },
	{ "_Z1fIJifdEEvDpT_", "void f<int, float, double>(int, float, double)", "f<int, float, double>", "f" },
	{ "_Z1fIJEEvDpT_", "void f<>()", "f<>", "f" },
	{ "_Z1fIJifEEvDpRKT_", "void f<int, float>(int const&, float const&)", "f<int, float>", "f" },
	{ "_ZN1AIiE1gIfEEvT_", "void A<int>::g<float>(float)", "A<int>::g<float>", "A<int>::g" },
	{ "_ZNK1A1gEv", "A::g() const", "A::g", "A::g" },
	{ "_Z1fv", "f()", "f", "f" },
	{ "_Z1fz", "f(...)", "f", "f" },
	{ "_Z1fOi", "f(int&&)", "f", "f" },
	{ "_Z1fIRiEvOT_", "void f<int&>(int&)", "f<int&>", "f" },
	{ "_Z1fPVKmS0_", "f(unsigned long const volatile*, unsigned long const volatile*)", "f", "f" },
	{ "_Z1fM1AiMS_FvvE", "f(int A::*, void (A::*)())", "f", "f" },
	{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const", "main::{lambda()#1}::operator()",
	  "main::{lambda()#1}::operator()" },
	{ "_Z1fILin5ELj7EEvv", "void f<-5, 7u>()", "f<-5, 7u>", "f" },
	{ "_Z1fIN2ns1EELS1_2EEvv", "void f<ns::E, (ns::E)2>()", "f<ns::E, (ns::E)2>", "f" },
	{ "_Z1fIXadL_Z1gvEEEvv", "void f<&(g())>()", "f<&(g())>", "f" },
	/* In a substitution a template parameter is that of whoever names it. */
	{ "_Z3genI5StatejXadL_Z4normIPS0_EjT_dEEEvPS3_",
	  "void gen<State, unsigned int, &(unsigned int norm<State*>(State*, double))>(State*)",
	  "gen<State, unsigned int, &(unsigned int norm<State*>(State*, double))>", "gen" },
	{ "_Z1fISt6vectorIiSaIiEEEvT_", "void f<std::vector<int, std::allocator<int>>>(std::vector<int, std::allocator<int> >)",
	  "f<std::vector<int, std::allocator<int>>>", "f" },
	{ "_Z1fIiENSt9enable_ifIXntLb0EEvE4typeET_", "std::enable_if<!(false), void>::type f<int>(int)", "f<int>", "f" },
	{ "_Z1kPfi.part.0", "k(float*, int)", "k", "k" },
	{ "__nv_static_42__46_tmpxft_0000_00_cpp1_ii_abc__Z6kernelPf", "kernel(float*)", "kernel", "kernel" },
};

START_TEST(demangle)
{
	struct gt_demangled parts;

	ck_assert_msg(!gt_demangle_function(names[_i].mangled, &parts), "%s", names[_i].mangled);
	ck_assert_int_eq(gt_kernel_matches(names[_i].full, names[_i].mangled), 1);
	ck_assert_str_eq(parts.name, names[_i].name);
	ck_assert_str_eq(parts.plain, names[_i].plain);
	free(parts.memory);
}
END_TEST

static const struct {
	const char *glob, *name;
	int matches;
} cases[] = {
	{ "*", "vecadd", 1 },
	{ "*", "", 1 },
	{ "", "", 1 },
	{ "", "vecadd", 0 },
	{ "vecadd", "vecadd", 1 },
	{ "vecadd", "vecadd2", 0 },
	{ "vec?dd", "vecadd", 1 },
	{ "vec?add", "vecadd", 0 },
	{ "*add", "vecadd", 1 },
	{ "v*d*d", "vecadd", 1 },
	{ "v*x*d", "vecadd", 0 },
	{ "**a**", "vecadd", 1 },
	{ "vecadd", "_Z6vecaddPKfS0_Pfi", 1 },
	{ "vecadd*", "_Z6vecaddPKfS0_Pfi", 1 },
	{ "vecadd(*", "_Z6vecaddPKfS0_Pfi", 1 },
	{ "vecadd(float const*,*)", "_Z6vecaddPKfS0_Pfi", 1 },
	{ "vecadd(float const*,float const*,float*,int)", "_Z6vecaddPKfS0_Pfi", 1 },
	{ "vecadd(int*)", "_Z6vecaddPKfS0_Pfi", 0 },
	{ "_Z6vecaddPKfS0_Pfi", "_Z6vecaddPKfS0_Pfi", 1 },
	{ "_Z6vecadd*", "_Z6vecaddPKfS0_Pfi", 1 },
	{ "vecad", "_Z6vecaddPKfS0_Pfi", 0 },
	{ "add", "_Z6vecaddPKfS0_Pfi", 0 },
	{ "ns::k", "_ZN2ns1kIfLi3EEEvPT_", 1 },
	{ "k", "_ZN2ns1kIfLi3EEEvPT_", 0 },
	{ "*::k", "_ZN2ns1kIfLi3EEEvPT_", 1 },
	{ "ns::k<float, 3>", "_ZN2ns1kIfLi3EEEvPT_", 1 },
	{ "ns::k<float,3>", "_ZN2ns1kIfLi3EEEvPT_", 1 },
	{ "ns::k<double*", "_ZN2ns1kIfLi3EEEvPT_", 0 },
	{ "ns::k<*>", "_ZN2ns1kIfLi3EEEvPT_", 1 },
	{ "void ns::k<float, 3>(float*)", "_ZN2ns1kIfLi3EEEvPT_", 1 },
	{ "ns::k<float, 3>(float*)", "_ZN2ns1kIfLi3EEEvPT_", 1 },
	{ "(anonymous namespace)::*", "_ZN45_GLOBAL__N__5b9a9652_12_templates_cu_e22fa7bb6hiddenEPi", 1 },
	{ "_Z", "_Z", 1 },
	{ "f", "_Z1f", 1 },
	{ "f", "_Z9f", 0 },
};

START_TEST(match)
{
	ck_assert_msg(gt_kernel_matches(cases[_i].glob, cases[_i].name) == cases[_i].matches,
		      "'%s' on '%s'", cases[_i].glob, cases[_i].name);
}
END_TEST

/* Names made to blow up end in an error, soon. */
START_TEST(hostile)
{
	static const char *const fixed[] = {
		"_Z", "_ZN", "_Z1fT_", "_Z1fS_", "_Z1fS99999999999999_", "_Z99999999999f", "_Z1fIJ", "_Z1fA",
		"_ZNSt", "_ZZ", "_Z1fIXadL", "_Z4294967297f", "_ZN1aE", "_Z1fDpDpDpT_",
	};
	struct gt_demangled parts;
	char *name = malloc(200000);
	size_t i;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (!gt_demangle_function(fixed[i], &parts))
			free(parts.memory);
	/* Each pair is twice as long as the one before. */
	strcpy(name, "_Z1fSt4pairIiiES_IS0_S0_E");
	for (i = 0; i < 60; i++)
		sprintf(name + strlen(name), "S_IS%c_S%c_E", (int)('1' + i % 8), (int)('1' + i % 8));
	if (!gt_demangle_function(name, &parts)) {
		ck_assert_uint_lt(strlen(parts.full), 1 << 18);
		free(parts.memory);
	}
	/* Deep. */
	strcpy(name, "_Z1f");
	memset(name + 4, 'P', 100000);
	strcpy(name + 100004, "i");
	ck_assert_int_eq(gt_demangle_function(name, &parts), 0);
	ck_assert_str_eq(parts.full, "f");	/* the name, the parameters being too much */
	free(parts.memory);
	memset(name + 2, 'N', 100000);
	ck_assert_int_eq(gt_demangle_function(name, &parts), -EINVAL);
	free(name);
}
END_TEST

#define LOOP(test, array) \
	tcase_add_loop_test(tcase, test, 0, (int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
	TCase *tcase = tcase_create("match");

	LOOP(demangle, names);
	LOOP(match, cases);
	tcase_add_test(tcase, hostile);
	return run_case("match", tcase);
}
