"""Splitting Markdown into blocks that the author wrote, without code, quotes and pictures; and dividing long texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt

from pearl.text.words import words_of
from service.importing.sources.html_text import html_to_text
from service.importing.sources.notes.markup import clean_inline
from service.importing.sources.quotes import split_quotes, tidy

PART_CHARACTERS = 8_000  # a longer text is divided before a heading or paragraph: prompts have no room for it whole
EMPTY_ITEM = re.compile(r"[ \t]*[-*+][ \t]*")  # what stood in it was not the author's
DROPPED = {"fence", "code_block", "blockquote_open"}
LINK = re.compile(r"\[([^\[\]]{0,500})\]\([^()\n]{0,2000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\)")
ADDRESS = re.compile(r"<?https?://[^\s<>]{1,2000}>?")
WORD = re.compile(r"\w[\w'’-]{0,100}")
LINKS_WITH_FEW_WORDS = 3
PARSED_CHARACTERS = 100_000  # at once
FENCE = re.compile(r"(?:[ \t>*+-]|\d{1,9}[.)])*+(`{3,}|~{3,})")
OPEN_FENCE = "Code blocks that are never closed, left out with what follows in them"
OPEN_HTML = "HTML comments, scripts or styles that are never closed, left out with what follows in them"
HTML_ENDS = {"<!--": "-->", "<script": "</script", "<style": "</style"}
EMPHASIS = re.compile(r"(\*{1,3}|~~|`{1,2})(?=\S)([^*~`\n]{1,300})(?<=\S)\1")
UNDERSCORED = re.compile(r"(?<!\w)(_{1,3})(?=\S)([^_\n]{1,300})(?<=\S)\1(?!\w)")


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list, table or heading, in its own Markdown. ``heading``: the heading's text, None for other blocks;
    ``links``: the number of links; ``words``: the number of words outside links."""

    text: str
    heading: str | None = None
    links: int = 0
    words: int = 0


def without_code(body: str, note: Callable[[str], None] = lambda kind: None) -> str:
    """Replace code blocks by empty lines, so that nothing in them is taken for markup. ``note`` is called if a code
    block is never closed."""
    parts = []
    for part in _parts(body):
        lines = part.split("\n")
        for token in _parser().parse(part):
            if token.type == "fence" and token.map:
                first, last = token.map
                if last == first + 1 or set(lines[last - 1].strip(" \t>")) != {token.markup[0]}:
                    note(OPEN_FENCE)
                lines[first:last] = [""] * (last - first)
        parts += lines
    return "\n".join(parts)


def own_blocks(body: str, note: Callable[[str], None] = lambda kind: None) -> list[Block]:
    """Return the blocks of a Markdown text, without code blocks, quotes, pictures and link definitions. ``note`` is
    called if HTML in the text is never closed."""
    return [block for part in _parts(body) for block in _blocks_of_part(part, note)]


def _blocks_of_part(part: str, note: Callable[[str], None]) -> list[Block]:
    tokens = _parser().parse(part)
    lines = part.split("\n")
    dropped = {number for token in tokens if token.type in DROPPED and token.map for number in range(*token.map)}
    blocks = []
    for position, token in enumerate(tokens):
        if token.level or token.map is None or token.type == "hr":
            continue
        text = "\n".join(lines[number] for number in range(*token.map) if number not in dropped)
        if token.type == "html_block":
            begun = text.lstrip().lower()
            if any(begun.startswith(start) and end not in begun for start, end in HTML_ENDS.items()):
                note(OPEN_HTML)
            text = split_quotes(html_to_text(text)).own
        rest, links = LINK.subn(" ", text)
        rest, addresses = ADDRESS.subn(" ", rest)
        text = tidy([line for line in clean_inline(text).split("\n") if not EMPTY_ITEM.fullmatch(line)])
        if text.strip(" \t\n-*+|:="):
            heading = plain(tokens[position + 1].content) if token.type == "heading_open" else None
            blocks.append(Block(text, heading, links + addresses, len(words_of(WORD, rest))))
    return blocks


def plain(words: str) -> str:
    """Convert inline Markdown to plain text on one line."""
    words = EMPHASIS.sub(r"\2", LINK.sub(r"\1", clean_inline(words)))
    return " ".join(UNDERSCORED.sub(r"\2", EMPHASIS.sub(r"\2", words)).split())


def only_links(blocks: list[Block]) -> bool:
    """True if the page has links and almost no words outside them."""
    texts = [block for block in blocks if block.heading is None]
    return any(block.links for block in texts) and sum(block.words for block in texts) <= LINKS_WITH_FEW_WORDS


def divide(blocks: list[Block]) -> list[str]:
    """Join blocks into texts of at most about PART_CHARACTERS; a heading stays with the block below it."""
    parts: list[list[str]] = [[]]
    length = 0
    for position, block in enumerate(blocks):
        following = len(blocks[position + 1].text) if block.heading and position + 1 < len(blocks) else 0
        if parts[-1] and length + len(block.text) + following > PART_CHARACTERS:
            parts.append([])
            length = 0
        parts[-1].append(block.text)
        length += len(block.text)
    return ["\n\n".join(part) for part in parts if part]


def _parts(body: str) -> Iterator[str]:
    """Divide a long text into pieces that the parser can handle: a megabyte of short items takes 500 MB.

    A piece ends before a line that is not indented, if possible below an empty line. A far too long piece ends
    anywhere; a code block is then closed and opened again.
    """
    part: list[str] = []
    size = 0
    fence = ""
    for line in body.split("\n"):
        starts = not fence and line[:1] not in ("", " ", "\t")
        if size > PARSED_CHARACTERS and (
            (starts and (not part[-1] or size > 2 * PARSED_CHARACTERS)) or size > 10 * PARSED_CHARACTERS
        ):
            yield "\n".join([*part, fence] if fence else part)
            part, size = [fence] if fence else [], 0
        if (mark := FENCE.match(line)) and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        part.append(line)
        size += len(line) + 1
    yield "\n".join(part)


@cache
def _parser() -> MarkdownIt:
    # only the lines of the blocks are wanted: what is within them, where slow cases hide, is not parsed
    return MarkdownIt("commonmark").disable("inline")
