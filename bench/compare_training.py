#!/usr/bin/env python3
"""Training steps here and in PyTorch, alternating in one run: time and memory as ratios (ours / theirs).

usage: compare_training.py BUILD_DIR PEER_PYTHON [--threads N] [--steps N] [--rounds N]
PEER_PYTHON is an interpreter with torch, such as that of a virtual environment outside the repository.
"""
import argparse
import json
import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(command, threads):
    env = dict(os.environ, OMP_NUM_THREADS=str(threads))
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout)


def best(results):
    return {"seconds": min(r["seconds"] for r in results), "peak_rss": min(r["peak_rss"] for r in results)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("python")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    flags = ["--threads", str(args.threads), "--steps", str(args.steps)]
    print(f"{'model':<12} {'ms ours':>9} {'ms torch':>9} {'time ratio':>10} {'MiB ours':>9} {'MiB torch':>9} "
          f"{'memory ratio':>12} {'planned MiB':>11} {'GFLOP/s':>8}")
    for model in ("mlp", "convnet", "transformer"):
        ours, theirs = [], []
        for _ in range(args.rounds):  # alternating, so that drift of the machine meets both
            ours.append(run([str(args.build / "bench" / "macro_training"), model, *flags], args.threads))
            theirs.append(run([args.python, str(HERE / "peers" / "torch_training.py"), model, *flags], args.threads))
        a, b = best(ours), best(theirs)
        print(f"{model:<12} {1e3 * a['seconds']:9.2f} {1e3 * b['seconds']:9.2f} {a['seconds'] / b['seconds']:10.2f} "
              f"{a['peak_rss'] / 2**20:9.1f} {b['peak_rss'] / 2**20:9.1f} {a['peak_rss'] / b['peak_rss']:12.2f} "
              f"{ours[0]['planned'] / 2**20:11.1f} {ours[0]['flops'] / a['seconds'] / 1e9:8.1f}", flush=True)


if __name__ == "__main__":
    main()
