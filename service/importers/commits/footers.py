"""The words of a commit's author, told from what git, forges, bots and assistants put into the message.

A line is a footer by its words, not by git's form of trailers, which prose has too ("Note: it whistles now") and
references lack ("Refs #133"): it is nothing but references and words that point at them, or a known key with a value
of the key's kind. Footers go from the last paragraph, and elsewhere where they are a whole paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from service.importers.commits.programs import LONGEST_LINE, PHRASES, is_generated
from service.importers.quotes import tidy

# a footer's parts
POINTING = PHRASES.compile("{pointing}")
BETWEEN = PHRASES.compile("{between}")
TOKEN = PHRASES.compile(
    r"(?P<reference>{references})(?=[\s.,;:)\]>*`]|\Z)|(?P<word>[A-Za-z]{1,40})(?=[\s.,;:=)\]*-]|\Z)"
    r"|(?P<other>\[[\d*]|[^\s.,;:=()\[\]<>*&`-])",  # "[1]" and "[*]" are a text's footnotes
    0,
)
SUBJECT_OF_HASH = re.compile(r"(?<=: )([0-9a-f]{7,64}) \(.*\)\Z", re.DOTALL)
KEY = re.compile(r"([A-Za-z][\w-]*(?: [A-Za-z]+){0,3})(?: ?:(?=[\s#]|\Z)|(?:(?<=[A-Z])|(?<=\b[ar]))=(?=\S))")
KNOWN_KEY = PHRASES.compile("{keys}", 0)
LABEL = PHRASES.compile(r"^{labels}:[ \t]*\n?", re.IGNORECASE | re.MULTILINE)
NOTHING = ("", "none", "n/a")
ADDRESS = re.compile(r"<[^<>\s@]+@[^<>\s@]+>|(?<!\S)@\w")
PLAIN_WORD = re.compile(r"(?<!\S)[a-z]+(?=[.;!?]?(?:\s|\Z))")
PROSE_WORDS = 3

# where a line begins another sentence than the one above
SENTENCE_ENDS = (".", "!", "?")
FINISHED = (*SENTENCE_ENDS, ")", "]", "`")
QUOTED_OR_INDENTED = (" ", "\t", ">")
GOES_ON = re.compile(r"[\s(]|--|[a-z]+(?!\S)|I?[0-9a-f]{7,64}\b")
BEGINS_ANEW = re.compile(r"[-*\[]|\((?:cherry|backport)|Fix|Clos|Resolv|Ref|See|Relat|Depend")

FRAMES = PHRASES.compile(r"{frames}|(?:^|(?<=[.!?)]) )(?i:{marks})(?: (?i:{marks}))*[ \t]*$", re.MULTILINE)


def own_text(body: str) -> str:
    """The body without footers, and without what programs put between its paragraphs.

    Where a review tool's fields went, the labels before the author's own words go, too.
    """
    without = LABEL.sub("", body)
    text = _without_footers(without)
    return text if without == body or text != tidy(without.split("\n")) else _without_footers(body)


def _without_footers(body: str) -> str:
    paragraphs = tidy(FRAMES.sub("", body).split("\n")).split("\n\n")
    kept: list[str] = []  # from the last one up
    for number in reversed(range(len(paragraphs))):
        above = paragraphs[number - 1] if number else ""
        own = _own_lines(paragraphs[number], "" if _is_footer(above) else above, last=not kept)
        if own or (kept and kept[-1][:1].islower()):  # the one below goes on with its sentence
            kept.append(paragraphs[number] if kept else own)
    return "\n\n".join(reversed(kept))


def _own_lines(paragraph: str, above: str, last: bool) -> str:
    """The lines that are no footers. Text is also what heads or goes on with text, and a link between paragraphs."""
    if (last and not paragraph.strip("-")) or (paragraph.startswith("* ") and is_generated(paragraph[2:])):
        return ""
    if not last and (paragraph.endswith(":") or ("://" in paragraph and not KEY.match(paragraph))):
        return paragraph
    is_open = above.endswith((":", ",")) or (bool(above) and "://" in paragraph and not above.endswith(FINISHED))
    if is_open and _points(paragraph, bare=True):
        return paragraph
    entries = ["\n".join(lines) for lines in _entries(paragraph, last)]
    known = any(map(_is_footer, entries))
    own: list[str] = []  # from the last one up
    for entry in reversed(entries):
        heads = own and entry.endswith(":")
        if heads or not _is_footer(entry, bare=last and not own, beside_others=known):
            own.append(entry)
    return "\n".join(reversed(own))


def _entries(paragraph: str, last: bool) -> Iterator[list[str]]:
    """The lines of a paragraph, each that may be a footer with those that go on with it."""
    entry: list[str] = []
    below_footer = True
    for line in paragraph.split("\n"):
        footer, keyed = _is_footer(line, bare=last and below_footer), KEY.match(line)
        if below_footer:
            begins = not GOES_ON.match(line)
        else:
            anew = BEGINS_ANEW.match(line) if footer and not keyed else line[:1].isupper()
            begins = bool(footer or keyed) and bool(anew or entry[-1].endswith(FINISHED))
        if entry and begins:
            yield entry
            entry = []
        entry.append(line)
        below_footer = footer
    yield entry


def _is_footer(entry: str, bare: bool = False, beside_others: bool = False) -> bool:
    """True where no author speaks. ``bare``: references need no words. ``beside_others``: known keys are beside it."""
    if len(entry) > LONGEST_LINE or entry.startswith(QUOTED_OR_INDENTED):
        return False
    if _points(entry, bare):
        return True
    keyed = KEY.match(entry)
    if keyed is None:
        return False
    key, value = keyed[1].lower().replace(" ", "-"), entry[keyed.end() :].strip()
    plain = len(PLAIN_WORD.findall(value))
    if KNOWN_KEY.fullmatch(key):
        return plain < PROSE_WORDS - value.endswith(SENTENCE_ENDS) or bool(ADDRESS.search(value))
    if value.lower() in NOTHING and (entry[keyed.end() - 1] == "=" or all(map(POINTING.fullmatch, key.split("-")))):
        return True
    return "-" in keyed[1] and ((beside_others and plain < PROSE_WORDS - 1) or _points(value, bare=True))


def _points(entry: str, bare: bool) -> bool:
    """True for references and words that point at them, and nothing else."""
    if len(entry) > LONGEST_LINE:
        return False
    references = words = 0
    counts = False  # a number stands directly behind what it numbers
    for token in TOKEN.finditer(SUBJECT_OF_HASH.sub(r"\1", entry)):
        word, points = token["word"], bool(POINTING.fullmatch(token["word"] or ""))
        if token["reference"] and (counts or not token["reference"].isdigit()):
            references, counts = references + 1, True
        elif word and (points or BETWEEN.fullmatch(word)):
            words, counts = words + points, points or (counts and word.lower() in ("and", "or"))
        else:
            return False
    return references > 0 and (bare or words > 0)
