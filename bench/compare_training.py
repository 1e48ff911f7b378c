#!/usr/bin/env python3
"""Full training steps (loss, gradients, AdamW) here, in PyTorch (eager, torch.compile) and in JAX (jax.jit), in one run.

usage: compare_training.py BUILD_DIR --torch PYTHON --jax PYTHON [--rows mlp,gpt] [--threads N] [--rounds N]
                           [--steps N] [--without compile,jax] [--budget 1/2,1/4] [--machine FILE] [--json FILE]

Every way is a process of its own that prepares its model and waits; then rounds of --steps steps go from one to the
next, so that drift of the machine meets all. Times are the least over all rounds, since
whatever disturbs only adds; medians stand beside them. Ratios are ours over the best of the
others, for time and for memory each. The floor is what the machine cannot beat: the flops of the products at the
fastest rate of a product of 2048 x 2048 that was measured here (ours or PyTorch's), or the state read and written once
at the rate of a copy, whichever is longer.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROWS = ("mlp", "gpt", "gpt-long", "resnet18", "unet", "lstm")
TARGETS = {"mlp": 0.9, "gpt": 0.8, "gpt-long": 0.7, "resnet18": 0.9, "unet": 0.9, "lstm": 0.7, "lstm-scan": 0.7}


def environment(threads):
    return dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads),
                TORCHINDUCTOR_COMPILE_THREADS="1")


class Way:
    """One way of training a row, waiting for orders."""

    def __init__(self, name, command, threads):
        self.name, self.times, self.peak, self.loss = name, [], 0, None
        self.errors = open(f"/tmp/compare_training.{os.getpid()}.{name.replace(' ', '_')}.err", "w+")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True, env=environment(threads))
        line = self.process.stdout.readline()
        self.facts = json.loads(line) if line.strip() else None

    def failure(self):
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors.read().splitlines() if line.strip()]
        return lines[-1] if lines else "ended without a word"

    def run(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        self.times += answer["times"]
        self.peak, self.loss = max(self.peak, answer["peak_rss"]), answer["loss"]

    def seconds(self):
        return min(self.times)  # whatever disturbs only adds

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.errors.close()
        os.unlink(self.errors.name)


def rates_of(args):
    def ask(command):
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True,
                                         env=environment(args.threads)).stdout)
    found = [ask([str(args.build / "bench" / "macro_training"), "--rates", "--threads", str(args.threads)])]
    if args.torch:
        found.append(ask([args.torch, str(HERE / "peers" / "torch_training.py"), "--rates", "--threads",
                          str(args.threads)]))
    return {key: max(f[key] for f in found) for key in ("product", "copy")}


def ways_of(args, row):
    base = row.removesuffix("-scan")
    flags = ["--threads", str(args.threads), "--serve"]
    torch = [args.torch, str(HERE / "peers" / "torch_training.py"), base, *flags]
    commands = {"ours": [str(args.build / "bench" / "macro_training"), row, *flags]}
    if args.torch:
        commands |= {"eager": torch, "compile": [*torch, "--compile"]}
    if args.jax:
        commands["jax"] = [args.jax, str(HERE / "peers" / "jax_training.py"), base, *flags]
    ways = {}
    for name, command in commands.items():
        if name in args.without:
            continue
        way = Way(name, command, args.threads)
        if way.facts is None:
            print(f"  {name}: does not run here: {way.failure()}", flush=True)
            continue
        ways[name] = way
    return ways


def show(row, ways, rates):
    ours, others = ways["ours"], {n: w for n, w in ways.items() if n != "ours"}
    mib = 2.0**20
    facts = ours.facts
    floor_flops = facts["flops"] / rates["product"]
    floor_bytes = 2 * facts["state_bytes"] / rates["copy"]
    floor = max(floor_flops, floor_bytes)
    for name, way in ways.items():
        f = way.facts
        planned = f" planned {f['planned'] / mib:8.1f}" if "planned" in f else ""
        flops = f" Gflop {f['flops'] / 1e9:7.1f}" if "flops" in f else ""
        print(f"  {name:<8} {1e3 * way.seconds():9.2f} ms (median {1e3 * statistics.median(way.times):9.2f}) {way.peak / mib:8.1f} MiB"
              f"{planned}  parameters {f['parameters']}{flops}")
    counts = {w.facts["parameters"] for w in ways.values()}
    if len(counts) != 1:
        print(f"  the models differ: {sorted(counts)} parameters")
    result = {"row": row, "seconds": {n: w.seconds() for n, w in ways.items()},
              "peak_rss": {n: w.peak for n, w in ways.items()}, "planned": facts["planned"], "floor": floor,
              "fraction": floor / ours.seconds()}
    line = (f"{row:<10} {1e3 * ours.seconds():9.1f} floor {1e3 * floor:8.1f} ms ({1e3 * floor_flops:.1f} flops, "
            f"{1e3 * floor_bytes:.1f} bytes): {100 * floor / ours.seconds():5.1f}% reached")
    if others:
        fastest = min(others.values(), key=lambda w: w.seconds())
        smallest = min(others.values(), key=lambda w: w.peak)
        result |= {"time_ratio": ours.seconds() / fastest.seconds(), "memory_ratio": ours.peak / smallest.peak,
                   "memory_ratio_of_fastest": ours.peak / fastest.peak}
        memory = ", ".join(f"{ours.peak / w.peak:.2f} of {n}" for n, w in others.items())
        line += (f"; time {result['time_ratio']:.2f} of {fastest.name} (wanted {TARGETS[row]}); memory {memory} "
                 f"(wanted 0.6; the state alone is {facts['state_bytes'] / smallest.peak:.2f} of {smallest.name})")
    print(line, flush=True)
    return result


def budgets(args, row):
    shares = ",".join(str(float(Fraction(b))) for b in args.budget.split(","))
    command = [str(args.build / "bench" / "macro_training"), row, "--threads", str(args.threads), "--steps",
               str(args.steps * args.rounds), "--budgets", shares]
    if args.machine:
        command += ["--machine", args.machine]
    lines = subprocess.run(command, check=True, capture_output=True, text=True,
                           env=environment(args.threads)).stdout.splitlines()
    free, base, *bounded = map(json.loads, lines)
    mib = 2.0**20
    print(f"{row:<10} activations {free['arena'] / mib:.1f} MiB, {1e3 * base['seconds']:.1f} ms (predicted "
          f"{1e3 * base['predicted']:.1f} ms)")
    for b in bounded:
        head = f"  {b['share']:.2f} of them: budget {b['budget'] / mib:.1f} MiB"
        if "planned" not in b:
            print(f"{head}: nothing fits, smallest found {b['smallest'] / mib:.1f} MiB ({b['planning']:.1f} s)")
        else:
            print(f"{head}, planned {b['planned'] / mib:.1f} MiB in {b['planning']:.1f} s: slow-down predicted "
                  f"{b['predicted']:.3f}, measured {b['measured']:.3f}")
    sys.stdout.flush()
    return {"row": row, "budgets": bounded}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--torch", help="an interpreter with torch")
    parser.add_argument("--jax", help="an interpreter with jax")
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--without", default="", help="ways to leave out: eager, compile, jax")
    parser.add_argument("--budget", default="", help="shares of the activations' memory, such as 1/2,1/4")
    parser.add_argument("--machine", default="", help="rates to plan budgets with, from `tidemark machine`")
    parser.add_argument("--json", type=Path, help="append the results to this file, a line for each row")
    args = parser.parse_args()
    args.without = args.without.split(",")
    results = []
    if args.budget:
        results = [budgets(args, row) for row in args.rows.split(",")]
    else:
        rates = rates_of(args)
        print(f"machine: products {rates['product'] / 1e9:.1f} Gflop/s, copies {rates['copy'] / 1e9:.1f} GB/s (read and "
              f"written), {args.threads} threads", flush=True)
        for row in args.rows.split(","):
            ways = ways_of(args, row)
            for _ in range(args.rounds):
                for way in ways.values():
                    way.run(args.steps)
            rates = {key: max(rate, again) for (key, rate), again in zip(rates.items(), rates_of(args).values())}
            results.append(show(row, ways, rates))
            for way in ways.values():
                way.close()
    if args.json:
        with args.json.open("a") as file:
            for result in results:
                file.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
