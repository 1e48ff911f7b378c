#!/usr/bin/env python3
"""A small GPT trained by AdamW here and in PyTorch, from the same weights on the same tokens: how far the losses are apart.

usage: compare_gpt_curve.py BUILD_DIR PEER_PYTHON [--steps 200] [--within 1e-3]
PEER_PYTHON is an interpreter with torch and safetensors. Weights go both ways as safetensors: ours are saved before the
first step and PyTorch starts from them; what either ends with is loaded by the other, whose loss of the same batch must be
the same. In f32 and in f64. The status is 1 when a loss is more than --within from the other's.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def answer(*command):
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("python")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--within", type=float, default=1e-3)
    args = parser.parse_args()
    program = args.build / "bench" / "gpt_curve"
    worst = 0.0
    print(f"{'':<4} {'first loss':>10} {'last loss':>10} {'farthest':>9} {'at step':>8} {'their weights here':>19} "
          f"{'ours there':>11}")
    for dtype in ("f32", "f64"):
        with tempfile.TemporaryDirectory() as folder:
            ours = answer(program, "train", folder, dtype, str(args.steps))
            theirs = answer(args.python, HERE / "peers" / "torch_gpt_curve.py", folder)
            theirs_here = answer(program, "judge", folder, dtype, "theirs.safetensors")
        apart = [abs(a - b) for a, b in zip(ours["losses"], theirs["losses"], strict=True)]
        far = max(range(len(apart)), key=apart.__getitem__)
        here, there = abs(theirs_here["last"] - theirs["last"]), abs(theirs["ours"] - ours["last"])
        print(f"{dtype:<4} {ours['losses'][0]:10.4f} {ours['losses'][-1]:10.4f} {apart[far]:9.1e} {far:8} {here:19.1e} "
              f"{there:11.1e}")
        worst = max(worst, apart[far], here, there)
    print(f"{args.steps} steps, at most {worst:.1e} apart")
    sys.exit(0 if worst <= args.within else 1)


if __name__ == "__main__":
    main()
