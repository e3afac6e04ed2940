/* SPDX-License-Identifier: Apache-2.0 */
/* The same numbers for the same seed, everywhere. */
#ifndef GT_TESTS_VERIFY_RANDOM_H
#define GT_TESTS_VERIFY_RANDOM_H

#include <stdint.h>

uint64_t vm_random(uint64_t *seed);
/* A number, often one of those where mistakes are made. */
uint64_t vm_interesting(uint64_t *seed);

#endif
