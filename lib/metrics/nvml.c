/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/metrics/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/uprobe/find_library.h"
#include "lib/util/error.h"

#define LIBRARY "libnvidia-ml.so.1"

struct symbol {
	const char *name;
	size_t offset;		/* of the pointer to it */
	int needed;
};

#define NEEDED(name, parameters) { #name, offsetof(struct gt_nvml, name), 1 },
#define OPTIONAL(name, parameters) { #name, offsetof(struct gt_nvml, name), 0 },
static const struct symbol symbols[] = {
	GT_NVML_NEEDED(NEEDED)
	GT_NVML_OPTIONAL(OPTIONAL)
	{ "nvmlErrorString", offsetof(struct gt_nvml, nvmlErrorString), 1 },
};

const char *gt_nvml_words(const struct gt_nvml *nvml, enum gt_nvml_return result)
{
	const char *words = nvml->nvmlErrorString(result);

	return words ? words : "an unknown error";
}

int gt_nvml_error(const struct gt_nvml *nvml, enum gt_nvml_return result, const char *what)
{
	int error = result == GT_NVML_DRIVER_NOT_LOADED ? -ENODEV : result == GT_NVML_NO_PERMISSION ? -EACCES :
		    result == GT_NVML_MEMORY ? -ENOMEM : -EIO;

	return gt_error_vendor(error, (int)result, "%s: %s", what, gt_nvml_words(nvml, result));
}

static int find_symbols(struct gt_nvml *nvml, const char *path)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *function = dlsym(nvml->library, symbols[i].name);

		if (!function && symbols[i].needed)
			return gt_error(-ENOSYS, "%s has no function %s: metrics need a newer driver", path, symbols[i].name);
		memcpy((char *)nvml + symbols[i].offset, &function, sizeof(function));
	}
	return 0;
}

static int load(struct gt_nvml *nvml, const char *path)
{
	enum gt_nvml_return result;
	int r;

	nvml->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!nvml->library)
		return gt_error(-ENOENT, "%s cannot be loaded: %s", path, dlerror());
	r = find_symbols(nvml, path);
	if (!r) {
		result = nvml->nvmlInit_v2();
		r = result ? gt_nvml_error(nvml, result, path) : 0;
	}
	if (r)
		dlclose(nvml->library);
	return r;
}

int gt_nvml_open(struct gt_nvml *nvml, const char *path)
{
	char *found = NULL;
	int r = 0;

	/* By its path: by its name the loader would take the software device's, if that has been loaded before. */
	if (!path && gt_find_library_in(LIBRARY, getenv("LD_LIBRARY_PATH"), &found))
		r = gt_error(-ENOENT, "there is no " LIBRARY ", which comes with NVIDIA's driver: no metrics without it");
	if (!r)
		r = load(nvml, path ? path : found);
	free(found);
	return r;
}

void gt_nvml_close(struct gt_nvml *nvml)
{
	nvml->nvmlShutdown();
	dlclose(nvml->library);
}
