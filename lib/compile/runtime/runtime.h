/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What compiled programs call.  runtime.c is translated by clang to LLVM's
 * intermediate code, once for the GPU and once for the host, when the library is
 * built; the compiler adds a program to a copy of it and lets LLVM inline.
 * Each function is found by its name; addresses are 64-bit integers, sizes and
 * numbers of a map are constants that LLVM folds.
 */
#ifndef GT_COMPILE_RUNTIME_H
#define GT_COMPILE_RUNTIME_H

/* Values of the machine: gt_rt_special(). */
enum gt_special {
	GT_SPECIAL_TIME,	/* ns: the GPU's clock, or CLOCK_REALTIME */
	GT_SPECIAL_CLOCK,	/* cycles */
	GT_SPECIAL_SM,
	GT_SPECIAL_WARP,
	GT_SPECIAL_LANE,
	GT_SPECIAL_MASK,	/* lanes active together */
	GT_SPECIAL_GRID,
	GT_SPECIAL_RANDOM,	/* 32 bits */
};

/* What is known of the threads that write a record together: gt_rt_ring_output(). */
enum gt_company {
	GT_COMPANY_ANY,		/* their records may differ in length */
	GT_COMPANY_ALIKE,	/* all have the same length */
	GT_COMPANY_NONE,	/* there are no others in the warp */
};

#endif
