"""The rows of bench/micro_conv.cc in PyTorch: reads them as JSON lines, writes each with PyTorch's own seconds.

usage: torch_conv.py [--threads N] [--seconds S] < rows
"""
import argparse
import json
import sys
import time

import torch
import torch.nn.functional as F

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64}


def shortest(f, seconds):
    f()
    best, begin = 1e30, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        f()
        best = min(best, time.perf_counter() - start)
    return best


def conv(row):
    x, w = (torch.rand(row[k], dtype=torch.float32).to(DTYPES[row["dtype"]]) for k in "xw")
    stride, padding, dilation, groups = row["stride"], row["padding"], row["dilation"], row["groups"]
    forward = lambda: F.conv2d(x, w, None, stride, padding, dilation, groups)  # noqa: E731
    if row["part"] == "forward":
        return forward
    g = torch.rand_like(forward())
    mask = [row["part"] == "input gradient", row["part"] == "weight gradient", False]
    return lambda: torch.ops.aten.convolution_backward(g, x, w, None, [stride] * 2, [padding] * 2, [dilation] * 2, False,
                                                       [0, 0], groups, mask)


def pool(row):
    x = torch.rand(row["x"])
    size = (row["window"], row["stride"], row["padding"])
    if row["op"] == "max_pool":
        return lambda: F.max_pool2d(x, *size, return_indices=True)
    forward = lambda: F.avg_pool2d(x, *size, count_include_pad=False)  # noqa: E731
    if row["part"] == "forward":
        return forward
    g = torch.rand_like(forward())
    pairs = [[s, s] for s in size]
    return lambda: torch.ops.aten.avg_pool2d_backward(g, x, *pairs, False, False, None)


def norm(row):
    x = torch.rand(row["x"])
    gain = torch.ones(row["x"][1])
    if row["part"] == "forward":
        return lambda: torch.native_batch_norm(x, gain, gain, None, None, True, 0.1, 1e-5)
    _, mean, rstd = torch.native_batch_norm(x, gain, gain, None, None, True, 0.1, 1e-5)
    to_input = row["part"] == "input gradient"
    mask = [to_input, not to_input, not to_input]
    return lambda: torch.ops.aten.native_batch_norm_backward(x, x, gain, None, None, mean, rstd, True, 1e-5, mask)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.1)
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    with torch.no_grad():
        for line in sys.stdin:
            row = json.loads(line)
            make = {"conv": conv, "batch_norm": norm}.get(row["op"], pool)
            row["peer"] = shortest(make(row), args.seconds)
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
