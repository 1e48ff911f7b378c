"""The kernels of micro_rows.cc in PyTorch: one line per kernel, its name and its fastest time in ms.

usage: torch_rows.py [THREADS] [PART_OF_A_NAME]
Gradients are timed alone, by the operator that PyTorch's own backward pass calls.
"""
import sys
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
ONLY = sys.argv[2] if len(sys.argv) > 2 else ""
torch.manual_seed(0)


def run(name, f):
    if ONLY not in name:
        return
    best, spent, runs = 1e30, 0.0, 0
    while runs < 50 and (runs < 5 or spent < 0.15):
        start = time.perf_counter()
        f()
        seconds = time.perf_counter() - start
        best, spent, runs = min(best, seconds), spent + seconds, runs + 1
    print(f"{name}\t{best * 1e3:.4f}", flush=True)


def backward(name, f, inputs):
    """The time of the backward pass of f over `inputs`: a graph is built once and walked again and again."""
    if ONLY not in name:
        return
    y = f()
    g = torch.randn_like(y)
    run(name, lambda: torch.autograd.grad(y, inputs, g, retain_graph=True))


def leaf(*shape):
    return torch.rand(*shape).mul_(4).sub_(2).requires_grad_()


for shape in ((16, 6, 256, 64), (2, 4, 2048, 64)):
    q, k, v = (leaf(*shape) for _ in range(3))
    name = "attention (" + ", ".join(map(str, shape)) + ") causal"
    with torch.no_grad():
        run(name, lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True))
    backward(name + ", gradient", lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True), (q, k, v))

for length in (384, 8192):
    x, gain, bias = leaf(4096, length), leaf(length), leaf(length)
    labels = torch.randint(0, length, (4096,))
    of = f" 4096x{length}"
    with torch.no_grad():
        run("softmax" + of, lambda: torch.softmax(x, 1))
        run("log_softmax" + of, lambda: torch.log_softmax(x, 1))
        run("layer_norm" + of, lambda: F.layer_norm(x, (length,), gain, bias))
        run("rms_norm" + of, lambda: F.rms_norm(x, (length,), gain))
        run("cross_entropy" + of, lambda: F.cross_entropy(x, labels, reduction="none"))
        run("argmax" + of, lambda: torch.argmax(x, 1))
    backward("softmax gradient" + of, lambda: torch.softmax(x, 1), (x,))
    backward("log_softmax gradient" + of, lambda: torch.log_softmax(x, 1), (x,))
    backward("layer_norm gradient" + of, lambda: F.layer_norm(x, (length,), gain, bias), (x,))
    backward("layer_norm gain and bias" + of, lambda: F.layer_norm(x, (length,), gain, bias), (gain, bias))
    backward("rms_norm gradient" + of, lambda: F.rms_norm(x, (length,), gain), (x,))
    backward("rms_norm gain" + of, lambda: F.rms_norm(x, (length,), gain), (gain,))
    backward("cross_entropy gradient" + of, lambda: F.cross_entropy(x, labels, reduction="none"), (x,))

for rows, width, count in ((8192, 384, 4096), (65, 384, 4096), (16384, 256, 65536)):
    table, positions = leaf(rows, width), torch.randint(0, rows, (count,))
    of = f" {count} of {rows}x{width}"
    with torch.no_grad():
        run("embedding" + of, lambda: F.embedding(positions, table))
    backward("embedding gradient" + of, lambda: F.embedding(positions, table), (table,))

x = leaf(4096, 1024)
positive = torch.rand(4096, 1024) + 0.1
with torch.no_grad():
    for name, f in (("exp", torch.exp), ("tanh", torch.tanh), ("sigmoid", torch.sigmoid), ("erf", torch.erf),
                    ("gelu", F.gelu), ("silu", F.silu), ("softplus", F.softplus)):
        run(f"{name} 4M", lambda: f(x))
    run("log 4M", lambda: torch.log(positive))
backward("gelu slope 4M", lambda: F.gelu(x), (x,))
square = torch.randn(4096, 4096)
for name, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16)):
    half = square.to(dtype)
    run(f"add {name} 16M", lambda: half + half)
    run(f"cast {name} to f32 16M", lambda: half.float())
    run(f"cast f32 to {name} 16M", lambda: square.to(dtype))

for rows, n in ((4096, 16), (512, 128), (128, 210), (128, 97), (64, 1000), (64, 1009), (64, 1024), (16, 4096),
                (1, 1024), (1, 65536), (1, 1 << 20)):
    for name, dtype, complex_dtype in (("f32", torch.float32, torch.complex64), ("f64", torch.float64, torch.complex128)):
        real, pairs = torch.randn(rows, n, dtype=dtype), torch.randn(rows, n, dtype=complex_dtype)
        half = torch.fft.rfft(real)
        run(f"fft {name} {rows}x{n}", lambda: torch.fft.fft(pairs))
        run(f"rfft {name} {rows}x{n}", lambda: torch.fft.rfft(real))
        run(f"irfft {name} {rows}x{n}", lambda: torch.fft.irfft(half, n))
tall_pairs = torch.randn(1024, 64, dtype=torch.complex64)
run("fft f32 1024x64 across", lambda: torch.fft.fft(tall_pairs, dim=0))

for name, dtype in (("bf16", torch.bfloat16), ("f32", torch.float32)):
    for n in (1000, 4096):
        plane, turned = torch.randn(n, n).to(dtype), torch.empty(n, n, dtype=dtype)
        run(f"transpose {name} {n}x{n}", lambda: turned.copy_(plane.t()))
tall, chosen = torch.randn(16384, 1024), torch.empty(4096, 4096, dtype=torch.bool)
run("argmax across 16384x1024", lambda: torch.argmax(tall, 0))
run("random normal 16M", lambda: square.normal_())
run("random uniform 16M", lambda: square.uniform_())
run("random bernoulli 16M", lambda: chosen.bernoulli_(0.9))
