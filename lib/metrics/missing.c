/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/metrics/missing.h"

#include <stdio.h>
#include <string.h>

#include "lib/target/gpu.h"

static bool is_for_good(enum gt_nvml_return result)
{
	return result == GT_NVML_NOT_SUPPORTED || result == GT_NVML_NO_PERMISSION ||
	       result == GT_NVML_FUNCTION_NOT_FOUND || result == GT_NVML_VERSION_MISMATCH;
}

void gt_missing_add(struct gt_missing *missing, unsigned bit, const char *name, const struct gt_nvml *nvml,
		    enum gt_nvml_return result)
{
	size_t used = strlen(missing->text);

	if (result == GT_NVML_GPU_IS_LOST) {
		missing->lost = true;
		return;
	}
	if (is_for_good(result))
		missing->never |= 1ull << bit;
	if (missing->said >> bit & 1)
		return;
	missing->said |= 1ull << bit;
	snprintf(missing->text + used, sizeof(missing->text) - used, "%s%s (%s)", used ? ", " : "", name,
		 gt_nvml_words(nvml, result));
}

void gt_missing_tell(struct gt_missing *missing, const struct gputrace_gpu *gpu, struct gt_outbox *outbox)
{
	if (missing->text[0])
		gt_outbox_put_note(outbox, "metrics of GPU %u (%s) that it or its driver does not give: %s", gpu->index,
				   gpu->name, missing->text);
	missing->text[0] = 0;
	if (missing->lost)
		gt_outbox_put_note(outbox, "metrics of GPU %u (%s) end here: the driver has lost it (nvidia-smi, dmesg)",
				   gpu->index, gpu->name);
}
