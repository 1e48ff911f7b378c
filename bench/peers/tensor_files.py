#!/usr/bin/env python3
"""Files of tensors written by PyTorch, safetensors and NumPy, copied by ours and read there again: every dtype, order,
version and compression, compared to the bit. Ends with an assertion where something differs.

usage: tensor_files.py BUILD/bench/data_files FOLDER
"""

import subprocess
import sys

import numpy as np
import torch
from safetensors.torch import load_file, save_file

tool, folder = sys.argv[1], sys.argv[2]


def copied(suffix):
    subprocess.check_call([tool, "--copy", f"{folder}/peer{suffix}", f"{folder}/ours{suffix}"])
    return f"{folder}/ours{suffix}"


def torch_tensors():
    random = torch.Generator().manual_seed(0)
    tensors = {}
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        for shape in ((3, 5), (), (0, 4), (7,)):
            tensors[f"{dtype}.{shape}"] = torch.randn(shape, generator=random).to(dtype)
        tensors[f"{dtype}.edges"] = torch.tensor([float("inf"), -0.0, float("nan"), 1e-7]).to(dtype)
    for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
        facts = torch.iinfo(dtype)
        tensors[str(dtype)] = torch.tensor([[0, 1, facts.max, facts.min]]).to(dtype)
    tensors["bool"] = torch.tensor([True, False, True])
    return tensors


def bits(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def check_safetensors():
    tensors = torch_tensors()
    save_file(tensors, f"{folder}/peer.safetensors", {"format": "pt", "ключ": "значение"})
    ours = load_file(copied(".safetensors"))
    assert set(ours) == set(tensors)
    for name, tensor in tensors.items():
        wanted = tensor.int() if tensor.dtype in (torch.int16, torch.int8) else tensor  # which we do not have
        assert ours[name].dtype == wanted.dtype and ours[name].shape == wanted.shape, name
        assert bits(ours[name]) == bits(wanted), name
    print(f"safetensors: {len(tensors)} tensors")


def numpy_arrays():
    random = np.random.default_rng(0)
    kinds = "<f8 >f8 <f4 >f4 <f2 >f2 <i8 >i8 <i4 >i4 <i2 >i2 |i1 <u8 <u4 >u4 <u2 |u1 |b1".split()
    return [np.asarray((random.random(shape) * 100).astype(kind), order=order)
            for kind in kinds for shape in ((2, 3, 4), (), (0, 2), (5,)) for order in "CF"]


def same(ours, array):
    return ours.shape == array.shape and np.array_equal(ours.astype(array.dtype), array)


def check_numpy():
    arrays = numpy_arrays()
    for save in (np.savez, np.savez_compressed):
        save(f"{folder}/peer.npz", *arrays)
        ours = np.load(copied(".npz"))
        assert len(ours.files) == len(arrays)
        for i, array in enumerate(arrays):
            assert same(ours[f"arr_{i}"], array), (save, i)
    for array in arrays:
        for version in ((1, 0), (2, 0), (3, 0)):
            with open(f"{folder}/peer.npy", "wb") as file:
                np.lib.format.write_array(file, array, version=version)
            assert same(np.load(copied(".npy")), array), (array.dtype, version)
    print(f"npz: {len(arrays)} arrays, stored and deflated; npy: {3 * len(arrays)} files")


check_safetensors()
check_numpy()
