/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/compile/runtime/errno.h"
#include "lib/compile/runtime/machine.h"
#include "lib/compile/runtime/table.h"
