"""The edges (greeting and sign-off) of a draft, set by rule as in the person's texts, whatever the model wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice

import regex

from pearl.records import Document, Note
from pearl.style.manner.edges import (
    GREETED,
    LOOKED_AT,
    NAMED,
    NO_EDGES,
    PEOPLE,
    TITLE,
    UsualEdges,
    edges_of,
    names_a_person,
)
from pearl.style.manner.ends import PHRASES
from pearl.text.language import detect, wanted_language
from pearl.text.phrases import Phrases
from pearl.text.usable import counted

KEPT = 10_000  # texts of which it is kept what they say of an assistant's phrases
FIRST_SENTENCES, FIRST_CHARACTERS = 2, 200  # of a text in which it speaks to its addressee or does not
COURTESIES_IN, LONGEST_HELD = 60, 120  # latest texts; characters of a beginning or a line that may still be an edge
SAID_OTHERWISE = regex.compile(
    r"(?i)\b(?:greet\w*|salut\w*|dear|hello|hi|begin|start|open|sign\w*|regards|clos\w*|end|name|formal\w*|informal\w*"
    r"|grüß\w*|gruß\w*|anrede|unterschr\w*|duz\w*|siez\w*)\b"
)
CLOSING = PHRASES.compile_with(
    regex.compile,
    r"(?i:(?:{before_farewells} )*{farewells})[ \t]*[,،，、.。!！–—-]*(?:[ \t]+[\p{Lu}\[][^\n.!?]{0,40})?",
    0,
)
LABEL = regex.compile(r"(?i)sign[- ]?off:")  # a word of the prompt, which models repeat
SUBJECT = regex.compile(r"(?i)(?:subject|betreff|objet|asunto|oggetto|assunto):[^\n]*\n\s*")
SIGNATURE = regex.compile(
    r"[-–—~ \t]*\p{Lu}[\w'’-]*\.?(?:[ \t]+\p{Lu}[\w'’-]*\.?){0,3}(?<![\p{Ll}\d]\.)|\[[^\]\n]{1,40}\]"
)
PLACEHOLDER = regex.compile(
    r"\[(?=[^\]\n]*\p{L})(?:(?:the|your|my|author|sender|recipient|customer|client|company|insert|name|date|time|day"
    r"|place|location|address|phone|email|contact|position|title|organi[sz]ation|amount|number|link|details?)\b"
    r"[^\]\n]{0,40})\](?!\()|<(?:your|my|the|recipient|insert|name|date|time)\b[^<>\n]{0,40}>",
    regex.IGNORECASE,
)
MINE = regex.compile(r"(?i)\b(?:your|my|author|sender)\b.*\bname\b")
THEIRS = regex.compile(r"(?i)\bname\b|\brecipient\b")
SENTENCE_END = regex.compile(r"(?<=[.!?…])(?=\s)|(?=\s*\n)")
UNCLOSED = regex.compile(r"[\[<][^\]>\n]{0,60}\Z")


@dataclass(frozen=True, slots=True)
class Frame:
    """The edges (beginning and end) of a draft, and the phrases of assistants that the person never uses."""

    edges: UsualEdges = NO_EDGES
    phrases: regex.Pattern[str] | None = None
    mended: Callable[[str], str] | None = None  # brings a whole commit message into the person's form


UNFRAMED = Frame()


def frame_of(texts: Sequence[Document], request: str, recipient: str | None, instructions: str) -> Frame:
    """Return the frame of a draft from the person's texts, oldest first. It has no edges if the instructions speak of
    how to begin or end, or if the texts are in another language than the draft."""
    wanted = wanted_language(request, instructions)
    in_language = (text for text in reversed(texts) if wanted is None or detect(text.text) in (None, wanted))
    latest = list(islice(in_language, LOOKED_AT))[::-1]  # no more: a long history would be read for each draft
    used = frozenset[str]().union(*(_phrases_in(text.text) for text in latest[-COURTESIES_IN:]))
    phrases = _phrases_but(used)
    if SAID_OTHERWISE.search(instructions):
        return Frame(phrases=phrases)
    return Frame(edges_of(latest, request, recipient), phrases)


def _phrases_in(text: str) -> frozenset[str]:
    """Return the assistants' phrases in the text, kept by the text's hash, as the text may be deleted."""
    key = hash(text)
    if key not in _found:
        if len(_found) >= KEPT:
            _found.clear()
        _found[key] = frozenset(phrase.pattern for phrase in _assistant_phrases() if phrase.search(text))
    return _found[key]


_found: dict[int, frozenset[str]] = {}


@lru_cache(100)
def _phrases_but(used: frozenset[str]) -> regex.Pattern[str] | None:
    """Make a pattern of the assistants' phrases that the person never uses; None if there are none."""
    unused = [phrase.pattern for phrase in _assistant_phrases() if phrase.pattern not in used]
    return regex.compile("|".join(unused), regex.IGNORECASE) if unused else None


@cache
def _assistant_phrases() -> tuple[regex.Pattern[str], ...]:
    lists = Phrases.of("pearl", "assistant")
    phrases = [*lists.entries("courtesies"), *lists.entries("phrases")]
    return tuple(lists.compile_with(regex.compile, phrase, regex.IGNORECASE) for phrase in phrases)


class FrameFilter:
    """Takes the text of a draft in pieces; removes the model's own greeting and sign-off and assistants' courtesies,
    fills placeholders, and adds the person's sign-off. ``ended`` is true after a sign-off of the model."""

    def __init__(self, frame: Frame, *, checked: bool = True) -> None:
        """``checked``: return nothing of a text that speaks of its addressee in the third person."""
        self._off, self._edges, self._mended = frame == UNFRAMED, frame.edges, frame.mended
        self._message, self._changed = "", False
        self._beginning = Beginning(frame.edges)
        self._addressed = Addressed(frame.edges if checked else NO_EDGES)
        self._courtesies = Courtesies(frame.phrases)
        self._ending = Ending(frame.edges)
        self._placeholders = Placeholders(frame.edges)
        self._begun = False

    @property
    def ended(self) -> bool:
        return self._ending.ended or self.missed

    @property
    def missed(self) -> bool:
        """True if the text speaks about its addressee instead of to them; nothing of it was returned."""
        return self._addressed.missed

    @property
    def notes(self) -> list[Note]:
        """Notes on what was put into the text or taken out of it."""
        notes = []
        if self._beginning.replaced or self._ending.replaced or self._changed:
            notes.append(
                Note("edges_replaced", "The model began or ended otherwise than you do; your form stands there.")
            )
        if cut := self._courtesies.cut:
            notes.append(
                Note("courtesies", f"Left out {counted(cut, 'sentence')} that assistants write and you never do.")
            )
        if filled := self._placeholders.filled:
            notes.append(Note("placeholders", f"Filled {counted(filled, 'placeholder')}: check the draft there."))
        return notes

    def feed(self, text: str, *, last: bool = False) -> str:
        """Take more of the text; return the part that later pieces cannot change."""
        if self._off:
            return text
        if self._mended:
            self._message += text
            mended = self._mended(self._message) if last else ""
            self._changed = last and mended != self._message.strip()
            return mended
        for stage in (self._beginning, self._addressed, self._courtesies, self._ending, self._placeholders):
            text = stage.feed(text, last=last)
        if self._begun or not text.strip():
            return text if self._begun else ""
        self._begun = True
        return (self._edges.gap if self._edges.before else "") + text.lstrip()

    def finish(self, *, cut_off: bool = False) -> str:
        """Return the part that was held back, and the person's own sign-off unless the text was ``cut_off``."""
        rest = self.feed("", last=True)
        return rest if cut_off or not (self._begun and self._edges.after) else f"{rest}\n\n{self._edges.after}"


class Beginning:
    """Removes a subject line and the model's greeting and opening from a text's beginning; the person's own stand
    there."""

    def __init__(self, edges: UsualEdges) -> None:
        self._edges = edges
        own = edges.edges.greeting, edges.edges.opening
        self._own = [line for edge in own if edge for line in edge.text.splitlines() if line]
        self._patterns = (GREETED, NAMED) if edges.before or not edges.greets else ()
        self._held: str | None = ""
        self.replaced = False

    def feed(self, text: str, *, last: bool = False) -> str:
        if self._held is None:
            return text
        self._held += text
        rest = self._held.lstrip()
        while length := self._edge(rest, last=last):
            if length < 0:
                return ""
            self.replaced = True
            rest = rest[length:].lstrip()
        if not (rest or last):
            return ""
        self._held = None
        return rest

    def _edge(self, text: str, *, last: bool) -> int:
        """Return the length of the edge that the text begins with; 0 for none, -1 if only more of the text can tell."""
        for line in self._own:
            begun = text[: len(line)].casefold()
            if begun == line.casefold():
                return len(line)
            if begun and not last and line.casefold().startswith(begun):
                return -1
        subject = SUBJECT.match(text, partial=not last and len(text) < LONGEST_HELD)
        if subject and text:
            return -1 if subject.partial or (subject.end() == len(text) and not last) else subject.end()
        for pattern in self._patterns:
            met = pattern.match(text, partial=not last and len(text) < LONGEST_HELD)
            if met and not last and met.end() == len(text) < LONGEST_HELD:
                return -1
            who = met["who"].strip() if met else ""
            greets = len(who.split()) <= 2 or PEOPLE.fullmatch(who) is not None
            if met and not self._edges.before and "\n" not in met["gap"]:
                continue  # a sentence goes on behind it
            if met and (greets if pattern is GREETED else names_a_person(met)):
                return met.end()
        return 0


class Addressed:
    """Holds the first sentences back until they are known to speak to the addressee. If they speak about the addressee
    ("Nan has them"), as 6 of 2,259 real mails do, ``missed`` is true and nothing is returned."""

    def __init__(self, edges: UsualEdges) -> None:
        whole = edges.addressee or ""
        self._held = "" if whole and whole in edges.before else None
        self.missed = False
        names = "|".join(regex.escape(name) for name in (whole, *whole.split()) if not TITLE.fullmatch(name))
        self._spoken_of = regex.compile(rf"(?<![\p{{L}}\p{{N}}])(?:{names})(?:['’]s\b|[ \t]+\p{{Ll}})")

    def feed(self, text: str, *, last: bool = False) -> str:
        if self._held is None:
            return "" if self.missed else text
        held = self._held + text
        self.missed = self._spoken_of.search(held) is not None
        certain = last or len(held) > FIRST_CHARACTERS or len(SENTENCE_END.findall(held)) >= FIRST_SENTENCES
        self._held = None if self.missed or certain else held
        return held if certain and not self.missed else ""


class Courtesies:
    """Leaves out the sentences that begin with one of ``phrases``, and keeps the wider of the gaps on either side;
    ``cut`` counts the sentences."""

    def __init__(self, phrases: regex.Pattern[str] | None) -> None:
        self._phrases = phrases
        self._held = ""  # a sentence with the blanks before it until it is known, or blanks that may end one
        self._mark = ""  # the last character given of a sentence that goes on; none where a sentence begins
        self._before = ""  # the widest blanks around what was left out last
        self._left_out: str | None = ""  # None as soon as a sentence stays
        self.cut = 0

    def feed(self, text: str, *, last: bool = False) -> str:
        if self._phrases is None:
            return text
        self._held += text
        certain = ""
        while self._held:
            begins = not self._mark
            blanks = len(self._held) - len(self._held.lstrip()) if begins else 0
            met = SENTENCE_END.search(self._mark + self._held, len(self._mark) + blanks)
            end = met.end() - len(self._mark) if met else len(self._held) if last else None
            if begins:
                if blanks == len(self._held):
                    break
                courtesy = self._phrases.match(self._held, blanks, partial=not last)
                if courtesy and not last and (courtesy.partial or end is None):
                    break
                before = max(self._before, self._held[:blanks], key=_width)
                if courtesy:
                    self.cut += 1
                    self._left_out = None if self._left_out is None else self._left_out + self._held[:end]
                    self._before, self._held = before, self._held[end:]
                    continue
                certain, self._before, self._left_out = certain + before, "", None
            stop = len(self._held.rstrip()) if end is None else end
            certain, self._held = certain + self._held[blanks:stop], self._held[stop:]
            if end is None:
                self._mark = certain[-1:] or self._mark
                break
            self._mark = ""
        if last and self._left_out:  # it was all there is
            self.cut = 0
            return self._left_out
        return certain


def _width(blanks: str) -> tuple[int, int]:
    return blanks.count("\n"), len(blanks)


class Ending:
    """Cuts the text off where the model signs off; the person's own sign-off is added later."""

    def __init__(self, edges: UsualEdges) -> None:
        self._edges = edges
        theirs = (edges.addressee or "").casefold()
        self._signed_as = (theirs, *theirs.split()) if theirs else ()  # models sign as the recipient
        self._held = ""  # blanks, and a line that may be the first of a sign-off
        self.ended = self.replaced = False

    def feed(self, text: str, *, last: bool = False) -> str:
        if self.ended:
            return ""
        self._held += text
        at = len(self._held.rstrip())
        for line in regex.finditer(r"(?<=\n)[ \t]*(?=\S)", self._held):
            closes = self._closes(self._held[line.end() :], last=last)
            if closes is not False:
                at = len(self._held[: line.start()].rstrip())
                self.ended = closes is True
                break
        certain, held = self._held[:at], self._held[at:]
        if self.ended:
            self.replaced = held.strip() != self._edges.after
        self._held = "" if self.ended or last else held
        return certain

    def _closes(self, text: str, *, last: bool) -> bool | None:
        """True if a text that begins a line is a sign-off, None if only more of it can tell."""
        if not (self._edges.after or not self._edges.signs):
            return False
        *whole, begun = text.split("\n")
        if last:
            whole, begun = [*whole, begun], ""
        lines = [line.strip() for line in whole if line.strip()]
        own = {form for line in self._edges.after.splitlines() for form in _forms(line)} - {""}
        if LABEL.match(text):
            return True
        if not lines:
            may = any(line.startswith(_forms(begun)) for line in (*own, *self._signed_as))
            may = may or bool(CLOSING.fullmatch(begun, partial=True) or LABEL.match(begun, partial=True))
            return None if may and len(begun) < LONGEST_HELD else False
        if not own.isdisjoint(_forms(lines[0])):
            return True
        if len(lines) == 1 and _forms(lines[0])[1] in self._signed_as:
            return last or (None if not begun.strip() else False)  # as the recipient, unless the text goes on
        if not (CLOSING.fullmatch(lines[0]) or PLACEHOLDER.fullmatch(lines[0])) or not all(
            SIGNATURE.fullmatch(line) or not own.isdisjoint(_forms(line)) for line in lines[1:]
        ):
            return False
        if last or lines[1:]:
            return True
        return None if not begun.strip() or SIGNATURE.fullmatch(begun.strip(), partial=True) else False


def _forms(line: str) -> tuple[str, str]:
    """Return a line case-folded, with the dash before a name and without."""
    return line.casefold(), line.strip(" \t-–—~").casefold()


class Placeholders:
    """Fills placeholders ("[Your name]") with the person's name, the addressee's, or "…"; ``filled`` counts them."""

    def __init__(self, edges: UsualEdges) -> None:
        self._mine = edges.edges.name.text if edges.edges.name else None
        self._theirs = edges.addressee
        self._held = ""
        self.filled = 0

    def feed(self, text: str, *, last: bool = False) -> str:
        text = self._held + text
        unclosed = None if last else UNCLOSED.search(text)
        text, self._held = (text[: unclosed.start()], unclosed[0]) if unclosed else (text, "")
        return PLACEHOLDER.sub(self._fill, text)

    def _fill(self, placeholder: regex.Match[str]) -> str:
        self.filled += 1
        known = self._mine if MINE.search(placeholder[0]) else self._theirs if THEIRS.search(placeholder[0]) else None
        return known or "…"
