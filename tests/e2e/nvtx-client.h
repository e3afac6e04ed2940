/* SPDX-License-Identifier: Apache-2.0 */
/* The program's side of NVTX 3, as far as the tests need it: what its header does at the first call. */
#ifndef TESTS_E2E_NVTX_CLIENT_H
#define TESTS_E2E_NVTX_CLIENT_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *wide;
		const void *registered;
	} message;
};

typedef void nvtx_function(void);

#define NVTX_TABLE 16

static void nvtx_before(void)
{
}

static nvtx_function *nvtx_core[NVTX_TABLE], *nvtx_core2[NVTX_TABLE];
static nvtx_function **nvtx_core_places[NVTX_TABLE], **nvtx_core2_places[NVTX_TABLE];

static int nvtx_get_table(int module, nvtx_function ****ret_places, unsigned *ret_count)
{
	if (module != 1 && module != 5)
		return 0;
	*ret_places = module == 1 ? nvtx_core_places : nvtx_core2_places;
	*ret_count = NVTX_TABLE;
	return 1;
}

static const struct {
	size_t size;
	int (*get_table)(int module, nvtx_function ****ret_places, unsigned *ret_count);
} nvtx_callbacks = { sizeof(nvtx_callbacks), nvtx_get_table };

static const void *nvtx_get_export(uint32_t which)
{
	return which == 1 ? &nvtx_callbacks : NULL;
}

/* Functions that nobody took stay NULL: calls of them do nothing. */
static void nvtx_init(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*initialize)(const void *(*)(uint32_t)) = NULL;

	for (int i = 1; i < NVTX_TABLE; i++) {
		nvtx_core[i] = nvtx_core2[i] = nvtx_before;
		nvtx_core_places[i] = &nvtx_core[i];
		nvtx_core2_places[i] = &nvtx_core2[i];
	}
	if (library)
		initialize = (int (*)(const void *(*)(uint32_t)))dlsym(library, "InitializeInjectionNvtx2");
	if (!initialize || !initialize(nvtx_get_export)) {
		memset(nvtx_core, 0, sizeof(nvtx_core));
		memset(nvtx_core2, 0, sizeof(nvtx_core2));
	}
	for (int i = 1; i < NVTX_TABLE; i++) {
		if (nvtx_core[i] == nvtx_before)
			nvtx_core[i] = NULL;
		if (nvtx_core2[i] == nvtx_before)
			nvtx_core2[i] = NULL;
	}
}

/* Call the function of a table's place with a type, if there is one; else the value. */
#define NVTX_CALL(table, place, type, otherwise, ...) \
	(nvtx_##table[place] ? ((__typeof__(type) *)nvtx_##table[place])(__VA_ARGS__) : (otherwise))

static inline int nvtx_push(const char *text)
{
	return NVTX_CALL(core, 9, int(const char *), -2, text);
}

static inline int nvtx_push_wide(const wchar_t *text)
{
	return NVTX_CALL(core, 10, int(const wchar_t *), -2, text);
}

static inline int nvtx_pop(void)
{
	return NVTX_CALL(core, 11, int(void), -2);
}

static inline void nvtx_mark(const char *text)
{
	if (nvtx_core[2])
		((void (*)(const char *))nvtx_core[2])(text);
}

static inline uint64_t nvtx_start(const char *text)
{
	return NVTX_CALL(core, 5, uint64_t(const char *), 0, text);
}

static inline void nvtx_end(uint64_t id)
{
	if (nvtx_core[7])
		((void (*)(uint64_t))nvtx_core[7])(id);
}

static inline void nvtx_name_thread(uint32_t tid, const char *text)
{
	if (nvtx_core[14])
		((void (*)(uint32_t, const char *))nvtx_core[14])(tid, text);
}

static inline void *nvtx_domain(const char *name)
{
	return NVTX_CALL(core2, 12, void *(const char *), NULL, name);
}

static inline void *nvtx_register(void *domain, const char *text)
{
	return NVTX_CALL(core2, 10, void *(void *, const char *), NULL, domain, text);
}

static inline int nvtx_domain_push(void *domain, const struct nvtx_attributes *attributes)
{
	return NVTX_CALL(core2, 4, int(void *, const struct nvtx_attributes *), -2, domain, attributes);
}

static inline int nvtx_domain_pop(void *domain)
{
	return NVTX_CALL(core2, 5, int(void *), -2, domain);
}

#endif
