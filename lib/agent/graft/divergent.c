/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code at a kernel's exit runs while other threads of the same warp may still be
 * anywhere in the kernel, or come to the exit later.  What a warp has only once
 * must not be disturbed: convergence barriers and uniform registers.
 *
 * Without convergence barriers threads that part in the stub stay apart, so what
 * they do as a group must be done before they part.
 *
 * A uniform register is safe to use between two places where the hardware may
 * turn to other threads of the warp, that is within a straight run of code
 * (compilers rely on it themselves), and beyond when nothing ever puts another
 * value into it.  The kernel's own are avoided when the stub goes in: it gets
 * registers that the kernel never names.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/agent/graft/stub.h"

static bool is_bmov(gt_word word)
{
	unsigned proper = gt_op_proper(word);

	return proper >= GT_OPP_BMOV && proper <= GT_OPP_BMOV + 2;
}

static const char *drop_convergence(struct gt_graft_stub *stub)
{
	for (unsigned i = 0; i < stub->count; i++) {
		gt_word word = stub->words[i];

		if (gt_op_proper(word) == GT_OPP_MATCH || gt_op_proper(word) == GT_OPP_REDUX ||
		    gt_is_collective(word))
			return "the probes' machine code needs the threads of a warp together at exit";
		if (gt_op(word) == GT_OP_BSSY || gt_op(word) == GT_OP_BSYNC || gt_op(word) == GT_OP_BREAK ||
		    is_bmov(word) || gt_op_proper(word) == GT_OPP_WARPSYNC)
			stub->words[i] = gt_make_nop_like(word);
	}
	stub->convergence = 0;
	return NULL;
}

/* ---- uniform registers ---- */

static int places_of(gt_word word, struct gt_uniform places[GT_UNIFORM_MAX])
{
	if (gt_op_proper(word) == GT_OPP_BRA && gt_bits(word, 91, 1))
		return -1;
	return gt_uniform_places(word, places);
}

static void read_by(const struct gt_graft_stub *stub, bool read[GT_UR_COUNT])
{
	struct gt_uniform places[GT_UNIFORM_MAX];

	for (unsigned i = 0; i < stub->count; i++) {
		int count = places_of(stub->words[i], places);

		for (int k = 0; k < count; k++)
			for (unsigned j = 0; !places[k].written && j < places[k].width; j++)
				read[(gt_bits(stub->words[i], places[k].at, 6) + j) % GT_UR_COUNT] = true;
	}
}

/* Loads of descriptors that nobody needs any more. */
static void drop_dead_loads(struct gt_graft_stub *stub)
{
	bool read[GT_UR_COUNT] = { false };
	struct gt_uniform places[GT_UNIFORM_MAX];

	read_by(stub, read);
	for (unsigned i = 0; i < stub->count; i++) {
		gt_word word = stub->words[i];
		unsigned to = gt_bits(word, 16, 6);

		if (gt_op(word) == GT_OP_ULDC && places_of(word, places) == 1 && !read[to] &&
		    (places[0].width == 1 || !read[(to + 1) % GT_UR_COUNT]))
			stub->words[i] = gt_make_nop_like(word);
	}
}

/* Where straight runs begin. */
static bool *find_leaders(const struct gt_graft_stub *stub)
{
	bool *leaders = calloc(stub->count + (size_t)1, sizeof(*leaders));

	if (!leaders)
		return NULL;
	leaders[0] = true;
	for (unsigned i = 0; i < stub->count; i++) {
		gt_word word = stub->words[i];

		if (gt_has_target(word))
			leaders[gt_target(word, stub->arch, (int64_t)i * GT_WORD) / (int64_t)GT_WORD] = true;
		if (gt_has_target(word) || gt_is_exit(word) || gt_is_relative(word))
			leaders[i + 1] = true;
	}
	return leaders;
}

/* The same value whenever and by whomever it is executed. */
static bool is_invariant(gt_word word)
{
	if (!gt_unguarded(word))
		return false;
	switch (gt_op(word)) {
	case GT_OP_ULDC:
		return !gt_bits(word, 91, 1);
	case 0x882:	/* UMOV of a number */
		return true;
	case 0x9c3:	/* S2UR */
		return gt_bits(word, 72, 8) >= GT_SR_CTAID_X && gt_bits(word, 72, 8) <= GT_SR_CTAID_Z;
	}
	return false;
}

struct flow {
	bool defined[GT_UR_COUNT];	/* in the run at hand */
	bool crosses[GT_UR_COUNT];	/* read in another run than written */
	bool certainly[GT_UR_COUNT];	/* and not only because we took the access for wider than it is */
	gt_word writer[GT_UR_COUNT];	/* 0: nobody writes it */
	bool writers_differ[GT_UR_COUNT];
};

static void note_written(struct flow *flow, gt_word word, unsigned number)
{
	gt_word what = gt_with(word, GT_CONTROL_AT, GT_CONTROL_BITS, 0);

	if (gt_unguarded(word))
		flow->defined[number] = true;
	if (flow->writer[number] && flow->writer[number] != what)
		flow->writers_differ[number] = true;
	flow->writer[number] = what;
}

static void note_read(struct flow *flow, unsigned number, bool certain)
{
	if (flow->defined[number])
		return;
	flow->crosses[number] = true;
	flow->certainly[number] |= certain;
}

static bool follow(struct gt_graft_stub *stub, struct flow *flow, gt_word word)
{
	struct gt_uniform places[GT_UNIFORM_MAX];
	int count = places_of(word, places);

	for (int pass = 0; pass < 2; pass++)	/* reads come first */
		for (int k = 0; k < count; k++) {
			unsigned number = gt_bits(word, places[k].at, 6);

			if (number == GT_URZ || places[k].written != pass)
				continue;
			if (places[k].width == 2 && number % 2)
				return false;
			stub->uniform[number / 2] = true;
			for (unsigned j = 0; j < places[k].width; j++) {
				if (pass)
					note_written(flow, word, number + j);
				else
					note_read(flow, number + j, !j);
			}
		}
	return count >= 0;
}

static bool is_sound(const struct flow *flow)
{
	for (unsigned u = 0; u < GT_URZ; u++) {
		if (!flow->crosses[u] || (!flow->certainly[u] && !flow->writer[u]))
			continue;
		if (!flow->writer[u] || flow->writers_differ[u] || !is_invariant(flow->writer[u]))
			return false;
	}
	return true;
}

static bool flow_is_sound(struct gt_graft_stub *stub, const bool *leaders, struct flow *flow, bool *ret_known)
{
	memset(flow, 0, sizeof(*flow));
	memset(stub->uniform, 0, sizeof(stub->uniform));
	*ret_known = true;
	for (unsigned i = 0; *ret_known && i < stub->count; i++) {
		if (leaders[i])
			memset(flow->defined, 0, sizeof(flow->defined));
		*ret_known = follow(stub, flow, stub->words[i]);
	}
	return *ret_known && is_sound(flow);
}

/* ---- one register for two values, of which one stays within its run: give that one another ---- */

/* The registers of a pair that a place names, as bits 1 and 2; 0: it names others. */
static unsigned of_pair(gt_word word, const struct gt_uniform *place, unsigned pair)
{
	unsigned number = gt_bits(word, place->at, 6);

	if (number / 2 != pair || number == GT_URZ)
		return 0;
	return place->width == 2 ? 3 : 1u << number % 2;
}

static unsigned written_of_pair(gt_word word, unsigned pair)
{
	struct gt_uniform places[GT_UNIFORM_MAX];
	int count = places_of(word, places);
	unsigned written = 0;

	for (int k = 0; k < count; k++)
		if (places[k].written)
			written |= of_pair(word, &places[k], pair);
	return written;
}

/* Renames the pair where it is read or where it is written. */
static gt_word with_pair(gt_word word, unsigned pair, unsigned other, bool written)
{
	struct gt_uniform places[GT_UNIFORM_MAX];
	int count = places_of(word, places);

	for (int k = 0; k < count; k++) {
		unsigned number = gt_bits(word, places[k].at, 6);

		if (places[k].written == written && of_pair(word, &places[k], pair))
			word = gt_with(word, places[k].at, 6, 2 * other + number % 2);
	}
	return word;
}

static bool reads_more_than(gt_word word, unsigned pair, unsigned registers)
{
	struct gt_uniform places[GT_UNIFORM_MAX];
	int count = places_of(word, places);

	for (int k = 0; k < count; k++)
		if (!places[k].written && of_pair(word, &places[k], pair) & ~registers &&
		    of_pair(word, &places[k], pair) & registers)
			return true;
	return false;
}

/* Where the value written at `at` is written over within the run; 0: it may be read beyond. */
static unsigned end_of_value(const struct gt_graft_stub *stub, const bool *leaders, unsigned at, unsigned pair)
{
	unsigned registers = written_of_pair(stub->words[at], pair), again;

	for (unsigned i = at + 1; i < stub->count && !leaders[i]; i++) {
		if (reads_more_than(stub->words[i], pair, registers))
			return 0;
		again = written_of_pair(stub->words[i], pair);
		if (again & registers)
			return (again & registers) == registers && gt_unguarded(stub->words[i]) ? i : 0;
	}
	return 0;
}

static void separate(struct gt_graft_stub *stub, const bool *leaders, unsigned pair, unsigned other)
{
	for (unsigned at = 0; at < stub->count; at++) {
		unsigned end;

		if (!written_of_pair(stub->words[at], pair) || !gt_unguarded(stub->words[at]))
			continue;
		end = end_of_value(stub, leaders, at, pair);
		if (!end)
			continue;
		stub->words[at] = with_pair(stub->words[at], pair, other, true);
		for (unsigned i = at + 1; i <= end; i++)
			stub->words[i] = with_pair(stub->words[i], pair, other, false);
	}
}

static void separate_all(struct gt_graft_stub *stub, const bool *leaders, const struct flow *flow)
{
	unsigned other = 0;

	for (unsigned pair = 0; pair < GT_UR_COUNT / 2 - 1; pair++) {
		if (!(flow->crosses[2 * pair] && flow->writers_differ[2 * pair]) &&
		    !(flow->crosses[2 * pair + 1] && flow->writers_differ[2 * pair + 1]))
			continue;
		while (other < GT_UR_COUNT / 2 - 1 && stub->uniform[other])
			other++;
		if (other == GT_UR_COUNT / 2 - 1)
			return;
		separate(stub, leaders, pair, other++);
	}
}

static const char *check_uniform(struct gt_graft_stub *stub, const bool *leaders, struct flow *flow)
{
	bool known, sound = flow_is_sound(stub, leaders, flow, &known);

	if (known && !sound) {
		separate_all(stub, leaders, flow);
		sound = flow_is_sound(stub, leaders, flow, &known);
	}
	for (unsigned p = 0; p < GT_UR_COUNT / 2; p++)
		stub->uniform_pairs += stub->uniform[p];
	if (!known)
		return "the probes' machine code uses registers of whole warps in an unknown way";
	return sound ? NULL : "the probes' machine code keeps values for whole warps, which at exit are not together";
}

/* ---- what threads do as a group ---- */

/* Who is there: a vote that gives a mask. */
static bool asks_who(gt_word word)
{
	return gt_op_proper(word) == GT_OPP_VOTE && gt_bits(word, 16, 8) != GT_RZ && gt_unguarded(word);
}

/*
 * Threads that were found together are still together as long as the code goes
 * straight on; what they do with one another must happen there.
 */
static bool groups_stay_together(const struct gt_graft_stub *stub, const bool *leaders)
{
	bool known = false;

	for (unsigned i = 0; i < stub->count; i++) {
		unsigned proper = gt_op_proper(stub->words[i]);

		known = (known && !leaders[i]) || asks_who(stub->words[i]);
		if ((proper == GT_OPP_VOTE || proper == GT_OPP_SHFL) && !(known && gt_unguarded(stub->words[i])))
			return false;
	}
	return true;
}

static const char *check(struct gt_graft_stub *stub, const bool *leaders, struct flow *flow)
{
	if (!groups_stay_together(stub, leaders))
		return "the probes' machine code needs the threads of a warp together at exit";
	return check_uniform(stub, leaders, flow);
}

int gt_stub_make_divergent(struct gt_graft_stub *stub, const char **ret_why)
{
	struct flow *flow;
	bool *leaders;

	*ret_why = drop_convergence(stub);
	if (*ret_why)
		return -EINVAL;
	if (stub->arch >= 90)
		for (unsigned i = 0; i < stub->count; i++)
			stub->words[i] = gt_without_descriptor(stub->words[i]);
	drop_dead_loads(stub);
	flow = calloc(1, sizeof(*flow));
	leaders = find_leaders(stub);
	*ret_why = flow && leaders ? check(stub, leaders, flow) : "out of memory";
	free(flow);
	free(leaders);
	return *ret_why ? -EINVAL : 0;
}
