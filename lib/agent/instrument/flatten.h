/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_INSTRUMENT_FLATTEN_H
#define GT_INSTRUMENT_FLATTEN_H

#include "lib/wire/probe.h"

/*
 * Probe text with the functions of the probes `which` alone, and what they call
 * written out in them: the driver's linker leaves what is called in a section of its
 * own, and a graft has one section.  malloc'd.  -EINVAL, with a sentence in *ret_why:
 * the text is not of the form that compiled programs have, functions call themselves,
 * or there would be too much text.  -ENOMEM.
 */
int gt_probe_text_flatten(const char *text, const struct gt_probe *probes, const unsigned *which, unsigned count,
			  char **ret_text, const char **ret_why);

#endif
