"""Markdown as this project writes it, to HTML: headings, paragraphs, fenced code, tables, lists, and inline code, emphasis, links
and pictures. HTML in a page is shown as it stands. What is not known is text; nothing is guessed."""

import html
import re

FENCE = re.compile(r"^(\s*)(```+|~~~+)\s*([^`]*?)\s*$")  # a line that goes on with ` is code in prose
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
ITEM = re.compile(r"^(\s*)([*+-]|\d+[.)])\s+(.*)$")
RULE = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
CODE_SPAN = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def plain(text):
    """The words of a line of Markdown."""
    text = LINK.sub(lambda m: m.group(2), text)
    text = CODE_SPAN.sub(lambda m: m.group(2).strip(), text)
    return re.sub(r"\*\*(.+?)\*\*|(?<![\w*])\*(?=\S)(.+?)(?<=\S)\*(?![\w*])", lambda m: m.group(1) or m.group(2), text)


def slug(title, taken):
    """The anchor of a heading, as GitHub makes it, so that links work there and here. `taken` counts those of the page."""
    base = re.sub(r"[^\w\- ]", "", plain(title).lower(), flags=re.UNICODE).replace(" ", "-")
    count = taken.get(base, 0)
    taken[base] = count + 1
    return f"{base}-{count}" if count else base


def split_row(line):
    """The cells of a row of a table. A | in code counts as one that separates, unless it is written \\|, as on GitHub."""
    cells = re.split(r"(?<!\\)\|", line.strip())
    if cells and not cells[0].strip():
        cells = cells[1:]
    if cells and not cells[-1].strip():
        cells = cells[:-1]
    return [cell.strip().replace("\\|", "|") for cell in cells]


class Page:
    """One page: `html`, its `headings` (level, anchor, title) and its `sections` (anchor, title, words) for the search.

    `link(target)` gives the address for a link, `picture(target)` for a picture, `code(language, text)` the HTML of a block."""

    def __init__(self, text, link, picture, code):
        self._link, self._picture, self._code = link, picture, code
        self._anchors = {}
        self.headings, self.sections = [], []
        self.html = self._blocks(text.splitlines())

    def inline(self, text):
        kept = []  # finished pieces, which nothing below may touch

        def keep(piece):
            kept.append(piece)
            return f"\0{len(kept) - 1}\0"

        def code(match):
            words = match.group(2).strip()
            mark = ' class="long"' if len(words) > 26 else ""  # may go over several lines; others stay whole
            return keep(f"<code{mark}>{html.escape(words, quote=False)}</code>")

        def link(match):
            if match.group(1):
                alt = html.escape(plain(match.group(2)))
                return keep(f'<img src="{html.escape(self._picture(match.group(3)))}" alt="{alt}">')
            label = self._emphasis(html.escape(match.group(2), quote=False))
            return keep(f'<a href="{html.escape(self._link(match.group(3)))}">{label}</a>')

        text = CODE_SPAN.sub(code, text)
        text = LINK.sub(link, text)
        text = re.sub(r"<(https?://[^>\s]+)>", lambda m: keep(f'<a href="{html.escape(m.group(1))}">{html.escape(m.group(1))}</a>'), text)
        text = self._emphasis(html.escape(text, quote=False))
        while "\0" in text:  # code inside of the label of a link is kept inside of what is kept
            text = re.sub("\0(\\d+)\0", lambda m: kept[int(m.group(1))], text)
        return text

    @staticmethod
    def _emphasis(text):
        text = re.sub(r"\\([\\`*_{}\[\]()#+\-.!|])", r"\1", text)
        text = re.sub(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"<strong>\1</strong>", text, flags=re.DOTALL)
        return re.sub(r"(?<![\w*])\*(?=[^\s*])(.+?)(?<=[^\s*])\*(?![\w*])", r"<em>\1</em>", text, flags=re.DOTALL)

    def _note(self, words):
        if self.sections:
            self.sections[-1][2].append(words)

    def _heading(self, match):
        level, title = len(match.group(1)), match.group(2)
        anchor = slug(title, self._anchors)
        self.headings.append((level, anchor, plain(title)))
        self.sections.append((anchor, plain(title), []))
        mark = f'<a class="anchor" href="#{html.escape(anchor)}" aria-label="Link to this section">#</a>'
        return f'<h{level} id="{html.escape(anchor)}">{self.inline(title)}{mark}</h{level}>\n'

    def _table(self, lines):
        def alignment(cell):
            return {(True, True): "center", (False, True): "right"}.get((cell.startswith(":"), cell.endswith(":")), "")

        header = split_row(lines[0])
        aligned = [alignment(cell) for cell in split_row(lines[1])]
        aligned += [""] * (len(header) - len(aligned))

        def row(cells, tag):
            cells = (cells + [""] * len(aligned))[: len(aligned)]
            for cell in cells:
                self._note(plain(cell))
            return "<tr>" + "".join(
                f'<{tag}{f" class={side}" if side else ""}>{self.inline(cell)}</{tag}>' for cell, side in zip(cells, aligned)
            ) + "</tr>\n"

        head = f"<thead>{row(header, 'th')}</thead>\n" if any(header) else ""
        body = "".join(row(split_row(line), "td") for line in lines[2:])
        return f'<div class="table"><table>\n{head}<tbody>\n{body}</tbody></table></div>\n'

    def _list(self, lines):
        """Items with what is indented below them."""
        ordered = ITEM.match(lines[0]).group(2)[0].isdigit()
        indent = len(ITEM.match(lines[0]).group(1))
        items = []
        for line in lines:
            match = ITEM.match(line)
            if match and len(match.group(1)) <= indent:
                width = len(line) - len(match.group(3))
                items.append((width, [match.group(3)]))
            else:
                width = items[-1][0]
                items[-1][1].append(line[width:] if line[:width].isspace() or not line.strip() else line.lstrip())
        tag = "ol" if ordered else "ul"
        loose = any("" in body[:-1] for _, body in items)
        parts = []
        for _, body in items:
            inner = self._blocks(body)
            if not loose:
                inner = re.sub(r"^<p>(.*?)</p>\n", r"\1\n", inner, count=1, flags=re.DOTALL)
            parts.append(f"<li>{inner.rstrip()}</li>\n")
        return f"<{tag}>\n{''.join(parts)}</{tag}>\n"

    def _blocks(self, lines):
        out, at = [], 0
        while at < len(lines):
            line = lines[at]
            fence, heading, item = FENCE.match(line), HEADING.match(line), ITEM.match(line)
            if not line.strip():
                at += 1
            elif fence:
                end = at + 1
                while end < len(lines) and not (FENCE.match(lines[end]) and lines[end].strip().startswith(fence.group(2))
                                                and not FENCE.match(lines[end]).group(3)):
                    end += 1
                indent = len(fence.group(1))
                text = "".join((body[indent:] if body[:indent].isspace() else body) + "\n" for body in lines[at + 1:end])
                self._note(text)
                out.append(self._code(fence.group(3), text))
                at = end + 1
            elif heading:
                out.append(self._heading(heading))
                at += 1
            elif "|" in line and at + 1 < len(lines) and "|" in lines[at + 1] and RULE.match(lines[at + 1]):
                end = at + 2
                while end < len(lines) and "|" in lines[end] and lines[end].strip():
                    end += 1
                out.append(self._table(lines[at:end]))
                at = end
            elif item:
                end, inside = at + 1, False
                while end < len(lines):
                    nxt = lines[end]
                    if FENCE.match(nxt) and nxt[:1].isspace():
                        inside = not inside
                    blank = not nxt.strip()
                    after = lines[end + 1] if end + 1 < len(lines) else ""
                    if not inside and (HEADING.match(nxt) or (FENCE.match(nxt) and not nxt[:1].isspace())
                                       or (blank and not (ITEM.match(after) or after[:2].isspace()))):
                        break
                    end += 1
                out.append(self._list(lines[at:end]))
                at = end
            else:
                end = at + 1
                while end < len(lines) and lines[end].strip() and not (
                    FENCE.match(lines[end]) or HEADING.match(lines[end]) or ITEM.match(lines[end])
                ):
                    end += 1
                text = "\n".join(part.strip() for part in lines[at:end])
                self._note(plain(text))
                out.append(f"<p>{self.inline(text)}</p>\n")
                at = end
        return "".join(out)
