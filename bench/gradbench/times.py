#!/usr/bin/env python3
"""Times the programs of bench/gradbench on one workload each, of the sizes that GradBench asks for, over their protocol.

usage: times.py FOLDER [EVALUATION…] [--seconds S]

FOLDER is as check.py takes it. Prints the medians of objective and derivative, their ratio, and the most memory that
was resident, in which reading the message is included.
"""

import random
import statistics
import sys
from pathlib import Path

from check import Program, hand, matrix

FUNCTIONS = {"kmeans": ("cost", "dir"), "ode": ("primal", "gradient"), "lse": ("primal", "gradient"),
             "llsq": ("primal", "gradient"), "det": ("primal", "gradient")}


def workloads(source):
    """By evaluation: what it is, and its input."""
    points = matrix(10000, 8, source, 0, 1)
    return {
        "gmm": ("d = 10, k = 25, n = 1000",
                {"d": 10, "k": 25, "n": 1000, "m": 0, "gamma": 1.0, "x": matrix(1000, 10, source),
                 "mu": matrix(25, 10, source, 0, 1), "q": matrix(25, 10, source), "l": matrix(25, 45, source),
                 "alpha": matrix(1, 25, source)[0]}),
        "lstm": ("2 layers, 1024 characters of 14",
                 {"main_params": matrix(4, 56, source), "extra_params": matrix(3, 14, source),
                  "state": matrix(4, 14, source), "sequence": matrix(1024, 14, source, 0, 1)}),
        "ode": ("n = 1000, 100 steps", {"x": matrix(1, 1000, source, 0, 1)[0], "s": 100}),
        "lse": ("n = 1,000,000", {"x": matrix(1, 1000000, source)[0]}),
        "llsq": ("n = 4096, m = 128", {"x": matrix(1, 128, source)[0], "n": 4096}),
        "det": ("8 x 8", {"A": matrix(1, 64, source)[0], "ell": 8}),
        "ba": ("49 cameras, 7776 points, 31843 observations",
               {"n": 49, "m": 7776, "p": 31843, "cam": [0.1, -0.2, 0.3, 0.2, 0.1, -3, 1.5, 0.2, -0.1, 0.05, 0.01],
                "x": [0.4, -0.3, 0.2], "w": 0.9, "feat": [0.1, 0.2]}),
        "kmeans": ("10 centroids, 10,000 points of 8", {"points": points, "centroids": points[-10:]}),
        "ht": ("544 vertices, 192 points in triangles",
               {"theta": matrix(1, 26, source, -0.5, 0.5)[0], "data": hand(source, 192, vertices=544, triangles=1000),
                "us": matrix(192, 2, source, 0, 0.5)}),
    }


def resident(process):
    """The most so far, in MiB."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def main():
    arguments, seconds = sys.argv[1:], 1.0
    if "--seconds" in arguments:
        at = arguments.index("--seconds")
        seconds = float(arguments[at + 1])
        del arguments[at : at + 2]
    if not arguments:
        sys.exit(__doc__)
    folder = Path(arguments[0])
    print(f"{'evaluation':<10} {'workload':<46} {'objective ms':>12} {'derivative ms':>13} {'ratio':>6} {'resident MiB':>12}")
    for name, (about, argument) in workloads(random.Random(5)).items():
        if not (folder / name).is_file() or (arguments[1:] and name not in arguments[1:]):
            continue
        program = Program(folder / name, name)
        times, peaks = [], []
        for function in FUNCTIONS.get(name, ("objective", "jacobian")):
            answer = program.answer(function, {**argument, "min_runs": 5, "min_seconds": seconds})
            assert answer["success"], answer["error"]
            times.append(statistics.median(t["nanoseconds"] for t in answer["timings"]) / 1e6)
            peaks.append(resident(program.process))
        program.close()
        print(f"{name:<10} {about:<46} {times[0]:>12.3f} {times[1]:>13.3f} {times[1] / times[0]:>6.1f} {peaks[1]:>12.1f}",
              flush=True)


if __name__ == "__main__":
    main()
