#!/usr/bin/env python3
"""Keeps the C++ in README.md and docs/*.md true.

usage: check_docs.py check REPOSITORY             every block is a program or marked, every local link exists,
                                                  every code of base/error.h has its paragraph in docs/errors.md,
                                                  every example of a header stands in the program it names
       check_docs.py extract REPOSITORY FOLDER    write the programs to FOLDER; print their names, one a line
       check_docs.py run PROGRAM EXPECTED         run PROGRAM; compare its output with the file EXPECTED, if it exists

A ```cpp block that contains `int main` is a full program: the build extracts, compiles and runs it. A page may also build
one program up piece by piece: ```cpp part blocks follow each other, and a ```cpp continued block with an `int main` is a
program together with all parts before it. The ```cpp example blocks of docs/errors.md belong to error_examples.py. Any other C++
block must be opened with ```cpp fragment. A block opened with
```output right after a program (nothing but prose between them) is what that program prints, to the byte.

An example in a header opens with a comment `Example, as in docs/PAGE.md:`; its lines, each behind `//   `, must follow
each other in a program of that page, so that they compile.
"""

import re
import subprocess
import sys
from pathlib import Path

FENCE = re.compile(r"^(\s*)(```+|~~~+)\s*(.*?)\s*$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def pages(root):
    """The pages whose programs are built, the README first."""
    return [p for p in [root / "README.md", *sorted((root / "docs").glob("*.md"))] if p.is_file()]


def blocks(page):
    """(info string, line number of the first line inside, text) of each fenced block."""
    opened = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        match = FENCE.match(line)
        if opened is None:
            if match:
                opened = (match.group(2), match.group(3), number + 1, [])
        elif match and match.group(2).startswith(opened[0]) and not match.group(3):
            yield opened[1], opened[2], "".join(text + "\n" for text in opened[3])
            opened = None
        else:
            opened[3].append(line)
    if opened is not None:
        raise SystemExit(f"{page}:{opened[2] - 1}: this block is never closed")


def prose(page):
    """(line number, text) of each line outside of fenced blocks."""
    fence = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        match = FENCE.match(line)
        if fence is None and match:
            fence = match.group(2)
        elif fence is None:
            yield number, line
        elif match and match.group(2).startswith(fence) and not match.group(3):
            fence = None


def has_main(text):
    return re.search(r"\bint\s+main\s*\(", text) is not None


def is_program(info, text):
    return info in ("cpp", "cpp continued") and has_main(text)


def unfinished_parts(name, page):
    """Parts that no program of the page takes up."""
    found = list(blocks(page))
    last = max((line for info, line, text in found if info == "cpp continued" and has_main(text)), default=0)
    return [f"{name}:{line - 1}: no ```cpp continued with `int main` follows this part"
            for info, line, _ in found if info == "cpp part" and line > last]


def undocumented_errors(root):
    header, page = root / "tidemark/base/error.h", root / "docs/errors.md"
    if not header.is_file() or not page.is_file():
        return []
    body = re.search(r"enum class ErrorCode[^{]*\{(.*?)\};", header.read_text(encoding="utf-8"), re.DOTALL)
    codes = {(int(n), name) for name, n in re.findall(r"(\w+)\s*=\s*(\d+)", body.group(1))} if body else set()
    if not codes:
        return ["tidemark/base/error.h:1: no codes found in enum class ErrorCode"]
    text = page.read_text(encoding="utf-8")
    paragraphs = {(int(n), name) for n, name in re.findall(r"^### TM(\d{4}) (\w+)$", text, re.MULTILINE)}
    return [f"docs/errors.md:1: no paragraph '### TM{n:04} {name}'" for n, name in sorted(codes - paragraphs)] + [
        f"docs/errors.md:1: TM{n:04} {name} is not a code of base/error.h" for n, name in sorted(paragraphs - codes)
    ]


def unfounded_examples(root):
    problems = []
    for header in sorted((root / "tidemark").rglob("*.h")):
        lines = header.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            match = re.match(r"// Example, as in (\S+\.md):$", line)
            if not match:
                continue
            example = []
            for text in lines[number:]:
                if not text.startswith("//   "):
                    break
                example.append(text[2:].strip())
            page = root / match.group(1)
            programs = [text for info, _, text in blocks(page) if is_program(info, text)] if page.is_file() else []
            if not example or not any(follows(example, text) for text in programs):
                problems.append(f"{header.relative_to(root)}:{number}: no program of {match.group(1)} holds this example")
    return problems


def follows(example, program):
    """Do the lines of the example stand in the program, in this order?"""
    rest = iter(line.strip() for line in program.splitlines())
    return all(line in rest for line in example)


def check(root):
    problems = undocumented_errors(root) + unfounded_examples(root)
    for page in pages(root):
        name = page.relative_to(root)
        after_program = False
        for info, line, text in blocks(page):
            words = info.split()
            language = words[0] if words else ""
            if language in ("c++", "cxx", "cc"):
                problems.append(f"{name}:{line - 1}: write ```cpp, not ```{language}")
            if info == "cpp part" and has_main(text):
                problems.append(f"{name}:{line - 1}: a part with `int main` ends a program: open it with ```cpp continued")
            if language == "cpp" and info not in ("cpp fragment", "cpp part", "cpp example") and not is_program(info, text):
                problems.append(f"{name}:{line - 1}: a C++ block is a program with `int main` or opens with ```cpp fragment")
            if info == "output" and not after_program:
                problems.append(f"{name}:{line - 1}: an output block without a program before it")
            after_program = is_program(info, text) or info == "cpp example"
        problems += unfinished_parts(name, page)
    for page in [*pages(root), *(root / p for p in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"))]:
        if not page.is_file():
            continue
        for number, line in prose(page):
            for target in LINK.findall(line):
                path = target.split("#")[0]
                if path and "://" not in path and not path.startswith("mailto:"):
                    if not (page.parent / path).exists():
                        problems.append(f"{page.relative_to(root)}:{number}: a link to {path}, which does not exist")
    for problem in problems:
        print(problem)
    print(f"check_docs: {len(problems)} problem(s)" if problems else "check_docs: the pages hold")
    return 1 if problems else 0


def write_if_changed(path, text):
    """Leaves the time stamp of an unchanged file alone, so that nothing is compiled again."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def extract(root, folder):
    folder.mkdir(parents=True, exist_ok=True)
    wanted = set()
    for page in pages(root):
        name = None
        count = 0
        parts = ""
        for info, line, text in blocks(page):
            # Errors, and source lines the library reports, point at the page.
            placed = f'#line {line} "{page.relative_to(root)}"\n{text}'
            if info == "cpp part":
                parts += placed
            if is_program(info, text):
                count += 1
                name = f"{page.stem.lower()}_{count}"
                write_if_changed(folder / f"{name}.cc", (parts if info == "cpp continued" else "") + placed)
                wanted.add(f"{name}.cc")
                print(name)
            elif info == "output" and name is not None:
                write_if_changed(folder / f"{name}.expected", text)
                wanted.add(f"{name}.expected")
                name = None
            else:
                name = None
    for stale in [*folder.glob("*.cc"), *folder.glob("*.expected")]:
        if stale.name not in wanted:
            stale.unlink()
    return 0


def run(program, expected):
    result = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=False)
    print(result.stdout, end="")
    if result.returncode != 0:
        print(f"check_docs: {program} ended with {result.returncode}")
        return 1
    if expected.is_file() and result.stdout != expected.read_text(encoding="utf-8"):
        print(f"check_docs: the page promises another output:\n{expected.read_text(encoding='utf-8')}", end="")
        return 1
    return 0


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] == "check":
        return check(Path(arguments[1]))
    if len(arguments) == 3 and arguments[0] == "extract":
        return extract(Path(arguments[1]), Path(arguments[2]))
    if len(arguments) == 3 and arguments[0] == "run":
        return run(arguments[1], Path(arguments[2]))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
