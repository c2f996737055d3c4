"""HTML as plain text, as a mail program would show it: quotes marked with ``>``, lists with ``-``.

It takes linear time, even for HTML that was made to keep a parser busy.
"""

from __future__ import annotations

import html as entities
import re
from collections.abc import Iterator

SKIPPED = {"script", "style", "title", "template"}  # not a head, which may have no end: the rest in it is no text
BLOCKS = {
    *("address", "article", "blockquote", "div", "dl", "dt", "dd", "fieldset", "footer", "form", "header", "hr", "li"),
    *("main", "nav", "ol", "pre", "section", "table", "tr", "ul"),
}
PARAGRAPHS = {"p", "h1", "h2", "h3", "h4", "h5", "h6"}
# classes and ids that mail programs give: Gmail's, Thunderbird's and Proton's; Apple's and two of Outlook's
SIGNATURES = (
    *("gmail_signature", "moz-signature", "protonmail_signature_block"),
    *("AppleMailSignature", 'id="Signature"', "ms-outlook-mobile-signature"),
)
MAX_LISTS = 100
EMOJI = re.compile(r"""\balt=["']?([^"'\x00-\x7f]{1,12})["']?(?:\s|/|$)""")  # signs alone are no file's name
OUTLOOKS_ITEM = re.compile("^[\u00b7\u2022\u00a7o]\u00a0[\u00a0 ]*")  # a paragraph that looks like one of a list
MAX_QUOTES = 10  # marks in front of a line: a mail is not answered more often
# a comment, Word's conditions and the document's type, a tag; one that does not end goes on to the end of the text
MARK = re.compile(
    r"<!(?=--)(?s:.*?)(?:-->|\Z)|<[!?][^>]*+(?:>|\Z)"
    r"""|<(/?)([A-Za-z][^\s/<>]*+)((?:[^>=]|="[^"]*+"|='[^']*+'|=)*+)(?:>|\Z)"""
)
SPACE = re.compile(r"[ \t\r\n\f]+")
DATA = re.compile(r"(data:[\w.+-]{1,60}/[\w.+-]{1,60};base64,)[A-Za-z0-9+/=%\r\n]{100,}")
LONG_NUMBER = re.compile(r"&#[xX]?[0-9A-Fa-f]{8,};?")  # no character; html.unescape raises on thousands of digits


def without_data(text: str) -> str:
    """Empty the ``data:`` addresses in HTML or Markdown, which hold a whole file such as a pasted picture."""
    return DATA.sub(r"\1", text)


def html_to_text(html: str) -> str:
    """Convert HTML to plain text, without scripts, styles and comments."""
    lines = _Lines()
    for tag, ends, attributes, text in _marks(html):
        if text:
            lines.add(text)
        if tag and ends:
            lines.close(tag)
        elif tag:
            lines.open(tag, attributes)
    return lines.text()


def _marks(html: str) -> Iterator[tuple[str, bool, str, str]]:
    """Yield each tag's name, whether it is an end tag, its attributes, and the text before it."""
    position = 0
    unmarked = {"script", "style", "title"}  # marks within them are none
    while mark := MARK.search(html, position):
        name = (mark[2] or "").lower()
        yield name, bool(mark[1]), mark[3] or "", html[position : mark.start()]
        position = mark.end()
        if name in unmarked and not mark[1]:
            closing = re.compile(f"</{name}", re.ASCII | re.IGNORECASE).search(html, position)
            position = closing.start() if closing else position
            unmarked -= set() if closing else {name}
    yield "", False, "", html[position:]


class _Lines:
    """Builds lines of plain text from text (``add``), start tags (``open``) and end tags (``close``)."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._skipping = self._quoting = self._preformatted = 0
        self._numbers: list[int | None] = []  # of the last item of each open list, None for one without numbers
        self._mark = "- "  # of the last item

    def text(self) -> str:
        self._end_line()
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._lines)).strip("\n")

    def open(self, tag: str, attributes: str) -> None:
        if tag in SKIPPED:
            self._skipping += 1
        elif tag == "br":
            self._end_line(keep_empty=True)
        elif tag in BLOCKS or tag in PARAGRAPHS:
            begins_item = "".join(self._line) == self._mark  # <li><p>tea</p></li>
            if not begins_item:
                self._end_line()
                if tag in PARAGRAPHS:
                    self._gap()
            self._quoting += tag == "blockquote"
            self._preformatted += tag == "pre"
            if any(name in attributes for name in SIGNATURES):
                self._lines.append("> " * min(self._quoting, MAX_QUOTES) + "-- ")
            if tag in ("ol", "ul") and len(self._numbers) < MAX_LISTS:
                self._numbers.append(0 if tag == "ol" else None)
            if tag == "li":
                self._mark = self._item()
                self._line = [self._mark]
        elif tag in ("td", "th") and self._line:
            self._line.append(" ")
        elif tag == "img" and (emoji := EMOJI.search(attributes)) and not self._skipping:
            self._line.append(emoji[1])

    def close(self, tag: str) -> None:
        if tag in SKIPPED:
            self._skipping = max(0, self._skipping - 1)
        elif tag in BLOCKS or tag in PARAGRAPHS:
            self._end_line()
            if tag in PARAGRAPHS:
                self._gap()
            if tag in ("ol", "ul") and self._numbers:
                self._numbers.pop()
            if tag == "blockquote":
                self._quoting = max(0, self._quoting - 1)
            if tag == "pre":
                self._preformatted = max(0, self._preformatted - 1)

    def add(self, data: str) -> None:
        if self._skipping:
            return
        data = entities.unescape(LONG_NUMBER.sub("", data))
        if not self._preformatted:
            data = SPACE.sub(" ", data)
            before = self._line[-1] if self._line else ""
            self._line.append(data.lstrip(" ") if not before or before.endswith(" ") else data)
            return
        first, *others = data.split("\n")
        self._line.append(first)
        for line in others:
            self._end_line(keep_empty=True)
            self._line = [line]

    def _item(self) -> str:
        """Return the mark of the next item in the innermost list: "- " or a number."""
        number = self._numbers[-1] if self._numbers else None
        if number is None:
            return "- "
        self._numbers[-1] = number + 1
        return f"{number + 1}. "

    def _end_line(self, keep_empty: bool = False) -> None:
        line = OUTLOOKS_ITEM.sub("- ", "".join(self._line)).replace("\N{NO-BREAK SPACE}", " ").rstrip()
        if line or keep_empty:
            self._lines.append("> " * min(self._quoting, MAX_QUOTES) + line)
        self._line = []

    def _gap(self) -> None:
        if self._lines and self._lines[-1].strip("> "):
            self._lines.append("")
