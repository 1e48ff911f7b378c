#!/usr/bin/env python3
"""The gradient of a simulated wave here and in JAX, alternating in one run on the same cores: time and memory as ratios
(ours / theirs), for JAX's scan that stores all, in two and in three nested levels of jax.checkpoint.

usage: compare_wave.py BUILD_DIR PEER_PYTHON [--cells N] [--steps N] [--threads N] [--rounds N]
PEER_PYTHON is an interpreter with jax, such as that of a virtual environment outside the repository. Our budget is what
JAX's compiler plans for its arrays, less twelve fields for what we hold beside the schedule (state, adjoint, planning).
`cpu` is processor time, which other work on the machine disturbs less; `growth` is that of resident memory during the
gradient; `whole` is the peak of the process. `forward` counts forward steps in multiples of the steps.
"""
import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = {1: "store-all", 2: "square-root", 3: "three levels"}


def run(command, cores):
    def pin():
        os.sched_setaffinity(0, cores)

    env = dict(os.environ, JAX_PLATFORMS="cpu")
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env, preexec_fn=pin)
    return json.loads(done.stdout.strip().splitlines()[-1])


def best(results, key):
    return min(r[key] for r in results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("python")
    parser.add_argument("--cells", type=int, default=512)
    parser.add_argument("--steps", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    cores = set(sorted(os.sched_getaffinity(0))[: args.threads])
    size = ["--cells", str(args.cells), "--steps", str(args.steps)]
    fields = 12 * 4 * args.cells**2
    mib = 2.0**20
    print(f"{args.cells} x {args.cells} cells, {args.steps} steps, {args.threads} thread(s), best of {args.rounds}")
    print(f"{'JAX scheme':<13} {'s ours':>7} {'s JAX':>7} {'ratio':>5} {'cpu ratio':>9} {'MiB growth':>10} {'JAX':>7} "
          f"{'ratio':>5} {'MiB whole':>9} {'JAX':>7} {'ratio':>5} {'kind':>10} {'forward':>7} {'JAX':>4} "
          f"{'difference':>10}")
    with tempfile.TemporaryDirectory() as folder:
        gradient = ["--gradient", str(Path(folder) / "gradient.bin")]
        for levels, name in NAMES.items():
            ours, theirs = [], []
            jax = [args.python, str(HERE / "peers" / "wave_jax.py"), *size, "--levels", str(levels)]
            planned = run([*jax, "--rounds", "0"], cores)["planned"]
            mine = [str(args.build / "bench" / "wave"), *size, "--threads", str(args.threads), *gradient]
            mine += ["--kind", "store-all"] if levels == 1 else ["--memory", str(planned - fields)]
            for _ in range(args.rounds):  # alternating, so that drift of the machine meets both
                ours.append(run(mine, cores))
                theirs.append(run([*jax, *gradient], cores))
            seconds, jax_seconds = best(ours, "seconds"), best(theirs, "seconds")
            cpu, jax_cpu = best(ours, "cpu_seconds"), best(theirs, "cpu_seconds")
            growth, jax_growth = best(ours, "growth"), best(theirs, "growth")
            whole, jax_whole = best(ours, "peak_rss"), best(theirs, "peak_rss")
            print(f"{name:<13} {seconds:7.2f} {jax_seconds:7.2f} {seconds / jax_seconds:5.2f} {cpu / jax_cpu:9.2f} "
                  f"{growth / mib:10.1f} {jax_growth / mib:7.1f} {growth / jax_growth:5.2f} {whole / mib:9.1f} "
                  f"{jax_whole / mib:7.1f} {whole / jax_whole:5.2f} {ours[0]['kind']:>10} "
                  f"{ours[0]['forward'] / args.steps:7.2f} {levels:4} {theirs[0]['difference']:10.1e}", flush=True)
    print(f"one step here: advance {ours[0]['advance_ms']:.3f} ms, record {ours[0]['record_ms']:.3f} ms, reverse "
          f"{ours[0]['reverse_ms']:.3f} ms; its bytes {16 * args.cells**2 / mib:.1f} MiB")


if __name__ == "__main__":
    main()
