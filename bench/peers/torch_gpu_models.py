"""The models of bench/gpu_training.cc in PyTorch, for bench/peers/torch_gpu.py.

GPT-2: f32 parameters, bf16 arithmetic by autocast, tied head of 50,257 classes. The Llama of 1.1 billion parameters: all bf16.
scaled_dot_product_attention in both. ResNet-50 and the U-Net: f32 parameters, bf16 by autocast, channels last.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, width = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    vocabulary, dtype = 50257, torch.float32

    def __init__(self, context, recompute, width, heads, layers):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(self.vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.recompute = recompute

    def forward(self, x, y):
        h = self.tokens(x) + self.positions(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            h = checkpoint(block, h, use_reentrant=False) if self.recompute else block(h)
        logits = self.norm(h) @ self.tokens.weight.t()
        return F.cross_entropy(logits.view(-1, self.vocabulary), y.view(-1))


def rotated(x, angles):
    a, b = x.chunk(2, dim=-1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x, angles):
        b, t, width = x.shape
        h = self.norm1(x)
        q, k, v = (p(h).view(b, t, self.heads, -1).transpose(1, 2) for p in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(rotated(q, angles), rotated(k, angles), v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, width))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    vocabulary, dtype = 32000, torch.bfloat16

    def __init__(self, context, recompute, width=2048, heads=32, layers=22, hidden=5632):
        super().__init__()
        self.tokens, self.head = nn.Embedding(self.vocabulary, width), nn.Linear(width, self.vocabulary, bias=False)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, hidden) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.recompute = recompute
        half = width // heads // 2
        turns = 10000.0 ** (-torch.arange(half) / half)
        self.register_buffer("angles", torch.arange(context)[:, None] * turns[None, :])

    def forward(self, x, y):
        h = self.tokens(x)
        for block in self.blocks:
            h = checkpoint(block, h, self.angles, use_reentrant=False) if self.recompute else block(h, self.angles)
        return F.cross_entropy(self.head(self.norm(h)).view(-1, self.vocabulary), y.view(-1))


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


def tokens(vocabulary, batch, context, device):
    return tuple(torch.randint(0, vocabulary, (batch, context), device=device) for _ in range(2))


def images(batch, side, classes, each_pixel, device):
    x = torch.randn(batch, 3, side, side, device=device).to(memory_format=torch.channels_last)
    return x, torch.randint(0, classes, (batch, side, side) if each_pixel else (batch,), device=device)


# How it is made, with a checkpoint per block or without; its data.
MODELS = {
    "gpt2": (lambda recompute: Gpt(1024, recompute, 768, 12, 12), lambda device: tokens(50257, 16, 1024, device)),
    "gpt2-350m": (lambda recompute: Gpt(1024, recompute, 1024, 16, 24), lambda device: tokens(50257, 8, 1024, device)),
    "llama-1b": (lambda recompute: Llama(4096, recompute), lambda device: tokens(32000, 1, 4096, device)),
    "resnet50": (ResNet50, lambda device: images(256, 224, 1000, False, device)),
    "unet": (UNet, lambda device: images(16, 512, 2, True, device)),
}
