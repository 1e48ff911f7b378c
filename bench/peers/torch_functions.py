"""The functions of function_values.cc in NumPy (transforms) and PyTorch: reads its lines, writes values and gradients.

Complex numbers are pairs along a last axis here and there. polygamma is mpmath's, which comes with PyTorch: PyTorch's own is
exact to 5e-10 only.
"""
import json
import sys

import mpmath
import numpy as np
import torch

torch.set_default_dtype(torch.float64)


def tensor_of(entry):
    return torch.tensor([float.fromhex(v) for v in entry["data"]]).reshape(entry["shape"])


def joined(z):
    return torch.view_as_complex(z.contiguous())


def parted(z):
    return torch.view_as_real(z)


def transforms(a):
    axes = (0, 1, 2)
    one, several = {"n": a.get("n"), "norm": a.get("norm")}, {"dim": axes, "norm": a.get("norm")}
    return {
        "fft": lambda x: parted(torch.fft.fft(joined(x), **one)),
        "ifft": lambda x: parted(torch.fft.ifft(joined(x), **one)),
        "rfft": lambda x: parted(torch.fft.rfft(x, **one)),
        "irfft": lambda x: torch.fft.irfft(joined(x), **one),
        "fftn": lambda x: parted(torch.fft.fftn(joined(x), **several)),
        "ifftn": lambda x: parted(torch.fft.ifftn(joined(x), **several)),
        "rfftn": lambda x: parted(torch.fft.rfftn(x, **several)),
        "irfftn": lambda x: torch.fft.irfftn(joined(x), **several),
    }


def numpy_value(function, x, a):
    z = x.numpy()
    if function in ("fft", "ifft", "irfft", "fftn", "ifftn", "irfftn"):
        z = z[..., 0] + 1j * z[..., 1]
    f = getattr(np.fft, function)
    y = f(z, axes=(0, 1, 2), norm=a["norm"]) if function.endswith("n") else f(z, n=a["n"], norm=a["norm"])
    return np.stack([y.real, y.imag], -1) if np.iscomplexobj(y) else y


class Polygamma(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, order):
        ctx.save_for_backward(x)
        ctx.order = order
        return torch.tensor([float(mpmath.polygamma(order, v)) for v in x.tolist()])

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * Polygamma.apply(x, ctx.order + 1), None


def unique(x, part, room):
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    if part == "inverse":
        return inverse.double()
    kept, fill = (counts.double(), 0.0) if part == "counts" else (values, -1000.0)
    return torch.cat([kept, torch.full((room - len(kept),), fill)])


def function_of(name, a, room):
    if name in transforms(a):
        return transforms(a)[name]
    if name.startswith("unique"):
        return lambda x: unique(x, name[7:], room)
    if name.startswith(("cummax", "cummin")):
        part = 1 if name.endswith("indices") else 0
        return lambda x: getattr(torch, name[:6])(x, a["axis"])[part].double()
    if name == "polygamma":
        return lambda x: Polygamma.apply(x, a["order"])
    return getattr(torch, name)


for line in sys.stdin:
    row = json.loads(line)
    x, a = tensor_of(row["x"]).requires_grad_(row["gradient"] is not None), row["arguments"]
    f = function_of(row["function"], a, len(row["y"]["data"]))
    y = f(x)
    gradient = None
    if row["gradient"] is not None:
        gradient = torch.autograd.grad(torch.sin(y).sum(), x)[0].reshape(-1).tolist()
    value = y.detach().reshape(-1).tolist()
    if row["function"] in transforms(a):
        value = numpy_value(row["function"], x.detach(), a).reshape(-1).tolist()
    print(json.dumps({"y": value, "gradient": gradient}), flush=True)
