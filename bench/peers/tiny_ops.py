"""The chain of bench/tiny_ops.cc in eager PyTorch or under jax.jit, whichever this interpreter has: ns per operation.

usage: tiny_ops.py [OPS]        (jax.jit takes long to compile many; 1,000 of them show the same cost each)
"""
import sys
import time


def chain(x, a, b, ops):
    for i in range(ops):
        x = x * a if i % 2 == 0 else x + b if i % 4 == 1 else x - b
    return x


def best(f, rounds=10):
    f()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    ops = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    try:
        import torch
        ops, name = ops or 10_000, "torch eager"
        make = lambda shape, value: torch.full(shape, value)
        run = lambda x, a, b: chain(x, a, b, ops)
    except ImportError:
        import jax
        import jax.numpy as jnp
        ops, name = ops or 1_000, "jax.jit"
        make = lambda shape, value: jnp.full(shape, value, jnp.float32)
        jitted = jax.jit(lambda x, a, b: chain(x, a, b, ops))
        run = lambda x, a, b: jitted(x, a, b).block_until_ready()
    for shape in ((), (4,)):
        x, a, b = make(shape, 1.0), make(shape, 0.5), make(shape, 2.0)
        print(f"{name}, {'scalar' if not shape else shape[0]}: {1e9 * best(lambda: run(x, a, b)) / ops:.1f} ns/op "
              f"({ops} operations)", flush=True)


if __name__ == "__main__":
    main()
