#!/usr/bin/env python3
"""Programs of many steps on a GPU, here and elsewhere, in one run: a wave of 512 x 512 cells over 4,096 steps next to JAX's
nested checkpointed scans, an LSTM of 1,024 steps next to PyTorch and JAX, and 10,000 tiny operations.

usage: compare_gpu_loops.py BUILD_DIR [--jax PYTHON] [--torch PYTHON] [--rounds N] [--only wave,lstm,tiny]

JAX runs first; our budgets are what its compiler plans for temporaries. Times are medians after warm-up (JAX's wave: the
least), memory is what is held beside arguments.
"""
import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LEVELS = {1: "store all", 2: "two levels", 3: "three levels"}


def lines(command):
    env = dict(os.environ, JAX_PLATFORMS="cuda", XLA_PYTHON_CLIENT_PREALLOCATE="false")
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=env)
    if done.returncode != 0:
        print(f"{' '.join(str(word) for word in command)}: {done.stderr.strip()[-800:]}", flush=True)
        return []
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def row(program, way, ms, mib, extra=""):
    print(f"{program:<16} {way:<32} {ms:9.2f} ms {mib:9.1f} MiB   {extra}", flush=True)


def details(line):
    return (f"first {line['first_ms']:.0f} ms, recording {line['recording_ms']:.0f} ms, planned and loaded in "
            f"{line['ready_s']:.1f} s, predicted {line['predicted_ms']:.1f} ms")


def wave(args):
    ours = [args.build / "bench" / "gpu_loops", "wave", "--rounds", args.rounds]
    for line in lines([*ours, "--primal"]):
        row("wave, primal", "ours", line["ms"], line["mib"], details(line))
    with tempfile.TemporaryDirectory() as folder:
        gradient = Path(folder) / "gradient.bin"
        for levels, name in LEVELS.items():
            jax = [args.jax, HERE / "peers" / "wave_jax.py", "--levels", levels]
            planned = (lines([*jax, "--rounds", 0]) if args.jax else []) or [{"planned": (0, 4100, 199, 88)[levels] << 20}]
            budget = [] if levels == 1 else ["--memory", planned[0]["planned"]]
            for line in lines([*ours, *budget, "--gradient", gradient]):
                row(f"wave, {name}", "ours", line["ms"], line["mib"], details(line))
            for line in lines([*jax, "--rounds", args.rounds, "--gradient", gradient]) if args.jax else []:
                row(f"wave, {name}", "JAX", 1e3 * line["seconds"], line["planned"] / 2**20,
                    f"gradients differ by {line['difference']:.1e}")


def lstm(args):
    ours = [args.build / "bench" / "gpu_loops", "lstm", "--rounds", args.rounds]
    for budget in ([], ["--memory", "1800MiB,1200MiB,950MiB"]):
        for line in lines([*ours, *budget]):
            row("LSTM", f"ours {line['budget']}", line["ms"], line["mib"], details(line))
    for python in (args.torch, args.jax):
        for line in lines([python, HERE / "peers" / "lstm_gpu.py", "--rounds", args.rounds]) if python else []:
            row("LSTM", line["way"], line["ms"], line["mib"])


def tiny(args):
    done = subprocess.run([str(args.build / "bench" / "tiny_ops"), "--device", "cuda"], capture_output=True, text=True)
    print(done.stdout + done.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--jax", help="an interpreter with JAX")
    parser.add_argument("--torch", help="an interpreter with PyTorch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="wave,lstm,tiny")
    args = parser.parse_args()
    for part in (wave, lstm, tiny):
        if part.__name__ in args.only.split(","):
            part(args)


if __name__ == "__main__":
    main()
