#!/usr/bin/env python3
"""The checkers must see what they are there to see: small wrong trees, each with one mistake."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_docs  # noqa: E402
import check_layers  # noqa: E402
import error_examples  # noqa: E402


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


class Layers(Tree):
    def problems(self):
        return "\n".join(check_layers.check(self.root))

    def test_accept_what_the_table_allows_through_another_layer(self):
        self.write("tidemark/base/a.h", "")
        self.write("tidemark/ops/b.cc", '#include "tidemark/base/a.h"\n')
        self.assertEqual(self.problems(), "")

    def test_refuse_a_kernel_that_throws_unless_its_op_says_so(self):
        self.write("tidemark/ops/indexing/take_rows.cpu.cc", "\nvoid run() { check_indices(args); }  // may fail(\n")
        self.assertIn("take_rows.cpu.cc:2: the kernel can fail", self.problems())
        self.write("tidemark/ops/indexing/take.cc", "const Op op::take = {};\n")
        self.assertIn("take_rows.cpu.cc:2: the kernel can fail", self.problems())
        self.write("tidemark/ops/indexing/take.cc", "const Op op::take = {\n    .fails = failure,\n};\n")
        self.assertEqual(self.problems(), "")

    def test_refuse_long_comments_but_not_drawings(self):
        self.write("tidemark/base/a.h", "// " + "x" * 107 + "\n// ┌─ " + "x" * 120 + "\n")
        self.assertEqual(self.problems(), "")
        self.write("tidemark/base/a.h", "\n  // " + "x" * 106 + "\n")
        self.assertIn("tidemark/base/a.h:2: a comment of 111 columns", self.problems())

    def test_refuse_an_include_upwards_with_its_line(self):
        self.write("tidemark/ops/b.h", "")
        self.write("tidemark/plan/a.cc", '\n#include "tidemark/ops/b.h"\n')
        self.assertIn("tidemark/plan/a.cc:2: plan/ must not include tidemark/ops/b.h", self.problems())

    def test_refuse_two_layers_that_include_each_other(self):
        self.write("tidemark/ir/a.h", '#include "tidemark/ops/b.h"\n')
        self.write("tidemark/ops/b.h", '#include "tidemark/ir/a.h"\n')
        self.assertIn("ir -> ops -> ir", self.problems())

    def test_let_tests_include_any_layer(self):
        self.write("tidemark/ops/b.h", "")
        self.write("tidemark/plan/a_test.cc", '#include "tidemark/ops/b.h"\n')
        self.assertEqual(self.problems(), "")

    def test_refuse_the_facade_a_missing_file_an_unknown_folder_and_a_long_file(self):
        self.write("tidemark/tidemark.h", "")
        self.write("tidemark/nn/a.h", '#include "tidemark/tidemark.h"\n#include "tidemark/nn/none.h"\n')
        self.write("tidemark/stuff/a.h", "")
        self.write("tools/long.cc", "\n" * (check_layers.MAX_LINES + 1))
        problems = self.problems()
        self.assertIn("tidemark/nn/a.h:1: a layer includes the façade", problems)
        self.assertIn("tidemark/nn/a.h:2: no such file", problems)
        self.assertIn("folder tidemark/stuff is not in the table", problems)
        self.assertIn("tools/long.cc:801: 801 lines", problems)


class Docs(Tree):
    def output(self, function, *arguments):
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            function(*arguments)
        return stream.getvalue()

    def test_refuse_an_unmarked_block_and_a_dead_link(self):
        self.write("README.md", "[a](docs/none.md)\n\n```cpp\nf();\n```\n")
        printed = self.output(check_docs.check, self.root)
        self.assertIn("README.md:1: a link to docs/none.md", printed)
        self.assertIn("README.md:3: a C++ block is a program", printed)

    def test_refuse_an_error_code_without_a_paragraph(self):
        self.write("tidemark/base/error.h", "enum class ErrorCode : int {\n  syntax = 501,\n};\n")
        self.write("docs/errors.md", "# Errors\n")
        self.assertIn("no paragraph '### TM0501 syntax'", self.output(check_docs.check, self.root))

    def test_extract_programs_with_their_page_and_line_and_promised_output(self):
        self.write("docs/page.md", "```cpp fragment\nf();\n```\n```cpp\nint main() {}\n```\n\n```output\nhi\n```\n")
        folder = self.root / "out"
        self.assertEqual(self.output(check_docs.extract, self.root, folder), "page_1\n")
        self.assertEqual((folder / "page_1.cc").read_text(), '#line 5 "docs/page.md"\nint main() {}\n')
        self.assertEqual((folder / "page_1.expected").read_text(), "hi\n")

    def test_put_the_parts_of_a_page_in_front_of_what_continues_them(self):
        self.write("docs/page.md", "```cpp part\nint f();\n```\n```cpp\nint main() {}\n```\n```cpp part\nint g();\n```\n"
                   "```cpp continued\nint main() { f(); }\n```\n")
        folder = self.root / "out"
        self.assertEqual(self.output(check_docs.extract, self.root, folder), "page_1\npage_2\n")
        self.assertEqual((folder / "page_1.cc").read_text(), '#line 5 "docs/page.md"\nint main() {}\n')
        self.assertEqual((folder / "page_2.cc").read_text(),
                         '#line 2 "docs/page.md"\nint f();\n#line 8 "docs/page.md"\nint g();\n'
                         '#line 11 "docs/page.md"\nint main() { f(); }\n')
        self.assertIn("the pages hold", self.output(check_docs.check, self.root))

    def test_refuse_a_part_that_no_program_takes_up(self):
        self.write("docs/page.md", "```cpp continued\nint main() {}\n```\n```cpp part\nint f();\n```\n"
                   "```cpp part\nint main() {}\n```\n```cpp continued\nf();\n```\n")
        printed = self.output(check_docs.check, self.root)
        self.assertIn("page.md:4: no ```cpp continued", printed)
        self.assertIn("page.md:7: a part with `int main` ends a program", printed)
        self.assertIn("page.md:10: a C++ block is a program", printed)

    def test_refuse_a_program_that_prints_something_else(self):
        self.write("expected", "hi\n")
        self.write("program", "#!/bin/sh\necho ho\n")
        (self.root / "program").chmod(0o755)
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(check_docs.run(str(self.root / "program"), self.root / "expected"), 1)
            self.write("expected", "ho\n")
            self.assertEqual(check_docs.run(str(self.root / "program"), self.root / "expected"), 0)


class ErrorExamples(Tree):
    PAGE = "### TM0201 shape_mismatch\nText.\n\n```cpp example\n#include <a>\n\nf();\n```\n\n```output\nerror[TM0201]: so\n```\n"

    def output(self, function, *arguments):
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            status = function(*arguments)
        return status, stream.getvalue()

    def script(self, name, text):
        self.write(name, "#!/bin/sh\n" + text)
        (self.root / name).chmod(0o755)
        return str(self.root / name)

    def test_name_the_codes_without_an_example(self):
        self.write("docs/errors.md", self.PAGE + "### TM0202 dtype_mismatch\nText.\n\n## Next\n```console\n$ x\n```\n")
        status, printed = self.output(error_examples.check, self.root)
        self.assertEqual(status, 1)
        self.assertIn("TM0202 has no example", printed)
        self.assertNotIn("TM0201", printed)

    def test_make_one_program_in_which_lines_are_those_of_the_block(self):
        self.write("docs/errors.md", self.PAGE)
        error_examples.extract(self.root, self.root / "out/examples.cc")
        text = (self.root / "out/examples.cc").read_text()
        self.assertIn("#include <a>\n", text)
        self.assertIn('void TM0201() {\n#line 1 "example.cc"\n\n\nf();\n}', text)

    def test_refuse_another_message_and_another_code_and_write_what_is_true(self):
        self.write("docs/errors.md", self.PAGE + "### TM0503 bad_file\n```console\n$ tidemark x > file; cat file\nerror[TM0503]: old\n```\n")
        right = self.script("right", "echo 'error[TM0201]: so'")
        wrong = self.script("wrong", "echo 'error[TM0202]: so'")
        command = self.script("command", "echo \"error[TM0503]: $1 $PWD/file\"")
        status, printed = self.output(error_examples.run, self.root, wrong, command, "", False)
        self.assertEqual(status, 1)
        self.assertIn("the example of TM0201 gives another error", printed)
        self.assertIn("TM0503: the page shows", printed)
        self.assertEqual(self.output(error_examples.run, self.root, right, command, "", True)[0], 0)
        self.assertEqual(self.output(error_examples.run, self.root, right, command, "", False)[0], 0)
        self.assertIn("$ tidemark x > file; cat file\nerror[TM0503]: x file\n```", (self.root / "docs/errors.md").read_text())


if __name__ == "__main__":
    unittest.main()
