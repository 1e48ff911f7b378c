#!/usr/bin/env python3
"""Functions here and in NumPy (Fourier transforms) and PyTorch (all others, and gradients), in f64 on the same numbers:
the largest error of each function over all its cases.

usage: compare_functions.py BUILD_DIR PEER_PYTHON [--within 1e-9] [--only PART_OF_A_NAME]
PEER_PYTHON is an interpreter with numpy and torch. Errors are of the largest difference to the largest magnitude of a tensor,
or to 1 where that is smaller; where both are infinite or NaN there is none. The status is 1 when one is above --within.
"""
import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def distance(ours, theirs):
    if theirs is None:
        return 0.0
    assert len(ours) == len(theirs), (len(ours), len(theirs))
    pairs = [(a, b) for a, b in zip(ours, theirs) if not (a == b or math.isnan(a) and math.isnan(b))]
    scale = max([1.0] + [abs(b) for b in theirs if math.isfinite(b)])
    # a NaN is as far away as can be
    return max((abs(a - b) if abs(a - b) <= math.inf else math.inf for a, b in pairs), default=0.0) / scale


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("python")
    parser.add_argument("--within", type=float, default=1e-9)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    done = subprocess.run([args.build / "bench" / "function_values"], check=True, capture_output=True, text=True)
    rows = [row for row in map(json.loads, done.stdout.splitlines()) if args.only in row["function"]]
    peer = subprocess.run([args.python, HERE / "peers" / "torch_functions.py"], check=True, stdout=subprocess.PIPE,
                          text=True, input="".join(json.dumps(row) + "\n" for row in rows))
    worst = {}
    for ours, theirs in zip(rows, map(json.loads, peer.stdout.splitlines()), strict=True):
        entry = worst.setdefault(ours["function"], [0, 0.0, None])
        entry[0] += 1
        entry[1] = max(entry[1], distance([float.fromhex(v) for v in ours["y"]["data"]], theirs["y"]))
        if ours["gradient"] is not None:
            gradient = [float.fromhex(v) for v in ours["gradient"]["data"]]
            entry[2] = max(entry[2] or 0.0, distance(gradient, theirs["gradient"]))
    print(f"{'function':<18} {'cases':>5} {'value':>9} {'gradient':>9}")
    for function, (cases, value, gradient) in worst.items():
        print(f"{function:<18} {cases:>5} {value:9.1e} " + ("" if gradient is None else f"{gradient:9.1e}"))
    most = max(max(value, gradient or 0.0) for _, value, gradient in worst.values())
    print(f"{len(rows)} cases, at most {most:.1e} apart")
    sys.exit(0 if most <= args.within else 1)


if __name__ == "__main__":
    main()
