"""The GPT of bench/gpt_curve.cc in PyTorch, from the weights and tokens that it wrote.

usage: torch_gpt_curve.py FOLDER
Reads start.safetensors, tokens.safetensors and ours.safetensors; trains by torch.optim.AdamW; writes theirs.safetensors.
Prints {"losses": [...], "last": the loss of the trained weights on the last batch, "ours": the same of ours.safetensors}.
"""
import json
import sys
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

HEADS = 4


class Linear(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(inner, outer)), nn.Parameter(torch.empty(outer))

    def forward(self, x):
        return F.linear(x, self.weight.T, self.bias)


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv, self.out = Linear(width, 3 * width), Linear(width, width)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = (p.view(b, t, HEADS, w // HEADS).transpose(1, 2) for p in self.qkv(x).split(w, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(b, t, w))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width)
        self.up, self.down = Linear(width, 4 * width), Linear(4 * width, width)

    def forward(self, x):
        h = x + self.attention(self.norm1(x))
        return h + self.down(F.gelu(self.up(self.norm2(h))))


class Gpt(nn.Module):
    """Its state_dict has the names of nn::Gpt's fields, but for the norms' gains."""

    def __init__(self, weights):
        super().__init__()
        vocabulary, width = weights["token_table"].shape
        self.token_table = nn.Parameter(torch.empty(vocabulary, width))
        self.position_table = nn.Parameter(torch.empty_like(weights["position_table"]))
        self.blocks = nn.ModuleList(Block(width) for _ in range(sum("norm1.gain" in name for name in weights)))
        self.norm = nn.LayerNorm(width)
        self.to(weights["token_table"].dtype)
        self.take(weights)

    def take(self, weights):
        self.load_state_dict({name.replace(".gain", ".weight"): t for name, t in weights.items()})

    def give(self):
        rename = lambda name: name.replace(".weight", ".gain") if "norm" in name else name
        return {rename(name): t.detach().contiguous() for name, t in self.state_dict().items()}

    def loss(self, tokens):
        x, y = tokens[:, :-1], tokens[:, 1:]
        h = F.embedding(x, self.token_table) + self.position_table[:x.shape[1]]
        for block in self.blocks:
            h = block(h)
        logits = self.norm(h) @ self.token_table.T
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))


def main():
    folder = Path(sys.argv[1])
    tokens = load_file(folder / "tokens.safetensors")["tensor"]
    model = Gpt(load_file(folder / "start.safetensors"))
    decays = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decays, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
                                  lr=1e-3)
    losses = []
    for batch in tokens:
        optimizer.zero_grad()
        loss = model.loss(batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    save_file(model.give(), folder / "theirs.safetensors")
    with torch.no_grad():
        last = model.loss(tokens[-1]).item()
        model.take(load_file(folder / "ours.safetensors"))
        ours = model.loss(tokens[-1]).item()
    print(json.dumps({"losses": losses, "last": last, "ours": ours}))


if __name__ == "__main__":
    main()
