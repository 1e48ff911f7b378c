#!/usr/bin/env python3
"""Training steps of a model on a GPU, here at several budgets, in PyTorch and in JAX, in one run.

usage: compare_gpu.py BUILD_DIR [--torch PYTHON] [--jax PYTHON] [--model gpt2|gpt2-350m|llama-1b|resnet50|unet]
                      [--budgets 100,60,45] [--mib 3000] [--ways eager,compile,compile-checkpoint,0.5]

Ours: bench/gpu_training. PyTorch: eager, torch.compile, either with a checkpoint per block, torch.compile with an
activation_memory_budget (bench/peers/torch_gpu.py). JAX, of the GPTs alone: one jit, with a checkpoint per block or without
(bench/peers/jax_gpu.py). Times are medians of 20 full steps after warm-up, memory is what is held above parameters, moments
and data. For each of our rows: the fastest of the others with as much memory or more, and our time over its.
"""
import argparse
import json
import os
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("build", type=Path)
parser.add_argument("--torch", help="an interpreter with PyTorch")
parser.add_argument("--jax", help="an interpreter with JAX")
parser.add_argument("--model", default="gpt2")
parser.add_argument("--ways", default="eager,compile,compile-checkpoint")
parser.add_argument("--budgets", default="100,60,45,40,35")
parser.add_argument("--mib", help="further budgets, of all memory, in MiB")
args = parser.parse_args()


def lines_of(command):
    env = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false")
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=env)
    if done.returncode != 0:
        print(f"{Path(str(command[1])).name} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout.splitlines()


ours = [args.build / "bench" / "gpu_training", args.model, "--masters", "--budgets", args.budgets]
rows = []
for line in lines_of(ours + (["--mib", args.mib] if args.mib else [])):
    if found := re.search(r"(\S+%|\d+ MiB):\s+([\d.]+) ms .*?above state ([\d.]+) MiB", line):
        rows.append(("ours", float(found[2]), float(found[3])))
    elif "does not fit" in line:
        print(line)
peers = []
if args.torch:
    peers.append(("PyTorch", [args.torch, HERE / "peers" / "torch_gpu.py", "--model", args.model, "--ways", args.ways]))
if args.jax and args.model.startswith("gpt2"):
    peers.append(("JAX", [args.jax, HERE / "peers" / "jax_gpu.py", "--model", args.model]))
for library, command in peers:
    for line in lines_of(command):
        if line.startswith("{"):
            row = json.loads(line)
            rows.append((f"{library} {row['way']}", row["ms"], row["mib"]))

for name, ms, mib in sorted(rows, key=lambda row: (row[0] != "ours", -row[2])):
    line = f"{args.model:<10} {name:<28} {ms:8.2f} ms {mib:8.0f} MiB"
    if name == "ours":
        others = [(time, other) for other, time, memory in rows if other != "ours" and memory >= mib]
        line += "   {:.3f} of {}".format(ms / min(others)[0], min(others)[1]) if others else "   nobody has as much memory"
    print(line, flush=True)
