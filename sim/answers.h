/* SPDX-License-Identifier: Apache-2.0 */
/* What the management library answers in place of what it would, for tests: GPUTRACE_SIM_NVML, see README.md. */
#ifndef SIM_ANSWERS_H
#define SIM_ANSWERS_H

#include "lib/metrics/nvml_abi.h"

/* Read the environment; nothing has been asked yet. */
void sim_answers_read(void);

/* To this question about this device; GT_NVML_SUCCESS: what it would.  Waits, if that is what was said. */
enum gt_nvml_return sim_answer(const char *function, unsigned device);

#endif
