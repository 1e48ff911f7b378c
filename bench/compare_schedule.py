#!/usr/bin/env python3
"""Two-level plans here and of the package checkpoint-schedules: seconds to make one, their ratio, and forward steps.

usage: compare_schedule.py BUILD_DIR PEER_PYTHON [--ram SLOTS] [--disk SLOTS] [--cost COST] [STEPS...]
PEER_PYTHON is an interpreter with checkpoint-schedules. The time here is of the whole command `tidemark schedule`, its
start included; the peer's is of the plan alone.
"""
import argparse
import json
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def ours(build, args, steps):
    cost = f"0,{args.cost}"
    command = [str(build / "tools" / "tidemark"), "schedule", "--steps", str(steps), "--kind", "multilevel", "--json",
               "--slots", f"{args.ram},{args.disk}", "--write-cost", cost, "--read-cost", cost]
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        best = min(best, time.perf_counter() - start)
    return best, json.loads(done.stdout)["advances"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("python")
    parser.add_argument("--ram", type=int, default=10)
    parser.add_argument("--disk", type=int, default=50)
    parser.add_argument("--cost", type=int, default=5)
    parser.add_argument("steps", type=int, nargs="*", default=[200, 500, 1000, 2000])
    args = parser.parse_intermixed_args()
    peer = subprocess.run([args.python, str(HERE / "peers" / "hrevolve.py"), "--ram", str(args.ram), "--disk",
                           str(args.disk), "--write", str(args.cost), "--read", str(args.cost),
                           *map(str, args.steps)], check=True, capture_output=True, text=True)
    print(f"{args.ram} slots in memory, {args.disk} on disk, a transfer costs {args.cost} steps")
    print(f"{'steps':>7} {'s ours':>9} {'s peer':>9} {'ratio':>8} {'advances':>9} {'peer':>7}")
    for line in peer.stdout.splitlines():
        row = json.loads(line)
        seconds, advances = ours(args.build, args, row["steps"])
        print(f"{row['steps']:>7} {seconds:>9.4f} {row['seconds']:>9.3f} {seconds / row['seconds']:>8.5f}"
              f" {advances:>9} {row['advances']:>7}")


if __name__ == "__main__":
    main()
