# SPDX-License-Identifier: Apache-2.0
"""
Faults that others' tools have, and the checks and tests that keep them out of this one.
Here they are called by name, so that none can go away unnoticed.
"""

import re

from checks.registry import CHECKS, check
from lab import ROOT, expect

# Runs the checks of this folder that need no GPU.
SIM = "tests/tools/test-sim.sh"

# The case, checks of this folder, and tests of make check as file:function.
CASES = (
    ("sessions started and stopped again and again in one process", ("sessions",),
     ("tests/e2e/test-live.c:attached_a_hundred_times", "tests/e2e/test-live.c:a_running_program_is_seen")),
    ("a graph of 1,000 nodes replayed 30,000 times", ("graphs",), ("tests/e2e/test-graphs.c:long_replay",)),
    ("a graph of 24 kernels and 7 copies, captured and built", ("graph_captured", "program_graph-nodes"),
     ("tests/e2e/test-graphs.c:kernels_of_nodes", "tests/e2e/test-e2e.c:graphs_replay_with_their_probes")),
    ("one program with the runtime static, shared, opened by dlopen, and without it", ("any_runtime",), (SIM,)),
    ("calls resolved by cuGetProcAddress, old and new, with either default stream", ("program_getproc", "launches"),
     (SIM, "tests/e2e/test-launches.c:resolved")),
    ("threads in a storm of launches, attach and detach, every kind of end", ("end_to_end", "sessions"),
     ("tests/e2e/test-live.c:attached_a_hundred_times", "tests/e2e/test-live.c:the_controller_is_killed",
      "tests/e2e/test-live.c:the_program_is_killed", "tests/e2e/test-e2e.c:many_threads_launch",
      "tests/e2e/test-e2e.c:detached_in_the_middle", "tests/e2e/test-e2e.c:every_end_is_survived")),
    ("a million records into a small ring", ("full_ring",), ("tests/e2e/test-e2e.c:what_is_lost_is_counted",)),
    ("no PTX, PTX too new, several architectures, every compression",
     ("machine_code_only", "ptx_only", "newer_ptx", "several_architectures", "compression_none", "compression_size",
      "compression_speed", "compression_balance"), ("tests/image/test-fatbin.c:every_mode_gives_the_same",
                                                    "tests/image/test-fatbin.c:choice_rules")),
    ("two modules with one kernel name, 10,000 times", ("modules_10000_times",),
     ("tests/e2e/test-launches.c:twins", "tests/e2e/test-e2e.c:modules_come_and_go")),
    ("32 KiB of constants, 64 KiB of dynamic shared memory, launch bounds at the limit of registers",
     ("program_shapes", "program_attributes"), ("tests/instrument/test-weave.c:parameter_limit",)),
    ("warpgroup instructions of sm_90a", ("program_wgmma",),
     ("tests/instrument/test-directives.c:target_and_features_are_kept",)),
    ("several programs at one point, one detached", ("five_programs", "end_to_end"),
     (SIM, "tests/instrument/test-weave.c:several_at_one_point", "tests/e2e/test-e2e.c:five_programs_at_one_point")),
    ("keys beyond the map, full hash tables, colliding keys", ("bpf_hash",),
     ("tests/compile/test-host.c:array_errors", "tests/compile/test-host.c:table_errors",
      "tests/compile/test-host.c:full_table")),
    ("records of any size", ("bpf_ring",), ("tests/compile/test-host.c:ring_lengths",)),
    ("several returns, ret.uni, predicated, exit, in a loop, in a function", ("program_returns",),
     ("tests/e2e/test-e2e.c:every_way_out_counts", "tests/instrument/test-run.c:entries_are_exits")),
    ("every kind of access to memory", ("every_access",), ("tests/instrument/test-run.c:addresses",)),
    ("a graph instantiated while attached, launched after", ("end_to_end",),
     ("tests/e2e/test-graphs.c:detached_graph", "tests/e2e/test-e2e.c:graph_outlives_its_probes")),
    ("a variable that kernel and host share", ("program_variable",),
     ("tests/e2e/test-e2e.c:variables_of_the_program_stay_its_own",)),
)
TITLE = "Cases"


def exists(test):
    path, _, function = test.partition(":")
    file = ROOT / path
    return file.exists() and (not function or re.search(rf"\b{function}\b", file.read_text()))


@check
def cases(lab):
    """Every case has a test on a GPU and one without, and every test that the list names is there."""
    names = {check.name for check in CHECKS}
    rows = []
    for number, (case, checks, tests) in enumerate(CASES, 1):
        missing = [name for name in checks if name not in names] + [test for test in tests if not exists(test)]
        expect(not missing, f"case {number} names what is not there: {missing}")
        expect(checks and tests, f"case {number} has no test")
        rows.append((str(number), case, ", ".join(checks), ", ".join(tests)))
    lab.tables[TITLE] = (("", "case", "checks on a GPU", "tests of make check"), rows)
    return f"{len(rows)} cases"
