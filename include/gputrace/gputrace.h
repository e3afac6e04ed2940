/* SPDX-License-Identifier: Apache-2.0 */
/* libgputrace: see inside CUDA programs.  The one header to include. */
#ifndef GPUTRACE_H
#define GPUTRACE_H

#define GPUTRACE_H_INSIDE

#include <gputrace/common.h>
#include <gputrace/ctx.h>
#include <gputrace/object.h>
#include <gputrace/compile.h>
#include <gputrace/clock.h>
#include <gputrace/target.h>
#include <gputrace/attach.h>
#include <gputrace/event.h>
#include <gputrace/gpu.h>
#include <gputrace/symbol.h>
#include <gputrace/reader.h>
#include <gputrace/metrics.h>
#include <gputrace/export.h>

#undef GPUTRACE_H_INSIDE

#endif
