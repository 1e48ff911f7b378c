#!/usr/bin/env python3
"""Linear algebra here and elsewhere on the same matrices: how far values are from NumPy's and gradients from PyTorch's.

usage: compare_linalg.py BUILD_DIR PEER_PYTHON [--within 1e-8] [--only PART_OF_A_NAME] [--all]
PEER_PYTHON is an interpreter with numpy and torch. Distances are of the largest difference to the largest magnitude of a
tensor, or to 1 where that is smaller: of values in f64 and f32, and of gradients in f64. One line for each function, or
with --all for each size. The status is 1 when one in f64 is above --within.
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


def farthest(ours, theirs):
    return max(distance(a["data"], b) for a, b in zip(ours, theirs, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("python")
    parser.add_argument("--within", type=float, default=1e-8)
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    done = subprocess.run([args.build / "bench" / "linalg_gradients"], check=True, capture_output=True, text=True)
    rows = [row for row in map(json.loads, done.stdout.splitlines()) if args.only in row["case"]]
    peer = subprocess.run([args.python, HERE / "peers" / "torch_linalg.py"], check=True, stdout=subprocess.PIPE, text=True,
                          input="".join(json.dumps(row) + "\n" for row in rows))
    lines = {}  # name -> distances and the size of the farthest gradient
    for ours, theirs in zip(rows, map(json.loads, peer.stdout.splitlines()), strict=True):
        function, size = ours["case"].split("/")
        found = (farthest(ours["out"], theirs["out"]), farthest(ours["out32"], theirs["out"]),
                 farthest(ours["gradients"], theirs["gradients"]), size)
        name = ours["case"] if args.all else function
        before = lines.get(name, (0.0, 0.0, -1.0, ""))
        worst = found if found[2] > before[2] else before
        lines[name] = (*(max(a, b) for a, b in zip(before[:2], found[:2])), worst[2], worst[3])
    print(f"{'function':<24} {'value':>9} {'in f32':>9} {'gradient':>9}  farthest at")
    for name, (value, narrow, gradient, size) in lines.items():
        print(f"{name:<24} {value:9.1e} {narrow:9.1e} {gradient:9.1e}  {size}")
    worst = max(max(line[0], line[2]) for line in lines.values())
    print(f"{len(rows)} cases, at most {worst:.1e} apart in f64")
    sys.exit(0 if worst <= args.within else 1)


if __name__ == "__main__":
    main()
