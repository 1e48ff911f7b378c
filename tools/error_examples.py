#!/usr/bin/env python3
"""Keeps the examples of docs/errors.md true: each error code has one, and its message is what running it prints.

usage: error_examples.py check REPOSITORY                    every code of the page has an example
       error_examples.py extract REPOSITORY FILE             write the C++ examples as one program to FILE
       error_examples.py run REPOSITORY PROGRAM COMMAND [DRIVER]
                                                             run all of them; compare code and message with the page
       error_examples.py write REPOSITORY PROGRAM COMMAND [DRIVER]
                                                             the same, and put into the page what was printed

An example stands below the heading `### TM0201 shape_mismatch` of its code and is one of two blocks:

```cpp example    statements, with the #include lines that they need beyond tidemark.h; all of them become functions of one
                  program, which runs one by its code. A ```output block with the message follows. Their lines count
                  from 1 in a file example.cc, so the message names the line of the block.
```console        lines that begin with `$ ` go to the shell, where `tidemark` is the command; what they print follows each.

Every example runs in an empty folder of its own, which messages do not name. DRIVER is a folder with a library that
stands in for NVIDIA's driver (tests/error_examples/driver.cc), so that codes of GPUs show on any machine; without it these examples
are left out, by name.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_docs  # noqa: E402

PAGE = "docs/errors.md"
NEED_DRIVER = {"TM0607", "TM0608"}
SECONDS = 60  # an example that takes longer hangs

PROLOGUE = """// Made from docs/errors.md by tools/error_examples.py: its examples, run one at a time by their codes.
#include <fmt/core.h>
#include <tidemark/tidemark.h>

#include <map>
#include <string>
#include <vector>
{includes}
namespace td = tidemark;
using namespace td::literals;
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"

"""
EPILOGUE = """
int main(int argc, char** argv) {{
  const std::map<std::string, void (*)()> examples = {{
{rows}  }};
  const auto found = examples.find(argc == 2 ? argv[1] : "");
  if (found == examples.end()) return 2;
  try {{
    found->second();
  }} catch (const td::Error& error) {{
    fmt::print("{{}}\\n", error.what());
    return 0;
  }}
  fmt::print("no error\\n");
  return 1;
}}
"""


class Example:
    """A block of the page. `shown`: the message there, at `span` of the page's text."""

    def __init__(self, code, kind, text, span, shown):
        self.code, self.kind, self.text, self.span, self.shown = code, kind, text, span, shown


def examples(root):
    page = (root / PAGE).read_text(encoding="utf-8")
    found = []
    for section in re.finditer(r"^### (TM\d{4}) \w+\n(.*?)(?=^##|\Z)", page, re.DOTALL | re.MULTILINE):
        code, start = section.group(1), section.start(2)
        for block in re.finditer(r"^```cpp example\n(.*?)^```\n\n```output\n(.*?)^```$", section.group(2), re.DOTALL | re.MULTILINE):
            span = (start + block.start(2), start + block.end(2))
            found.append(Example(code, "cpp", block.group(1), span, block.group(2)))
        for block in re.finditer(r"^```console\n(.*?)^```$", section.group(2), re.DOTALL | re.MULTILINE):
            span = (start + block.start(1), start + block.end(1))
            found.append(Example(code, "console", block.group(1), span, block.group(1)))
    return page, found


def check(root):
    page, found = examples(root)
    codes = re.findall(r"^### (TM\d{4}) \w+$", page, re.MULTILINE)
    problems = [f"{PAGE}:1: {code} has no example" for code in codes if code not in {e.code for e in found}]
    problems += [f"{PAGE}:1: {e.code}: the example does not show error[{e.code}]" for e in found if f"error[{e.code}]" not in e.shown]
    twice = {e.code for e in found if e.kind == "cpp" and sum(o.code == e.code and o.kind == "cpp" for o in found) > 1}
    problems += [f"{PAGE}:1: {code} has more than one ```cpp example" for code in sorted(twice)]
    for problem in problems:
        print(problem)
    print(f"error_examples: {len(problems)} problem(s)" if problems else f"error_examples: all {len(codes)} codes have one")
    return 1 if problems else 0


def program_text(found):
    includes, functions, rows = [], "", ""
    for example in (e for e in found if e.kind == "cpp"):
        lines = example.text.splitlines()
        for at, line in enumerate(lines):
            if line.startswith("#include"):
                includes.append(line)
                lines[at] = ""  # the numbers of the other lines stay
        body = "".join(line + "\n" for line in lines)
        functions += f'void {example.code}() {{\n#line 1 "example.cc"\n{body}}}\n\n'
        rows += f'      {{"{example.code}", {example.code}}},\n'
    unique = "".join(line + "\n" for line in dict.fromkeys(includes))
    return PROLOGUE.format(includes=unique) + functions + EPILOGUE.format(rows=rows)


def extract(root, file):
    file.parent.mkdir(parents=True, exist_ok=True)
    check_docs.write_if_changed(file, program_text(examples(root)[1]))
    return 0


def printed_by(example, program, command, driver):
    """What an example prints, in the form in which the page shows it."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, LC_ALL="C", HOME=folder, TIDEMARK_COMMAND=command)
        if driver:
            environment["LD_LIBRARY_PATH"] = driver

        def run(arguments):
            result = subprocess.run(arguments, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
            return result.stdout.decode("utf-8", "replace").replace(folder + "/", "")

        if example.kind == "cpp":
            return run([program, example.code])
        shown = ""
        for line in example.text.splitlines():
            if line.startswith("$ "):
                shown += line + "\n" + run(["bash", "-c", 'tidemark() { "$TIDEMARK_COMMAND" "$@"; }\n' + line[2:]])
        return shown


def run(root, program, command, driver, write):
    page, found = examples(root)
    wrong = 0
    for example in reversed(found):  # from the end, so that spans stay true while the page is written
        if example.code in NEED_DRIVER and not driver:
            print(f"error_examples: {example.code} is left out: this build has no CUDA")
            continue
        shown = printed_by(example, program, command, driver)
        if f"error[{example.code}]" not in shown:
            print(f"error_examples: the example of {example.code} gives another error:\n{shown}")
            wrong += 1
        elif shown != example.shown:
            if write:
                page = page[:example.span[0]] + shown + page[example.span[1]:]
            else:
                print(f"error_examples: {example.code}: the page shows\n{example.shown}and running it\n{shown}")
                wrong += 1
    if write:
        (root / PAGE).write_text(page, encoding="utf-8")
    print(f"error_examples: {len(found)} run, {wrong} not as the page says")
    return 1 if wrong else 0


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] == "check":
        return check(Path(arguments[1]))
    if len(arguments) == 3 and arguments[0] == "extract":
        return extract(Path(arguments[1]), Path(arguments[2]))
    if len(arguments) in (4, 5) and arguments[0] in ("run", "write"):
        program, command, driver = [os.path.abspath(path) if path else "" for path in (*arguments[2:], "")[:3]]
        return run(Path(arguments[1]), program, command, driver, arguments[0] == "write")
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
