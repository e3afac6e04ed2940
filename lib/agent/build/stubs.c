/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/build/stubs.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/agent/agent.h"
#include "lib/agent/build/compile.h"

/* Under the module lock. */
static struct gt_cached_stub *stubs;
static uint64_t stubs_config;	/* gt_session.config_hash: whose programs they are of */

/* False: another form of it might do. */
static bool try_stub(struct gt_cached_stub *cached, const unsigned *which, unsigned count, enum gt_exit_form form)
{
	struct gt_compiled compiled = { 0 };
	char *text;
	int r;

	cached->reason = GT_REASON_UNSUPPORTED;
	if (gt_graft_stub_text(gt_session.text, gt_session.probes, gt_session.probe_count, which, count,
			       cached->point, form, cached->arch, &text, cached->why) < 0)
		return true;
	if (!gt_compile(text, NULL, cached->arch, &compiled, cached->why, sizeof(cached->why))) {
		cached->reason = GT_REASON_COMPILE;
		free(text);
		return true;
	}
	r = gt_graft_stub_open(compiled.code, compiled.size, cached->point, &cached->stub, cached->why);
	free(text);
	free(compiled.code);
	return r != -EINVAL;
}

static void make_stub(struct gt_cached_stub *cached)
{
	unsigned forms = cached->point == GT_POINT_ENTRY ? 1 : GT_EXIT_FORMS;
	unsigned which[GT_PROBES_MAX], count = 0;

	for (unsigned i = 0; i < gt_session.probe_count; i++)
		if (cached->probes >> i & 1)
			which[count++] = i;
	for (unsigned form = 0; form < forms && !try_stub(cached, which, count, form); form++)
		;
}

/* Those of an earlier controller's programs; what was grafted has copies. */
static void drop_stale(void)
{
	struct gt_cached_stub *next;

	if (stubs_config == gt_session.config_hash)
		return;
	for (; stubs; stubs = next) {
		next = stubs->next;
		gt_graft_stub_free(stubs->stub);
		free(stubs);
	}
	stubs_config = gt_session.config_hash;
}

const struct gt_cached_stub *gt_stub_get(unsigned arch, uint32_t point, uint64_t probes)
{
	struct gt_cached_stub *cached;

	drop_stale();
	for (cached = stubs; cached; cached = cached->next)
		if (cached->arch == arch && cached->point == point && cached->probes == probes)
			return cached;
	cached = calloc(1, sizeof(*cached));
	if (!cached)
		return NULL;
	*cached = (struct gt_cached_stub){ .next = stubs, .arch = arch, .point = point, .probes = probes };
	make_stub(cached);
	stubs = cached;
	return cached;
}
