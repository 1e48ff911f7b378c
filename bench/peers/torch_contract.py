"""The matrix products of bench/micro_contract.cc in PyTorch: GFLOP/s with 1 and 2 threads.

usage: torch_contract.py [seconds per figure, default 0.2]
"""
import sys
import time

import torch


def shortest(run, seconds):
    run()
    best, begin = float("inf"), time.perf_counter()
    while time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


NAMES = {torch.float32: "matmul", torch.bfloat16: "bf16", torch.float16: "f16"}


def report(batch, m, n, k, form, seconds, dtype=torch.float32):
    def operand(rows, cols, transposed):
        lead = () if batch == 1 else (batch,)
        if transposed:
            return torch.randn(*lead, cols, rows).to(dtype).transpose(-1, -2)
        return torch.randn(*lead, rows, cols).to(dtype)

    a, b = operand(m, k, form[0] == "T"), operand(k, n, form[1] == "T")
    c = torch.empty(*(() if batch == 1 else (batch,)), m, n, dtype=dtype)
    product = torch.mm if batch == 1 else torch.bmm
    rates = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        rates.append(2e-9 * batch * m * n * k / shortest(lambda: product(a, b, out=c), seconds))
    name = f"{NAMES[dtype]} {batch} x ({m} x {k}) ({k} x {n}) {form}"
    print(f"{name:<44} {rates[0]:>9.1f} {rates[1]:>9.1f}", flush=True)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.2
    print(f"{'GFLOP/s, torch ' + torch.__version__:<44} {'1 thread':>9} {'2 threads':>9}")
    rows = [(1, m, n, k, form) for form in ("NN", "TN", "NT")
            for m, n, k in ((4096, 1536, 384), (4096, 384, 1536), (384, 1536, 4096))]
    rows += [(1, m, n, k, "NN") for m, n, k in (
        (4096, 8192, 384), (1024, 1024, 1024), (256, 1024, 1024), (8192, 64, 64), (4096, 128, 512),
        (128, 128, 8192), (1, 1024, 1024), (1024, 1, 1024))]
    rows += [(256, 64, 64, 64, "NN"), (1024, 16, 16, 16, "NN"), (4096, 4, 4, 4, "NN")]
    for row in rows:
        report(*row, seconds)
    for dtype in (torch.bfloat16, torch.float16):
        for form in ("NN", "TN", "NT"):
            report(1, 4096, 1536, 384, form, seconds, dtype)
            report(1, 384, 1536, 4096, form, seconds, dtype)
        report(1, 1024, 1024, 1024, "NN", seconds, dtype)
        report(1, 256, 1024, 1024, "NN", seconds, dtype)
        report(256, 64, 64, 64, "NN", seconds, dtype)


if __name__ == "__main__":
    main()
