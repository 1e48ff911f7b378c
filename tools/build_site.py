#!/usr/bin/env python3
"""Makes the documentation a folder of HTML pages that can be read from a disk, a phone or any server.

usage: build_site.py REPOSITORY FOLDER

README.md, docs/*.md, CHANGELOG.md, ARCHITECTURE.md and CONTRIBUTING.md become pages; pictures are copied; other files that a page
links to (an example, the licence) become pages of code. Nothing is loaded from a network. A link to a page, a file or an anchor
that does not exist ends the build with status 1, and so does a page that cannot be read. The Python standard library is enough.
"""

import html
import json
import posixpath
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from site_pages import highlight  # noqa: E402
from site_pages.markdown import Page  # noqa: E402

# The sections of the menu. A page of docs/ that is in none stands under the last heading, OTHERS.
SECTIONS = {
    "Begin": ["README", "concepts", "build_an_engine", "coming_from", "cli"],
    "Memory": ["budgets", "explain", "page", "hints", "lossy", "reversible", "planning", "fusion"],
    "Programs": ["control_flow", "vmap", "custom_ops", "layers", "optimizers", "attention", "convolution", "linear_algebra", "ode"],
    "Data and runs": ["data", "files"],
    "Simulations": ["scalars", "schedules", "simulations", "wave"],
    "Machines": ["devices", "cuda", "machine", "profiles", "benchmarks"],
    "Look up": ["reference", "errors", "conventions", "glossary"],
    "Formats": ["ir_format", "plan_format", "profile_format", "dag_format"],
    "The project": ["CHANGELOG", "ARCHITECTURE", "CONTRIBUTING"],
}
OTHERS = "More"
ROOT_PAGES = ("README", "CHANGELOG", "ARCHITECTURE", "CONTRIBUTING")
PICTURES = (".svg", ".png", ".jpg", ".jpeg", ".gif")
ASSETS = ("site.css", "site.js")

LOGO = (
    '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#0a7f7a"/>'
    '<path d="M4 20q4-5 8 0t8 0 8 0" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/>'
    '<path d="M4 12h24" stroke="#fff" stroke-width="2" stroke-dasharray="3 3" opacity=".75"/></svg>'
)

TEMPLATE = """<!doctype html>
<html lang="en" data-base="">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Tidemark</title>
<meta name="description" content="{about}">
<script>try {{ const t = localStorage.getItem("tidemark-theme"); if (t) document.documentElement.dataset.theme = t; }} catch {{}}</script>
<link rel="stylesheet" href="site.css">
<link rel="icon" href="data:,">
</head>
<body>
<a class="skip" href="#content">To the text</a>
<header>
<button id="menu" aria-label="Pages" aria-expanded="false">☰</button>
<a class="home" href="index.html">{logo}<b>Tidemark</b></a>
<form role="search"><input id="search" type="search" placeholder="Search ( / )" aria-label="Search" autocomplete="off" spellcheck="false">
<ul id="results" hidden></ul></form>
<button id="theme" aria-label="Light or dark">◐</button>
</header>
<div class="frame">
<nav class="pages" aria-label="Pages">
{menu}</nav>
<main id="content">
<article>
{body}</article>
{turn}</main>
<nav class="here" aria-label="On this page">
{here}</nav>
</div>
<script src="site.js"></script>
</body>
</html>
"""


class BrokenSite(Exception):
    pass


class Site:
    def __init__(self, root):
        self.root = root
        self.sources = {}  # path in the repository -> name of the page
        for name in ROOT_PAGES:
            if (root / f"{name}.md").is_file():
                self.sources[f"{name}.md"] = "index.html" if name == "README" else f"{name.lower()}.html"
        for page in sorted((root / "docs").glob("*.md")):
            self.sources[f"docs/{page.name}"] = f"{page.stem}.html"
        if len(set(self.sources.values())) != len(self.sources):
            raise BrokenSite("two pages have the same name")
        self.pages, self.links, self.pictures, self.files, self.problems = {}, [], {}, {}, []

    def read(self):
        for source in self.sources:
            text = (self.root / source).read_text(encoding="utf-8")
            self.pages[source] = Page(text, lambda t, s=source: self.link(s, t), lambda t, s=source: self.picture(s, t), highlight.block)
            if not self.pages[source].headings:
                self.problems.append(f"{source}: the page has no title")
        for source, target, page, anchor in self.links:
            if anchor and page in self.pages and anchor not in {a for _, a, _ in self.pages[page].headings}:
                self.problems.append(f"{source}: {target}: {page} has no such section")

    def resolve(self, source, path):
        return posixpath.normpath(posixpath.join(posixpath.dirname(source), path))

    def link(self, source, target):
        if "://" in target or target.startswith("mailto:"):
            return target
        path, _, anchor = target.partition("#")
        where = self.resolve(source, path) if path else source
        suffix = f"#{anchor}" if anchor else ""
        self.links.append((source, target, where, anchor))
        if where in self.sources:
            return (self.sources[where] if path else "") + suffix
        file = self.root / where
        if where.startswith("..") or not file.exists():
            self.problems.append(f"{source}: a link to {target}, which does not exist")
            return target
        if file.is_dir():
            self.problems.append(f"{source}: a link to the folder {target}: name a file in it")
            return target
        if where.lower().endswith(PICTURES):
            return self.picture(source, target)
        self.files[where] = "file_" + where.replace("/", "_") + ".html"
        return self.files[where]

    def picture(self, source, target):
        where = self.resolve(source, target)
        if "://" in target or not (self.root / where).is_file():
            self.problems.append(f"{source}: a picture {target}, which is not in the repository")
            return ""
        self.pictures[where] = "pictures/" + posixpath.basename(where)
        return self.pictures[where]

    def order(self):
        """The pages as the menu has them: (section, [source])."""
        by_stem = {Path(source).stem: source for source in self.sources}
        listed = [(section, [by_stem.pop(stem) for stem in stems if stem in by_stem]) for section, stems in SECTIONS.items()]
        if by_stem:
            listed.append((OTHERS, list(by_stem.values())))
        return [(section, sources) for section, sources in listed if sources]

    def title(self, source):
        if source == "README.md":
            return "Overview"
        headings = self.pages[source].headings
        return headings[0][2] if headings else source

    def menu(self, current):
        out = []
        for section, sources in self.order():
            out.append(f"<h2>{html.escape(section)}</h2>\n<ul>\n")
            for source in sources:
                mark = ' aria-current="page"' if source == current else ""
                out.append(f'<li><a href="{self.sources[source]}"{mark}>{html.escape(self.title(source))}</a></li>\n')
            out.append("</ul>\n")
        return "".join(out)

    def turn(self, current):
        """To the page before and the one after."""
        line = [source for _, sources in self.order() for source in sources]
        if current not in line:
            return ""
        at, out = line.index(current), []
        for step, word in ((-1, "Before"), (1, "Next")):
            if 0 <= at + step < len(line):
                source = line[at + step]
                out.append(f'<a href="{self.sources[source]}"><span>{word}</span>{html.escape(self.title(source))}</a>')
        return f'<div class="turn">{"".join(out)}</div>\n'

    def here(self, source):
        deep = [heading for heading in self.pages[source].headings if heading[0] in (2, 3)]
        if len(deep) < 2:
            return ""
        rows = "".join(
            f'<li{" class=deep" if level == 3 else ""}><a href="#{html.escape(anchor)}">{html.escape(title)}</a></li>\n'
            for level, anchor, title in deep
        )
        return f"<h2>On this page</h2>\n<ul>\n{rows}</ul>\n"

    def document(self, source, title, body, here):
        about = f"Tidemark: {title}. Derivatives of C++ functions inside a byte budget."
        return TEMPLATE.format(title=html.escape(title), about=html.escape(about), logo=LOGO, menu=self.menu(source), body=body,
                               turn=self.turn(source), here=here)

    def index(self):
        """What the search looks through: [page, title, anchor, heading, text] for each section."""
        entries = []
        for source, page in self.pages.items():
            for anchor, heading, words in page.sections:
                entries.append([self.sources[source], self.title(source), anchor, heading, " ".join(" ".join(words).split())])
        return "window.tidemarkIndex = " + json.dumps(entries, ensure_ascii=False, separators=(",", ":")) + ";\n"

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for source, name in self.sources.items():
            text = self.document(source, self.title(source), self.pages[source].html, self.here(source))
            (folder / name).write_text(text, encoding="utf-8")
        for source, name in self.files.items():
            code = highlight.block("cpp" if source.endswith((".cc", ".h")) else "", (self.root / source).read_text(encoding="utf-8"))
            (folder / name).write_text(self.document(source, source, f"<h1>{html.escape(source)}</h1>\n{code}", ""), encoding="utf-8")
        if self.pictures:
            (folder / "pictures").mkdir(exist_ok=True)
        for source, name in self.pictures.items():
            shutil.copyfile(self.root / source, folder / name)
        (folder / "search_index.js").write_text(self.index(), encoding="utf-8")
        for name in ASSETS:
            shutil.copyfile(Path(__file__).resolve().parent / "site_pages" / name, folder / name)


def build(root, folder):
    """Writes the site; throws BrokenSite, with every problem, where a link leads nowhere."""
    site = Site(root)
    site.read()
    if len(set(site.pictures.values())) != len(site.pictures):
        site.problems.append("two pictures have the same name")
    if site.problems:
        raise BrokenSite("\n".join(site.problems))
    site.write(folder)
    return site


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        site = build(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
    except BrokenSite as problems:
        print(problems)
        return 1
    print(f"build_site: {len(site.sources)} pages, {len(site.files)} files, {len(site.pictures)} pictures in {sys.argv[2]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
