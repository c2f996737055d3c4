"""The form of a person's commit messages, by rule: the subject's prefix, first letter and last mark, and whether a body
follows. A model's message is changed to this form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import regex

from pearl.style.manner.reference import common_words

LATEST, LEAST = 20, 5  # messages that count, and that are needed
ALWAYS, NEVER = 0.9, 0.1  # shares of messages from which on, and up to which, a form is a habit
KNOWN = 2  # messages with an area's prefix, for it to be the person's name of the area
PREFIX = regex.compile(r"(?P<area>[\w.*/,{}+ -]{1,40}?(?:\([\w., /-]{1,30}\))?!?):[ \t]+(?=\S)")
FIRST_WORD = regex.compile(r"\p{L}+(?=[ \t,]|\Z)")
STOP = regex.compile(r"(?<=[\p{L}\p{N})\"'`])\.\Z")
# lines that git and review tools write; a model makes their names up
TRAILER = regex.compile(r"^(?:[A-Z][A-Za-z]*(?:-[a-z]+)*-by|Change-Id):[ \t].*\n?", regex.MULTILINE)
PART_OF_PATH = regex.compile(r"[^\s/\",]+")


@dataclass(frozen=True, slots=True)
class MessageForm:
    """A person's habits in commit messages; a field is None where they do it both ways."""

    areas: Mapping[str, int]  # the prefixes, with the number of messages that have them
    verbs: frozenset[str]  # first words, case-folded
    prefixed: bool | None
    capital: bool | None  # of the first word, behind a prefix
    stop: bool | None
    body: bool | None

    @classmethod
    def of(cls, messages: Sequence[str]) -> MessageForm:
        """Learn the form from the latest messages; fewer than LEAST messages show no habits."""
        latest = [message.strip() for message in messages[-LATEST:]]
        subjects = [message.partition("\n")[0].rstrip() for message in latest]
        prefixes = [PREFIX.match(subject) for subject in subjects]
        words = [_first_word(subject) for subject in subjects]
        earlier = (PREFIX.match(message) for message in messages)
        return cls(
            Counter(prefix["area"] for prefix in earlier if prefix),
            frozenset(word[0].casefold() for word in words if word),
            _habit(prefix is not None for prefix in prefixes),
            _habit(word[0][0].isupper() for word in words if word),
            _habit(STOP.search(subject) is not None for subject in subjects),
            _habit("\n" in message for message in latest),
        )

    def mended(self, message: str, request: str) -> str:
        """Return the message changed to this form. If it lacks the usual prefix, one is chosen by the changed paths,
        which the first line of the request names."""
        subject, _, body = message.strip().partition("\n")
        if not subject:
            return ""
        prefix = PREFIX.match(subject)
        if prefix and self.prefixed is False and prefix["area"] not in self.areas:
            subject = subject[prefix.end() :]
        elif not prefix and self.prefixed and (area := self._area(request.partition("\n")[0])):
            subject = f"{area}: {subject}"
        if (word := _first_word(subject)) and self.capital is not None:
            at, first = word.start(), word[0]
            known = first.casefold() in self.verbs or first.casefold() in common_words()
            if self.capital or (known and first[1:].islower()):  # a name keeps its capital
                letter = first[0].upper() if self.capital else first[0].lower()
                subject = f"{subject[:at]}{letter}{subject[at + 1 :]}"
        if self.stop is not None:
            subject = STOP.sub("", subject.rstrip()) + ("." if self.stop and subject[-1:].isalnum() else "")
        body = "" if self.body is False else TRAILER.sub(lambda line: line[0] * (line[0].strip() in request), body)
        return f"{subject}\n{body}".rstrip()

    def _area(self, paths: str) -> str | None:
        """Return the most frequent prefix that is a part of the paths; None if there is none."""
        parts = {form for part in PART_OF_PATH.findall(paths) for form in (part, part.partition(".")[0])}
        known = {area: times for area, times in self.areas.items() if times >= KNOWN and area in parts}
        return max(known, key=known.__getitem__, default=None)


def _first_word(subject: str) -> regex.Match[str] | None:
    """Return the first word behind the prefix; None where an identifier or a path stands there."""
    prefix = PREFIX.match(subject)
    return FIRST_WORD.match(subject, prefix.end() if prefix else 0)


def _habit(having: Iterable[bool]) -> bool | None:
    each = list(having)
    share = sum(each) / len(each) if len(each) >= LEAST else 0.5
    return True if share >= ALWAYS else False if share <= NEVER else None
