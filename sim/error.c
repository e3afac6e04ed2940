/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts of results. */
#include "sim/driver.h"

static const struct {
	CUresult result;
	const char *name, *text;
} results[] = {
#define X(name, value, text) { name, #name, text },
	GT_CUDA_RESULTS(X)
#undef X
};

CUresult sim_cuGetErrorName(CUresult error, const char **ret_name)
{
	if (!ret_name)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++)
		if (results[i].result == error) {
			*ret_name = results[i].name;
			return CUDA_SUCCESS;
		}
	*ret_name = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGetErrorString(CUresult error, const char **ret_text)
{
	if (!ret_text)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++)
		if (results[i].result == error) {
			*ret_text = results[i].text;
			return CUDA_SUCCESS;
		}
	*ret_text = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}
