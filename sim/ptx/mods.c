/* SPDX-License-Identifier: Apache-2.0 */
/* The dotted words of an instruction. */
#include <string.h>

#include "lower.h"

static const struct {
	const char *word;
	uint8_t mod, value;
} words[] = {
	{ "rn", MOD_RND, RND_RN }, { "rz", MOD_RND, RND_RZ }, { "rm", MOD_RND, RND_RM },
	{ "rp", MOD_RND, RND_RP }, { "rna", MOD_RND, RND_RNA },
	{ "rni", MOD_INTEGRAL, RND_RN }, { "rzi", MOD_INTEGRAL, RND_RZ },
	{ "rmi", MOD_INTEGRAL, RND_RM }, { "rpi", MOD_INTEGRAL, RND_RP },
	{ "ftz", MOD_FTZ, 1 }, { "sat", MOD_SAT, 1 }, { "satfinite", MOD_SAT, 2 },
	{ "approx", MOD_APPROX, 1 }, { "full", MOD_APPROX, 2 },
	{ "lo", MOD_HALF, ALU_LO }, { "hi", MOD_HALF, ALU_HI }, { "wide", MOD_HALF, ALU_WIDE },
	{ "cc", MOD_CC, 1 },
	{ "eq", MOD_CMP, CMP_EQ }, { "ne", MOD_CMP, CMP_NE }, { "lt", MOD_CMP, CMP_LT },
	{ "le", MOD_CMP, CMP_LE }, { "gt", MOD_CMP, CMP_GT }, { "ge", MOD_CMP, CMP_GE },
	{ "ls", MOD_CMP, CMP_LS }, { "hs", MOD_CMP, CMP_HS }, { "equ", MOD_CMP, CMP_EQU },
	{ "neu", MOD_CMP, CMP_NEU }, { "ltu", MOD_CMP, CMP_LTU }, { "leu", MOD_CMP, CMP_LEU },
	{ "gtu", MOD_CMP, CMP_GTU }, { "geu", MOD_CMP, CMP_GEU }, { "num", MOD_CMP, CMP_NUM },
	{ "nan", MOD_CMP, CMP_NAN },
	{ "add", MOD_ATOM, ATOM_ADD }, { "and", MOD_ATOM, ATOM_AND }, { "or", MOD_ATOM, ATOM_OR },
	{ "xor", MOD_ATOM, ATOM_XOR }, { "min", MOD_ATOM, ATOM_MIN }, { "max", MOD_ATOM, ATOM_MAX },
	{ "inc", MOD_ATOM, ATOM_INC }, { "dec", MOD_ATOM, ATOM_DEC },
	{ "exch", MOD_ATOM, ATOM_EXCH }, { "cas", MOD_ATOM, ATOM_CAS },
	{ "popc", MOD_ATOM, ATOM_POPC },
	{ "global", MOD_SPACE, SPACE_GLOBAL }, { "shared", MOD_SPACE, SPACE_SHARED },
	{ "local", MOD_SPACE, SPACE_LOCAL }, { "const", MOD_SPACE, SPACE_CONST },
	{ "param", MOD_SPACE, SPACE_PARAM }, { "param::entry", MOD_SPACE, SPACE_PARAM },
	{ "param::func", MOD_SPACE, SPACE_PARAM }, { "shared::cta", MOD_SPACE, SPACE_SHARED },
	{ "shared::cluster", MOD_SPACE, SPACE_CLUSTER },
	{ "v2", MOD_VEC, 2 }, { "v4", MOD_VEC, 4 }, { "v8", MOD_VEC, 8 },
	{ "weak", MOD_SEM, SEM_WEAK }, { "volatile", MOD_SEM, SEM_VOLATILE },
	{ "relaxed", MOD_SEM, SEM_RELAXED }, { "acquire", MOD_SEM, SEM_ACQUIRE },
	{ "release", MOD_SEM, SEM_RELEASE }, { "acq_rel", MOD_SEM, SEM_ACQ_REL },
	{ "sc", MOD_SEM, SEM_SC }, { "mmio", MOD_SEM, SEM_MMIO },
	{ "cta", MOD_SCOPE, 1 }, { "cluster", MOD_SCOPE, 2 }, { "gpu", MOD_SCOPE, 3 },
	{ "gl", MOD_SCOPE, 3 }, { "sys", MOD_SCOPE, 4 },
	{ "ca", MOD_CACHE, 1 }, { "cg", MOD_CACHE, 1 }, { "cs", MOD_CACHE, 1 },
	{ "lu", MOD_CACHE, 1 }, { "cv", MOD_CACHE, 2 }, { "wb", MOD_CACHE, 1 },
	{ "wt", MOD_CACHE, 1 }, { "nc", MOD_CACHE, 1 }, { "L1", MOD_CACHE, 1 }, { "L2", MOD_CACHE, 1 },
	{ "L1::evict_normal", MOD_CACHE, 1 }, { "L1::evict_unchanged", MOD_CACHE, 1 },
	{ "L1::evict_first", MOD_CACHE, 1 }, { "L1::evict_last", MOD_CACHE, 1 },
	{ "L1::no_allocate", MOD_CACHE, 1 }, { "L2::evict_normal", MOD_CACHE, 1 },
	{ "L2::evict_first", MOD_CACHE, 1 }, { "L2::evict_last", MOD_CACHE, 1 },
	{ "L2::64B", MOD_CACHE, 1 }, { "L2::128B", MOD_CACHE, 1 }, { "L2::256B", MOD_CACHE, 1 },
	{ "L2::cache_hint", MOD_HINT, 1 },
	{ "uni", MOD_UNI, 1 }, { "sync", MOD_SYNC, 1 }, { "aligned", MOD_ALIGNED, 1 },
	{ "up", MOD_SHFL, SHFL_UP }, { "down", MOD_SHFL, SHFL_DOWN },
	{ "bfly", MOD_SHFL, SHFL_BFLY }, { "idx", MOD_IDX, 1 },
	{ "all", MOD_VOTE, VOTE_ALL }, { "any", MOD_VOTE, VOTE_ANY },
	{ "ballot", MOD_VOTE, VOTE_BALLOT },
	{ "warp", MOD_WARP, 1 }, { "arrive", MOD_ARRIVE, 1 }, { "wait", MOD_WAIT, 1 },
	{ "red", MOD_RED, 1 }, { "to", MOD_TO, 1 },
	{ "shiftamt", MOD_SHIFTAMT, 1 },
	{ "clamp", MOD_CLAMP, 1 }, { "wrap", MOD_CLAMP, 2 }, { "l", MOD_DIR, 1 }, { "r", MOD_DIR, 2 },
	{ "f4e", MOD_PRMT, 1 }, { "b4e", MOD_PRMT, 2 }, { "rc8", MOD_PRMT, 3 },
	{ "ecl", MOD_PRMT, 4 }, { "ecr", MOD_PRMT, 5 }, { "rc16", MOD_PRMT, 6 },
	{ "finite", MOD_TESTP, 1 }, { "infinite", MOD_TESTP, 2 }, { "number", MOD_TESTP, 3 },
	{ "notanumber", MOD_TESTP, 4 }, { "normal", MOD_TESTP, 5 }, { "subnormal", MOD_TESTP, 6 },
	{ "NaN", MOD_NAN, 1 }, { "xorsign", MOD_XORSIGN, 1 }, { "abs", MOD_ABS, 1 },
	{ "relu", MOD_RELU, 1 }, { "noftz", MOD_NOFTZ, 1 },
	{ "proxy", MOD_PROXY, 1 }, { "alias", MOD_PROXY, 1 }, { "async::global", MOD_PROXY, 1 },
	{ "async::shared::cta", MOD_PROXY, 1 }, { "async::shared::cluster", MOD_PROXY, 1 },
	{ "mbarrier_init", MOD_PROXY, 1 }, { "tensormap::generic", MOD_PROXY, 1 }, { "async", MOD_ASYNC, 1 }, { "commit_group", MOD_ASYNC, 2 },
	{ "bulk", MOD_BULK, 1 }, { "bulk_group", MOD_BULK, 2 }, { "read", MOD_READ, 1 },
	{ "mbarrier::complete_tx::bytes", MOD_TX, 1 }, { "expect_tx", MOD_TX, 2 },
	{ "complete_tx", MOD_TX, 3 }, { "mbarrier", MOD_MBAR, 7 }, { "init", MOD_MBAR, MBAR_INIT },
	{ "inval", MOD_MBAR, MBAR_INVAL }, { "arrive_drop", MOD_MBAR, MBAR_ARRIVE_DROP },
	{ "test_wait", MOD_MBAR, MBAR_TEST_WAIT }, { "try_wait", MOD_MBAR, MBAR_TRY_WAIT },
	{ "pending_count", MOD_MBAR, MBAR_PENDING }, { "parity", MOD_PARITY, 1 },
	{ "noinc", MOD_NOINC, 1 }, { "noComplete", MOD_NOINC, 2 },
	{ "m8n8", MOD_SHAPE, SHAPE_M8N8 }, { "m16n8k4", MOD_SHAPE, SHAPE_M16N8K4 },
	{ "m16n8k8", MOD_SHAPE, SHAPE_M16N8K8 }, { "m16n8k16", MOD_SHAPE, SHAPE_M16N8K16 },
	{ "m16n8k32", MOD_SHAPE, SHAPE_M16N8K32 }, { "m8n8k4", MOD_SHAPE, SHAPE_M8N8K4 },
	{ "x1", MOD_NUM, 1 }, { "x2", MOD_NUM, 2 }, { "x4", MOD_NUM, 4 }, { "trans", MOD_TRANS, 1 },
	{ "row", MOD_ROW, 1 }, { "col", MOD_COL, 1 },
	{ "launch_dependents", MOD_GRID, 1 },
	{ "wait_group", MOD_ASYNC, 3 }, { "wait_all", MOD_ASYNC, 4 },
};

/* Words of PTX that belong to forms this machine does not run. */
static const char *const foreign[] = {
	"rs", "scaled", "tile", "im2col", "tensor", "reduce", "geom", "1d", "2d",
	"3d", "a1d", "a2d", "cube", "multicast", "tensormap", "async", "unpack::8x16", "multicast::cluster", "e2m1x2", "e2m3x2",
	"e3m2x2", "ue8m0x2", "e4m3x4", "e5m2x4", "f32x2", "prefetch", "level", "b1024", "sp", "satfinite", "m8n8k16", "m8n8k32",
	"m16n8k64", "m16n8k128", "m16n8k256", "m16n16k16", "m32n8k16", "m8n32k16", "m8n16", "m16n16",
	"b8x16.b6x16_p32", "b1", "s4", "u4", "e4m3", "e5m2", "kind::f8f6f4", "unified", "add::f32", "acc::f16", "acc::f32",
};

static void unknown(struct lower *l, const struct ptx_mod *mod)
{
	unsigned i;

	for (i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
		if (strlen(foreign[i]) == mod->length && !memcmp(foreign[i], mod->text, mod->length))
			ptx_unsupported(l->ctx, l->insn->line, "'%.60s' with '.%.*s' is not supported",
					l->insn->op.text, (int)mod->length, mod->text);
	ptx_syntax(l->ctx, l->insn->line, "'%.60s' has no modifier '.%.*s'", l->insn->op.text,
		   (int)(mod->length > 60 ? 60 : mod->length), mod->text);
}

/* Cache hints add up, and a copy names two state spaces. */
static int may_repeat(unsigned mod, uint64_t allowed)
{
	return mod == MOD_CACHE || mod == MOD_ASYNC || mod == MOD_PROXY || mod == MOD_BULK ||
	       (mod == MOD_SPACE && allowed & M(ASYNC));
}

static void parse_one(struct lower *l, const struct ptx_mod *mod, uint64_t allowed)
{
	struct mods *m = &l->mods;
	enum ptx_type type = ptx_type_find(mod->text, mod->length);
	unsigned i;

	if (type != T_NONE && type != T_OPAQUE && allowed & M(TYPE)) {
		if (m->type_count == 4)
			ptx_syntax(l->ctx, l->insn->line, "too many types");
		m->types[m->type_count++] = type;
		m->seen |= M(TYPE);
		return;
	}
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i].word[0] == mod->text[0] && strlen(words[i].word) == mod->length &&
		    !memcmp(words[i].word, mod->text, mod->length))
			break;
	if (i == sizeof(words) / sizeof(*words) || !(allowed >> words[i].mod & 1))
		unknown(l, mod);
	if (m->seen >> words[i].mod & 1 && !may_repeat(words[i].mod, allowed))
		ptx_syntax(l->ctx, l->insn->line, "'%.60s' has '.%s' besides another like it",
			   l->insn->op.text, words[i].word);
	m->seen |= 1ull << words[i].mod;
	if (m->value[words[i].mod] < words[i].value)
		m->value[words[i].mod] = words[i].value;
}

void mods_parse(struct lower *l, uint64_t allowed)
{
	unsigned i;

	memset(&l->mods, 0, sizeof(l->mods));
	for (i = 0; i < l->insn->mod_count; i++)
		parse_one(l, &l->insn->mods[i], allowed);
}

int has(const struct lower *l, enum mod mod)
{
	return l->mods.seen >> mod & 1;
}

enum ptx_type only_type(struct lower *l)
{
	if (l->mods.type_count != 1)
		ptx_syntax(l->ctx, l->insn->line, "'%.60s' needs one type", l->insn->op.text);
	return l->mods.types[0];
}
