#!/usr/bin/env python3
"""What a user waits for the compiler: processor seconds of one compilation, the least of some.

usage: compile_time.py [--compiler g++] [--flags "-O2"] [--rounds 5]
Compiles the façade alone, the standard headers that it includes, the README's first program and the example that trains a
GPT on a text. Seconds are of the processor (user and system), so that a machine at work elsewhere counts little.
"""
import argparse
import re
import resource
import shlex
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def first_snippet(page):
    return re.search(r"```cpp\n(.*?)```", page.read_text(), re.S).group(1)


def facade_headers(compiler):
    made = subprocess.run([compiler, "-std=c++20", f"-I{ROOT}", "-MM", ROOT / "tidemark/tidemark.h"], check=True,
                          capture_output=True, text=True).stdout
    own = [Path(word) for word in made.split() if "/tidemark/" in word]
    found = {line for header in own for line in re.findall(r"^#include <.*>$", header.read_text(), re.M)}
    return "\n".join(sorted(found)) + "\n"


def seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--flags", default="-O2")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    cases = {
        "standard headers": facade_headers(args.compiler),
        "tidemark.h": '#include "tidemark/tidemark.h"\n',
        "README's first program": first_snippet(ROOT / "README.md"),
        "examples/12_gpt_on_text": (ROOT / "examples/12_gpt_on_text.cc").read_text(),
    }
    print(f"{args.compiler} -std=c++20 {args.flags}, seconds of the processor, the least of {args.rounds}")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in cases.items():
            source = Path(folder) / "program.cc"
            source.write_text(text)
            command = [args.compiler, "-std=c++20", *shlex.split(args.flags), f"-I{ROOT}", f"-I{ROOT / 'examples'}", "-c",
                       source, "-o", Path(folder) / "program.o"]
            print(f"{name:<26}{min(seconds(command) for _ in range(args.rounds)):6.2f}")


if __name__ == "__main__":
    main()
