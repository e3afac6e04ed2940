/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/verify/verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/util/error.h"
#include "lib/verify/node.h"
#include "lib/verify/ranges.h"
#include "lib/verify/verifier.h"

#define INSNS_MAX 1000000u

static void release(struct gt_verifier *v)
{
	free(v->flags);
	free(v->function);
	free(v->reads);
	free(v->writes);
	free(v->nodes);
	free(v->facts);
	free(v->map_uses);
	free(v->log.text);
}

static int allocate(struct gt_verifier *v)
{
	size_t count = v->prog->insn_count ? v->prog->insn_count : 1;

	v->flags = calloc(count, sizeof(*v->flags));
	v->function = calloc(count, sizeof(*v->function));
	v->reads = calloc(count, sizeof(*v->reads));
	v->writes = calloc(count, sizeof(*v->writes));
	v->nodes = calloc(count, sizeof(struct gt_node *));
	v->facts = calloc(count, sizeof(*v->facts));
	v->map_uses = calloc(v->prog->map_count + 1, sizeof(*v->map_uses));
	if (!v->flags || !v->function || !v->reads || !v->writes || !v->nodes || !v->facts || !v->map_uses)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		v->facts[i].map = -1;
	return 0;
}

static int check_size(struct gt_verifier *v)
{
	if (v->prog->insn_count > INSNS_MAX)
		return gt_refuse(v, INSNS_MAX, "split it", "the program has more than %u instructions",
				 INSNS_MAX);
	if (v->prog->map_count > INT16_MAX)
		return gt_refuse(v, 0, "use fewer maps", "the program names more than %d maps", INT16_MAX);
	return 0;
}

/* Forget what was found on the way to a refusal. */
static void start_again(struct gt_verifier *v)
{
	for (unsigned i = 0; i < v->prog->insn_count; i++) {
		v->facts[i] = (struct gt_fact){ .map = -1 };
		v->reads[i] = (struct gt_touch){ 0 };
		v->writes[i] = (struct gt_touch){ 0 };
	}
	v->wants = 0;
	v->explored = 0;
	v->log.length = 0;
	v->log.truncated = 0;
}

/* Loops without a proof of their end, ended by a countdown. */
static int explore_widening(struct gt_verifier *v, struct gt_verify_result *result)
{
	uint64_t longest = 0;
	int r;

	start_again(v);
	v->widening = 1;
	r = gt_verify_explore(v, &longest);
	if (r < 0)
		return r;
	/* Between two counts no loop is closed, so no stretch is longer than the longest path. */
	result->loop_budget = v->opts.loop_budget;
	result->max_steps = gt_mul_steps(longest, (uint64_t)v->opts.loop_budget + 1);
	return 0;
}

static int prove(struct gt_verifier *v, struct gt_verify_result *result)
{
	int r = check_size(v);

	if (r == 0)
		r = gt_verify_decode(v);
	if (r == 0)
		r = gt_verify_explore(v, &result->max_steps);
	if (r == -EACCES && v->unproved && v->opts.loop_budget)
		r = explore_widening(v, result);
	if (r == 0)
		r = gt_verify_simt(v);
	return r;
}

int gt_verify_ranges(const struct gt_prog *prog, const struct gt_verify_opts *opts,
		     struct gt_range_log *ranges, struct gt_verify_result **ret_result)
{
	struct gt_verifier v = { .prog = prog, .ranges = ranges };
	struct gt_verify_result *result = calloc(1, sizeof(*result));
	int r = -ENOMEM;

	if (opts)
		v.opts = *opts;
	if (result && allocate(&v) == 0)
		r = prove(&v, result);
	if (r == 0 || r == -EACCES) {
		result->facts = v.facts;
		result->fact_count = prog->insn_count;
		result->wants = v.wants;
		result->map_uses = v.map_uses;
		result->log = v.log.text ? v.log.text : strdup("");
		v.facts = NULL;
		v.map_uses = NULL;
		v.log.text = NULL;
		if (!result->log)
			r = -ENOMEM;
	}
	release(&v);
	if (r < 0 && r != -EACCES) {
		gt_verify_result_free(result);
		return gt_error(r, "no memory to verify program %s", prog->name ? prog->name : "?");
	}
	*ret_result = result;
	return r;
}

int gt_verify(const struct gt_prog *prog, const struct gt_verify_opts *opts,
	      struct gt_verify_result **ret_result)
{
	return gt_verify_ranges(prog, opts, NULL, ret_result);
}

void gt_verify_result_free(struct gt_verify_result *result)
{
	if (!result)
		return;
	free(result->facts);
	free(result->map_uses);
	free(result->log);
	free(result);
}
