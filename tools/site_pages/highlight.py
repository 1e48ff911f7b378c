"""Colours for code: a tokenizer for C++, and for commands and what they print. Spans with one letter each, so that pages stay small."""

import html
import re

KEYWORDS = """alignas alignof and asm auto bool break case catch char char8_t char16_t char32_t class concept const consteval constexpr
constinit const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum explicit export
extern false final float for friend goto if inline int long mutable namespace new noexcept not nullptr operator or override private
protected public register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch
template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor""".split()

CPP = re.compile(
    r"""
    (?P<c>//[^\n]*|/\*.*?\*/)                                   # comments
  | (?P<p>^[ \t]*\#[ \t]*\w+(?:[ \t]*(?:<[^>\n]*>|"[^"\n]*"))?) # preprocessor
  | (?P<s>R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
  | (?P<n>\b(?:0[xX][0-9a-fA-F']+|\d[\d']*\.?[\d']*(?:[eE][+-]?\d+)?)(?:_\w+|[uUlLfFzZ]+)?|\.\d[\d']*(?:[eE][+-]?\d+)?[fF]?)
  | (?P<w>[A-Za-z_]\w*)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def span(kind, text):
    return f'<span class="{kind}">{html.escape(text, quote=False)}</span>'


def cpp(text):
    out, at = [], 0
    for match in CPP.finditer(text):
        out.append(html.escape(text[at:match.start()], quote=False))
        word, kind = match.group(0), match.lastgroup if match.lastgroup != "tag" else "s"
        at = match.end()
        if kind != "w":
            out.append(span(kind, word))
        elif word in KEYWORDS:
            out.append(span("k", word))
        elif re.match(r"[A-Z][A-Za-z0-9]*[a-z]", word):
            out.append(span("t", word))  # types are PascalCase
        elif re.match(r"\s*\(", text[at:at + 8]):
            out.append(span("f", word))
        else:
            out.append(html.escape(word, quote=False))
    out.append(html.escape(text[at:], quote=False))
    return "".join(out)


def console(text):
    lines = []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            lines.append('<span class="c">$ </span>' + span("f", line[2:].rstrip("\n")) + "\n")
        elif line.startswith("error["):
            code, _, rest = line.partition(":")
            lines.append(span("e", code) + html.escape(":" + rest, quote=False))
        else:
            lines.append(html.escape(line, quote=False))
    return "".join(lines)


def shell(text):
    return re.sub(r"(?m)(^|(?<=\s))(#[^\n]*)", lambda m: span("c", m.group(2)), html.escape(text, quote=False))


def block(info, text):
    """The HTML of a fenced block with this info string."""
    language = (info.split() or [""])[0]
    write = {"cpp": cpp, "console": console, "output": console, "text": console, "sh": shell, "cmake": shell}.get(language)
    body = write(text) if write else html.escape(text, quote=False)
    label = {"cpp": "C++", "output": "prints", "sh": "shell", "console": "shell", "json": "JSON", "cmake": "CMake", "python": "Python"}
    name = label.get(language, "")
    tag = f'<span class="label">{name}</span>' if name else ""
    return f'<figure class="code {html.escape(language)}">{tag}<pre tabindex="0"><code>{body}</code></pre></figure>\n'
