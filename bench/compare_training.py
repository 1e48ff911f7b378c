#!/usr/bin/env python3
"""Full training steps (loss, gradients, AdamW) here, in PyTorch (eager, torch.compile) and in JAX (jax.jit), in one run.

usage: compare_training.py BUILD_DIR --torch PYTHON --jax PYTHON [--rows mlp,gpt] [--threads N] [--rounds N]
                           [--steps N] [--without compile,jax] [--within 0.6 [--of WAY] | --memory 800MiB]
                           [--json FILE]
       compare_training.py BUILD_DIR --budget 1/2,1/4 [--rows mlp,gpt] [--machine FILE]

Every way is a process of its own that prepares its model and waits; then rounds of --steps steps go from one to the
next, so that drift of the machine meets all. Times are the least over all rounds, since
whatever disturbs only adds; medians stand beside them. Ratios are ours over the best of the
others, for time and for memory each. The floor is what the machine cannot beat: the flops of the products at the
fastest rate of a product of 2048 x 2048 that was measured here (ours or PyTorch's), or the state read and written once
at the rate of a copy, whichever is longer.

With --within the row that counts is planned inside a budget: this share of what another way was seen to take (--of
eager, compile, jax, or if not given of the fastest other), less what our process holds beside its plan. --memory gives the plan's budget as bytes.
The plan without a budget runs beside it as `free`, so that the slow-down that was predicted stands next to the one that
was measured.

--budget compares us with ourselves: with these shares of the memory that the plan without a budget takes for
activations, which is what the forward pass keeps for the backward pass (bench/support/activations.h).
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
ROWS = ("mlp", "gpt", "gpt-long", "resnet18", "unet", "vit", "moe", "lstm")
TARGETS = {"mlp": 0.9, "gpt": 0.8, "gpt-long": 0.7, "resnet18": 0.9, "unet": 0.9, "vit": 0.9, "moe": 0.9, "lstm": 0.7,
           "lstm-scan": 0.7}


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


def start(args, ways, name, command):
    if name in args.without:
        return
    way = Way(name, command, args.threads)
    if way.facts is None:
        print(f"  {name}: does not run here: {way.failure()}", flush=True)
    else:
        ways[name] = way


def ways_of(args, row):
    base = row.removesuffix("-scan")
    flags = ["--threads", str(args.threads), "--serve"]
    ours = [str(args.build / "bench" / "macro_training"), row, *flags]
    torch = [args.torch, str(HERE / "peers" / "torch_training.py"), base, *flags]
    bounded = args.within or args.memory
    ways = {}
    start(args, ways, "free" if bounded else "ours", ours)
    if args.torch:
        start(args, ways, "eager", torch)
        start(args, ways, "compile", [*torch, "--compile"])
    if args.jax:
        start(args, ways, "jax", [args.jax, str(HERE / "peers" / "jax_training.py"), base, *flags])
    if bounded:
        start(args, ways, "ours", [*ours, "--memory", args.memory or str(budget_of(args, ways))])
    return ways


def budget_of(args, ways):
    """A share of what another way takes, less what our process holds beside its plan."""
    for way in ways.values():
        way.run(args.steps)
    others = {name: way for name, way in ways.items() if name != "free"}
    peer = others[args.of] if args.of else min(others.values(), key=lambda way: way.seconds())
    free = ways["free"]
    beside = free.peak - free.facts["planned"]
    budget = int(args.within * peer.peak - beside)
    print(f"  budget: {args.within} of the {peer.peak / 2**20:.1f} MiB of {peer.name}, less {beside / 2**20:.1f} MiB beside "
          f"the plan: {budget / 2**20:.1f} MiB", flush=True)
    return budget


def show(row, ways, rates):
    ours, others = ways["ours"], {n: w for n, w in ways.items() if n not in ("ours", "free")}
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
    if "free" in ways:
        result |= {"slow_down": ours.seconds() / ways["free"].seconds(),
                   "predicted_slow_down": facts["predicted_slow_down"]}
        print(f"  the budget slows down by {result['slow_down']:.3f}, predicted {result['predicted_slow_down']:.3f}")
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
               str(args.steps * args.rounds), "--shares", shares]
    if args.machine:
        command += ["--machine", args.machine]
    lines = subprocess.run(command, check=True, capture_output=True, text=True,
                           env=environment(args.threads)).stdout.splitlines()
    free, base, *bounded = map(json.loads, lines)
    mib = 2.0**20
    print(f"{row:<10} planned {free['planned'] / mib:.1f} MiB, {free['activations'] / mib:.1f} of it activations; "
          f"{1e3 * base['seconds']:.1f} ms (predicted {1e3 * free['predicted']:.1f} ms)")
    for b in bounded:
        least = "" if b["fits"] else "nothing fits; the least: "
        print(f"  {b['share']:.2f} of them: budget {b['budget'] / mib:.1f} MiB: {least}planned {b['planned'] / mib:.1f} MiB "
              f"({b['activations'] / mib:.1f} of it activations) in {b['planning']:.1f} s: slow-down predicted "
              f"{b['predicted']:.3f}, measured {b['measured']:.3f}")
    sys.stdout.flush()
    return {"row": row, "free": free, "seconds": base, "budgets": bounded}


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
    parser.add_argument("--within", type=float, default=0, help="plan ours inside this share of another's memory")
    parser.add_argument("--of", default="", help="whose memory: eager, compile or jax; the fastest if not given")
    parser.add_argument("--memory", default="", help="plan ours inside this budget, such as 800MiB")
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
