"""HTML as plain text, the way a mail program would show it: quotes marked with ``>``, lists with ``-``."""

from __future__ import annotations

import re
from html.parser import HTMLParser

SKIPPED = {"script", "style", "head", "title", "template"}
BLOCKS = {
    *("address", "article", "blockquote", "div", "dl", "dt", "dd", "fieldset", "footer", "form", "header", "hr", "li"),
    *("main", "nav", "ol", "pre", "section", "table", "tr", "ul"),
}
PARAGRAPHS = {"p", "h1", "h2", "h3", "h4", "h5", "h6"}
MARKED_SECTION = re.compile(r"<!\[[^>]*>?")  # Word's conditional comments; the parser raises on odd ones
SPACE = re.compile(r"[ \t\r\n\f]+")


def html_to_text(html: str) -> str:
    """Lines of text; entities decoded, scripts, styles and comments left out."""
    reader = _Reader()
    reader.feed(MARKED_SECTION.sub("", html))
    reader.close()
    return reader.text()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = []
        self._line = ""
        self._skipping = 0
        self._quoting = 0
        self._preformatted = 0

    def text(self) -> str:
        self._end_line()
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._lines)).strip("\n")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SKIPPED:
            self._skipping += 1
        elif tag == "br":
            self._end_line(keep_empty=True)
        elif tag in BLOCKS or tag in PARAGRAPHS:
            self._end_line()
            if tag in PARAGRAPHS:
                self._gap()
            self._quoting += tag == "blockquote"
            self._preformatted += tag == "pre"
            self._line = "- " if tag == "li" else ""
        elif tag in ("td", "th") and self._line:
            self._line += " "

    def handle_endtag(self, tag: str) -> None:
        if tag in SKIPPED:
            self._skipping = max(0, self._skipping - 1)
        elif tag in BLOCKS or tag in PARAGRAPHS:
            self._end_line()
            if tag in PARAGRAPHS:
                self._gap()
            if tag == "blockquote":
                self._quoting = max(0, self._quoting - 1)
            if tag == "pre":
                self._preformatted = max(0, self._preformatted - 1)

    def handle_data(self, data: str) -> None:
        if self._skipping:
            return
        if not self._preformatted:
            data = SPACE.sub(" ", data)
            self._line += data.lstrip(" ") if not self._line or self._line.endswith(" ") else data
            return
        first, *others = data.split("\n")
        self._line += first
        for line in others:
            self._end_line(keep_empty=True)
            self._line = line

    def _end_line(self, keep_empty: bool = False) -> None:
        line = self._line.replace("\N{NO-BREAK SPACE}", " ").rstrip()
        if line or keep_empty:
            self._lines.append("> " * self._quoting + line)
        self._line = ""

    def _gap(self) -> None:
        if self._lines and self._lines[-1].strip("> "):
            self._lines.append("")
