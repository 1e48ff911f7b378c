#!/usr/bin/env python3
"""Training steps on a GPU in PyTorch, for bench/compare_gpu.py; bench/peers/torch_gpu_models.py has the models.

usage: torch_gpu.py [--model gpt2|gpt2-350m|llama-1b|resnet50|unet] [--steps 20]
                    [--ways eager,eager-checkpoint,compile,compile-checkpoint,0.5]

Fused AdamW. A way that is a number is torch.compile with that activation_memory_budget. Prints a line of JSON for each way:
median milliseconds of a full step, and the most MiB allocated above parameters and moments while steps run.
"""
import argparse
import json
import statistics
import time

import torch
import torch._functorch.config
from torch_gpu_models import MODELS


def measure(way, args):
    torch.manual_seed(0)
    is_budget = way[0].isdigit()
    torch._functorch.config.activation_memory_budget = float(way) if is_budget else 1.0
    make, data = MODELS[args.model]
    model = make(way.endswith("checkpoint")).cuda()
    dtype = getattr(model, "dtype", torch.float32)
    model = model.to(dtype)
    if args.model in ("resnet50", "unet"):
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    forward = model if way.startswith("eager") else torch.compile(model)
    x, y = data("cuda")

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=dtype == torch.float32):
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
    print(json.dumps({"way": f"compile, budget {way}" if is_budget else way, "ms": round(1e3 * statistics.median(times), 2),
                      "mib": round(above / 2**20), "state": round(state / 2**20)}), flush=True)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--ways", default="eager,compile,compile-checkpoint")
parser.add_argument("--model", default="gpt2", choices=list(MODELS))
parser.add_argument("--steps", type=int, default=20)
arguments = parser.parse_args()
torch.set_float32_matmul_precision("highest")
torch.backends.cudnn.benchmark = True
for name in arguments.ways.split(","):
    measure(name, arguments)
    torch.cuda.empty_cache()
    torch._dynamo.reset()
