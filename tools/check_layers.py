#!/usr/bin/env python3
"""Holds the includes under tidemark/ against the table of layers.

usage: check_layers.py [REPOSITORY]

Fails, with file:line, when a file includes a layer its own layer does not rest on, when two layers rest on
each other, when an included project header does not exist, when a file has grown past MAX_LINES, when a comment in prose
runs past MAX_COLUMNS (clang-format leaves those alone), and when a kernel
throws (ops/*.cpu.cc) whose op has no row `.fails`: donated state would not survive it.
A layer may include what its DEPS may include (the table is closed under "rests on").
Tests (*_test.cc) may include any layer: they link more than the layer they test.
"""

import re
import sys
from pathlib import Path

# layer -> the layers it rests on directly. The same table is drawn in ARCHITECTURE.md.
ALLOWED = {
    "base": [],
    "kernel": ["base"],
    "ir": ["base"],
    "schedule": ["base"],
    "solve": ["base"],
    "ops": ["ir", "kernel", "schedule"],
    "scalar": ["ops", "schedule"],
    "opt": ["ir"],
    "plan": ["ir", "solve"],
    "trace": ["ops"],
    "autodiff": ["trace"],
    "runtime": ["plan", "schedule", "kernel"],
    "cpu": ["ops", "runtime"],
    "cuda": ["cpu"],
    "engine": ["trace", "autodiff", "opt", "plan", "runtime", "cpu"],
    "bridge": ["scalar", "engine"],
    "optim": ["autodiff"],
    "ode": ["autodiff"],
    "files": ["trace"],
    "data": ["files"],
    "nn": ["optim"],
    "train": ["data", "engine"],
}

MAX_LINES = 800
MAX_COLUMNS = 110
DRAWING = re.compile(r"[│┌└├┐┘┤]")
THROWS = re.compile(r"\bfail\(|\bthrow\b|\bcheck_indices\(")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<](tidemark/[^">]+)[">]')
SOURCE_SUFFIXES = {".h", ".cc", ".def", ".inc", ".cu", ".cuh", ".py"}
SIZED_FOLDERS = ("tidemark", "tools", "tests", "bench", "examples")


def closure(layer, allowed):
    """Every layer reachable from `layer`, itself included."""
    seen, todo = set(), [layer]
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            todo.extend(allowed[at])
    return seen


def cycles(edges):
    """Cycles of a graph {node: {successor: witness}}, each as a list of nodes."""
    found, state, path = [], {}, []

    def visit(node):
        state[node] = "open"
        path.append(node)
        for successor in sorted(edges.get(node, {})):
            if state.get(successor) == "open":
                found.append(path[path.index(successor):] + [successor])
            elif successor not in state:
                visit(successor)
        path.pop()
        state[node] = "done"

    for node in sorted(edges):
        if node not in state:
            visit(node)
    return found


def facts_of(kernel):
    """The facts of the op that a kernel file NAME.cpu.cc or NAME_PART.cpu.cc belongs to."""
    stem = kernel.name.removesuffix(".cpu.cc")
    while stem:
        facts = kernel.with_name(stem + ".cc")
        if facts.exists():
            return facts.read_text(encoding="utf-8")
        stem = stem.rpartition("_")[0]
    return ""


def undeclared_failures(root):
    problems = []
    for path in sorted((root / "tidemark/ops").rglob("*.cpu.cc")):
        if ".fails = " in facts_of(path):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if THROWS.search(line.split("//")[0]):
                problems.append(f"{path.relative_to(root)}:{number}: the kernel can fail, and no row `.fails` of its op says so")
                break
    return problems


def check(root):
    problems, edges = [], {}
    for path in sorted((root / "tidemark").rglob("*")):
        if path.suffix not in SOURCE_SUFFIXES:
            continue
        relative = path.relative_to(root)
        layer = relative.parts[1] if len(relative.parts) > 2 else None  # None: the façade
        if layer is not None and layer not in ALLOWED:
            problems.append(f"{relative}:1: folder tidemark/{layer} is not in the table of layers")
            continue
        is_test = path.stem.endswith("_test")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match.group(1)
            if not (root / target).is_file():
                problems.append(f"{relative}:{number}: no such file: {target}")
                continue
            if layer is None or is_test:
                continue
            parts = target.split("/")
            if len(parts) < 3:
                problems.append(f"{relative}:{number}: a layer includes the façade {target}")
                continue
            if parts[1] != layer:
                edges.setdefault(layer, {}).setdefault(parts[1], f"{relative}:{number}")
            if parts[1] not in ALLOWED or parts[1] not in closure(layer, ALLOWED):
                rests = " ".join(sorted(closure(layer, ALLOWED) - {layer})) or "nothing"
                problems.append(f"{relative}:{number}: {layer}/ must not include {target} ({layer} rests on: {rests})")
    for cycle in cycles(edges):
        witnesses = ", ".join(edges[a][b] for a, b in zip(cycle, cycle[1:]))
        problems.append(f"{witnesses.split(', ')[0]}: layers include each other: {' -> '.join(cycle)} ({witnesses})")
    for folder in SIZED_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SOURCE_SUFFIXES:
                text = path.read_text(encoding="utf-8").splitlines()
                if len(text) > MAX_LINES:
                    problems.append(f"{path.relative_to(root)}:{len(text)}: {len(text)} lines, over {MAX_LINES}")
                for number, line in enumerate(text, 1):
                    if len(line) > MAX_COLUMNS and line.lstrip().startswith("//") and not DRAWING.search(line):
                        problems.append(f"{path.relative_to(root)}:{number}: a comment of {len(line)} columns, over {MAX_COLUMNS}")
    return problems + undeclared_failures(root)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    declared = {layer: {other: "the table" for other in rests} for layer, rests in ALLOWED.items()}
    problems = [f"tools/check_layers.py:1: the table has a cycle: {' -> '.join(c)}" for c in cycles(declared)]
    problems = problems or check(root)
    for problem in problems:
        print(problem)
    print(f"check_layers: {len(problems)} problem(s)" if problems else "check_layers: the layers hold")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
