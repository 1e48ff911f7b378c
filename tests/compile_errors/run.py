"""Compiles the cases of cases.cc one by one and holds the first error of each to the text that it expects, or to
one of several between bars where compilers have words of their own.

run.py COMPILER SOURCE_ROOT [FLAGS...]
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys


def first_error(compiler, root, source, case, flags):
    command = [compiler, "-std=c++20", "-fsyntax-only", f"-DCASE={case}", "-I", root, *flags, str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    return errors[0] if errors else done.stderr


def main():
    compiler, root, *flags = sys.argv[1:]
    source = pathlib.Path(root) / "tests" / "compile_errors" / "cases.cc"
    expected = {0: None}  # without a mistake it compiles
    for case, text in re.findall(r"CASE == (\d+)\s*// expect: (.*)", source.read_text()):
        expected[int(case)] = text
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda case: first_error(compiler, root, source, case, flags), expected)
        for (case, text), error in zip(expected.items(), found):
            if (text is None) == (error is None) and (text is None or any(t in error for t in text.split(" | "))):
                continue
            wrong += 1
            print(f"case {case}: expected {text!r}, the compiler says {error!r}")
    print(f"{len(expected) - wrong} of {len(expected)} cases as expected")
    return 1 if wrong or len(expected) < 2 else 0


sys.exit(main())
