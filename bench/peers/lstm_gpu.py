"""The LSTM of bench/gpu_loops.cc on a GPU in PyTorch (cuDNN's, eager and under torch.compile) or JAX (a scan, whole or in
checkpointed segments), whichever this interpreter has: a line of JSON for each way.

usage: lstm_gpu.py [--steps 1024] [--batch 64] [--width 512] [--rounds 5]
f32 without TF32; the gradient of the sum of squared outputs with respect to the weights. `mib` is what was allocated above
weights and inputs.
"""
import argparse
import json
import statistics
import time


def report(way, run, mib, rounds):
    for _ in range(3):
        run()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - start))
    print(json.dumps({"way": way, "ms": statistics.median(times), "least": min(times), "mib": mib()}), flush=True)


def in_torch(args):
    import torch
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    layer = torch.nn.LSTM(args.width, args.width).cuda()
    x = torch.randn(args.steps, args.batch, args.width, device="cuda")

    def loss(x):
        return layer(x)[0].square().sum()

    def gradient(f):
        def run():
            layer.zero_grad(set_to_none=True)
            f(x).backward()
            torch.cuda.synchronize()
        return run

    held = torch.cuda.memory_allocated()
    for way, f in (("PyTorch, cuDNN", loss), ("torch.compile", torch.compile(loss))):
        torch.cuda.reset_peak_memory_stats()
        report(way, gradient(f), lambda: (torch.cuda.max_memory_allocated() - held) / 2**20, args.rounds)


def in_jax(args):
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_default_matmul_precision", "highest")
    keys = jax.random.split(jax.random.key(0), 3)
    n = args.width
    weights = (jax.random.normal(keys[0], (n, 4 * n)) * 0.03, jax.random.normal(keys[1], (n, 4 * n)) * 0.03,
               jnp.zeros(4 * n))
    xs = jax.random.normal(keys[2], (args.steps, args.batch, n))

    def make(segments):
        def loss(weights, xs):
            w, u, bias = weights

            def step(state, gates):
                h, c = state
                i, f, g, o = jnp.split(gates + h @ u, 4, axis=1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                h = jax.nn.sigmoid(o) * jnp.tanh(c)
                return (h, c), h

            zero = jnp.zeros((args.batch, n))
            gates = xs @ w + bias
            if segments == 1:
                return jnp.sum(jax.lax.scan(step, (zero, zero), gates)[1] ** 2)

            @jax.checkpoint
            def sweep(state, part):
                state, hs = jax.lax.scan(step, state, part)
                return state, jnp.sum(hs**2)

            parts = gates.reshape(segments, args.steps // segments, args.batch, 4 * n)
            return jnp.sum(jax.lax.scan(sweep, (zero, zero), parts)[1])
        return loss

    for way, segments in (("JAX, scan", 1), ("JAX, 32 checkpointed segments", 32)):
        compiled = jax.jit(jax.value_and_grad(make(segments))).lower(weights, xs).compile()
        planned = compiled.memory_analysis().temp_size_in_bytes / 2**20
        report(way, lambda: jax.block_until_ready(compiled(weights, xs)), lambda: planned, args.rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("steps", 1024), ("batch", 64), ("width", 512), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    for run in (in_torch, in_jax):
        try:
            run(args)
        except ImportError:
            pass


if __name__ == "__main__":
    main()
