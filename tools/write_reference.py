#!/usr/bin/env python3
"""Writes docs/reference.md: every public function, layer, loss, optimizer and type with one line, and what PyTorch and JAX
call it.

usage: write_reference.py write REPOSITORY    write the page
       write_reference.py check REPOSITORY    fail if the page is not what would be written, or if a name has no line

Names come from the headers listed below, in their order, under the headers' own headings (`// ---- making tensors`). The line
of a name is the comment of its declaration, or for the type that a header is named after the header's; where it has none, or
one that is not for this page, it stands in tools/reference_names.txt, which also gives the names elsewhere: NAME | PyTorch |
JAX | line. Left out of the page: names with `-` as their line (what users do not write), and settings and states of something
else (`GptConfig`, `AdamWState`) that have no line.
"""

import re
import sys
from pathlib import Path

# header -> heading of its part of the page, for what stands above the header's own first heading
HEADERS = {
    "trace/functions.h": "Tensors",
    "trace/statistics.h": "Statistics",
    "trace/array_functions.h": "Arrays",
    "trace/linear_algebra.h": "Linear algebra",
    "trace/cumulative.h": "Running sums, products and extremes",
    "trace/unique.h": "Distinct values",
    "trace/fourier_functions.h": "Fourier transforms",
    "trace/image_functions.h": "Images and windows",
    "trace/random_functions.h": "Draws",
    "trace/model_functions.h": "Operations of models",
    "trace/print.h": "Printing",
    "trace/control_flow.h": "Loops and branches",
    "trace/hints.h": "Hints to the planner",
    "trace/reversible.h": "Reversible blocks",
    "trace/tree.h": "Trees of tensors",
    "autodiff/transforms.h": "Derivatives",
    "autodiff/jacobian.h": "All derivatives at once",
    "autodiff/vmap/vmap.h": "Batches of examples",
    "autodiff/custom_vjp.h": "Derivatives of one's own",
    "engine/compile.h": "Compiling",
    "engine/to_device.h": "Tensors on devices",
    "trace/to_host.h": "Tensors on the host",
    "ode/odeint.h": "Differential equations",
    "optim/*.h": "Optimizers",
    "nn/*.h": "Layers, losses and models",
    "files/save_load.h": "Files",
    "data/*.h": "Data",
    "train/*.h": "Training",
}
PARTS = ("Config", "State", "Options")
SKIPPED = {"nn/zoo.h", "nn/training_step.h", "nn/models.h", "optim/state.h", "data/batch_order.h", "data/permutation.h",
           "data/word_split.h", "train/checkpoint_facts.h"}

DECLARATION = re.compile(
    r"^(?:template\s*<.*?>\s*(?:requires\s+\S+(?:<[^>]*>)?\s+)?)?(?:inline\s+|constexpr\s+|static\s+)*"
    r"(?P<type>[\w:<>,&*\s]+?)\s+(?P<name>[a-z]\w*)\s*\((?P<arguments>.*)$", re.S)
TYPE = re.compile(r"^(?:template\s*<.*?>\s*)?(?:struct|class)\s+(?P<name>[A-Z]\w*)\s*(?:final\s*)?(?::[^:].*)?$", re.S)
ROW = re.compile(r"^TM_(?:UNARY|BINARY)\((\w+)\)")


def strip_comment(line):
    """(code, comment) of a line; `//` within a text does not begin a comment."""
    quoted = False
    for i, c in enumerate(line):
        if c == '"' and (i == 0 or line[i - 1] != "\\"):
            quoted = not quoted
        if not quoted and line.startswith("//", i):
            return line[:i].rstrip(), line[i + 2:].strip()
    return line.rstrip(), ""


def statements(text):
    """(code up to `;` or `{`, the comment above or behind it, heading) of what is declared in the namespace itself."""
    depth = 0          # of braces inside the namespace
    inside = False     # the namespace
    code, above, heading, fresh = "", [], None, True
    for line in text.splitlines():
        bare, comment = strip_comment(line)
        if comment.startswith("----"):
            heading, above = re.split(r"[.:,](?: |$)", comment.strip("- "), 1)[0].strip(), []
            continue
        if not bare:
            if not comment and not code:
                above = []
            elif depth == 0 and not code:
                above = above + [comment] if not fresh else [comment]
                fresh = False
            continue
        if bare.startswith("#"):
            if "functions.def" in bare:
                yield "#include functions.def", "", heading
            continue
        if re.match(r"^(inline )?namespace [\w:]+ \{$", bare) and not code and depth == 0:
            if "detail" in bare or bare == "namespace {":
                depth += 1
            inside = True
            above, fresh = [], True
            continue
        if depth == 0:
            code = (code + " " + bare.strip()).strip()
        opened = bare.count("{") - bare.count("}")
        ends = depth == 0 and (bare.endswith(";") or "{" in bare or bare == "}")
        if ends:
            forward = re.match(r"^(struct|class) \w+;$", code)
            if inside and bare != "}" and not forward:
                head = re.split(r"[{;]", code, 1)[0] if code.startswith(("struct", "class", "template")) or "{" in code else code
                yield head.strip(), comment if comment else " ".join(above), heading
            code, above, fresh = "", [], True
        depth = max(0, depth + opened) if "{" in bare or "}" in bare else depth


def sentence(comment):
    """The first sentence, as a table's cell."""
    comment = re.sub(r"\s+", " ", comment).strip()
    match = re.match(r"(.+?[.:])(?= [A-Z`]|$)", comment)
    first = (match.group(1) if match else comment).rstrip(".:")
    return first.replace("|", "\\|")


def opening(text):
    """The comment that a header begins with."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//") or line.strip() == "//":
            break
        lines.append(line[2:].strip())
    return " ".join(lines)


def names_of(root, header, text):
    """(heading, name, line) in the order of the header."""
    seen = {}
    named_after = Path(header).stem.replace("_", "")
    for code, comment, heading in statements(text):
        if code == "#include functions.def":
            rows = (root / "tidemark/trace/functions.def").read_text(encoding="utf-8").splitlines()
            for row in filter(None, map(ROW.match, rows)):
                seen.setdefault(row.group(1), (heading, ""))
            continue
        match = TYPE.match(code) or DECLARATION.match(code)
        if not match or "operator" in code.split("(")[0] or match.group("name") in ("return", "if", "for", "while"):
            continue
        name = match.group("name")
        if not comment and name.lower() == named_after and name[0].isupper():
            comment = opening(text)
        if name not in seen or not seen[name][1]:
            seen[name] = (seen[name][0] if name in seen else heading, comment)
    return [(heading, name, sentence(comment)) for name, (heading, comment) in seen.items()]


def read_table(root):
    table = {}
    for number, line in enumerate((root / "tools/reference_names.txt").read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 4:
            sys.exit(f"tools/reference_names.txt:{number}: {len(cells)} cells instead of 4")
        table[cells[0]] = cells[1:]
    return table


def page(root):
    table, problems, used = read_table(root), [], set()
    lines = ["# Reference", "",
             "What one writes programs with, one line each: functions of tensors, derivatives, layers, losses, models, optimizers, data and",
             "files, in `namespace tidemark` (layers and losses in `tidemark::nn`, optimizers in `tidemark::optim`). Left out, and found in the",
             "headers: members of types, most structs of options, states and settings, the registry of models, and the layers below (graphs,",
             "ops, plans, schedules). Written by `tools/write_reference.py` from the headers.", ""]
    for pattern, title in HEADERS.items():
        paths = sorted((root / "tidemark").glob(pattern))
        rows = []
        for path in paths:
            relative = path.relative_to(root / "tidemark").as_posix()
            if relative in SKIPPED:
                continue
            for heading, name, line in names_of(root, relative, path.read_text(encoding="utf-8")):
                torch, jax, own = table.get(name, ("", "", ""))
                used.add(name)
                if own == "-" or (not own and not line and name.endswith(PARTS)):
                    continue
                if not (own or line):
                    problems.append(f"tidemark/{relative}: `{name}` has no comment and no line in tools/reference_names.txt")
                rows.append((relative, heading, name, own or line, torch, jax))
        if not rows:
            continue
        lines += [f"## {title}", ""]
        last = None
        for relative, heading, name, line, torch, jax in rows:
            place = ", ".join(filter(None, [f"`{relative}`" if "*" in pattern else "", heading]))
            if place != last:
                lines += ["", f"**{place}**", ""] if place else [""]
                lines += ["| name | what it is | PyTorch | JAX |", "|---|---|---|---|"]
                last = place
            lines.append(f"| `{name}` | {line} | {torch} | {jax} |")
        lines.append("")
    problems += [f"tools/reference_names.txt: `{name}` is in none of the headers" for name in table if name not in used]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"
    return text, problems


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("write", "check"):
        sys.exit(__doc__)
    root = Path(sys.argv[2])
    text, problems = page(root)
    target = root / "docs/reference.md"
    if sys.argv[1] == "write":
        target.write_text(text, encoding="utf-8")
    elif not target.is_file() or target.read_text(encoding="utf-8") != text:
        problems.append("docs/reference.md is not what the headers say: run `python3 tools/write_reference.py write .`")
    print("\n".join(problems) or f"reference: {text.count(chr(10) + '| `')} names")
    sys.exit(1 if problems else 0)


main()
