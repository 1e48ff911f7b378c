#!/usr/bin/env python3
"""Row kernels here and in PyTorch, one after the other on the same cores: fastest times and their ratio (ours / theirs).

usage: compare_rows.py BUILD_DIR PEER_PYTHON [--threads N] [--only PART_OF_A_NAME]
PEER_PYTHON is an interpreter with torch. Kernels here write into memory set aside before; so that PyTorch does not pay
for fresh pages either, its allocator is told to keep what it frees.
"""
import argparse
import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


def times(command):
    env = dict(os.environ, MALLOC_MMAP_THRESHOLD_=str(1 << 40), MALLOC_TRIM_THRESHOLD_=str(1 << 40))
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    rows = (line.split("\t") for line in done.stdout.splitlines() if "\t" in line)
    return {name: float(ms) for name, ms in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("python")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    size = [str(args.threads), args.only]
    ours = times([str(args.build / "bench" / "micro_rows"), *size])
    theirs = times([args.python, str(HERE / "peers" / "torch_rows.py"), *size])
    print(f"{args.threads} threads\n{'kernel':<44} {'ms ours':>9} {'ms PyTorch':>10} {'ratio':>6}")
    for name, ms in ours.items():
        peer = theirs.get(name)
        print(f"{name:<44} {ms:>9.3f} " + (f"{peer:>10.3f} {ms / peer:>6.2f}" if peer else ""))


if __name__ == "__main__":
    main()
