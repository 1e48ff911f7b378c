#!/usr/bin/env python3
"""Training steps of GPT-2 on a GPU in JAX, for bench/compare_gpu.py.

usage: jax_gpu.py [--model gpt2|gpt2-350m] [--ways jit,checkpoint] [--steps 20] [--sizes BATCH,CONTEXT,WIDTH,HEADS,LAYERS]

f32 parameters, bf16 arithmetic, tied head of 50,257 classes, cuDNN's flash attention where it is there, AdamW; one jit with
donated state, with jax.checkpoint around each block or without. Prints a line of JSON for each way: median milliseconds of a
full step, and the MiB that XLA plans beside parameters, moments and data.
"""
import argparse
import json
import statistics
import time

import jax
import jax.numpy as jnp

VOCABULARY = 50257
MODELS = {"gpt2": (16, 1024, 768, 12, 12), "gpt2-350m": (8, 1024, 1024, 16, 24)}


def init(key, context, width, layers):
    def normal(*shape):
        nonlocal key
        key, mine = jax.random.split(key)
        return 0.02 * jax.random.normal(mine, shape)

    def dense(n, m):
        return {"w": normal(n, m), "b": jnp.zeros(m)}

    def norm():
        return {"gain": jnp.ones(width), "bias": jnp.zeros(width)}

    blocks = [{"norm1": norm(), "qkv": dense(width, 3 * width), "out": dense(width, width), "norm2": norm(),
               "up": dense(width, 4 * width), "down": dense(4 * width, width)} for _ in range(layers)]
    return {"tokens": normal(VOCABULARY, width), "positions": normal(context, width), "blocks": blocks, "norm": norm()}


def normed(x, p):
    wide = x.astype(jnp.float32)
    centred = wide - wide.mean(-1, keepdims=True)
    scaled = centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return (scaled * p["gain"] + p["bias"]).astype(x.dtype)


def dense(x, p):
    return x @ p["w"].astype(x.dtype) + p["b"].astype(x.dtype)


def block_of(heads, implementation):
    def block(x, p):
        batch, time_steps, width = x.shape
        q, k, v = jnp.split(dense(normed(x, p["norm1"]), p["qkv"]).reshape(batch, time_steps, 3 * heads, -1), 3, axis=2)
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation=implementation)
        x = x + dense(y.reshape(batch, time_steps, width), p["out"])
        return x + dense(jax.nn.gelu(dense(normed(x, p["norm2"]), p["up"]), approximate=False), p["down"])
    return block


def make_step(heads, recompute, implementation):
    block = block_of(heads, implementation)
    if recompute:
        block = jax.checkpoint(block)

    def loss(parameters, x, y):
        table = parameters["tokens"].astype(jnp.bfloat16)
        h = table[x] + parameters["positions"].astype(jnp.bfloat16)
        for p in parameters["blocks"]:
            h = block(h, p)
        logits = (normed(h, parameters["norm"]) @ table.T).astype(jnp.float32)
        chosen = jnp.take_along_axis(logits, y[..., None], axis=-1)[..., 0]
        return (jax.nn.logsumexp(logits, axis=-1) - chosen).mean()

    def step(parameters, means, variances, count, x, y):
        value, gradients = jax.value_and_grad(loss)(parameters, x, y)
        count = count + 1
        means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, gradients)
        variances = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, variances, gradients)
        fix1, fix2 = 1 - 0.9**count, 1 - 0.999**count
        parameters = jax.tree.map(
            lambda w, m, v: w * (1 - 3e-4 * 0.01) - 3e-4 * (m / fix1) / (jnp.sqrt(v / fix2) + 1e-8), parameters, means, variances)
        return parameters, means, variances, count, value

    return jax.jit(step, donate_argnums=(0, 1, 2, 3))


def measure(way, sizes, steps):
    batch, context, width, heads, layers = sizes
    parameters = init(jax.random.key(0), context, width, layers)
    zeros = lambda: jax.tree.map(jnp.zeros_like, parameters)
    state = (parameters, zeros(), zeros(), jnp.zeros(()))
    x, y = (jax.random.randint(jax.random.key(i), (batch, context), 0, VOCABULARY) for i in (1, 2))
    implementation = "cudnn" if jax.default_backend() == "gpu" else None
    compiled = make_step(heads, way == "checkpoint", implementation).lower(*state, x, y).compile()
    planned = compiled.memory_analysis()
    above = planned.temp_size_in_bytes + planned.output_size_in_bytes - planned.alias_size_in_bytes
    times = []
    for i in range(steps + 3):
        begin = time.perf_counter()
        *state, value = compiled(*state, x, y)
        jax.block_until_ready(value)
        jax.block_until_ready(state)
        if i >= 3:
            times.append(time.perf_counter() - begin)
    print(json.dumps({"way": way, "ms": round(1e3 * statistics.median(times), 2), "mib": round(above / 2**20)}), flush=True)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--model", default="gpt2", choices=list(MODELS))
parser.add_argument("--ways", default="jit,checkpoint")
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--sizes", help="others than the model's")
arguments = parser.parse_args()
chosen_sizes = tuple(map(int, arguments.sizes.split(","))) if arguments.sizes else MODELS[arguments.model]
for name in arguments.ways.split(","):
    measure(name, chosen_sizes, arguments.steps)
