#!/usr/bin/env python3
"""Training steps of GPT-2 124M on a GPU in PyTorch, for bench/compare_gpu.py.

usage: torch_gpu.py [--ways eager,compile,checkpoint] [--batch 16] [--context 1024] [--steps 20]

f32 parameters, bf16 arithmetic by autocast, fused AdamW, scaled_dot_product_attention, tied head of 50,257 classes. Prints a
line of JSON for each way: median milliseconds of a full step, and the most MiB allocated above parameters and
moments while steps run.
"""
import argparse
import json
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

WIDTH, HEADS, LAYERS, VOCABULARY = 768, 12, 12, 50257


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (y.view(b, t, HEADS, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(WIDTH, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, context, recompute):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(context, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.recompute = recompute

    def forward(self, x, y):
        h = self.tokens(x) + self.positions(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            h = checkpoint(block, h, use_reentrant=False) if self.recompute else block(h)
        logits = self.norm(h) @ self.tokens.weight.t()
        return F.cross_entropy(logits.view(-1, VOCABULARY), y.view(-1))


def measure(way, args):
    torch.manual_seed(0)
    model = Gpt(args.context, way == "checkpoint").cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    forward = model if way == "eager" else torch.compile(model)
    x = torch.randint(0, VOCABULARY, (args.batch, args.context), device="cuda")
    y = torch.randint(0, VOCABULARY, (args.batch, args.context), device="cuda")

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = forward(x, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for _ in range(4):
        step()
    torch.cuda.synchronize()
    state = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(args.steps):
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    above = torch.cuda.max_memory_allocated() - state
    print(json.dumps({"way": way, "ms": round(1e3 * statistics.median(times), 2), "mib": round(above / 2**20)}), flush=True)


parser = argparse.ArgumentParser()
parser.add_argument("--ways", default="eager,compile,checkpoint")
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--context", type=int, default=1024)
parser.add_argument("--steps", type=int, default=20)
arguments = parser.parse_args()
torch.set_float32_matmul_precision("highest")
for name in arguments.ways.split(","):
    measure(name, arguments)
    torch.cuda.empty_cache()
    torch._dynamo.reset()
