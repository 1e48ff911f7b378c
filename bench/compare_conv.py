#!/usr/bin/env python3
"""Convolutions, pools and batch norms here and in PyTorch, in one run: rates and the ratio of times (ours / theirs).

usage: compare_conv.py BUILD_DIR PEER_PYTHON [--threads N] [--seconds S]
PEER_PYTHON is an interpreter with torch, such as that of a virtual environment outside the repository.
"""
import argparse
import json
import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


def name(row):
    text = f"{row['op']} {tuple(row['x'])}"
    if "w" in row:
        text += f" {tuple(row['w'])}"
    for key, plain in (("window", None), ("stride", 1), ("padding", 0), ("groups", 1), ("dilation", 1), ("dtype", "f32")):
        if key in row and row[key] != plain:
            text += f" {key} {row[key]}"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("python")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=0.1)
    args = parser.parse_args()
    flags = ["--threads", str(args.threads), "--seconds", str(args.seconds)]
    env = dict(os.environ, OMP_NUM_THREADS=str(args.threads))
    ours = subprocess.run([args.build / "bench" / "micro_conv", *flags], check=True, capture_output=True, text=True)
    both = subprocess.run([args.python, HERE / "peers" / "torch_conv.py", *flags], input=ours.stdout, check=True,
                          capture_output=True, text=True, env=env)
    last = None
    for row in map(json.loads, both.stdout.splitlines()):
        if name(row) != last:
            last = name(row)
            print(f"{last}\n  {'':<16} {'ms ours':>9} {'ms torch':>9} {'ratio':>6} {'GFLOP/s':>8} {'GB/s':>6} {'scratch MiB':>11}")
        print(f"  {row['part']:<16} {1e3 * row['seconds']:9.3f} {1e3 * row['peer']:9.3f} {row['seconds'] / row['peer']:6.2f} "
              f"{row['flops'] / row['seconds'] / 1e9:8.1f} {row['bytes'] / row['seconds'] / 1e9:6.1f} "
              f"{row['scratch'] / 2**20:11.2f}")


if __name__ == "__main__":
    main()
