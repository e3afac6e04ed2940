# SPDX-License-Identifier: Apache-2.0
"""
Trains a small transformer on numbers that it is to add, for so many seconds: torch-train.py SECONDS.
Prints each loss to its last bit.
"""
import sys
import time

from exact_torch import torch
from torch.nn import functional as F

WORDS, LENGTH, WIDTH, HEADS, LAYERS, BATCH = 97, 64, 256, 4, 4, 32


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.wide = torch.nn.Sequential(torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        parts = self.qkv(self.before(x)).reshape(BATCH, LENGTH, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        # Of the ways to do this, one whose backward adds in one order.
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            seen = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))
        return x + self.wide(self.between(x))


class Transformer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        # Products with rows of one 1 each: the backward of an embedding would add in any order.
        self.word, self.place = torch.nn.Linear(WORDS, WIDTH), torch.nn.Parameter(torch.zeros(LENGTH, WIDTH))
        self.blocks = torch.nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.head = torch.nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        return self.head(self.blocks(self.word(ROWS[words]) + self.place))


def lesson(step):
    """A sequence in which each word is the sum of the two before it."""
    at = torch.arange(BATCH, device="cuda") + step * BATCH
    words = [at % WORDS, at // WORDS % WORDS]
    while len(words) <= LENGTH:
        words.append((words[-1] + words[-2]) % WORDS)
    return torch.stack(words, 1)


ROWS = torch.eye(WORDS, device="cuda")
model = Transformer().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
end, step = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < end:
    words = lesson(step)
    with torch.autocast("cuda", torch.bfloat16):
        scores = model(words[:, :-1])
    loss = F.cross_entropy(scores.float().reshape(-1, WORDS), words[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("loss", step, loss.item().hex())
    step += 1
