# SPDX-License-Identifier: Apache-2.0
"""The checks, in the order of the report."""

from checks import load, launch, programs, points, data, order, copies, metrics, session, cost, inside, memcheck, stacks, tools, suites, training, cases  # noqa: F401
from checks import multi, ddp  # noqa: F401
from checks.registry import CHECKS, MULTI  # noqa: F401
