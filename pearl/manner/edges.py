"""How a person's texts begin and end: the words that most of them share there, such as a greeting with the name left
open, and where the sign-off of one text begins."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pearl.manner.ends import GREETING, sign_off
from pearl.manner.trait import excerpt
from pearl.manner.writing import WORD, Writing
from pearl.records import Document
from pearl.stats.proportions import wilson
from pearl.text.words import Spot, folded, word_spots

LEAST_TEXTS = 5  # that share an edge
USUAL = 0.5  # share of the texts that have an edge, for it to be the person's
GOES_ON = 0.8  # share of the texts with an edge that have the next word too, for that to belong to it
READ = 200  # characters of a text's beginning, and of its end
EXAMPLES = 3
OPEN = "…"  # in place of a name that changes

Token = tuple[str, Spot]  # a word in small letters, and its place


@dataclass(frozen=True, slots=True)
class Edge:
    """The words at one end of most of a person's texts."""

    text: str  # as the newest of these texts has them
    texts: int  # that have them
    of: int  # texts that were read
    examples: tuple[dict[str, str], ...]  # id and excerpt of the newest of these texts

    def to_json(self) -> dict[str, Any]:
        share = wilson(self.texts, self.of)
        return asdict(self) | {"share": share and share.to_json()}


def edges(documents: Sequence[Document]) -> dict[str, Edge | None]:
    """The words with which most of these texts, the oldest first, begin (``greeting``) and end (``sign_off``); None if
    there are no such words."""
    texts = [(document.id, Writing(document.text).text) for document in documents]
    return {"greeting": _edge(texts, _beginning), "sign_off": _edge(texts, _ending)}


def body_end(text: str, others: Sequence[str] = ()) -> int:
    """Where the sign-off of a text begins, else the end of the text. It is told by its form, or as the words with which
    two or more of the ``others``, texts of the same person, end too."""
    writing = Writing(text)
    formal = sign_off(writing)
    end = formal[0][0] if formal else len(text)
    own = _ending(text)
    lengths = sorted((_in_common(own, _ending(other)) for other in others), reverse=True)
    shared = lengths[max(1, (len(lengths) - 1) // 2)] if len(lengths) > 1 else 0
    if shared > 1:
        end = min(end, _start(writing, own[shared - 1][1][0]))
    return end


def _in_common(one: Sequence[Token], other: Sequence[Token]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (own, theirs) in pairs if own[0] != theirs[0]), min(len(one), len(other)))


def _beginning(text: str) -> list[Token]:
    """The words of the greeting and of the sentence behind it, the name in the greeting as one open word."""
    writing = Writing(text[:READ])
    greeted = GREETING.match(writing.text, writing.lines[0][0] if writing.lines else 0)
    behind = greeted.end() if greeted else 0
    end = next((stop for _, stop in writing.sentences if writing.text[behind:stop].strip()), 0)
    tokens = _tokens(writing.text, behind, end)
    if greeted is None:
        return tokens
    said, name = _tokens(writing.text, *greeted.span("words")), greeted.span("name")
    return [*said, *([(OPEN, name)] if name[0] < name[1] else []), *tokens]


def _ending(text: str) -> list[Token]:
    """The last words, the very last one first."""
    return _tokens(text, max(0, len(text) - READ), len(text))[::-1]


def _tokens(text: str, start: int, end: int) -> list[Token]:
    return [
        (folded(text[start + begin : start + stop]), (start + begin, start + stop))
        for begin, stop in word_spots(WORD, text[start:end])
    ]


def _edge(texts: Sequence[tuple[str, str]], read: Callable[[str], list[Token]]) -> Edge | None:
    """Follow, word by word, what most of the texts, with their ids, have next."""
    sharing = [(name, text, read(text)) for name, text in texts]
    least, length = max(LEAST_TEXTS, USUAL * len(texts)), 0
    while True:
        following = Counter(tokens[length][0] for *_, tokens in sharing if len(tokens) > length)
        word, number = following.most_common(1)[0] if following else ("", 0)
        if number < max(least, GOES_ON * len(sharing) if length else 0):
            break
        sharing = [each for each in sharing if len(each[2]) > length and each[2][length][0] == word]
        length += 1
    shown = _shown([(text, tokens[:length]) for _, text, tokens in sharing]) if length else None
    if shown is None:
        return None
    newest = sharing[: -EXAMPLES - 1 : -1]
    examples = [{"id": name, "excerpt": excerpt(text, *tokens[0][1])} for name, text, tokens in newest]
    return Edge(shown, len(sharing), len(texts), tuple(examples))


def _shown(sharing: Sequence[tuple[str, Sequence[Token]]]) -> str | None:
    """The words of the last text with their marks, from where a sentence or line begins; OPEN for a name that changes
    and what follows. None for less, or for one first word that greets nobody, such as "The"."""
    text, tokens = sharing[-1]
    writing = Writing(text)
    start = _start(writing, min(spot[0] for _, spot in tokens))
    tokens = [token for token in tokens if token[1][0] >= start]
    end = max((spot[1] for _, spot in tokens), default=start)
    at_end = not WORD.search(text, end)
    if not tokens or (len(tokens) == 1 and not at_end and not GREETING.match(text)):
        return None
    names = {other[slice(*spot)] for other, words in sharing for word, spot in words if word == OPEN}
    marks = re.match(r"[^\w\s]*", text[end:])
    shown = text[start:end] + (marks[0] if marks and marks[0] else "" if at_end else f" {OPEN}")
    for word, spot in tokens:
        if word == OPEN and len(names) > 1:
            shown = f"{text[start : spot[0]]} {OPEN}{shown[spot[1] - start :]}"
    return " ".join(shown.split())


def _start(writing: Writing, at: int) -> int:
    """Where the first sentence or line from ``at`` on begins; the end of the text if none does."""
    return min((spot[0] for spot in (*writing.sentences, *writing.lines) if spot[0] >= at), default=len(writing.text))
