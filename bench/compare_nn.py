#!/usr/bin/env python3
"""Layers and losses of nn/ here and in PyTorch, in f64 on the same numbers: how far values and gradients are apart.

usage: compare_nn.py BUILD_DIR PEER_PYTHON [--within 1e-9] [--only PART_OF_A_NAME]
PEER_PYTHON is an interpreter with torch. Distances are of the largest difference to the largest magnitude of a tensor, or
to 1 where that is smaller. The status is 1 when one is above --within.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def distance(ours, theirs):
    if not theirs:
        return 0.0
    scale = max(1.0, max(map(abs, theirs)))
    # a NaN is as far away as can be
    return max(abs(a - b) if abs(a - b) <= float("inf") else float("inf") for a, b in zip(ours, theirs)) / scale


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("python")
    parser.add_argument("--within", type=float, default=1e-9)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    done = subprocess.run([args.build / "bench" / "nn_gradients"], check=True, capture_output=True, text=True)
    rows = [row for row in map(json.loads, done.stdout.splitlines()) if args.only in row["case"]]
    peer = subprocess.run([args.python, HERE / "peers" / "torch_nn.py"], check=True, stdout=subprocess.PIPE, text=True,
                          input="".join(json.dumps(row) + "\n" for row in rows))
    worst = 0.0
    print(f"{'case':<28} {'value':>9} {'gradient':>9}  farthest")
    for ours, theirs in zip(rows, map(json.loads, peer.stdout.splitlines()), strict=True):
        value = distance([ours["value"]], [theirs["value"]])
        far = {path: distance(g["data"], theirs["gradients"][path]) for path, g in ours["gradients"].items()}
        path = max(far, key=far.get)
        worst = max(worst, value, far[path])
        print(f"{ours['case']:<28} {value:9.1e} {far[path]:9.1e}  {path if far[path] > 0 else ''}")
    print(f"{len(rows)} cases, at most {worst:.1e} apart")
    sys.exit(0 if worst <= args.within else 1)


if __name__ == "__main__":
    main()
