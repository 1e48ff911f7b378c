#!/usr/bin/env python3
"""Gradients for each example: this library's vmap(grad) against torch.func's, in turns, fastest runs, as a ratio.

usage: compare_per_example.py PROGRAM TORCH_PYTHON [BATCH [WIDTH]]      PROGRAM: build/…/bench/per_example_gradients
"""
import subprocess
import sys
from pathlib import Path


def seconds(command):
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    program, python = sys.argv[1:3]
    sizes = (sys.argv[3:] + ["256", "128"][len(sys.argv) - 3:])[:2]
    peer = str(Path(__file__).parent / "peers" / "torch_per_example.py")
    ours, theirs = [], []
    for _ in range(5):
        ours.append(seconds([program, *sizes, "--seconds"]))
        # One thread or as many as there are cores: whichever serves it better.
        theirs.append(min(seconds([python, peer, *sizes, threads]) for threads in ("1", "0")))
    print(f"batch {sizes[0]}, width {sizes[1]}: vmap(grad) {1e3 * min(ours):.3f} ms, "
          f"torch.func {1e3 * min(theirs):.3f} ms, {min(theirs) / min(ours):.2f} times as long")


if __name__ == "__main__":
    main()
