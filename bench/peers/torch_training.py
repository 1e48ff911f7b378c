"""The models of bench/macro_training.cc in PyTorch: one training step, timed, with the growth of resident memory.

usage: torch_training.py MODEL [--threads N] [--steps N]
"""
import argparse
import json
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(channels, track_running_stats=False)
        self.norm2 = nn.BatchNorm2d(channels, track_running_stats=False)

    def forward(self, x):
        h = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(h)) + x)


class ConvNet(nn.Module):
    def __init__(self, blocks, channels, classes):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.Sequential(*[Residual(channels) for _ in range(blocks)])
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        return self.head(self.blocks(F.relu(self.stem(x))).mean((2, 3)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = (p.view(b, t, self.heads, w // self.heads).transpose(1, 2)
                   for p in self.qkv(self.norm1(x)).split(w, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = x + self.out(mixed.transpose(1, 2).reshape(b, t, w))
        return h + self.down(F.gelu(self.up(self.norm2(h))))


def mlp():
    return nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))


MODELS = {
    "mlp": (mlp, F.cross_entropy, lambda: (torch.randn(256, 784), torch.zeros(256, dtype=torch.long))),
    "convnet": (lambda: ConvNet(8, 64, 10), F.cross_entropy,
                lambda: (torch.randn(32, 3, 32, 32), torch.zeros(32, dtype=torch.long))),
    "transformer": (lambda: Block(512, 8), F.mse_loss,
                    lambda: (torch.randn(8, 128, 512), torch.randn(8, 128, 512))),
}


def status_bytes(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    build, loss_of, data = MODELS[args.model]
    # The library loads and warms itself up before the baseline.
    small = nn.Linear(8, 8)
    small(torch.randn(4, 8)).sum().backward()
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    baseline = status_bytes("VmRSS:")

    model = build()
    x, y = data()
    times = []
    for _ in range(args.steps + 2):
        start = time.perf_counter()
        loss = loss_of(model(x), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.01 * p.grad
                p.grad = None
        value = loss.item()
        times.append(time.perf_counter() - start)
    times.sort()
    print(json.dumps({"model": args.model, "seconds": times[len(times) // 2],
                      "peak_rss": status_bytes("VmHWM:") - baseline, "loss": value}))


if __name__ == "__main__":
    main()
