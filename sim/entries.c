/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported entries.  A tool that hooks the driver overwrites the five bytes
 * after the first instruction of an entry, which in the real driver begins
 *	push %rbp; mov %rsp,%rbp; push %r12	(55 48 89 e5 41 54)
 * So does each entry here, whatever the compiler does: it undoes them and jumps to
 * the function proper, sim_cuX.  Arguments and stack are untouched.
 */
#include <string.h>

#include "sim/driver.h"
#include "sim/entries.h"

#define ENTRY(name)							\
	".globl " #name "\n"						\
	".type " #name ", @function\n"					\
	".balign 16\n"							\
	#name ":\n"							\
	".hidden sim_entry_" #name "\n"					\
	".globl sim_entry_" #name "\n"					\
	"sim_entry_" #name ":\n"					\
	"	.byte 0x55, 0x48, 0x89, 0xe5, 0x41, 0x54\n"		\
	"	pop %r12\n"						\
	"	pop %rbp\n"						\
	"	jmp sim_" #name "\n"					\
	".size " #name ", . - " #name "\n"

#define HIDDEN(name)							\
	".hidden sim_" #name "\n"					\
	".globl sim_" #name "\n"					\
	".type sim_" #name ", @function\n"				\
	"sim_" #name ":\n"

/* Stream NULL becomes the handle of the thread's own default stream. */
#define PER_THREAD(name, place)						\
	HIDDEN(name##_ptsz)						\
	"	cmpq $0, " place "\n"					\
	"	jne 1f\n"						\
	"	movq $2, " place "\n"					\
	"1:	jmp sim_" #name "\n"					\
	".size sim_" #name "_ptsz, . - sim_" #name "_ptsz\n"

#define LACKING(name, ...)						\
	HIDDEN(name)							\
	"	mov $801, %eax\n"					\
	"	ret\n"							\
	".size sim_" #name ", . - sim_" #name "\n"

_Static_assert(CUDA_ERROR_NOT_SUPPORTED == 801, "the value in LACKING");

#define X(name, ...) asm(".text\n" ENTRY(name));
GT_CUDA_FUNCTIONS(X)
SIM_FOREIGN(X)
#undef X
#define X(name, place) asm(".text\n" PER_THREAD(name, place));
SIM_PER_THREAD(X)
#undef X
#define X(name, ...) asm(".text\n" LACKING(name));
SIM_LACKING(X)
SIM_FOREIGN(X)
#undef X

#define X(name, ...) extern char sim_entry_##name[] __attribute__((visibility("hidden")));
GT_CUDA_FUNCTIONS(X)
SIM_FOREIGN(X)
#undef X

static const struct {
	const char *name;
	void *entry;
	int since;
} entries[] = {
#define X(name, since, ...) { #name, sim_entry_##name, since },
	GT_CUDA_FUNCTIONS(X)
	SIM_FOREIGN(X)
#undef X
};

/*
 * Is `entry` a form of the function `base`, that is, base with a version, a
 * per-thread mark, both or none?  No base name has an underscore.
 */
static bool is_form(const char *entry, const char *base, bool *ret_per_thread)
{
	size_t length = strcspn(entry, "_");
	const char *rest = entry + length;

	if (strncmp(entry, base, length) || base[length])
		return false;
	if (rest[0] == '_' && rest[1] == 'v' && rest[2] >= '0' && rest[2] <= '9')
		rest += 3;
	*ret_per_thread = !strcmp(rest, "_ptsz") || !strcmp(rest, "_ptds");
	return !*rest || *ret_per_thread;
}

static CUresult find(const char *base, void **ret_entry, int version, uint64_t flags,
		     CUdriverProcAddressQueryResult *ret_status)
{
	bool want_per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	bool found = false, best_per_thread = false;
	int best = 0;

	if (!base || !ret_entry || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ||
	    version > SIM_DRIVER_VERSION)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_entry = NULL;
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		bool per_thread;

		if (!is_form(entries[i].name, base, &per_thread))
			continue;
		found = true;
		if ((per_thread && !want_per_thread) || entries[i].since > version)
			continue;
		/* A per-thread form, if wanted and there, then the newest. */
		if (per_thread < best_per_thread ||
		    (per_thread == best_per_thread && entries[i].since <= best))
			continue;
		best = entries[i].since;
		best_per_thread = per_thread;
		*ret_entry = entries[i].entry;
	}
	*ret_status = *ret_entry ? CU_GET_PROC_ADDRESS_SUCCESS
		      : found	 ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
				 : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

CUresult sim_cuGetProcAddress_v2(const char *name, void **ret_entry, int version, uint64_t flags,
				 CUdriverProcAddressQueryResult *ret_status)
{
	CUdriverProcAddressQueryResult status;

	return find(name, ret_entry, version, flags, ret_status ? ret_status : &status);
}

CUresult sim_cuGetProcAddress(const char *name, void **ret_entry, int version, uint64_t flags)
{
	CUdriverProcAddressQueryResult status;
	CUresult r = find(name, ret_entry, version, flags, &status);

	if (r == CUDA_SUCCESS && status != CU_GET_PROC_ADDRESS_SUCCESS)
		r = CUDA_ERROR_NOT_FOUND;
	return r;
}

/*
 * The real driver has tables of functions that are private to its maker's
 * libraries, among them some that give handles of functions.  Here is one such, so
 * that tools can be tested with handles that came by no exported entry.
 */
static const struct {
	size_t size;
	CUresult (*module_function)(CUfunction *, CUmodule, const char *);
	CUresult (*library_kernel)(CUkernel *, CUlibrary, const char *);
	CUresult (*kernel_function)(CUfunction *, CUkernel);
} private_table = {
	sizeof(private_table), sim_cuModuleGetFunction, sim_cuLibraryGetKernel, sim_cuKernelGetFunction,
};

CUresult sim_cuGetExportTable(const void **ret_table, const CUuuid *id)
{
	if (!ret_table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_table = memcmp(id, "gputrace-private", sizeof(*id)) ? NULL : &private_table;
	return *ret_table ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* There is no profiler to start or stop; the real driver also agrees when none is attached. */
CUresult sim_cuProfilerStart(void)
{
	return sim_ready();
}

CUresult sim_cuProfilerStop(void)
{
	return sim_ready();
}
