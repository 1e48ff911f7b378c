#!/usr/bin/env python3
"""Training steps of language models on a GPU in PyTorch, for bench/compare_gpu.py.

usage: torch_gpu.py [--model gpt2|gpt2-350m|llama-1b] [--ways eager,compile,checkpoint,0.5] [--batch N] [--context N]
                    [--steps 20]

GPT-2: f32 parameters, bf16 arithmetic by autocast, tied head of 50,257 classes. The Llama of 1.1 billion parameters: all
bf16. Fused AdamW and scaled_dot_product_attention in both. A way that is a number is torch.compile with that
activation_memory_budget. Prints a line of JSON for each way: median milliseconds of a full step, and the most MiB
allocated above parameters and moments while steps run.
"""
import argparse
import json
import statistics
import time

import torch
import torch._functorch.config
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint



class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, width = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    vocabulary, dtype = 50257, torch.float32

    def __init__(self, context, recompute, width, heads, layers):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(self.vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.recompute = recompute

    def forward(self, x, y):
        h = self.tokens(x) + self.positions(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            h = checkpoint(block, h, use_reentrant=False) if self.recompute else block(h)
        logits = self.norm(h) @ self.tokens.weight.t()
        return F.cross_entropy(logits.view(-1, self.vocabulary), y.view(-1))


def rotated(x, angles):
    a, b = x.chunk(2, dim=-1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x, angles):
        b, t, width = x.shape
        h = self.norm1(x)
        q, k, v = (p(h).view(b, t, self.heads, -1).transpose(1, 2) for p in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(rotated(q, angles), rotated(k, angles), v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, width))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    vocabulary, dtype = 32000, torch.bfloat16

    def __init__(self, context, recompute, width=2048, heads=32, layers=22, hidden=5632):
        super().__init__()
        self.tokens, self.head = nn.Embedding(self.vocabulary, width), nn.Linear(width, self.vocabulary, bias=False)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, hidden) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.recompute = recompute
        half = width // heads // 2
        turns = 10000.0 ** (-torch.arange(half) / half)
        self.register_buffer("angles", torch.arange(context)[:, None] * turns[None, :])

    def forward(self, x, y):
        h = self.tokens(x)
        for block in self.blocks:
            h = checkpoint(block, h, self.angles, use_reentrant=False) if self.recompute else block(h, self.angles)
        return F.cross_entropy(self.head(self.norm(h)).view(-1, self.vocabulary), y.view(-1))


MODELS = {  # batch, context, how it is made
    "gpt2": (16, 1024, lambda context, recompute: Gpt(context, recompute, 768, 12, 12)),
    "gpt2-350m": (8, 1024, lambda context, recompute: Gpt(context, recompute, 1024, 16, 24)),
    "llama-1b": (1, 4096, Llama),
}


def measure(way, args):
    torch.manual_seed(0)
    batch, context, make = MODELS[args.model]
    batch, context = args.batch or batch, args.context or context
    share = float(way) if way[0].isdigit() else 1.0
    torch._functorch.config.activation_memory_budget = share
    model = make(context, way == "checkpoint").cuda()
    model = model.to(model.dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    forward = model if way == "eager" else torch.compile(model)
    x = torch.randint(0, model.vocabulary, (batch, context), device="cuda")
    y = torch.randint(0, model.vocabulary, (batch, context), device="cuda")

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=model.dtype == torch.float32):
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
parser.add_argument("--model", default="gpt2", choices=list(MODELS))
parser.add_argument("--batch", type=int, default=0)
parser.add_argument("--context", type=int, default=0)
parser.add_argument("--steps", type=int, default=20)
arguments = parser.parse_args()
torch.set_float32_matmul_precision("highest")
for name in arguments.ways.split(","):
    measure(name, arguments)
    torch.cuda.empty_cache()
    torch._dynamo.reset()
