#!/usr/bin/env python3
"""usage: options_and_resume.py FOLDER

The examples of FOLDER that take options, as a person uses them: --help, options that are none, and a run that is killed
in the middle. What it has at the end is, to the byte, what a run has that nobody killed.
"""

import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

FOLDER = Path(sys.argv.pop() if len(sys.argv) > 1 else ".").resolve()
WITH_OPTIONS = sorted(p for p in FOLDER.glob("1[2-7]_*") if p.is_file() and "." not in p.name)


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


class Options(unittest.TestCase):
    def test_there_are_examples(self):
        self.assertEqual(len(WITH_OPTIONS), 6)

    def test_help_lists_what_there_is(self):
        for program in WITH_OPTIONS:
            said = run(program, "--help")
            self.assertEqual((said.returncode, said.stderr), (0, ""), program)
            self.assertIn("--folder", said.stdout)
            self.assertIn("--device", said.stdout)

    def test_what_is_no_option_is_refused_by_name(self):
        for arguments, word in (
            (["--stepps", "3"], "--stepps"),
            (["--folder"], "--folder"),
            (["--folder", ""], "--folder"),
            (["3"], "'3'"),
        ):
            for program in WITH_OPTIONS:
                said = run(program, *arguments)
                self.assertEqual((said.returncode, said.stdout), (2, ""), (program, arguments))
                self.assertIn(word, said.stderr)

    def test_numbers_are_read_to_the_last_character(self):
        program = FOLDER / "12_gpt_on_text"
        for arguments in (["--steps", "10x"], ["--steps", "0"], ["--steps", "-1"], ["--steps", "99999999999999999999"],
                          ["--lr", "nan"], ["--lr", "inf"], ["--lr", "0"], ["--memory", "2 gibs"]):
            said = run(program, *arguments)
            self.assertEqual(said.returncode, 2, arguments)
            self.assertIn(" ".join(arguments), said.stderr)

    def test_a_device_that_is_none_is_refused(self):
        for program in WITH_OPTIONS:
            said = run(program, "--device", "abacus")
            self.assertEqual(said.returncode, 1, program)
            self.assertIn("TM0607", said.stderr)
            self.assertIn("'abacus'", said.stderr)

    def test_what_cannot_be_done_is_said(self):
        for arguments, word in ((["--data", "/nowhere/text"], "/nowhere/text"), (["--memory", "1KiB"], "TM0101")):
            said = run(FOLDER / "12_gpt_on_text", *arguments)
            self.assertEqual(said.returncode, 1, arguments)
            self.assertIn(word, said.stderr)


class Resume(unittest.TestCase):
    def compare(self, command):
        """A run as it is, and one that is killed behind its first checkpoint: the last file and the last words."""
        root = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, root)
        whole, killed = root / "whole", root / "killed"
        self.assertEqual(run(*command, "--folder", whole).returncode, 0)
        process = subprocess.Popen([*command, "--folder", killed], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not list(killed.glob("checkpoint-*")):
            time.sleep(0.001)
        process.kill()
        process.wait()
        said = run(*command, "--folder", killed)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("goes on behind step", said.stdout)
        last = max(path.name for path in whole.glob("checkpoint-*"))
        self.assertEqual((killed / last).read_bytes(), (whole / last).read_bytes())
        again = run(*command, "--folder", killed)  # nothing is left to learn
        self.assertEqual(again.stdout.splitlines()[1:], said.stdout.splitlines()[1:])

    def test_a_language_model(self):
        self.compare([FOLDER / "12_gpt_on_text", "--steps", "60", "--save_every", "10", "--width", "16", "--batch", "2",
                      "--vocabulary", "280"])

    def test_a_network_with_running_statistics(self):
        self.compare([FOLDER / "13_image_classification", "--width", "4"])


if __name__ == "__main__":
    unittest.main()
