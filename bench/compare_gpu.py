#!/usr/bin/env python3
"""Training steps of a language model on a GPU, here at several budgets and in PyTorch, in one run.

usage: compare_gpu.py BUILD_DIR --torch PYTHON [--model gpt2|gpt2-350m|llama-1b] [--ways eager,compile,checkpoint,0.5]
                      [--budgets 100,60,45,40,35]

Ours: bench/gpu_training. PyTorch: eager, torch.compile, torch.compile with a checkpoint per block, or with an activation_memory_budget
(bench/peers/torch_gpu.py). Times are medians of 20 full steps after warm-up, memory is what is held above parameters,
moments and data.
"""
import argparse
import json
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("build", type=Path)
parser.add_argument("--torch", required=True, help="an interpreter with PyTorch")
parser.add_argument("--model", default="gpt2")
parser.add_argument("--ways", default="eager,compile,checkpoint")
parser.add_argument("--budgets", default="100,60,45,40,35")
args = parser.parse_args()

ours = subprocess.run([str(args.build / "bench" / "gpu_training"), args.model, "--masters", "--budgets", args.budgets],
                      check=True, capture_output=True, text=True).stdout
rows = [("ours", float(ms), float(mib)) for ms, mib in re.findall(r"%:\s+([\d.]+) ms .*?above state ([\d.]+) MiB", ours)]
peers = subprocess.run([args.torch, str(HERE / "peers" / "torch_gpu.py"), "--model", args.model, "--ways", args.ways], check=True,
                       capture_output=True, text=True).stdout
for line in peers.splitlines():
    if line.startswith("{"):
        row = json.loads(line)
        rows.append((f"PyTorch {row['way']}", row["ms"], row["mib"]))
for name, ms, mib in rows:
    slower = [other for other in rows if other[0] != name and not (name == "ours") == (other[0] == "ours")
              and other[2] >= mib and other[1] > ms]
    print(f"{name:<20} {ms:8.2f} ms {mib:8.0f} MiB   faster than {len(slower)} with as much memory or more")
