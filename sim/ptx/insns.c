/* SPDX-License-Identifier: Apache-2.0 */
/* Every instruction that the machine runs, and the names of those that it does not. */
#include <stdlib.h>
#include <string.h>

#include "lower.h"

#define FLOATS (M(TYPE) | M(RND) | M(FTZ) | M(SAT))
#define MEMORY (M(TYPE) | M(SPACE) | M(VEC) | M(SEM) | M(SCOPE) | M(CACHE) | M(HINT))
#define ATOMIC (M(TYPE) | M(SPACE) | M(VEC) | M(SEM) | M(SCOPE) | M(CACHE) | M(HINT) | M(ATOM) | \
		M(NOFTZ))
#define BARRIER (M(SYNC) | M(ALIGNED) | M(ARRIVE) | M(RED) | M(ATOM) | M(WARP) | M(SCOPE) | \
		 M(TYPE) | M(WAIT) | M(SEM))
#define VIDEO_MODS (M(TYPE) | M(SAT) | M(ATOM) | M(CMP) | M(HALF))
#define MINMAX (M(TYPE) | M(FTZ) | M(NAN) | M(XORSIGN) | M(ABS) | M(RELU))

/* Sorted by name. */
static const struct insn_def defs[] = {
	{ "abs", lower_alu, M(TYPE) | M(FTZ), 0 },
	{ "activemask", lower_activemask, M(TYPE), 0 },
	{ "add", lower_alu, FLOATS | M(CC), 0 },
	{ "addc", lower_alu, M(TYPE) | M(CC), 0 },
	{ "alloca", lower_stack, M(TYPE), 0 },
	{ "and", lower_logic, M(TYPE), 0 },
	{ "applypriority", lower_nop, M(SPACE) | M(CACHE), 0 },
	{ "atom", lower_atom, ATOMIC, 0 },
	{ "bar", lower_bar, BARRIER, 0 },
	{ "barrier", lower_bar, BARRIER, 0 },
	{ "bfe", lower_alu, M(TYPE), 0 },
	{ "bfi", lower_alu, M(TYPE), 0 },
	{ "bfind", lower_alu, M(TYPE) | M(SHIFTAMT), 0 },
	{ "bmsk", lower_alu, M(TYPE) | M(CLAMP), 0 },
	{ "bra", lower_bra, M(UNI), 0 },
	{ "brev", lower_alu, M(TYPE), 0 },
	{ "brkpt", lower_end, 0, END_BRKPT },
	{ "brx", lower_brx, M(IDX) | M(UNI), 0 },
	{ "call", lower_call, M(UNI), 0 },
	{ "clz", lower_alu, M(TYPE), 0 },
	{ "cnot", lower_alu, M(TYPE), 0 },
	{ "copysign", lower_alu, M(TYPE), 0 },
	{ "cos", lower_alu, M(TYPE) | M(APPROX) | M(FTZ), 0 },
	{ "cp", lower_cp, M(ASYNC) | M(CACHE) | M(SPACE) | M(HINT) | M(BULK) | M(TX) | M(MBAR) | M(ARRIVE) |
	  M(NOINC) | M(READ) | M(TYPE), 0 },
	{ "cvt", lower_cvt, FLOATS | M(INTEGRAL) | M(RELU), 0 },
	{ "cvta", lower_cvta, M(TYPE) | M(SPACE) | M(TO), 0 },
	{ "discard", lower_nop, M(SPACE) | M(CACHE), 0 },
	{ "div", lower_alu, FLOATS | M(APPROX), 0 },
	{ "dp2a", lower_dp, M(TYPE) | M(HALF), 2 },
	{ "dp4a", lower_dp, M(TYPE), 4 },
	{ "elect", lower_elect, M(SYNC), 0 },
	{ "ex2", lower_alu, M(TYPE) | M(APPROX) | M(FTZ), 0 },
	{ "exit", lower_end, 0, END_EXIT },
	{ "fence", lower_fence, M(SEM) | M(SCOPE) | M(PROXY) | M(ASYNC) | M(SPACE), 0 },
	{ "fma", lower_alu, FLOATS | M(RELU), 0 },
	{ "fns", lower_alu, M(TYPE), 0 },
	{ "getctarank", lower_getctarank, M(TYPE) | M(SPACE), 0 },
	{ "griddepcontrol", lower_nop, M(GRID) | M(WAIT), 0 },
	{ "isspacep", lower_isspacep, M(SPACE), 0 },
	{ "ld", lower_ld, MEMORY, 0 },
	{ "ldmatrix", lower_ldmatrix, M(SYNC) | M(ALIGNED) | M(SHAPE) | M(NUM) | M(TRANS) | M(SPACE) |
	  M(TYPE), 0 },
	{ "ldu", lower_ld, MEMORY, 1 },
	{ "lg2", lower_alu, M(TYPE) | M(APPROX) | M(FTZ), 0 },
	{ "lop3", lower_lop3, M(TYPE), 0 },
	{ "mad", lower_alu, FLOATS | M(HALF) | M(CC), 0 },
	{ "mad24", lower_alu, M(TYPE) | M(HALF), 0 },
	{ "madc", lower_alu, M(TYPE) | M(HALF) | M(CC), 0 },
	{ "mapa", lower_mapa, M(TYPE) | M(SPACE), 0 },
	{ "match", lower_match, M(TYPE) | M(SYNC) | M(VOTE), 0 },
	{ "max", lower_alu, MINMAX, 0 },
	{ "mbarrier", lower_mbarrier, M(TYPE) | M(SPACE) | M(MBAR) | M(ARRIVE) | M(TX) | M(PARITY) |
	  M(NOINC) | M(SEM) | M(SCOPE), 0 },
	{ "membar", lower_fence, M(SCOPE), 0 },
	{ "min", lower_alu, MINMAX, 0 },
	{ "mma", lower_mma, M(SYNC) | M(ALIGNED) | M(SHAPE) | M(ROW) | M(COL) | M(TYPE) | M(SAT), 0 },
	{ "mov", lower_mov, M(TYPE), 0 },
	{ "movmatrix", lower_movmatrix, M(SYNC) | M(ALIGNED) | M(SHAPE) | M(TRANS) | M(TYPE), 0 },
	{ "mul", lower_alu, FLOATS | M(HALF), 0 },
	{ "mul24", lower_alu, M(TYPE) | M(HALF), 0 },
	{ "nanosleep", lower_nanosleep, M(TYPE), 0 },
	{ "neg", lower_alu, M(TYPE) | M(FTZ), 0 },
	{ "not", lower_logic, M(TYPE), 3 },
	{ "or", lower_logic, M(TYPE), 1 },
	{ "pmevent", lower_nop, M(TYPE), 0 },
	{ "popc", lower_alu, M(TYPE), 0 },
	{ "prefetch", lower_nop, M(SPACE) | M(CACHE), 0 },
	{ "prefetchu", lower_nop, M(CACHE), 0 },
	{ "prmt", lower_alu, M(TYPE) | M(PRMT), 0 },
	{ "rcp", lower_alu, FLOATS | M(APPROX), 0 },
	{ "red", lower_atom, ATOMIC, 1 },
	{ "redux", lower_redux, M(TYPE) | M(SYNC) | M(ATOM), 0 },
	{ "rem", lower_alu, M(TYPE), 0 },
	{ "ret", lower_end, M(UNI), END_RET },
	{ "rsqrt", lower_alu, M(TYPE) | M(APPROX) | M(FTZ), 0 },
	{ "sad", lower_alu, M(TYPE), 0 },
	{ "selp", lower_selp, M(TYPE), 0 },
	{ "set", lower_set, M(TYPE) | M(CMP) | M(HALF) | M(ATOM) | M(FTZ), 0 },
	{ "setp", lower_setp, M(TYPE) | M(CMP) | M(HALF) | M(ATOM) | M(FTZ), 0 },
	{ "shf", lower_shf, M(TYPE) | M(DIR) | M(CLAMP), 0 },
	{ "shfl", lower_shfl, M(TYPE) | M(SYNC) | M(SHFL) | M(IDX), 0 },
	{ "shl", lower_alu, M(TYPE), 0 },
	{ "shr", lower_alu, M(TYPE), 0 },
	{ "sin", lower_alu, M(TYPE) | M(APPROX) | M(FTZ), 0 },
	{ "slct", lower_slct, M(TYPE) | M(FTZ), 0 },
	{ "sqrt", lower_alu, FLOATS | M(APPROX), 0 },
	{ "st", lower_st, MEMORY, 0 },
	{ "stackrestore", lower_stack, M(TYPE), 2 },
	{ "stacksave", lower_stack, M(TYPE), 1 },
	{ "stmatrix", lower_ldmatrix, M(SYNC) | M(ALIGNED) | M(SHAPE) | M(NUM) | M(TRANS) | M(SPACE) |
	  M(TYPE), 1 },
	{ "sub", lower_alu, FLOATS | M(CC), 0 },
	{ "subc", lower_alu, M(TYPE) | M(CC), 0 },
	{ "szext", lower_alu, M(TYPE) | M(CLAMP), 0 },
	{ "tanh", lower_alu, M(TYPE) | M(APPROX), 0 },
	{ "testp", lower_testp, M(TYPE) | M(TESTP), 0 },
	{ "trap", lower_end, 0, END_TRAP },
	{ "vabsdiff2", lower_video, VIDEO_MODS, VIDEO_ABSDIFF },
	{ "vabsdiff4", lower_video, VIDEO_MODS, VIDEO_ABSDIFF },
	{ "vadd2", lower_video, VIDEO_MODS, VIDEO_ADD },
	{ "vadd4", lower_video, VIDEO_MODS, VIDEO_ADD },
	{ "vavrg2", lower_video, VIDEO_MODS, VIDEO_AVRG },
	{ "vavrg4", lower_video, VIDEO_MODS, VIDEO_AVRG },
	{ "vmax2", lower_video, VIDEO_MODS, VIDEO_MAX },
	{ "vmax4", lower_video, VIDEO_MODS, VIDEO_MAX },
	{ "vmin2", lower_video, VIDEO_MODS, VIDEO_MIN },
	{ "vmin4", lower_video, VIDEO_MODS, VIDEO_MIN },
	{ "vote", lower_vote, M(TYPE) | M(SYNC) | M(VOTE) | M(UNI), 0 },
	{ "vset2", lower_video, VIDEO_MODS, VIDEO_SET },
	{ "vset4", lower_video, VIDEO_MODS, VIDEO_SET },
	{ "vsub2", lower_video, VIDEO_MODS, VIDEO_SUB },
	{ "vsub4", lower_video, VIDEO_MODS, VIDEO_SUB },
	{ "wmma", lower_wmma, OWN_MODS, 0 },
	{ "xor", lower_logic, M(TYPE), 2 },
};

static const char *const others[] = {
	"clusterlaunchcontrol", "createpolicy", "istypep", "multimem", "setmaxnreg", "st_bulk",
	"suld", "suq", "sured", "sust", "tcgen05", "tensormap", "tex", "tld4", "txq", "vabsdiff",
	"vadd", "vmad", "vmax", "vmin", "vset", "vshl", "vshr", "vsub", "wgmma",
};

static int by_name(const void *key, const void *element)
{
	return strcmp(key, ((const struct insn_def *)element)->name);
}

const struct insn_def *insn_find(const char *name)
{
	return bsearch(name, defs, sizeof(defs) / sizeof(*defs), sizeof(*defs), by_name);
}

int insn_is_known(const char *name)
{
	unsigned i;

	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(others[i], name))
			return 1;
	return 0;
}
