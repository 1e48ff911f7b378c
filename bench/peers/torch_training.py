"""The rows of bench/macro_training.cc in PyTorch: full training steps (loss, gradients, AdamW).

usage: torch_training.py ROW [--threads N] [--steps N] [--compile] [--serve]
       torch_training.py --rates [--threads N]

Prints a JSON line when the model is ready, then one per round: with --serve a round is a line on the standard input
with a number of steps, else there is one round of --steps.

Memory is the growth of resident memory since before the model was made; with --compile it is the state (parameters,
moments, data) plus the most that the allocator reports for the tensors of a step, so that what the compiler leaves behind
does not count.
"""
import argparse
import json
import math
import sys
import tempfile
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, heads, causal=True):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = (p.view(b, t, self.heads, w // self.heads).transpose(1, 2)
                   for p in self.qkv(self.norm1(x)).split(w, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        h = x + self.out(mixed.transpose(1, 2).reshape(b, t, w))
        return h + self.down(F.gelu(self.up(self.norm2(h))))


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, vocabulary, context):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        h = self.tokens(tokens) + self.positions.weight[:tokens.shape[1]]
        return self.norm(self.blocks(h)) @ self.tokens.weight.T


def batch_norm(channels):  # statistics of the batch; running averages are for inference
    return nn.BatchNorm2d(channels, track_running_stats=False)


class ConvNorm(nn.Sequential):
    def __init__(self, inner, outer, kernel, stride=1):
        conv = nn.Conv2d(inner, outer, kernel, stride, (kernel - 1) // 2, bias=False)
        super().__init__(conv, batch_norm(outer))


class ResidualBlock(nn.Module):
    def __init__(self, inner, width, stride):
        super().__init__()
        self.first, self.second = ConvNorm(inner, width, 3, stride), ConvNorm(width, width, 3)
        self.shortcut = ConvNorm(inner, width, 1, stride) if stride != 1 or inner != width else nn.Identity()

    def forward(self, x):
        return F.relu(self.second(F.relu(self.first(x))) + self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        self.stem, blocks, inner = ConvNorm(3, 64, 7, 2), [], 64
        for stage in range(4):
            for i in range(2):
                width = 64 << stage
                blocks.append(ResidualBlock(inner, width, 2 if stage > 0 and i == 0 else 1))
                inner = width
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(inner, classes)

    def forward(self, x):
        h = F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1)
        return self.head(self.blocks(h).mean((2, 3)))


class DoubleConv(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.first, self.second = ConvNorm(inner, outer, 3), ConvNorm(outer, outer, 3)

    def forward(self, x):
        return F.relu(self.second(F.relu(self.first(x))))


class UNet(nn.Module):
    def __init__(self, channels=3, classes=2, width=64, levels=4):
        super().__init__()
        down, rise, up = [DoubleConv(channels, width)], [], []
        for i in range(levels):
            down.append(DoubleConv(width << i, width << (i + 1)))
        for i in reversed(range(levels)):
            rise.append(nn.ConvTranspose2d(width << (i + 1), width << i, 2, 2))
            up.append(DoubleConv(width << (i + 1), width << i))
        self.down, self.rise, self.up = nn.ModuleList(down), nn.ModuleList(rise), nn.ModuleList(up)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        skips, h = [], self.down[0](x)
        for layer in self.down[1:]:
            skips.append(h)
            h = layer(F.max_pool2d(h, 2))
        for rise, up in zip(self.rise, self.up):
            h = up(torch.cat([skips.pop(), rise(h)], 1))
        return self.head(h).permute(0, 2, 3, 1)


class Lstm(nn.Module):
    def __init__(self, width=512, vocabulary=256):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width)
        self.head = nn.Linear(width, vocabulary)
        del self.lstm.bias_hh_l0  # one bias for each gate: a second adds nothing
        self.lstm._flat_weights_names = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0"]

    def forward(self, tokens):
        steps, batch = tokens.shape
        zero = torch.zeros(1, batch, self.lstm.hidden_size)
        weights = [self.lstm.weight_ih_l0, self.lstm.weight_hh_l0, self.lstm.bias_ih_l0,
                   torch.zeros_like(self.lstm.bias_ih_l0)]
        h = torch._VF.lstm(self.tokens(tokens), (zero, zero), weights, True, 1, 0.0, self.training, False, False)[0]
        return self.head(h)


class Vit(nn.Module):
    def __init__(self, layers, width, heads, patch, side, classes):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(0.02 * torch.randn(1, 1, width))
        self.positions = nn.Parameter(0.02 * torch.randn((side // patch) ** 2 + 1, width))
        self.blocks = nn.Sequential(*[Block(width, heads, causal=False) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, images):
        patches = self.patches(images).flatten(2).transpose(1, 2)
        h = torch.cat([self.token.expand(len(images), -1, -1), patches], 1) + self.positions
        return self.head(self.norm(self.blocks(h)[:, 0]))


class RotaryAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x, cos, sin):
        b, t, w = x.shape

        def turned(p):  # pairs of halves
            a, c = p.chunk(2, -1)
            return torch.cat([a * cos - c * sin, c * cos + a * sin], -1)
        q, k, v = (p(x).view(b, t, self.heads, w // self.heads).transpose(1, 2) for p in (self.q, self.k, self.v))
        mixed = F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(b, t, w))


class SparseExperts(nn.Module):
    """Routing with a fixed capacity, as nn::SparseExperts has it: the experts are one batched product."""

    def __init__(self, width, hidden, experts, top, capacity=1.25):
        super().__init__()
        self.top, self.capacity = top, capacity
        self.router = nn.Parameter(torch.randn(width, experts) / width ** 0.5)
        self.gate = nn.Parameter(torch.randn(experts, width, hidden) / width ** 0.5)
        self.up = nn.Parameter(torch.randn(experts, width, hidden) / width ** 0.5)
        self.down = nn.Parameter(torch.randn(experts, hidden, width) / hidden ** 0.5)

    def forward(self, x):
        tokens, width = x.shape
        experts = self.router.shape[1]
        slots = min(tokens, math.ceil(self.top * tokens / experts * self.capacity))
        scores = x @ self.router
        best, expert = scores.topk(self.top)
        expert = expert.T.reshape(-1)
        chosen = F.one_hot(expert, experts)
        rank = (chosen * chosen.cumsum(0)).sum(1) - 1
        slot = torch.where(rank < slots, expert * slots + rank, experts * slots)
        number = torch.arange(self.top * tokens) % tokens + 1
        token = torch.zeros(experts * slots + 1, dtype=torch.long).scatter_(0, slot, number)[:-1]
        zero = x.new_zeros(1, width)
        sent = torch.cat([zero, x])[token].view(experts, slots, width)
        made = torch.bmm(F.silu(torch.bmm(sent, self.gate)) * torch.bmm(sent, self.up), self.down)
        back = torch.cat([made.view(-1, width), zero])[slot].view(self.top, tokens, width)
        y = (back * best.softmax(-1).T.unsqueeze(-1)).sum(0)
        balance = (chosen.float().mean(0) * scores.softmax(-1).mean(0)).sum() * experts
        return y, balance


class MoeBlock(nn.Module):
    def __init__(self, width, heads, hidden, experts, top):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = RotaryAttention(width, heads)
        self.experts = SparseExperts(width, hidden, experts, top)

    def forward(self, x, cos, sin):
        h = x + self.attention(self.norm1(x), cos, sin)
        y, balance = self.experts(self.norm2(h).flatten(0, 1))
        return h + y.view_as(h), balance


class Moe(nn.Module):
    def __init__(self, layers, width, heads, hidden, vocabulary, experts, top):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(MoeBlock(width, heads, hidden, experts, top) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.half = width // heads // 2

    def loss(self, tokens, next):
        angles = torch.outer(torch.arange(tokens.shape[1]), 10000.0 ** (-torch.arange(self.half) / self.half))
        cos, sin = angles.cos(), angles.sin()
        h, balance = self.tokens(tokens), 0.0
        for block in self.blocks:
            h, own = block(h, cos, sin)
            balance = balance + own / len(self.blocks)
        return cross_entropy(self.head(self.norm(h)), next) + 0.01 * balance


def mlp():
    widths = (784, 1024, 1024, 1024)
    layers = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(1024, 10))


def labels(classes, *shape):
    return torch.randint(classes, shape)


ROWS = {
    "mlp": (mlp, lambda: (torch.randn(256, 784), labels(10, 256))),
    "gpt": (lambda: Gpt(6, 384, 6, 8192, 256), lambda: (labels(8192, 16, 256), labels(8192, 16, 256))),
    "gpt-long": (lambda: Gpt(4, 256, 4, 8192, 2048), lambda: (labels(8192, 2, 2048), labels(8192, 2, 2048))),
    "resnet18": (ResNet18, lambda: (torch.randn(16, 3, 64, 64), labels(1000, 16))),
    "unet": (UNet, lambda: (torch.randn(4, 3, 128, 128), labels(2, 4, 128, 128))),
    "vit": (lambda: Vit(6, 384, 6, 8, 64, 1000), lambda: (torch.randn(16, 3, 64, 64), labels(1000, 16))),
    "moe": (lambda: Moe(4, 256, 4, 512, 4096, 8, 2), lambda: (labels(4096, 8, 256), labels(4096, 8, 256))),
    "lstm": (Lstm, lambda: (labels(256, 256, 16), labels(256, 256, 16))),
}


def status_bytes(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))


def reset_peak():
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")


def optimizer_for(model):
    """AdamW that leaves biases and gains alone, in one fused kernel per group."""
    groups = [{"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": 0.01},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1e-3, fused=True)


def most_allocated(step):
    """The most bytes that tensors made during a step hold at one time, as the allocator reports them."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as watch:
        step()
    with tempfile.NamedTemporaryFile(suffix=".json") as trace:
        watch.export_chrome_trace(trace.name)
        events = json.load(open(trace.name))["traceEvents"]
    return max(e["args"]["Total Allocated"] for e in events if e.get("name") == "[memory]")


def cross_entropy(logits, y):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))


def loss_of(model, x, y):
    return model.loss(x, y) if hasattr(model, "loss") else cross_entropy(model(x), y)


def rates():
    a, b = torch.randn(2048, 2048), torch.randn(2048, 2048)
    big, copy = torch.randn(64 << 20), torch.empty(64 << 20)

    def best(f):
        f()
        times = []
        for _ in range(8):
            start = time.perf_counter()
            f()
            times.append(time.perf_counter() - start)
        return min(times)
    print(json.dumps({"product": 2 * 2048**3 / best(lambda: torch.mm(a, b)),
                      "copy": 2 * 4 * (64 << 20) / best(lambda: copy.copy_(big))}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("row", choices=ROWS, nargs="?")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--rates", action="store_true")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    if args.rates:
        return rates()
    build, data = ROWS[args.row]
    # The library loads and warms itself up before the baseline.
    small = nn.Linear(8, 8)
    warm = optimizer_for(small)
    small(torch.randn(4, 8)).sum().backward()
    warm.step()
    reset_peak()
    baseline = status_bytes("VmRSS:")

    start = time.perf_counter()
    model = build()
    optimizer = optimizer_for(model)
    x, y = data()
    loss_fn = torch.compile(loss_of) if args.compile else loss_of

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_fn(model, x, y)
        loss.backward()
        optimizer.step()
        return loss.item()

    step()
    step()
    ready = {"row": args.row, "parameters": sum(p.numel() for p in model.parameters()),
             "ready_seconds": time.perf_counter() - start}
    if not args.compile:
        from torch.utils.flop_counter import FlopCounterMode
        with FlopCounterMode(display=False) as counter:
            loss_of(model, x, y).backward()
        ready["flops"] = counter.get_total_flops()
        optimizer.zero_grad(set_to_none=True)
    print(json.dumps(ready), flush=True)

    state = 3 * 4 * ready["parameters"] + sum(t.numel() * t.element_size() for t in (x, y))
    transient = most_allocated(step) if args.compile else 0
    for line in sys.stdin if args.serve else [str(args.steps)]:
        times = []
        for _ in range(int(line)):
            begin = time.perf_counter()
            value = step()
            times.append(time.perf_counter() - begin)
        peak = status_bytes("VmHWM:")
        grown = state + transient if args.compile else peak - baseline
        print(json.dumps({"times": times, "loss": value, "peak_rss": grown}), flush=True)


if __name__ == "__main__":
    main()
