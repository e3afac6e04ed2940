/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which way the agent takes for an image, and what it tells of each kernel: with
 * a driver that only compiles, and to stored machine code.
 */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/build/build.h"
#include "lib/agent/graft/graft.h"
#include "tests/fixture.h"
#include "tests/graft/probes.h"
#include "tests/suite.h"

/* ---- the rest of the agent ---- */

struct gt_driver gt_cu;
struct gt_session gt_session;

#define RECORDS_MAX 64
static struct {
	struct gt_rec_function record;
	char name[64], reason[256];
} records[RECORDS_MAX];
static unsigned record_count;

bool gt_emit(enum gt_record_type type, const void *payload, size_t size)
{
	const char *strings = (const char *)payload + sizeof(struct gt_rec_function);

	ck_assert_int_eq(type, GT_REC_FUNCTION);
	ck_assert_uint_ge(size, sizeof(struct gt_rec_function));
	ck_assert_uint_lt(record_count, RECORDS_MAX);
	memcpy(&records[record_count].record, payload, sizeof(struct gt_rec_function));
	snprintf(records[record_count].name, sizeof(records[0].name), "%s", strings);
	snprintf(records[record_count].reason, sizeof(records[0].reason), "%s",
		 records[record_count].record.reason_size ? strings + records[record_count].record.name_size : "");
	record_count++;
	return true;
}

void gt_note(int level, const char *format, ...)
{
	(void)level, (void)format;
}

/* ---- the check of what was grafted ---- */

#define ACCESSES_FAIL "an access is not what it was"
static bool accesses_fail;

int __real_gt_graft_check(const void *before, size_t before_size, const void *after, size_t after_size,
			  const struct gt_graft_plan *plans, unsigned count, const struct gt_graft_result *results, char *why);
int __wrap_gt_graft_check(const void *before, size_t before_size, const void *after, size_t after_size,
			  const struct gt_graft_plan *plans, unsigned count, const struct gt_graft_result *results, char *why);

int __wrap_gt_graft_check(const void *before, size_t before_size, const void *after, size_t after_size,
			  const struct gt_graft_plan *plans, unsigned count, const struct gt_graft_result *results, char *why)
{
	for (unsigned i = 0; accesses_fail && i < count; i++) {
		if (!plans[i].access[0])
			continue;
		strcpy(why, ACCESSES_FAIL);
		return -EBADMSG;
	}
	return __real_gt_graft_check(before, before_size, after, after_size, plans, count, results, why);
}

/* ---- the driver ---- */

#define NEWER "ptxas fatal : Unsupported .version"

static unsigned stubs_compiled, modules_compiled;
static bool damaged_loads;	/* stubs of loads come back as what is none */
static bool newer_text;		/* the modules' own PTX is of a version that the driver does not know */
static char *link_log;
static int device_major = 9;
static void *output;
static size_t output_size;

static CUresult link_create(unsigned int count, CUjit_option *options, void **values, CUlinkState *state)
{
	for (unsigned i = 0; i < count; i++)
		if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
			link_log = values[i];
	*state = (CUlinkState)&output;
	return CUDA_SUCCESS;
}

/* A stub for the exit computes a zero that the entry's has no need of. */
static CUresult link_add(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
			 unsigned int count, CUjit_option *options, void **values)
{
	bool stub = strstr(data, ".entry __gt_stub"), exit = strstr(data, "%lanemask_eq"), load = strstr(data, "%__gt_address");

	(void)state, (void)type, (void)size, (void)name, (void)count, (void)options, (void)values;
	stubs_compiled += stub;
	if (!stub && newer_text) {
		strcpy(link_log, NEWER);
		return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
	}
	modules_compiled += !stub;
	output = load_fixture(TEST_DATA, !stub || (load && damaged_loads) ? "kernels.90.cubin" : load ? "load.90.cubin" : exit ? "exit.90.cubin" :
			      "entry.90.cubin", &output_size);
	return CUDA_SUCCESS;
}

static CUresult link_complete(CUlinkState state, void **code, size_t *size)
{
	(void)state;
	*code = output;
	*size = output_size;
	return CUDA_SUCCESS;
}

static CUresult link_destroy(CUlinkState state)
{
	(void)state;
	free(output);
	output = NULL;
	return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *context)
{
	*context = (CUcontext)&output;
	return CUDA_SUCCESS;
}

static CUresult get_device(CUdevice *device)
{
	*device = 0;
	return CUDA_SUCCESS;
}

static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	(void)device;
	*value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? device_major : 0;
	return CUDA_SUCCESS;
}

static void set_up(void)
{
	gt_cu.cuLinkCreate_v2 = link_create;
	gt_cu.cuLinkAddData_v2 = link_add;
	gt_cu.cuLinkComplete = link_complete;
	gt_cu.cuLinkDestroy = link_destroy;
	gt_cu.cuCtxGetCurrent = get_current;
	gt_cu.cuCtxGetDevice = get_device;
	gt_cu.cuDeviceGetAttribute = get_attribute;
	gt_session.text = test_probes;
}

/* ---- what is attached ---- */

static void attach(uint32_t point, const char *function, const char *kernel, uint32_t link)
{
	unsigned index = gt_session.probe_count++;

	gt_session.probes[index] = (struct gt_probe){
		.point = point, .link = link, .function = function, .kernel = kernel, .number = 10 + index,
	};
}

static struct gt_module *build_source(struct gt_source *source)
{
	struct gt_module *module;

	record_count = 0;
	module = gt_build(source);
	ck_assert_ptr_nonnull(module);
	return module;
}

static struct gt_module *build_image(const void *image)
{
	struct gt_source source;
	struct gt_module *module;

	ck_assert(gt_source_open(image, gt_device_arch(), &source));
	module = build_source(&source);
	gt_source_close(&source);
	return module;
}

static struct gt_module *build(const char *folder, const char *name, void **ret_image)
{
	size_t size;

	*ret_image = load_fixture(folder, name, &size);
	return build_image(*ret_image);
}

static void drop(struct gt_module *module, void *image)
{
	gt_build_free(module);
	free(image);
}

static unsigned find(const char *name)
{
	unsigned i = 0;

	while (i < record_count && strcmp(records[i].name, name))
		i++;
	ck_assert_msg(i < record_count, "%s", name);
	return i;
}

static void expect(const char *name, enum gt_route route, enum gt_reason reason, uint32_t links)
{
	unsigned i = find(name);

	ck_assert_msg(records[i].record.route == route && records[i].record.reason == reason &&
		      records[i].record.links == links, "%s: route %u, reason %u (%s), links %x", name,
		      records[i].record.route, records[i].record.reason, records[i].reason, records[i].record.links);
	ck_assert_int_eq(records[i].reason[0] != 0, reason != GT_REASON_NONE);
}

/* programs: the first that was attached is 1, the next 2, then 4. */
static void expect_places(const char *name, uint64_t programs)
{
	ck_assert_uint_eq(records[find(name)].record.places, programs << 10);
}

static const struct gt_kernel *kernel_of(const struct gt_module *module, const char *name)
{
	for (unsigned i = 0; i < module->kernel_count; i++)
		if (!strcmp(module->kernels[i].name, name))
			return &module->kernels[i];
	ck_abort_msg("%s", name);
	return NULL;
}

/* ---- machine code alone ---- */

START_TEST(grafted)
{
	struct gt_module *module, *second;
	const struct gt_kernel *kernel;
	void *image, *other;

	attach(GT_POINT_ENTRY, "entry", "*", 3);
	attach(GT_POINT_EXIT, "leave", "*", 5);
	module = build(TEST_DATA, "kernels.90.cubin", &image);
	ck_assert_ptr_nonnull(module->replacement);
	ck_assert_uint_eq(record_count, 10);
	expect("three_exits", GT_ROUTE_GRAFT, GT_REASON_NONE, 1u << 3 | 1u << 5);
	expect("no_params", GT_ROUTE_GRAFT, GT_REASON_NONE, 1u << 3 | 1u << 5);
	expect("params_32760", GT_ROUTE_NONE, GT_REASON_PARAMS, 0);
	expect_places("three_exits", 1 | 2);
	expect_places("endless", 1);
	expect_places("params_32760", 0);
	kernel = kernel_of(module, "three_exits");
	ck_assert(kernel->probed);
	ck_assert_uint_eq(kernel->param_count, 3);
	ck_assert_uint_eq(kernel->hidden_offset, 24);
	ck_assert_uint_eq(records[find("three_exits")].record.kernel, kernel->id);
	ck_assert(!kernel_of(module, "params_32760")->probed);
	ck_assert_uint_eq(stubs_compiled, 2);
	ck_assert_uint_eq(modules_compiled, 0);
	/* The same stubs serve other images. */
	second = build(TEST_DATA, "setmaxnreg.90.cubin", &other);
	expect("gives_registers", GT_ROUTE_GRAFT, GT_REASON_NONE, 1u << 3 | 1u << 5);
	ck_assert_uint_eq(stubs_compiled, 2);
	drop(second, other);
	/* The driver may still say no. */
	record_count = 0;
	gt_build_refused(module, CUDA_ERROR_INVALID_IMAGE);
	ck_assert_uint_eq(record_count, 9);
	expect("three_exits", GT_ROUTE_NONE, GT_REASON_COMPILE, 0);
	expect_places("three_exits", 0);
	ck_assert_ptr_null(module->replacement);
	drop(module, image);
}
END_TEST

START_TEST(only_who_is_asked_for)
{
	struct gt_module *module;
	void *image;

	attach(GT_POINT_ENTRY, "entry", "no_*", 0);
	module = build(TEST_DATA, "kernels.90.cubin", &image);
	expect("no_params", GT_ROUTE_GRAFT, GT_REASON_NONE, 1);
	expect("three_exits", GT_ROUTE_NONE, GT_REASON_NOT_ASKED, 0);
	ck_assert(!kernel_of(module, "three_exits")->probed);
	ck_assert_uint_eq(stubs_compiled, 1);
	drop(module, image);
}
END_TEST

/* Another controller's programs, though at the same places of its list. */
START_TEST(another_session)
{
	struct gt_module *module;
	void *image;

	attach(GT_POINT_ENTRY, "entry", "*", 0);
	gt_session.config_hash = 1;
	module = build(TEST_DATA, "kernels.90.cubin", &image);
	ck_assert_uint_eq(stubs_compiled, 1);
	drop(module, image);
	gt_session.config_hash = 2;
	module = build(TEST_DATA, "kernels.90.cubin", &image);
	expect("no_params", GT_ROUTE_GRAFT, GT_REASON_NONE, 1);
	ck_assert_uint_eq(stubs_compiled, 2);
	drop(module, image);
}
END_TEST

START_TEST(nobody_is_asked_for)
{
	struct gt_module *module;
	void *image;

	module = build(TEST_DATA, "kernels.90.cubin", &image);
	ck_assert_ptr_null(module->replacement);
	expect("three_exits", GT_ROUTE_NONE, GT_REASON_NOT_ASKED, 0);
	ck_assert_uint_eq(stubs_compiled + modules_compiled, 0);
	drop(module, image);
}
END_TEST

/* A program with a probe inside the kernel stays away as a whole, the other one is served. */
START_TEST(points_inside)
{
	struct gt_module *module;
	void *image;

	attach(GT_POINT_ENTRY, "entry", "*", 0);
	attach(GT_POINT_BLOCK, "leave", "three_exits", 1);
	attach(GT_POINT_EXIT, "leave", "three_exits", 1);
	attach(GT_POINT_BLOCK, "leave", "endless", 2);
	module = build(TEST_DATA, "kernels.90.cubin", &image);
	expect("three_exits", GT_ROUTE_GRAFT, GT_REASON_NO_PTX, 1);
	ck_assert_str_eq(records[find("three_exits")].reason, "without programs at instructions and blocks, which need PTX, and the image has none");
	expect("no_params", GT_ROUTE_GRAFT, GT_REASON_NONE, 1);
	drop(module, image);
	gt_session.probes[0].kernel = "no_params";
	module = build(TEST_DATA, "kernels.90.cubin", &image);
	expect("endless", GT_ROUTE_NONE, GT_REASON_NO_PTX, 0);
	ck_assert_str_eq(records[find("endless")].reason, "programs at instructions and blocks need PTX, and the image has none");
	drop(module, image);
}
END_TEST

#define DRIVERS "the accesses of functions that the driver supplies (as for assert, printf, malloc)"

/* Those at memory accesses go in, and what they do not see is told; a kernel that cannot have them has its others. */
START_TEST(accesses_inside)
{
	struct gt_module *module;
	void *image;

	attach(GT_POINT_LOAD, "told_load", "*", 1);
	attach(GT_POINT_BLOCK, "leave", "none", 2);
	attach(GT_POINT_BLOCK, "leave", "shared", 2);
	attach(GT_POINT_ENTRY, "entry", "recursive", 3);
	module = build(TEST_DATA, "accesses.90.cubin", &image);
	expect("copy", GT_ROUTE_GRAFT, GT_REASON_NONE, 2);
	expect("sizes", GT_ROUTE_GRAFT, GT_REASON_NONE, 2);
	expect("shared", GT_ROUTE_GRAFT, GT_REASON_UNSUPPORTED, 2);
	ck_assert_str_eq(records[find("shared")].reason, "without 1 of 2 instructions that access memory "
			 "(in shared memory 1, in local memory 0, of other forms 0), "
			 "and without programs at instructions and blocks, which need PTX, and the image has none");
	expect("places", GT_ROUTE_GRAFT, GT_REASON_UNSUPPORTED, 2);
	ck_assert_str_eq(records[find("places")].reason, "without 1 of 33 instructions that access memory "
			 "(in shared memory 0, in local memory 1, of other forms 0)");
	expect("none", GT_ROUTE_GRAFT, GT_REASON_NO_PTX, 2);
	expect_places("copy", 1);
	expect_places("none", 0);
	expect_places("recursive", 8);
	expect("recursive", GT_ROUTE_GRAFT, GT_REASON_UNSUPPORTED, 8);
	ck_assert_str_eq(records[find("recursive")].reason, "without some of its programs: programs cannot run at this kernel's "
			 "memory accesses: it uses its stack in an unknown way");
	ck_assert_uint_eq(stubs_compiled, 2);
	drop(module, image);
	gt_session.probe_count = 1;
	module = build(TEST_DATA, "accesses.90.cubin", &image);
	expect("recursive", GT_ROUTE_NONE, GT_REASON_UNSUPPORTED, 0);
	ck_assert_str_eq(records[find("recursive")].reason, "programs cannot run at this kernel's memory accesses: "
			 "it uses its stack in an unknown way");
	drop(module, image);
}
END_TEST

/* What functions of the driver's access is not seen, and that is told, also where the kernel has no access of its own. */
START_TEST(accesses_of_the_driver)
{
	struct gt_module *module;
	void *image;

	attach(GT_POINT_LOAD, "told_load", "*", 0);
	attach(GT_POINT_BLOCK, "leave", "only_asserts", 1);
	module = build(TEST_DATA, "supplied.90.cubin", &image);
	expect("asserts", GT_ROUTE_GRAFT, GT_REASON_UNSUPPORTED, 1);
	ck_assert_str_eq(records[find("asserts")].reason, "without " DRIVERS);
	expect("only_asserts", GT_ROUTE_GRAFT, GT_REASON_UNSUPPORTED, 1);
	ck_assert_str_eq(records[find("only_asserts")].reason, "without " DRIVERS
			 ", and without programs at instructions and blocks, which need PTX, and the image has none");
	expect("by_pointer", GT_ROUTE_NONE, GT_REASON_UNSUPPORTED, 0);
	ck_assert_str_eq(records[find("by_pointer")].reason, "programs cannot run at this kernel's memory accesses: "
			 "which functions it calls cannot be told, and their accesses would not be seen");
	drop(module, image);
	module = build(TEST_DATA, "supplied-linked.90.cubin", &image);
	expect("inner", GT_ROUTE_GRAFT, GT_REASON_UNSUPPORTED, 1);
	ck_assert_str_eq(records[find("inner")].reason, "without 1 of 1 instructions that access memory "
			 "(in shared memory 0, in local memory 0, of other forms 0, in functions with code of their own 1), "
			 "and without " DRIVERS);
	drop(module, image);
}
END_TEST

/* Programs that cannot be compiled for accesses keep no others out. */
START_TEST(accesses_not_compiled)
{
	struct gt_module *module;
	void *image;

	damaged_loads = true;
	attach(GT_POINT_LOAD, "told_load", "*", 1);
	attach(GT_POINT_EXIT, "leave", "*", 2);
	module = build(TEST_DATA, "accesses.90.cubin", &image);
	expect("copy", GT_ROUTE_GRAFT, GT_REASON_UNSUPPORTED, 4);
	ck_assert_msg(!strncmp(records[find("copy")].reason, "without some of its programs: ", 30), "%s", records[find("copy")].reason);
	drop(module, image);
}
END_TEST

/* Nor does an image that is refused for one kernel's accesses keep others out, of that kernel or of another. */
START_TEST(accesses_refused)
{
	struct gt_module *module;
	void *image;

	accesses_fail = true;
	attach(GT_POINT_LOAD, "told_load", "copy", 1);
	attach(GT_POINT_LOAD, "told_load", "shared", 1);
	attach(GT_POINT_ENTRY, "entry", "shared", 2);
	attach(GT_POINT_ENTRY, "entry", "sizes", 2);
	module = build(TEST_DATA, "accesses.90.cubin", &image);
	expect("copy", GT_ROUTE_NONE, GT_REASON_IMAGE, 0);
	expect("shared", GT_ROUTE_GRAFT, GT_REASON_IMAGE, 4);
	ck_assert_str_eq(records[find("shared")].reason, "without some of its programs: " ACCESSES_FAIL);
	expect("sizes", GT_ROUTE_GRAFT, GT_REASON_NONE, 4);
	drop(module, image);
	gt_session.probes[2].kernel = "sizes";
	module = build(TEST_DATA, "accesses.90.cubin", &image);
	expect("shared", GT_ROUTE_NONE, GT_REASON_IMAGE, 0);
	expect("sizes", GT_ROUTE_GRAFT, GT_REASON_NONE, 4);
	drop(module, image);
}
END_TEST

/* Whose instructions are not known. */
START_TEST(accesses_of_another_architecture)
{
	struct gt_module *module;
	void *image;

	device_major = 8;
	attach(GT_POINT_LOAD, "told_load", "*", 1);
	module = build(TEST_DATA, "kernels.80.cubin", &image);
	expect("three_exits", GT_ROUTE_NONE, GT_REASON_NO_PTX, 0);
	ck_assert_str_eq(records[find("three_exits")].reason,
			 "programs at memory accesses, instructions and blocks need PTX, and the image has none");
	drop(module, image);
}
END_TEST

START_TEST(forced_to_ptx)
{
	struct gt_module *module;
	void *image;

	gt_session.flags = GT_CONFIG_NO_GRAFT;
	attach(GT_POINT_ENTRY, "entry", "*", 0);
	module = build(TEST_DATA, "kernels.90.cubin", &image);
	ck_assert_ptr_null(module->replacement);
	expect("three_exits", GT_ROUTE_NONE, GT_REASON_NO_PTX, 0);
	drop(module, image);
}
END_TEST

/* For code that the program has loaded already: copies, but of kernels with variables of their module. */
START_TEST(apart)
{
	static const char *const good[] = { "plain", "mathematics", "shared", "dynamic_shared", "local_array", "jump_table",
					    "calls_pure" };
	static const char *const bound[] = { "global_variable", "constant_indexed", "constant_direct", "constant_in_memory",
					     "static_variable", "calls_counts", "by_pointer", "prints", "allocates" };
	struct gt_source source;
	struct gt_module *module;
	uint64_t beside;
	size_t size;
	void *image;

	attach(GT_POINT_ENTRY, "entry", "*", 0);
	attach(GT_POINT_EXIT, "leave", "*", 1);
	image = load_fixture(TEST_DATA, "apart.90.cubin", &size);
	ck_assert(gt_source_open(image, 90, &source));
	beside = source.hash[1];
	gt_source_set_apart(&source);
	ck_assert_uint_ne(source.hash[1], beside);
	module = build_source(&source);
	ck_assert_ptr_nonnull(module->replacement);
	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct gt_kernel *kernel = kernel_of(module, good[i]);

		expect(good[i], GT_ROUTE_GRAFT, GT_REASON_NONE, 3);
		ck_assert_str_eq(kernel->copy, good[i]);
		ck_assert_uint_ge(kernel->max_threads, 256);
	}
	for (unsigned i = 0; i < sizeof(bound) / sizeof(bound[0]); i++) {
		expect(bound[i], GT_ROUTE_NONE, GT_REASON_BEFORE, 0);
		ck_assert_ptr_null(kernel_of(module, bound[i])->copy);
		ck_assert_ptr_nonnull(strstr(records[find(bound[i])].reason, "loaded before attach, and cannot be run as a copy: it "));
	}
	gt_source_close(&source);
	drop(module, image);
}
END_TEST

/* ---- both in one image ---- */

START_TEST(fatbin)
{
	static const struct {
		uint32_t point, flags;
		enum gt_route route;
	} cases[] = {
		{ GT_POINT_ENTRY, 0, GT_ROUTE_GRAFT },
		{ GT_POINT_ENTRY, GT_CONFIG_NO_GRAFT, GT_ROUTE_PTX },
		{ GT_POINT_LOAD, 0, GT_ROUTE_PTX },
		{ GT_POINT_LOAD, GT_CONFIG_ONLY_GRAFT, GT_ROUTE_GRAFT },
		{ GT_POINT_LOAD, GT_CONFIG_NO_GRAFT, GT_ROUTE_PTX },
		{ GT_POINT_BLOCK, 0, GT_ROUTE_PTX },
		{ GT_POINT_BLOCK, GT_CONFIG_ONLY_GRAFT, GT_ROUTE_NONE },
	};
	struct gt_module *module;
	void *image;

	attach(cases[_i].point, "entry", "*", 0);
	gt_session.flags = cases[_i].flags;
	module = build(TEST_FATBINS, "size.fatbin", &image);
	ck_assert_uint_gt(record_count, 0);
	for (unsigned i = 0; i < record_count; i++)
		ck_assert_msg(records[i].record.route == cases[_i].route, "%s: route %u: %s", records[i].name,
			      records[i].record.route, records[i].reason);
	ck_assert_uint_eq(modules_compiled, cases[_i].route == GT_ROUTE_PTX);
	ck_assert_uint_eq(stubs_compiled, cases[_i].route == GT_ROUTE_GRAFT);
	drop(module, image);
}
END_TEST

/* PTX that the driver's compiler does not take is as if there were none; what is only possible with some says why. */
START_TEST(fatbin_with_newer_text)
{
	static const char sentence[] = "programs at instructions and blocks need PTX, and the image's is of no use: "
				       "the driver's compiler says: " NEWER;
	static const struct {
		uint32_t point, flags;
		enum gt_route route;
		enum gt_reason reason;
	} cases[] = {
		{ GT_POINT_ENTRY, 0, GT_ROUTE_GRAFT, GT_REASON_NONE },
		{ GT_POINT_LOAD, 0, GT_ROUTE_GRAFT, GT_REASON_NONE },
		{ GT_POINT_BLOCK, 0, GT_ROUTE_NONE, GT_REASON_NO_PTX },
		{ GT_POINT_LOAD, GT_CONFIG_NO_GRAFT, GT_ROUTE_NONE, GT_REASON_COMPILE },
	};
	struct gt_module *module;
	void *image;

	newer_text = true;
	attach(cases[_i].point, "entry", "*", 0);
	gt_session.flags = cases[_i].flags;
	module = build(TEST_FATBINS, "size.fatbin", &image);
	ck_assert_uint_gt(record_count, 0);
	for (unsigned i = 0; i < record_count; i++) {
		/* That of shared memory is none of those that have programs. */
		bool shared = cases[_i].point == GT_POINT_LOAD && !cases[_i].flags && strstr(records[i].name, "reverse");

		expect(records[i].name, cases[_i].route, shared ? GT_REASON_UNSUPPORTED : cases[_i].reason,
		       cases[_i].route == GT_ROUTE_GRAFT);
		if (cases[_i].reason == GT_REASON_NO_PTX)
			ck_assert_str_eq(records[i].reason, sentence);
		else if (cases[_i].reason == GT_REASON_COMPILE)
			ck_assert_str_eq(records[i].reason, "the driver's compiler says: " NEWER);
	}
	ck_assert_uint_eq(modules_compiled, 0);
	drop(module, image);
}
END_TEST

/* An image of both, to be changed before it is built; the PTX that it is asked for. */
static struct gt_member *open_both(struct gt_source *source, void **ret_image)
{
	size_t size;

	*ret_image = load_fixture(TEST_FATBINS, "size.fatbin", &size);
	ck_assert(gt_source_open(*ret_image, 90, source));
	ck_assert_ptr_nonnull(source->ptx_member);
	return &source->image.members[source->ptx_member - source->image.members];
}

/* So is PTX that cannot be unpacked, also where it is only some programs that need it. */
START_TEST(fatbin_with_damaged_text)
{
	char expected[sizeof(records[0].reason)];
	struct gt_source source;
	struct gt_module *module;
	void *image;

	attach(GT_POINT_LOAD, "told_load", "*", 0);
	attach(GT_POINT_BLOCK, "leave", "scale", 1);
	open_both(&source, &image)->stored_size = 4;
	module = build_source(&source);
	expect("scale", GT_ROUTE_GRAFT, GT_REASON_NO_PTX, 1);
	ck_assert_ptr_nonnull(source.damage);
	snprintf(expected, sizeof(expected),
		 "without programs at instructions and blocks, which need PTX, and the image's is of no use: %s", source.damage);
	ck_assert_str_eq(records[find("scale")].reason, expected);
	gt_source_close(&source);
	drop(module, image);
}
END_TEST

/* Text that would take long to compile is left, where machine code takes programs. */
START_TEST(fatbin_with_long_text)
{
	struct gt_source source;
	struct gt_module *module;
	void *image;

	attach(GT_POINT_LOAD, "entry", "*", 0);
	attach(GT_POINT_BLOCK, "leave", "scale", 1);
	open_both(&source, &image)->full_size = GT_PTX_LONG + 1;
	module = build_source(&source);
	ck_assert_uint_eq(records[find("scale")].record.route, GT_ROUTE_GRAFT);
	ck_assert_str_eq(records[find("scale")].reason,
			 "without programs at instructions and blocks, which need PTX, and the image's would take long to compile");
	ck_assert_uint_eq(modules_compiled, 0);
	gt_source_close(&source);
	drop(module, image);
}
END_TEST

#define KERNEL(name, parameters) ".visible .entry " name "(" parameters ")\n{\n\tret;\n}\n"

/* Text in which one kernel would lose what it has by machine code is left, and that does for the others what it can. */
START_TEST(fatbin_with_text_for_some)
{
	static const char text[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
				   KERNEL("scale", ".param .u64 a, .param .f32 k, .param .u32 n")
				   KERNEL("_Z7reverseIdEvPT_", ".param .b8 a[4080]");
	struct gt_source source;
	struct gt_module *module;
	void *image;

	attach(GT_POINT_LOAD, "told_load", "scale", 0);
	attach(GT_POINT_BLOCK, "leave", "scale", 1);
	attach(GT_POINT_ENTRY, "entry", "*reverse*", 2);
	open_both(&source, &image);
	source.ptx = strdup(text);
	source.ptx_size = strlen(text);
	module = build_source(&source);
	expect("_Z7reverseIdEvPT_", GT_ROUTE_GRAFT, GT_REASON_NONE, 4);
	expect("scale", GT_ROUTE_GRAFT, GT_REASON_NO_PTX, 1);
	ck_assert_str_eq(records[find("scale")].reason,
			 "without programs at instructions and blocks, which need PTX, and the image's is of no use: "
			 "some kernels would be without theirs: 4080 bytes of parameters leave no room for 24 more (limit 4096)");
	gt_source_close(&source);
	drop(module, image);
}
END_TEST

/* ---- PTX alone ---- */


/* Its neighbours are served. */
START_TEST(one_kernel_at_the_limit)
{
	struct gt_module *module = NULL;

	attach(GT_POINT_ENTRY, "entry", "*", 2);
	module = build_image(".version 7.8\n.target sm_90\n.address_size 64\n"
			     KERNEL("few", ".param .u64 a") KERNEL("full", ".param .b8 a[4080]")
			     KERNEL("none", "") KERNEL("over", ".param .b8 a[4073]"));
	ck_assert_ptr_nonnull(module->replacement);
	expect("few", GT_ROUTE_PTX, GT_REASON_NONE, 1u << 2);
	expect("none", GT_ROUTE_PTX, GT_REASON_NONE, 1u << 2);
	expect("full", GT_ROUTE_NONE, GT_REASON_PARAMS, 0);
	expect("over", GT_ROUTE_NONE, GT_REASON_PARAMS, 0);
	ck_assert(kernel_of(module, "few")->probed);
	ck_assert(!kernel_of(module, "full")->probed);
	ck_assert_uint_eq(modules_compiled, 1);
	gt_build_free(module);
}
END_TEST

START_TEST(every_kernel_at_the_limit)
{
	struct gt_module *module;

	attach(GT_POINT_ENTRY, "entry", "*", 2);
	module = build_image(".version 7.8\n.target sm_90\n.address_size 64\n"
			     KERNEL("full", ".param .b8 a[4080]") KERNEL("over", ".param .b8 a[4096]"));
	ck_assert_ptr_null(module->replacement);
	expect("full", GT_ROUTE_NONE, GT_REASON_PARAMS, 0);
	expect("over", GT_ROUTE_NONE, GT_REASON_PARAMS, 0);
	ck_assert_uint_eq(modules_compiled, 0);
	gt_build_free(module);
}
END_TEST

START_TEST(newer_text_alone)
{
	struct gt_module *module;

	newer_text = true;
	attach(GT_POINT_LOAD, "entry", "*", 2);
	module = build_image(".version 9.9\n.target sm_90\n.address_size 64\n" KERNEL("few", ".param .u64 a"));
	ck_assert_ptr_null(module->replacement);
	expect("few", GT_ROUTE_NONE, GT_REASON_COMPILE, 0);
	ck_assert_str_eq(records[find("few")].reason, "the driver's compiler says: " NEWER);
	gt_build_free(module);
}
END_TEST

/* An image is known again by its bytes; another is told from it. */
START_TEST(sources)
{
	struct gt_source a, b;
	void *one, *two;
	size_t size;

	one = load_fixture(TEST_FATBINS, "size.fatbin", &size);
	two = load_fixture(TEST_FATBINS, "balance.fatbin", &size);
	ck_assert(gt_source_open(one, gt_device_arch(), &a));
	ck_assert(gt_source_open(one, gt_device_arch(), &b));
	ck_assert_mem_eq(a.hash, b.hash, sizeof(a.hash));
	ck_assert_ptr_null(a.ptx);
	ck_assert_ptr_null(a.cubin);
	ck_assert_ptr_nonnull(gt_source_ptx(&a));
	ck_assert_ptr_nonnull(gt_source_cubin(&a));
	ck_assert_ptr_eq(gt_source_ptx(&a), a.ptx);
	gt_source_close(&b);
	ck_assert(gt_source_open(two, gt_device_arch(), &b));
	ck_assert_mem_ne(a.hash, b.hash, sizeof(a.hash));
	gt_source_close(&a);
	gt_source_close(&b);
	free(one);
	free(two);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("build");

	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, grafted);
	tcase_add_test(tcase, only_who_is_asked_for);
	tcase_add_test(tcase, another_session);
	tcase_add_test(tcase, nobody_is_asked_for);
	tcase_add_test(tcase, points_inside);
	tcase_add_test(tcase, accesses_inside);
	tcase_add_test(tcase, accesses_of_the_driver);
	tcase_add_test(tcase, accesses_not_compiled);
	tcase_add_test(tcase, accesses_refused);
	tcase_add_test(tcase, accesses_of_another_architecture);
	tcase_add_test(tcase, forced_to_ptx);
	tcase_add_test(tcase, apart);
	tcase_add_loop_test(tcase, fatbin, 0, 7);
	tcase_add_test(tcase, fatbin_with_long_text);
	tcase_add_loop_test(tcase, fatbin_with_newer_text, 0, 4);
	tcase_add_test(tcase, fatbin_with_damaged_text);
	tcase_add_test(tcase, fatbin_with_text_for_some);
	tcase_add_test(tcase, newer_text_alone);
	tcase_add_test(tcase, one_kernel_at_the_limit);
	tcase_add_test(tcase, every_kernel_at_the_limit);
	tcase_add_test(tcase, sources);
	return run_case("build", tcase);
}
