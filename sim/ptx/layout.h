/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_PTX_LAYOUT_H
#define SIM_PTX_LAYOUT_H

#include "context.h"
#include "machine.h"

/* Allocate and initialise module-scope variables. */
void layout_globals(struct ptx_ctx *ctx, struct sim_module *module);

/* Give shared variables their offsets, and kernels their sizes. */
void layout_shared(struct ptx_ctx *ctx, struct sim_module *module);

#endif
