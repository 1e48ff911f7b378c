"""PyTorch's optimizers beside Tidemark's, over the same 100 updates of a small network: the largest difference.

usage: torch_optimizers.py build/release/bench/optimizer_paths
Prints a table; the status is 1 where a path in f64 differs by more than 1e-6. Lion is not in PyTorch: its rule is
written here as in the paper (Chen et al. 2023, program 1).
"""
import math
import subprocess
import sys

import torch
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

STEPS = 100


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                b1, b2 = group["betas"]
                update = torch.sign(b1 * m + (1 - b1) * p.grad)
                p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(group["lr"] * update)
                m.mul_(b2).add_(p.grad, alpha=1 - b2)


def sines(shape, factor, dtype):
    count = math.prod(shape)
    return torch.tensor([math.sin(factor * (i + 1)) for i in range(count)], dtype=torch.float64).reshape(shape).to(dtype)


class Net(torch.nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.weight = torch.nn.Parameter(sines((5, 3), 1.3, dtype))
        self.bias = torch.nn.Parameter(sines((3,), 0.7, dtype))

    def forward(self, x):
        return torch.tanh(x @ self.weight + self.bias)


def sgd(lr, **more):
    return lambda net: torch.optim.SGD(net.parameters(), lr=lr, **more)


PEERS = {
    "sgd": dict(make=sgd(0.1, weight_decay=0.01)),
    "momentum": dict(make=sgd(0.1, momentum=0.9, weight_decay=0.01)),
    "nesterov": dict(make=sgd(0.1, momentum=0.9, weight_decay=0.01, nesterov=True)),
    "rmsprop": dict(make=lambda n: torch.optim.RMSprop(n.parameters(), lr=0.01, weight_decay=0.01)),
    "rmsprop_momentum": dict(make=lambda n: torch.optim.RMSprop(n.parameters(), lr=0.003, momentum=0.9)),
    "adam": dict(make=lambda n: torch.optim.Adam(n.parameters(), lr=0.01, weight_decay=0.01)),
    "adamw": dict(make=lambda n: torch.optim.AdamW(n.parameters(), lr=0.01, weight_decay=0.1)),
    "adafactor": dict(make=lambda n: torch.optim.Adafactor(n.parameters(), lr=0.05, weight_decay=0.01)),
    "lion": dict(make=lambda n: Lion(n.parameters(), lr=0.003, weight_decay=0.1)),
    "clip_norm": dict(make=sgd(0.1, momentum=0.9),
                      clip=lambda n: torch.nn.utils.clip_grad_norm_(n.parameters(), 0.05)),
    "clip_value": dict(make=sgd(0.1, momentum=0.9),
                       clip=lambda n: torch.nn.utils.clip_grad_value_(n.parameters(), 0.02)),
    "ema": dict(make=lambda n: torch.optim.AdamW(n.parameters(), lr=0.01, weight_decay=0), ema=0.9),
    "groups": dict(make=lambda n: torch.optim.AdamW(
        [dict(params=[n.weight]), dict(params=[n.bias], lr=0.05, weight_decay=0.3)], lr=0.01, weight_decay=0.1)),
    "cosine": dict(make=sgd(0.5), rate=lambda o: lr_scheduler.CosineAnnealingLR(o, 100, eta_min=0.01)),
    "linear": dict(make=sgd(0.5), rate=lambda o: lr_scheduler.LinearLR(o, 1.0, 0.1, total_iters=60)),
    "stairs": dict(make=sgd(0.5), rate=lambda o: lr_scheduler.StepLR(o, 30, gamma=0.5)),
    "one_cycle": dict(make=sgd(0.5), rate=lambda o: lr_scheduler.OneCycleLR(o, 0.5, total_steps=100,
                                                                             cycle_momentum=False), last=99),
    "warmup_cosine": dict(make=sgd(0.5), rate=lambda o: lr_scheduler.LambdaLR(
        o, lambda t: (t + 1) / 11 if t < 10 else (1 + math.cos(math.pi * (t - 10) / 90)) / 2)),
}


def path(make, dtype, clip=None, rate=None, ema=None, last=STEPS):
    net = Net(dtype)
    x, y = sines((16, 5), 2.1, dtype), sines((16, 3), 0.9, dtype)
    optimizer = make(net)
    scheduler = rate(optimizer) if rate else None
    average = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(ema)) if ema else None
    if average:
        average.update_parameters(net)  # begins as the parameters
    values = []
    for t in range(1, STEPS + 1):
        optimizer.zero_grad()
        (net(x) - y).square().mean().backward()
        if clip:
            clip(net)
        optimizer.step()
        if scheduler and t <= last:
            scheduler.step()
        if average:
            average.update_parameters(net)
        if t % 10 == 0:
            shown = average.module if average else net
            values += [v for p in (shown.weight, shown.bias) for v in p.detach().double().flatten().tolist()]
    return values


def main():
    lines = subprocess.run([sys.argv[1], str(STEPS)], check=True, capture_output=True, text=True).stdout
    rows, worst = {}, 0.0
    for line in lines.splitlines():
        name, dtype, *values = line.split()
        ours = [float(v) for v in values]
        theirs = path(dtype=torch.float64 if dtype == "f64" else torch.float32, **PEERS[name])
        assert len(ours) == len(theirs), (name, len(ours), len(theirs))
        rows.setdefault(name, {})[dtype] = max(abs(a - b) for a, b in zip(ours, theirs))
    print(f"largest difference of a parameter over {STEPS} updates, torch {torch.__version__}")
    print(f"{'':<18}{'f64':>10}{'f32':>10}")
    for name, row in rows.items():
        print(f"{name:<18}{row['f64']:>10.1e}{row['f32']:>10.1e}")
        worst = max(worst, row["f64"])
    sys.exit(0 if worst <= 1e-6 else 1)


main()
