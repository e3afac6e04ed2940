/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/attach/additions.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/util/error.h"
#include "lib/util/insn.h"
#include "lib/verify/helpers.h"

struct search {
	const struct gt_prog *prog;
	const struct gt_fact *facts;
	bool *entered;		/* by instruction: something jumps there, or a function begins */
	bool *visited;		/* for one walk */
	unsigned *pending;	/* where the walk still has to go */
};

static bool is_alu(const struct bpf_insn *insn)
{
	return BPF_CLASS(insn->code) == BPF_ALU64 || BPF_CLASS(insn->code) == BPF_ALU;
}

/* ---- what instructions do to registers ---- */

static bool reads_source(const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return BPF_OP(insn->code) != BPF_END && BPF_SRC(insn->code) == BPF_X;
	case BPF_JMP:
	case BPF_JMP32:
		return gt_insn_is_condition(insn) && BPF_SRC(insn->code) == BPF_X;
	default:
		return BPF_CLASS(insn->code) == BPF_LDX || BPF_CLASS(insn->code) == BPF_STX;
	}
}

static bool reads_destination(const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return BPF_OP(insn->code) != BPF_MOV;
	case BPF_JMP:
	case BPF_JMP32:
		return gt_insn_is_condition(insn);
	default:
		return BPF_CLASS(insn->code) == BPF_ST || BPF_CLASS(insn->code) == BPF_STX;
	}
}

static bool call_reads(const struct bpf_insn *insn, unsigned regno)
{
	const struct gt_helper *helper = gt_insn_calls_function(insn) ? NULL : gt_helper_find((uint32_t)insn->imm);

	return regno >= 1 && regno <= 5 && (!helper || helper->arg[regno - 1] != GT_ARG_NONE);
}

static bool reads(const struct bpf_insn *insn, unsigned regno)
{
	if (gt_insn_is_call(insn))
		return call_reads(insn, regno);
	if (gt_insn_is_exit(insn))
		return regno == 0;
	/* Compare-and-exchange has an operand that it does not name. */
	if (BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC && regno == 0)
		return true;
	return (reads_source(insn) && insn->src_reg == regno) || (reads_destination(insn) && insn->dst_reg == regno);
}

static bool writes(const struct bpf_insn *insn, unsigned regno)
{
	if (gt_insn_is_call(insn))
		return regno <= 5;
	return (is_alu(insn) || BPF_CLASS(insn->code) == BPF_LDX || BPF_CLASS(insn->code) == BPF_LD) && insn->dst_reg == regno;
}

/* ---- is a register's value of no more interest? ---- */

static void go_to(struct search *search, unsigned *count, int64_t at)
{
	if (at < 0 || at >= search->prog->insn_count || search->visited[at])
		return;
	search->visited[at] = true;
	search->pending[(*count)++] = (unsigned)at;
}

static bool is_dead(struct search *search, unsigned from, unsigned regno)
{
	const struct bpf_insn *insns = search->prog->insns;
	unsigned count = 0;

	for (unsigned i = 0; i < search->prog->insn_count; i++)
		search->visited[i] = false;
	go_to(search, &count, from);
	while (count) {
		unsigned at = search->pending[--count];
		const struct bpf_insn *insn = &insns[at];

		if (reads(insn, regno))
			return false;
		if (writes(insn, regno))
			continue;
		if (gt_insn_is_jump(insn))
			go_to(search, &count, gt_insn_target(insns, at));
		if (gt_insn_falls_through(insn))
			go_to(search, &count, (int64_t)at + gt_insn_length(insn));
	}
	return true;
}

/* ---- the search ---- */

/* "sum += what": as good before as after what the sum is added to was added. */
static bool adds_to(const struct bpf_insn *insn, unsigned sum, unsigned bytes)
{
	unsigned op = BPF_OP(insn->code);

	return is_alu(insn) && insn->dst_reg == sum && (op == BPF_ADD || op == BPF_SUB) &&
	       (bytes == 4 || BPF_CLASS(insn->code) == BPF_ALU64) && !(reads_source(insn) && insn->src_reg == sum);
}

/* Between load and store: it has to do with neither the sum, nor where it lies, nor other memory that it could be. */
static bool is_apart(const struct search *search, unsigned at, unsigned sum, unsigned pointer)
{
	const struct bpf_insn *insn = &search->prog->insns[at];
	unsigned class = BPF_CLASS(insn->code);

	if (class == BPF_JMP || class == BPF_JMP32 || reads(insn, sum) || writes(insn, sum) || writes(insn, pointer))
		return false;
	return (class != BPF_ST && class != BPF_STX) ||
	       (search->facts[at].mem == GT_MEM_STACK && BPF_MODE(insn->code) == BPF_MEM);
}

/* The store that ends the addition which this load begins; 0: there is none. */
static unsigned find_store(const struct search *search, unsigned load)
{
	const struct bpf_insn *insns = search->prog->insns, *begin = &insns[load];
	unsigned bytes = gt_insn_bytes(begin->code), sum = begin->dst_reg, pointer = begin->src_reg;

	if (sum == pointer)
		return 0;
	for (unsigned at = load + 1; at < search->prog->insn_count && !search->entered[at]; at += gt_insn_length(&insns[at])) {
		const struct bpf_insn *insn = &insns[at];

		if (insn->code == (BPF_STX | BPF_MEM | BPF_SIZE(begin->code)) && insn->dst_reg == pointer &&
		    insn->src_reg == sum && insn->off == begin->off)
			return at;
		if (!adds_to(insn, sum, bytes) && !is_apart(search, at, sum, pointer))
			return 0;
	}
	return 0;
}

static bool is_load_from_map(const struct search *search, unsigned at)
{
	const struct bpf_insn *insn = &search->prog->insns[at];
	const struct gt_fact *fact = &search->facts[at];

	return fact->reached && fact->mem == GT_MEM_MAP && fact->map >= 0 &&
	       (insn->code == (BPF_LDX | BPF_MEM | BPF_W) || insn->code == (BPF_LDX | BPF_MEM | BPF_DW));
}

static void note_entered(struct search *search)
{
	const struct bpf_insn *insns = search->prog->insns;

	for (unsigned at = 0; at < search->prog->insn_count; at += gt_insn_length(&insns[at])) {
		const struct bpf_insn *insn = &insns[at];
		int64_t target = gt_insn_is_jump(insn) ? gt_insn_target(insns, at) :
				 gt_insn_calls_function(insn) || (gt_insn_is_wide(insn) && insn->src_reg == BPF_PSEUDO_FUNC) ?
				 (int64_t)at + 1 + insn->imm : -1;

		if (target >= 0 && target < search->prog->insn_count)
			search->entered[target] = true;
	}
}

/* Joined: from nothing on, the same is added up, and that is added to what is there. */
static struct gt_addition make_addition(const struct search *search, unsigned load, unsigned store)
{
	const struct bpf_insn *insns = search->prog->insns;
	struct gt_addition addition = {
		.load = load, .store = store, .plain = { insns[load], insns[store] }, .map = search->facts[load].map,
	};

	addition.joined[0] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = insns[load].dst_reg };
	addition.joined[1] = insns[store];
	addition.joined[1].code = BPF_STX | BPF_ATOMIC | BPF_SIZE(insns[store].code);
	addition.joined[1].imm = BPF_ADD;
	return addition;
}

static void find_all(struct search *search, struct gt_additions *additions)
{
	const struct bpf_insn *insns = search->prog->insns;

	note_entered(search);
	for (unsigned at = 0; at < search->prog->insn_count; at += gt_insn_length(&insns[at])) {
		unsigned store = is_load_from_map(search, at) ? find_store(search, at) : 0;

		if (store && is_dead(search, store + 1, insns[at].dst_reg))
			additions->list[additions->count++] = make_addition(search, at, store);
	}
}

int gt_additions_find(const struct gt_prog *prog, const struct gt_verify_result *proof, struct gt_additions *ret_additions)
{
	struct search search = {
		.prog = prog, .facts = proof->facts,
		.entered = calloc(prog->insn_count + 1, sizeof(bool)),
		.visited = calloc(prog->insn_count + 1, sizeof(bool)),
		.pending = calloc(prog->insn_count + 1, sizeof(unsigned)),
	};
	int r = 0;

	*ret_additions = (struct gt_additions){ .list = calloc(prog->insn_count + 1, sizeof(*ret_additions->list)) };
	if (search.entered && search.visited && search.pending && ret_additions->list)
		find_all(&search, ret_additions);
	else
		r = gt_error(-ENOMEM, "out of memory for program %s", prog->name);
	free(search.entered);
	free(search.visited);
	free(search.pending);
	return r;
}

bool gt_additions_put(struct gt_prog *prog, const struct gt_additions *additions, const bool *chosen, bool joined)
{
	bool any = false;

	for (unsigned i = 0; i < additions->count; i++) {
		const struct gt_addition *addition = &additions->list[i];
		const struct bpf_insn *insns = joined ? addition->joined : addition->plain;

		if (!chosen[addition->map])
			continue;
		any = true;
		prog->insns[addition->load] = insns[0];
		prog->insns[addition->store] = insns[1];
	}
	return any;
}
