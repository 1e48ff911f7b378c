"""The cases of bench/linalg_gradients.cc: values by NumPy, gradients by PyTorch. Reads its lines; prints for each a line with
the results and the gradients. Signs that NumPy and PyTorch leave open are turned to those that Tidemark promises."""
import json
import sys

import numpy as np
import torch


def numpy_lstsq(a, b, rcond=None):
    if a.ndim == 2:
        return np.linalg.lstsq(a, b, rcond=rcond)[0]
    flat_a, flat_b = a.reshape(-1, *a.shape[-2:]), b.reshape(-1, *b.shape[-2:])
    x = np.stack([np.linalg.lstsq(p, q, rcond=None)[0] for p, q in zip(flat_a, flat_b)])
    return x.reshape(*a.shape[:-2], a.shape[-1], b.shape[-1])


RCOND = 1e-4  # of the cases of a smaller rank


def thin_pinv(a, lib):
    return np.linalg.pinv(a, rcond=RCOND) if lib is np else torch.linalg.pinv(a, rtol=RCOND)


def symmetric(x):
    return (x + x.swapaxes(-1, -2)) / 2


def largest_signs(vectors, lib):
    """For each column, the sign of its element of largest magnitude: (…, 1, k)."""
    at = abs(vectors).argmax(-2)[..., None, :]
    picked = np.take_along_axis(vectors, at, -2) if lib is np else torch.take_along_dim(vectors.detach(), at, -2)
    return lib.sign(picked)


def qr(a, lib):
    q, r = lib.linalg.qr(a)
    least = min(a.shape[-2:])
    diagonal = np.diagonal(r, axis1=-2, axis2=-1) if lib is np else r.detach().diagonal(dim1=-2, dim2=-1)
    signs = lib.sign(diagonal)[..., :least]
    return [q * signs[..., None, :], r * signs[..., :, None]]


def svd(a, lib):
    u, s, vt = lib.linalg.svd(a, full_matrices=False)
    signs = largest_signs(u, lib)
    return [u * signs, s, vt * signs.swapaxes(-1, -2)]


def eigh(a, lib):
    values, vectors = lib.linalg.eigh(symmetric(a))
    return [values, vectors * largest_signs(vectors, lib)]


def norms(a, lib):
    if lib is np:
        return [np.linalg.norm(a, kind, axis=(-2, -1)) for kind in ("fro", "nuc", 2, 1, np.inf)]
    return [torch.linalg.matrix_norm(a, kind) for kind in ("fro", "nuc", 2, 1, float("inf"))]


CASES = {
    "inv": lambda x, lib: [lib.linalg.inv(x[0])],
    "det": lambda x, lib: [lib.linalg.det(x[0])],
    "slogdet": lambda x, lib: list(lib.linalg.slogdet(x[0])),
    "eigh": lambda x, lib: eigh(x[0], lib),
    "matrix_power": lambda x, lib: [lib.linalg.matrix_power(x[0], 5)],
    "qr": lambda x, lib: qr(x[0], lib),
    "svd": lambda x, lib: svd(x[0], lib),
    "svdvals": lambda x, lib: [np.linalg.svd(x[0], compute_uv=False) if lib is np else torch.linalg.svdvals(x[0])],
    "pinv": lambda x, lib: [lib.linalg.pinv(x[0])],
    "pinv_thin": lambda x, lib: [thin_pinv(x[0] @ x[1], lib)],
    "lstsq_thin": lambda x, lib: [numpy_lstsq(x[0] @ x[1], x[2], RCOND) if lib is np
                                  else thin_pinv(x[0] @ x[1], lib) @ x[2]],
    "matrix_norm": lambda x, lib: norms(x[0], lib),
    "lstsq": lambda x, lib: [numpy_lstsq(x[0], x[1]) if lib is np else torch.linalg.pinv(x[0]) @ x[1]],
}


def main():
    for line in sys.stdin:
        row = json.loads(line)
        f = CASES[row["case"].split("/")[0]]
        given = [np.array(t["data"]).reshape(t["shape"]) for t in row["in"]]
        values = f(given, np)
        leaves = [torch.tensor(x, requires_grad=True) for x in given]
        sum(torch.sin(y).sum() for y in f(leaves, torch)).backward()
        print(json.dumps({"out": [np.asarray(y).ravel().tolist() for y in values],
                          "gradients": [x.grad.numpy().ravel().tolist() for x in leaves]}))


if __name__ == "__main__":
    main()
