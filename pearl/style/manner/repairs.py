"""Small repairs of a draft: delete a statement, or insert one that is missing, in whole sentences and clauses with
their punctuation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pearl.style.manner.ends import greeting
from pearl.style.manner.reference import common_words
from pearl.style.manner.writing import LIST_ITEM, WORD, Writing
from pearl.text.words import CLOSERS, Spot

NEXT = "\n\n"  # between two paragraphs
WRAPPED = 60  # characters: a shorter line was ended by its writer
HALF = re.compile(r";\s+|,\s+(?:and|but|so|or|und|aber|oder|et|mais|ou|y|pero|o|e|ma)\s+")
ASIDE = re.compile(r"[,;]\s+|\s+[—–-]\s+|—")
RUN = 3  # words in a row that a text shares with another
LEAST_WORDS = 3  # of the half behind that stays, to stand by itself
BRACKETS = re.compile(r"\s?\([^()]*\)")
MARK = re.compile(rf"[.!?…。！？]*[{CLOSERS}]*\Z")
COUNTED = re.compile(r" ([^\W\d_A-Z]+)")
SHORT = re.compile(r"(?<!\S)([^\W\d_A-Z]{1,4}[ \t]+)\Z")  # before a fact: its preposition


@dataclass(frozen=True, slots=True)
class Repair:
    """A replacement of text[start:end] by ``by``."""

    start: int
    end: int
    by: str


def struck(text: str, start: int, end: int, body: int) -> Repair:
    """Return the repair that deletes the statement text[start:end], with its clause or sentence. In the sign-off, which
    begins at ``body``, it deletes only these words."""
    text = text.replace("\r\n", " \n")  # places stay
    if start >= body:
        return _cut(text, start, end + len(text[end:]) - len(text[end:].lstrip(",.!;")))
    writing, end = Writing(text), min(end, body)
    met = [spot for spot in _sentences(writing, body) if spot[0] < end and start < spot[1]] or [(start, end)]
    if len(met) == 1 and (clause := _clause(text, met[0], start, end)):
        return clause
    first, last = met[0][0], met[-1][1]
    item = LIST_ITEM.match(text, text.rfind("\n", 0, first) + 1)
    rest = text[last : (text.find("\n", last) + 1 or len(text)) - 1].strip()
    if item and item.start() <= first <= item.end() and rest:  # the item goes on: its number stays
        first = item.end()
    return _cut(text, first, last)


def put_in(text: str, words: str, request: str, body: int) -> Repair:
    """Return the repair that inserts ``words`` of the request: at the end of the sentence that resembles their sentence
    in the request most or, if none does, as a new sentence before the sign-off, which begins at ``body``."""
    text, asked, at = text.replace("\r\n", " \n"), Writing(request), request.find(words)
    before, behind = _around(request, at, words) if at >= 0 else ("", "")
    said = before + words + behind
    around = [spot for spot in asked.sentences if spot[0] <= at < spot[1]]
    wanted = _rare(asked, around) - _rare(Writing(words), None)
    writing = Writing(text)
    sentences = [spot for spot in _sentences(writing, body) if not text[slice(*spot)].endswith(":")]
    parts = [part for spot in sentences for part in _parts(text, spot[0], _without_mark(text, spot), HALF)]
    alike = [len(wanted & _rare(writing, [spot])) for spot in parts]
    if any(alike):
        start, end = parts[alike.index(max(alike))]
        counted = behind and re.compile(rf"\b{re.escape(behind.split()[-1])}\b").search(text, start, end)
        if counted:  # "the tubes" become "the 12 inner tubes"
            return Repair(counted.start(), counted.start(), f"{words}{behind}".removesuffix(counted[0]).lstrip())
        return Repair(end, end, f" {said}")
    end = len(text[:body].rstrip())
    item = LIST_ITEM.match(text, text.rfind("\n", 0, end) + 1)
    goes_on = bool(sentences) and sentences[-1][1] == end and not item
    if goes_on and _without_mark(text, sentences[-1]) == end:  # nor has what is put in a mark
        return Repair(end, end, f" {said}")
    return Repair(end, end, f"{' ' if goes_on else NEXT if end else ''}{said[:1].upper()}{said[1:]}.")


def _around(request: str, at: int, words: str) -> tuple[str, str]:
    """The preposition before the words and, of a number, what is counted: "on " 4 March, 12 " inner tubes"."""
    before, behind = SHORT.search(request[:at]), ""
    if words[-1:].isdigit():
        for word in COUNTED.finditer(request, at + len(words)):
            if word.start() != at + len(words) + len(behind) or word[1] in common_words():
                break
            behind += word[0]
    return (before[1] if before else ""), behind


def _rare(writing: Writing, spots: Sequence[Spot] | None) -> set[str]:
    """The words in these places, or anywhere, that are not among the commonest."""
    pairs = zip(writing.words, writing.lower_words, strict=True)
    found = {word for (at, _), word in pairs if spots is None or any(start <= at < end for start, end in spots)}
    return {word for word in found if word not in common_words() or len(word) > 4}


def _sentences(writing: Writing, body: int) -> list[Spot]:
    """The sentences between greeting and sign-off; a line that its writer ended ends one, too."""
    text, greeted, spots = writing.text, greeting(writing), []
    goes_on = not text.lstrip()[:1].islower()  # with a small letter, as elsewhere a sentence begins
    for start, stop in writing.sentences:
        begin, stop = max(start, greeted[0][1] if greeted else 0), min(stop, body)
        for end in (*_line_ends(text, begin, stop, goes_on), stop):
            part = text[begin:end]
            spots.append((end - len(part.lstrip()), begin + len(part.rstrip())))
            begin = end
    return [spot for spot in spots if spot[0] < spot[1] and WORD.search(text, *spot)]


def _line_ends(text: str, start: int, stop: int, goes_on: bool) -> Iterator[int]:
    """Yield the ends of short lines, which their writer ended: they had room for more."""
    begin = text.rfind("\n", 0, start) + 1
    while (end := text.find("\n", begin, stop)) >= 0:
        if end - begin < WRAPPED and not (goes_on and text[end + 1 :][:1].islower()):
            yield end + 1
        begin = end + 1


def _clause(text: str, sentence: Spot, start: int, end: int) -> Repair | None:
    """Return a repair that deletes less than the sentence: brackets around the statement, one half beside a semicolon,
    or a short aside. None if there is no such part."""
    for brackets in BRACKETS.finditer(text, *sentence):
        if brackets.start() <= start and end <= brackets.end():
            return Repair(*brackets.span(), "")
    stop = _without_mark(text, sentence)
    for marks, is_aside in ((ASIDE, True), (HALF, False)):
        parts = _parts(text, sentence[0], stop, marks)
        met = [at for at, part in enumerate(parts) if part[0] < end and start < part[1]]
        if not met or len(met) == len(parts):
            continue
        begin, until = parts[met[0]][0], parts[met[-1]][1]
        most = min(_words(text, start, end), _words(text, *sentence) // 2) if is_aside else len(text)
        if met[0] and _words(text, begin, until) <= most:
            return Repair(parts[met[0] - 1][1], until, "")
        behind = stop if met[0] or is_aside else parts[met[-1] + 1][0]
        if _words(text, behind, stop) >= LEAST_WORDS:
            return Repair(begin, behind + 1, text[behind].upper() if text[begin].isupper() else text[behind])
    return None


def _parts(text: str, start: int, end: int, marks: re.Pattern[str]) -> list[Spot]:
    cuts = [start, *(at for mark in marks.finditer(text, start, end) for at in mark.span()), end]
    return list(zip(cuts[::2], cuts[1::2], strict=True))


def _words(text: str, start: int, end: int) -> int:
    return len(WORD.findall(text, start, end))


def _without_mark(text: str, sentence: Spot) -> int:
    """The end of a sentence before its mark."""
    mark = MARK.search(text, *sentence)
    return mark.start() if mark else sentence[1]


def _cut(text: str, start: int, end: int) -> Repair:
    """Cut text[start:end] with the blanks on both sides; the wider one of these stays between what is left."""
    left, right = text[:start].rstrip(), text[end:].lstrip()
    blanks = text[len(left) : start], text[end : len(text) - len(right)]
    wider = max(blanks, key=lambda blank: (blank.count("\n"), len(blank)))
    return Repair(len(left), len(text) - len(right), wider if left and right else "")


def shared_spans(text: str, others: Sequence[str], but: str) -> list[tuple[int, int, int]]:
    """Return (start, end, index) of each span of three or more words that ``others[index]`` has, too. Spans that
    ``but`` also has do not count."""
    asked, *held = ({run for run, _ in _runs(other)} for other in (but, *others))
    found: list[tuple[int, int, int]] = []
    for run, (start, end) in _runs(text):
        number = next((number for number, runs in enumerate(held) if run in runs), None)
        if number is None or run in asked:
            continue
        if found and found[-1][2] == number and start <= found[-1][1]:
            found[-1] = (found[-1][0], end, number)
        elif not found or start >= found[-1][1]:
            found.append((start, end, number))
    return found


def _runs(text: str) -> Iterator[tuple[tuple[str, ...], Spot]]:
    writing = Writing(text)
    words, spots = writing.lower_words, writing.words
    for at in range(len(words) - RUN + 1):
        yield tuple(words[at : at + RUN]), (spots[at][0], spots[at + RUN - 1][1])
