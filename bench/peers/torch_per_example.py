"""The network of bench/per_example_gradients.cc in PyTorch: seconds of torch.func.vmap(grad(loss)), the fastest run.

usage: torch_per_example.py [BATCH [WIDTH [THREADS]]]
"""
import sys
import time

import torch
from torch.func import grad, vmap


def main():
    batch, width, threads = (int(a) for a in (sys.argv[1:] + ["256", "128", "0"][len(sys.argv) - 1:]))
    if threads:
        torch.set_num_threads(threads)
    torch.manual_seed(0)
    sizes = [64, width, width, 10]
    net = []
    for rows, columns in zip(sizes, sizes[1:]):
        net += [torch.randn(rows, columns) / rows**0.5, torch.zeros(columns)]
    x, labels = torch.randn(batch, 64), torch.randint(10, (batch,))

    def loss(p, u, label):
        h = torch.tanh(u @ p[0] + p[1])
        h = torch.tanh(h @ p[2] + p[3])
        return torch.nn.functional.cross_entropy(h @ p[4] + p[5], label)

    per_example = vmap(grad(loss), in_dims=(None, 0, 0))
    times = []
    for _ in range(25):
        start = time.perf_counter()
        per_example(net, x, labels)
        times.append(time.perf_counter() - start)
    print(f"{min(times):.6f}")


if __name__ == "__main__":
    main()
