# SPDX-License-Identifier: Apache-2.0
"""For pytest, which finds it by itself once the package is installed.

    def test_step(gpu_launches):
        with gpu_launches({"gemm*": 2}, total=7):
            step()
"""
from __future__ import annotations

from typing import Type

import pytest

from .tracing import expect_launches


@pytest.fixture
def gpu_launches() -> Type[expect_launches]:
    """gputrace.expect_launches: a block must launch kernels so often."""
    return expect_launches
