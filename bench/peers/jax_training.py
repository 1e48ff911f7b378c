"""The rows of bench/macro_training.cc in JAX: full training steps (loss, gradients, AdamW) under one jax.jit.

usage: jax_training.py ROW [--threads N] [--steps N] [--serve]

Speaks as torch_training.py does. The step is compiled from shapes before the baseline of memory is taken, so that what
the compiler leaves behind does not count; the state is donated.
"""
import argparse
import ctypes
import gc
import json
import os
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("row")
parser.add_argument("--threads", type=int, default=0)
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--serve", action="store_true")
args = parser.parse_args()
if args.threads:  # XLA takes as many threads as it may run on processors
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:args.threads])
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

RNG = np.random.default_rng(0)


def normal(*shape, scale=1.0):
    return (scale * RNG.standard_normal(shape)).astype(np.float32)


def zeros(*shape):
    return np.zeros(shape, np.float32)


def ones(*shape):
    return np.ones(shape, np.float32)


def labels(classes, *shape):
    return RNG.integers(0, classes, shape).astype(np.int32)


def linear(inner, outer):
    return {"w": normal(inner, outer, scale=inner**-0.5), "b": zeros(outer)}


def apply_linear(p, x):
    return x @ p["w"] + p["b"]


def cross_entropy(logits, y):
    picked = jnp.take_along_axis(logits, y[..., None], -1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - picked)


# ---- MLP
def mlp_init():
    return [linear(a, b) for a, b in ((784, 1024), (1024, 1024), (1024, 1024), (1024, 10))]


def mlp(p, x):
    for layer in p[:-1]:
        x = jax.nn.relu(apply_linear(layer, x))
    return apply_linear(p[-1], x)


# ---- GPT
def norm_init(width):
    return {"g": ones(width), "b": zeros(width)}


def layer_norm(p, x):
    mean = x.mean(-1, keepdims=True)
    var = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5) * p["g"] + p["b"]


def gpt_init(layers, width, vocabulary, context):
    block = lambda: {"norm1": norm_init(width), "norm2": norm_init(width), "qkv": linear(width, 3 * width),
                     "out": linear(width, width), "up": linear(width, 4 * width), "down": linear(4 * width, width)}
    return {"tokens": normal(vocabulary, width, scale=0.02), "positions": normal(context, width, scale=0.02),
            "blocks": [block() for _ in range(layers)], "norm": norm_init(width)}


def gpt(heads):
    def model(p, tokens):
        h = p["tokens"][tokens] + p["positions"][:tokens.shape[1]]
        b, t, w = h.shape
        for block in p["blocks"]:
            qkv = apply_linear(block["qkv"], layer_norm(block["norm1"], h))
            q, k, v = (part.reshape(b, t, heads, w // heads) for part in jnp.split(qkv, 3, -1))
            mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
            h = h + apply_linear(block["out"], mixed.reshape(b, t, w))
            up = jax.nn.gelu(apply_linear(block["up"], layer_norm(block["norm2"], h)), approximate=False)
            h = h + apply_linear(block["down"], up)
        return layer_norm(p["norm"], h) @ p["tokens"].T
    return model


# ---- convolutions
def conv_init(outer, inner, kernel):
    return normal(outer, inner, kernel, kernel, scale=(2 / (inner * kernel * kernel))**0.5)


def conv_norm_init(inner, outer, kernel):
    return {"w": conv_init(outer, inner, kernel), "n": norm_init(outer)}


def conv(x, w, stride=1):
    pad = (w.shape[2] - 1) // 2
    return lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad)] * 2)


def conv_norm(p, x, stride=1):
    h = conv(x, p["w"], stride)
    mean = h.mean((0, 2, 3), keepdims=True)
    var = jnp.square(h - mean).mean((0, 2, 3), keepdims=True)
    per_channel = lambda a: a.reshape(1, -1, 1, 1)
    return (h - mean) * lax.rsqrt(var + 1e-5) * per_channel(p["n"]["g"]) + per_channel(p["n"]["b"])


def max_pool(x, window, stride, pad):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, window, window), (1, 1, stride, stride),
                             ((0, 0), (0, 0), (pad, pad), (pad, pad)))


STRIDES = [2 if stage > 0 and i == 0 else 1 for stage in range(4) for i in range(2)]


def resnet18_init():
    blocks, inner = [], 64
    for i, stride in enumerate(STRIDES):
        width = 64 << (i // 2)
        block = {"first": conv_norm_init(inner, width, 3), "second": conv_norm_init(width, width, 3)}
        if stride != 1 or inner != width:
            block["shortcut"] = conv_norm_init(inner, width, 1)
        blocks.append(block)
        inner = width
    return {"stem": conv_norm_init(3, 64, 7), "blocks": blocks, "head": linear(inner, 1000)}


def resnet18(p, x):
    h = max_pool(jax.nn.relu(conv_norm(p["stem"], x, 2)), 3, 2, 1)
    for block, stride in zip(p["blocks"], STRIDES):
        wide = conv_norm(block["second"], jax.nn.relu(conv_norm(block["first"], h, stride)))
        h = jax.nn.relu(wide + (conv_norm(block["shortcut"], h, stride) if "shortcut" in block else h))
    return apply_linear(p["head"], h.mean((2, 3)))


def double_init(inner, outer):
    return {"first": conv_norm_init(inner, outer, 3), "second": conv_norm_init(outer, outer, 3)}


def double(p, x):
    return jax.nn.relu(conv_norm(p["second"], jax.nn.relu(conv_norm(p["first"], x))))


def unet_init(channels=3, classes=2, width=64, levels=4):
    down = [double_init(channels, width)] + [double_init(width << i, width << (i + 1)) for i in range(levels)]
    rise = [{"w": normal(width << (i + 1), width << i, 2, 2, scale=(width << (i + 1))**-0.5),
             "b": zeros(width << i)} for i in reversed(range(levels))]
    up = [double_init(width << (i + 1), width << i) for i in reversed(range(levels))]
    return {"down": down, "rise": rise, "up": up, "head": {"w": conv_init(classes, width, 1), "b": zeros(classes)}}


def rise_by_two(p, x):
    """A transposed convolution whose windows do not overlap."""
    n, _, h, w = x.shape
    wide = jnp.einsum("nchw,cdij->ndhiwj", x, p["w"])
    return wide.reshape(n, -1, 2 * h, 2 * w) + p["b"].reshape(1, -1, 1, 1)


def unet(p, x):
    skips, h = [], double(p["down"][0], x)
    for layer in p["down"][1:]:
        skips.append(h)
        h = double(layer, max_pool(h, 2, 2, 0))
    for rise, up in zip(p["rise"], p["up"]):
        h = double(up, jnp.concatenate([skips.pop(), rise_by_two(rise, h)], 1))
    return (conv(h, p["head"]["w"]) + p["head"]["b"].reshape(1, -1, 1, 1)).transpose(0, 2, 3, 1)


# ---- LSTM
def lstm_init(width=512, vocabulary=256):
    scale = (2 * width)**-0.5
    return {"tokens": normal(vocabulary, width, scale=0.1), "input": normal(width, 4 * width, scale=scale),
            "hidden": normal(width, 4 * width, scale=scale), "bias": zeros(4 * width),
            "head": linear(width, vocabulary)}


def lstm(p, tokens):
    from_input = p["tokens"][tokens] @ p["input"] + p["bias"]  # (T, B, 4 width)

    def step(state, x):
        h, cell = state
        i, f, c, o = jnp.split(x + h @ p["hidden"], 4, -1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(c)
        h = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (h, cell), h
    zero = jnp.zeros((tokens.shape[1], p["hidden"].shape[0]), jnp.float32)
    return apply_linear(p["head"], lax.scan(step, (zero, zero), from_input)[1])


ROWS = {
    "mlp": (mlp_init, mlp, lambda: (normal(256, 784), labels(10, 256))),
    "gpt": (lambda: gpt_init(6, 384, 8192, 256), gpt(6), lambda: (labels(8192, 16, 256), labels(8192, 16, 256))),
    "gpt-long": (lambda: gpt_init(4, 256, 8192, 2048), gpt(4),
                 lambda: (labels(8192, 2, 2048), labels(8192, 2, 2048))),
    "resnet18": (resnet18_init, resnet18, lambda: (normal(16, 3, 64, 64), labels(1000, 16))),
    "unet": (unet_init, unet, lambda: (normal(4, 3, 128, 128), labels(2, 4, 128, 128))),
    "lstm": (lstm_init, lstm, lambda: (labels(256, 256, 16), labels(256, 256, 16))),
}


def adamw(w, m, v, g, steps, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, decay=0.01):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * jnp.square(g)
    update = (m / (1 - beta1**steps)) / (jnp.sqrt(v / (1 - beta2**steps)) + eps)
    return w * (1 - lr * (decay if w.ndim >= 2 else 0)) - lr * update, m, v


def training_step(model):
    def step(state, x, y):
        params, mean, variance, steps = state
        loss, grads = jax.value_and_grad(lambda p: cross_entropy(model(p, x), y))(params)
        steps = steps + 1
        leaves, tree = jax.tree.flatten(params)
        new = [adamw(*t, steps.astype(jnp.float32)) for t in zip(leaves, jax.tree.leaves(mean),
                                                                jax.tree.leaves(variance), jax.tree.leaves(grads))]
        return tuple(jax.tree.unflatten(tree, list(part)) for part in zip(*new)) + (steps,), loss
    return step


def status_bytes(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))


def trim():
    """What compiling has freed goes back to the system, and the peak begins anew."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")


def main():
    init, model, data = ROWS[args.row]
    start = time.perf_counter()
    params, (x, y) = init(), data()
    zero = lambda: jax.tree.map(lambda a: np.full_like(a, 0), params)  # written, so that it is resident
    state = (params, zero(), zero(), np.zeros((), np.int32))
    shapes = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), (state, x, y))
    compiled = jax.jit(training_step(model), donate_argnums=0).lower(*shapes).compile()
    seconds = time.perf_counter() - start
    trim()
    held = sum(a.nbytes for a in jax.tree.leaves((state, x, y)))
    baseline = status_bytes("VmRSS:") - held  # the values exist already, as arrays of numpy that are now moved over
    state, x, y = jax.device_put((state, x, y))
    jax.block_until_ready(state)
    count = sum(a.size for a in jax.tree.leaves(params))
    del params, zero

    def step():
        nonlocal state
        state, loss = compiled(state, x, y)
        return loss.item()

    for _ in range(2):
        step()
    trim()
    memory = compiled.memory_analysis()
    print(json.dumps({"row": args.row, "parameters": count, "flops": compiled.cost_analysis()["flops"],
                      "ready_seconds": seconds,
                      "planned": memory.argument_size_in_bytes + memory.temp_size_in_bytes}), flush=True)
    for line in sys.stdin if args.serve else [str(args.steps)]:
        times = []
        for _ in range(int(line)):
            begin = time.perf_counter()
            value = step()
            jax.block_until_ready(state)
            times.append(time.perf_counter() - begin)
        print(json.dumps({"times": times, "loss": value, "peak_rss": status_bytes("VmHWM:") - baseline}), flush=True)


if __name__ == "__main__":
    main()
