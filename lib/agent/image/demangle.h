/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ names of the Itanium ABI, as far as functions and their types go.  Works
 * in one block of memory of a fixed size and to a limited depth, since names
 * come from strangers and may be made to blow up.
 */
#ifndef GT_IMAGE_DEMANGLE_H
#define GT_IMAGE_DEMANGLE_H

struct gt_demangled {
	char *memory;		/* of the strings below; free() it */
	const char *full;	/* void ns::k<float>(float*, int) */
	const char *call;	/* ns::k<float>(float*, int) */
	const char *name;	/* ns::k<float> */
	const char *plain;	/* ns::k */
};

/*
 * -EINVAL: no mangled name, or not understood; -ENOMEM.  Where only the
 * parameters are not understood, full and call are the name.
 */
int gt_demangle_function(const char *mangled, struct gt_demangled *ret_demangled);

#endif
