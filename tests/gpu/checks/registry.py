# SPDX-License-Identifier: Apache-2.0
"""The list of checks: each returns the numbers that it saw, or raises Failure or Skip."""

CHECKS = []
MULTI = []  # of several GPUs


class Check:
    def __init__(self, name, function, alone, slow):
        self.name = name
        self.function = function
        self.alone = alone
        self.slow = slow


def check(function=None, *, alone=False):
    """Add a check; alone: it measures time, so that nothing else may run meanwhile."""
    if function is None:
        return lambda function: check(function, alone=alone)
    add_check(function.__name__, function, alone=alone)
    return function


def add_check(name, function, *, alone=False, slow=False):
    """slow: it takes long and had better begin early."""
    CHECKS.append(Check(name, function, alone, slow))


def check_of_several(function):
    """Add a check of several GPUs; each has them for itself."""
    MULTI.append(Check(function.__name__, function, alone=True, slow=False))
    return function
