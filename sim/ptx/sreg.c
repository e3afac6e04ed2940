/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "sreg.h"

static const struct {
	const char *name;
	enum ptx_sreg sreg;
} names[] = {
	{ "%tid", SREG_TID }, { "%ntid", SREG_NTID },
	{ "%ctaid", SREG_CTAID }, { "%nctaid", SREG_NCTAID },
	{ "%clusterid", SREG_CLUSTERID }, { "%nclusterid", SREG_NCLUSTERID },
	{ "%cluster_ctaid", SREG_CLUSTER_CTAID }, { "%cluster_nctaid", SREG_CLUSTER_NCTAID },
	{ "%cluster_ctarank", SREG_CLUSTER_CTARANK }, { "%cluster_nctarank", SREG_CLUSTER_NCTARANK },
	{ "%is_explicit_cluster", SREG_IS_EXPLICIT_CLUSTER },
	{ "%laneid", SREG_LANEID }, { "%warpid", SREG_WARPID }, { "%nwarpid", SREG_NWARPID },
	{ "%smid", SREG_SMID }, { "%nsmid", SREG_NSMID }, { "%gridid", SREG_GRIDID },
	{ "%lanemask_eq", SREG_LANEMASK_EQ }, { "%lanemask_le", SREG_LANEMASK_LE },
	{ "%lanemask_lt", SREG_LANEMASK_LT }, { "%lanemask_ge", SREG_LANEMASK_GE },
	{ "%lanemask_gt", SREG_LANEMASK_GT },
	{ "%clock", SREG_CLOCK }, { "%clock_hi", SREG_CLOCK_HI }, { "%clock64", SREG_CLOCK64 },
	{ "%globaltimer", SREG_GLOBALTIMER }, { "%globaltimer_lo", SREG_GLOBALTIMER_LO },
	{ "%globaltimer_hi", SREG_GLOBALTIMER_HI },
	{ "%dynamic_smem_size", SREG_DYNAMIC_SMEM }, { "%total_smem_size", SREG_TOTAL_SMEM },
	{ "%aggr_smem_size", SREG_AGGR_SMEM },
	{ "%reserved_smem_offset_begin", SREG_ZERO }, { "%reserved_smem_offset_end", SREG_ZERO },
	{ "%reserved_smem_offset_cap", SREG_ZERO },
	{ "%current_graph_exec", SREG_ZERO64 },
};

/* %envreg0..31, %pm0..7, %pm0_64..7_64, %reserved_smem_offset_0..1 */
static int find_numbered(const char *text, const char *prefix, const char *suffix, unsigned limit,
			 unsigned *ret_number)
{
	size_t length = strlen(prefix);
	unsigned number = 0, digits = 0;

	if (strncmp(text, prefix, length))
		return -1;
	for (text += length; *text >= '0' && *text <= '9' && digits < 3; text++, digits++)
		number = number * 10 + (*text - '0');
	if (!digits || number >= limit || strcmp(text, suffix))
		return -1;
	*ret_number = number;
	return 0;
}

int ptx_sreg_find(const struct ptx_name *name, enum ptx_sreg *ret_sreg, unsigned *ret_element)
{
	unsigned i, number;

	if (name->text[0] != '%')
		return -1;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i].name, name->text)) {
			*ret_sreg = names[i].sreg;
			*ret_element = 0;
			return 0;
		}
	if (!find_numbered(name->text, "%envreg", "", 32, &number)) {
		*ret_sreg = SREG_ENVREG;
		*ret_element = number;
		return 0;
	}
	if (!find_numbered(name->text, "%pm", "", 8, &number) ||
	    !find_numbered(name->text, "%reserved_smem_offset_", "", 2, &number)) {
		*ret_sreg = SREG_ZERO;
		*ret_element = 0;
		return 0;
	}
	if (!find_numbered(name->text, "%pm", "_64", 8, &number)) {
		*ret_sreg = SREG_ZERO64;
		*ret_element = 0;
		return 0;
	}
	return -1;
}

int ptx_sreg_is_vector(enum ptx_sreg sreg)
{
	return sreg <= SREG_CLUSTER_NCTAID;
}

enum ptx_type ptx_sreg_type(enum ptx_sreg sreg)
{
	switch (sreg) {
	case SREG_CLOCK64:
	case SREG_GLOBALTIMER:
	case SREG_GRIDID:
	case SREG_ZERO64:
		return T_B64;
	case SREG_IS_EXPLICIT_CLUSTER:
		return T_PRED;
	default:
		return T_B32;
	}
}
