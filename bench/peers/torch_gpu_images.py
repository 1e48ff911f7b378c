#!/usr/bin/env python3
"""Training steps of ResNet-50 and a U-Net on a GPU in PyTorch, next to `gpu_training resnet50` and `unet`.

usage: torch_gpu_images.py [--models resnet50,unet] [--ways eager,checkpoint,compile,compile-checkpoint] [--batch N] [--steps 20]

f32 parameters, bf16 arithmetic by autocast, channels last, fused AdamW; the autotuner of cuDNN on (benchmark). Prints a line
of JSON for each: median milliseconds of a full step, and the most MiB allocated above parameters and moments while steps run.
"""
import argparse
import json
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


def conv_norm(channels, out, size, stride=1):
    return nn.Sequential(nn.Conv2d(channels, out, size, stride, size // 2, bias=False), nn.BatchNorm2d(out))


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.first, self.second = conv_norm(channels, width, 1), conv_norm(width, width, 3, stride)
        self.third = conv_norm(width, 4 * width, 1)
        self.skip = conv_norm(channels, 4 * width, 1, stride) if stride != 1 or channels != 4 * width else None

    def forward(self, x):
        h = self.third(F.relu(self.second(F.relu(self.first(x)))))
        return F.relu(h + (x if self.skip is None else self.skip(x)))


class ResNet50(nn.Module):
    def __init__(self, recompute):
        super().__init__()
        self.stem, self.recompute = conv_norm(3, 64, 7, 2), recompute
        blocks, channels = [], 64
        for stage, depth in enumerate((3, 4, 6, 3)):
            for block in range(depth):
                blocks.append(Bottleneck(channels, 64 << stage, 2 if stage > 0 and block == 0 else 1))
                channels = 4 * (64 << stage)
        self.blocks, self.head = nn.ModuleList(blocks), nn.Linear(channels, 1000)

    def forward(self, x, y):
        h = F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1)
        for block in self.blocks:
            h = checkpoint(block, h, use_reentrant=False) if self.recompute else block(h)
        return F.cross_entropy(self.head(h.mean((2, 3))), y)


class DoubleConv(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.first, self.second = conv_norm(channels, out, 3), conv_norm(out, out, 3)

    def forward(self, x):
        return F.relu(self.second(F.relu(self.first(x))))


class UNet(nn.Module):
    def __init__(self, recompute, width=64, levels=4):
        super().__init__()
        self.recompute = recompute
        self.down = nn.ModuleList([DoubleConv(3, width)] + [DoubleConv(width << i, width << (i + 1)) for i in range(levels)])
        wide = [width << i for i in range(levels, 0, -1)]
        self.rise = nn.ModuleList(nn.ConvTranspose2d(w, w // 2, 2, 2) for w in wide)
        self.up = nn.ModuleList(DoubleConv(w, w // 2) for w in wide)
        self.head = nn.Conv2d(width, 2, 1)

    def run(self, block, x):
        return checkpoint(block, x, use_reentrant=False) if self.recompute else block(x)

    def forward(self, x, y):
        skips, h = [], self.run(self.down[0], x)
        for block in self.down[1:]:
            skips.append(h)
            h = self.run(block, F.max_pool2d(h, 2))
        for rise, block in zip(self.rise, self.up):
            h = self.run(block, torch.cat([skips.pop(), rise(h)], 1))
        return F.cross_entropy(self.head(h), y)


def measure(name, way, args):
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    side, batch, classes = (224, 256, 1000) if name == "resnet50" else (512, 16, 2)
    batch = args.batch or batch
    recompute = way.endswith("checkpoint")
    model = (ResNet50 if name == "resnet50" else UNet)(recompute).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    forward = torch.compile(model) if way.startswith("compile") else model
    x = torch.randn(batch, 3, side, side, device="cuda").to(memory_format=torch.channels_last)
    y = torch.randint(0, classes, (batch,) if name == "resnet50" else (batch, side, side), device="cuda")

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = forward(x, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    state = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(args.steps):
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    above = torch.cuda.max_memory_allocated() - state
    print(json.dumps({"library": "PyTorch " + torch.__version__, "model": name, "way": way, "batch": batch,
                      "ms": round(1e3 * statistics.median(times), 3), "mib_above_state": round(above / 2**20, 1),
                      "mib_state": round(state / 2**20, 1)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="resnet50,unet")
    parser.add_argument("--ways", default="eager,checkpoint,compile,compile-checkpoint")
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    for name in args.models.split(","):
        for way in args.ways.split(","):
            measure(name, way, args)
            torch.cuda.empty_cache()
            torch._dynamo.reset()


if __name__ == "__main__":
    main()
