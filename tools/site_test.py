#!/usr/bin/env python3
"""The documentation as a site: it is built from the repository as it is, and every link, anchor and resource in it is looked at.

usage: site_test.py"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

sys.dont_write_bytecode = True
TOOLS = Path(__file__).resolve().parent
sys.path.insert(0, str(TOOLS))
import build_site  # noqa: E402
from site_pages import highlight, markdown  # noqa: E402

VOID = {"meta", "link", "img", "input", "br", "hr", "path", "rect"}


class Document(HTMLParser):
    """What a page holds: ids, links, what the browser loads, and tags that are not closed."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.resources, self.open, self.faults = [], [], [], [], []
        self.feed(text)
        self.faults += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("link", "script", "img", "iframe", "source"):
            self.resources += [found[name] for name in ("href", "src", "srcset") if found.get(name)]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes another tag")


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


class Repository(unittest.TestCase):
    """The site of this repository."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = Path(cls.folder.name)
        cls.site = build_site.build(TOOLS.parent, cls.out)
        cls.documents = {page.name: Document(page.read_text(encoding="utf-8")) for page in sorted(cls.out.glob("*.html"))}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_page_of_the_docs_is_there_and_in_the_menu(self):
        menu = self.documents["index.html"].links
        for page in (TOOLS.parent / "docs").glob("*.md"):
            self.assertIn(f"{page.stem}.html", self.documents)
            self.assertIn(f"{page.stem}.html", menu)

    def test_every_link_leads_to_a_page_and_its_anchor(self):
        count = 0
        for name, document in self.documents.items():
            for link in document.links:
                if "://" in link:
                    continue
                path, _, anchor = link.partition("#")
                target = path or name
                self.assertTrue((self.out / target).is_file(), f"{name}: {link}")
                if anchor:
                    self.assertIn(anchor, self.documents[target].ids, f"{name}: {link}")
                count += 1
        self.assertGreater(count, 1000)

    def test_no_page_loads_anything_from_a_network(self):
        for name, document in self.documents.items():
            for resource in document.resources:
                self.assertNotRegex(resource, r"^(https?:)?//", name)
                if not resource.startswith("data:"):
                    self.assertTrue((self.out / resource).is_file(), f"{name}: {resource}")
        for asset in build_site.ASSETS:
            self.assertNotRegex((self.out / asset).read_text(encoding="utf-8"), r"https?://|@import|url\(|fetch\(|XMLHttpRequest")

    def test_pages_are_well_formed_and_ids_are_unique(self):
        for name, document in self.documents.items():
            self.assertEqual(document.faults, [], name)
            self.assertEqual(len(document.ids), len(set(document.ids)), name)

    def test_pages_fit_a_phone_and_follow_the_theme(self):
        css = (self.out / "site.css").read_text(encoding="utf-8")
        self.assertIn("prefers-color-scheme: dark", css)
        self.assertIn("@media (max-width: 52rem)", css)
        for name in self.documents:
            self.assertIn('name="viewport"', (self.out / name).read_text(encoding="utf-8"))

    def index(self):
        text = (self.out / "search_index.js").read_text(encoding="utf-8")
        return json.loads(re.fullmatch(r"window\.tidemarkIndex = (.*);\n", text, re.DOTALL).group(1))

    def test_the_search_index_holds_known_words_where_they_stand(self):
        where = {(page, anchor): heading + " " + text for page, _, anchor, heading, text in self.index()}
        for page, anchor, word in (("errors.html", "tm0201-shape_mismatch", "broadcast"), ("build_an_engine.html", "6-a-verifier", "VerifiedPlan"),
                                   ("cli.html", "frontier", "--points"), ("glossary.html", "glossary", "makespan"),
                                   ("index.html", "a-budget", "micro-batches")):
            self.assertIn(word, where[page, anchor])
        for page, anchor in where:
            self.assertIn(anchor, self.documents[page].ids)

    def test_the_search_finds_the_best_section_first(self):
        node = shutil.which("node")
        if not node:
            self.skipTest("node is not installed")
        script = ("const { findSections, excerpt } = require(process.argv[1] + '/site.js'); globalThis.window = {};"
                  "require(process.argv[1] + '/search_index.js');"
                  "const ask = (q) => findSections(window.tidemarkIndex, q).map((e) => e[0] + '#' + e[2]);"
                  "console.log(JSON.stringify([ask('TM0604')[0], ask('checkpoint schedules')[0], ask('zzzz').length, ask('').length,"
                  "excerpt('a plan and a budget', 'plan').filter((p) => p[1]).map((p) => p[0])]));")
        printed = subprocess.run([node, "-e", script, str(self.out)], capture_output=True, text=True, check=True).stdout
        self.assertEqual(json.loads(printed), ["errors.html#tm0604-out_of_memory", "schedules.html#checkpoint-schedules", 0, 0, ["plan"]])


class Broken(Scratch):
    """A build that must fail, with the place."""

    def problems(self):
        with self.assertRaises(build_site.BrokenSite) as raised:
            build_site.build(self.root, self.root / "out")
        self.assertFalse((self.root / "out").exists(), "nothing is written")
        return str(raised.exception)

    def test_a_link_to_a_page_a_section_a_folder_and_a_picture_that_are_not_there(self):
        self.write("README.md", "# T\n[a](docs/none.md) [b](docs/p.md#no) [c](#t) [d](#u) [e](docs/p.md#there) [f](docs) ![g](g.svg)\n")
        self.write("docs/p.md", "# P\n## There\n[up](../README.md#t)\n")
        problems = self.problems()
        self.assertIn("README.md: a link to docs/none.md", problems)
        self.assertIn("README.md: docs/p.md#no: docs/p.md has no such section", problems)
        self.assertIn("README.md: #u: README.md has no such section", problems)
        self.assertIn("a link to the folder docs", problems)
        self.assertIn("README.md: a picture g.svg", problems)
        self.assertEqual(len(problems.splitlines()), 5)

    def test_a_file_outside_of_the_repository_and_a_page_without_a_title(self):
        self.write("README.md", "[x](../../etc/passwd)\n")
        problems = self.problems()
        self.assertIn("a link to ../../etc/passwd", problems)
        self.assertIn("README.md: the page has no title", problems)

    def test_pictures_and_linked_files_come_along(self):
        self.write("README.md", "# T\n![a plot](docs/pictures/a.svg) [src](examples/x.cc)\n")
        self.write("docs/pictures/a.svg", "<svg/>")
        self.write("docs/new.md", "# New\n")
        self.write("examples/x.cc", "int main() {}\n")
        build_site.build(self.root, self.root / "out")
        page = (self.root / "out/index.html").read_text(encoding="utf-8")
        self.assertIn('<img src="pictures/a.svg" alt="a plot">', page)
        self.assertIn("<h2>More</h2>", page, "a page that no section names")
        self.assertEqual((self.root / "out/pictures/a.svg").read_text(), "<svg/>")
        self.assertIn("<span", (self.root / "out/file_examples_x.cc.html").read_text())


class OurPages(unittest.TestCase):
    def test_each_has_its_place_in_the_menu(self):
        named = {stem for stems in build_site.SECTIONS.values() for stem in stems}
        pages = {page.stem for page in (TOOLS.parent / "docs").glob("*.md")}
        self.assertEqual(pages - named, set(), "a row of SECTIONS in build_site.py for each")


class Markdown(unittest.TestCase):
    def html(self, text):
        return markdown.Page(text, lambda t: t, lambda t: t, highlight.block).html

    def test_inline(self):
        self.assertEqual(self.html("a *b* **c** `d*e*<f>` [g `h`](i.md) 2 * 3 * 4 snake_case_x <j>\n"),
                         '<p>a <em>b</em> <strong>c</strong> <code>d*e*&lt;f&gt;</code> <a href="i.md">g <code>h</code></a> '
                         "2 * 3 * 4 snake_case_x &lt;j&gt;</p>\n")
        self.assertEqual(self.html("```` ```cpp ```` and `x`\n"), "<p><code>```cpp</code> and <code>x</code></p>\n")

    def test_tables_with_sides_and_bars(self):
        html = self.html("| a | b |\n|---|---:|\n| `x \\| y` | 1 |\n\nafter\n")
        self.assertIn("<th>a</th><th class=right>b</th>", html)
        self.assertIn("<td><code>x | y</code></td><td class=right>1</td>", html)
        self.assertIn("<p>after</p>", html)

    def test_lists_with_continued_lines_code_and_numbers(self):
        self.assertEqual(self.html("* a\n  b\n* c\n"), "<ul>\n<li>a\nb</li>\n<li>c</li>\n</ul>\n")
        html = self.html("1. a\n   ```sh\n   x\n   ```\n2. b\n\ntext\n")
        self.assertIn("<ol>\n<li>a\n<figure", html)
        self.assertIn("<code>x\n</code>", html)
        self.assertTrue(html.endswith("</ol>\n<p>text</p>\n"))

    def test_anchors_are_those_of_github(self):
        taken = {}
        for title, anchor in (("TM0201 shape_mismatch", "tm0201-shape_mismatch"), ("A batch, in `micro`-batches!", "a-batch-in-micro-batches"),
                              ("01: memory and plans", "01-memory-and-plans"), ("Twice", "twice"), ("Twice", "twice-1")):
            self.assertEqual(markdown.slug(title, taken), anchor)

    def test_colours_of_cpp(self):
        html = highlight.cpp('#include <a>\nconst auto s = R"(x "y")";  // 1\nTensor t = f(0x1F, 1\'000, "\\"");\n')
        for kind, text in (("p", "#include &lt;a&gt;"), ("k", "const"), ("s", 'R"(x "y")"'), ("c", "// 1"), ("t", "Tensor"), ("f", "f"),
                           ("n", "0x1F"), ("n", "1'000"), ("s", '"\\""')):
            self.assertIn(f'<span class="{kind}">{text}</span>', html)
        self.assertEqual(re.sub(r"<[^>]+>", "", highlight.cpp("a<b> & 'c'")), "a&lt;b&gt; &amp; 'c'")


if __name__ == "__main__":
    unittest.main()
