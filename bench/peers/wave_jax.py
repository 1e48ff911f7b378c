"""The problem of bench/wave.cc in JAX: a scan over the steps, nested in `levels` checkpointed scans, timed, with the
memory of the process.

usage: wave_jax.py [--cells N] [--steps N] [--levels 1|2|3] [--rounds N] [--gradient FILE] [--derive]
No rounds: only compiles. FILE holds a gradient as raw floats to compare with. The Laplacian is its own transpose; JAX
is told so, which makes its reverse sweep faster than the one it derives from the slices (--derive leaves it to JAX).
"""
import argparse
import json
import time

import jax
import jax.numpy as jnp
import numpy as np


def status_bytes(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))


def laplacian(u):
    p = jnp.pad(u, 2)
    near = (p[2:-2, 1:-3] + p[2:-2, 3:-1]) + (p[1:-3, 2:-2] + p[3:-1, 2:-2])
    far = (p[2:-2, :-4] + p[2:-2, 4:]) + (p[:-4, 2:-2] + p[4:, 2:-2])
    return -5.0 * u + ((4 / 3) * near + (-1 / 12) * far)


symmetric_laplacian = jax.custom_vjp(laplacian)
symmetric_laplacian.defvjp(lambda u: (laplacian(u), None), lambda _, g: (laplacian(g),))


def taper(n, sponge=20):
    keep = np.ones(n, np.float32)
    for i in range(min(n, sponge)):
        factor = np.float32(np.exp(-((0.4 * (sponge - i) / sponge) ** 2)))
        keep[i] *= factor
        keep[n - 1 - i] *= factor
    return keep


def problem(n, steps):
    y, x = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    courant2 = (0.16 + 0.04 * np.sin(0.05 * x) * np.cos(0.07 * y)).astype(np.float32)
    a = np.pi * (0.02 * np.arange(steps) - 1.2)
    wavelet = ((1 - 2 * a * a) * np.exp(-a * a)).astype(np.float32)
    keep = taper(n)
    return jnp.asarray(courant2), jnp.asarray(wavelet), jnp.asarray(keep[:, None] * keep[None, :])


def levels_of(steps, levels):
    side = round(steps ** (1 / levels))
    while steps % side:
        side -= 1
    return [side] + levels_of(steps // side, levels - 1) if levels > 1 else [steps]


def make_loss(n, keep, shape, curved):
    def step(courant2, carry, amplitude):
        now, before = carry
        after = keep * ((2 * now - keep * before) + courant2 * curved(now))
        after = after.at[n // 2, n // 2].add(amplitude)
        return (after, now), 0.5 * jnp.sum(after[24, ::8] ** 2)

    def loss(courant2, wavelet):
        def sweep(carry, amplitudes):
            if amplitudes.ndim == 1:
                return jax.lax.scan(lambda c, a: step(courant2, c, a), carry, amplitudes)
            carry, heard = jax.lax.scan(jax.checkpoint(sweep, prevent_cse=False), carry, amplitudes)
            return carry, jnp.sum(heard)

        zero = jnp.zeros((n, n), jnp.float32)
        return jnp.sum(sweep((zero, zero), wavelet.reshape(shape))[1])

    return loss


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=512)
    parser.add_argument("--steps", type=int, default=4096)
    parser.add_argument("--levels", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--gradient")
    parser.add_argument("--derive", action="store_true")
    args = parser.parse_args()
    courant2, wavelet, keep = problem(args.cells, args.steps)
    shape = levels_of(args.steps, args.levels)
    loss = make_loss(args.cells, keep, shape, laplacian if args.derive else symmetric_laplacian)
    compiled = jax.jit(jax.value_and_grad(loss)).lower(courant2, wavelet).compile()
    planned = compiled.memory_analysis().temp_size_in_bytes
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("5")
    baseline = status_bytes("VmRSS:")
    if args.rounds == 0:
        print(json.dumps({"levels": shape, "planned": planned}))
        return
    seconds = cpu_seconds = float("inf")
    for _ in range(args.rounds):
        start, cpu_start = time.perf_counter(), time.process_time()
        value, gradient = jax.block_until_ready(compiled(courant2, wavelet))
        seconds = min(seconds, time.perf_counter() - start)
        cpu_seconds = min(cpu_seconds, time.process_time() - cpu_start)
    peak = status_bytes("VmHWM")
    result = {"levels": shape, "seconds": seconds, "cpu_seconds": cpu_seconds, "planned": planned, "peak_rss": peak,
              "growth": peak - baseline, "misfit": float(value)}
    if args.gradient:
        ours, theirs = np.fromfile(args.gradient, np.float32), np.asarray(gradient).ravel()
        result["difference"] = float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
