# SPDX-License-Identifier: Apache-2.0
"""PyTorch that computes the same bits each time; where there is none, the program ends with status 77."""
import os
import sys

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
try:
    import torch
except ImportError as error:
    print(f"no PyTorch: {error}")
    sys.exit(77)

torch.use_deterministic_algorithms(True)
torch.manual_seed(1)
