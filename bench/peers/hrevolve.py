"""Two-level plans of the package checkpoint-schedules (H-Revolve), timed: one line of JSON for each number of steps.

usage: hrevolve.py --ram SLOTS --disk SLOTS --write COST --read COST STEPS...
The time is of making the plan: the recurrences and the list of actions, not of importing the package. `advances` counts
the forward steps that leave no record for the step's own reverse.
"""
import argparse
import json
import time

from checkpoint_schedules import Forward, HRevolve


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ram", type=int, required=True)
    parser.add_argument("--disk", type=int, required=True)
    parser.add_argument("--write", type=float, required=True)
    parser.add_argument("--read", type=float, required=True)
    parser.add_argument("steps", type=int, nargs="+")
    args = parser.parse_args()
    for steps in args.steps:
        start = time.perf_counter()
        plan = HRevolve(steps, args.ram, args.disk, wd=args.write, rd=args.read)
        seconds = time.perf_counter() - start
        forward = sum(a.n1 - a.n0 for a in plan if isinstance(a, Forward))
        print(json.dumps({"steps": steps, "seconds": seconds, "advances": forward - steps}), flush=True)


if __name__ == "__main__":
    main()
