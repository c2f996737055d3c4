"""A person's manner by recipient: the greeting, the sign-off and the length of their texts to each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from pearl.manner.ends import greeting, sign_off
from pearl.manner.trait import Find
from pearl.manner.writing import Writing
from pearl.recipients import same_recipient_key
from pearl.records import Document
from pearl.stats.proportions import Interval, wilson

LEAST_TEXTS = 20  # to one recipient
MOST_RECIPIENTS = 10  # those with the most texts
MOSTLY = 0.8  # share of texts from which a person "does" something; below one less this they do not
SAME_WORDS = 0.5  # share of the texts with a greeting that begin with the same one, for it to be quoted


@dataclass(frozen=True, slots=True)
class RecipientManner:
    """A person's manner to one recipient."""

    recipient: str
    texts: int
    greeting: Interval  # share of texts that have one
    usual_greeting: str | None  # the words, if they are mostly the same
    sign_off: Interval  # share of texts that have one
    words: int  # median of the texts' words

    @property
    def text(self) -> str:
        """The manner in a line: 'To Nan: no greeting, a sign-off, about 40 words.'"""
        greeted = _habit("greeting", self.greeting)
        if self.usual_greeting and self.greeting.value >= MOSTLY:
            greeted += f' ("{self.usual_greeting}")'
        return f"To {self.recipient}: {greeted}, {_habit('sign-off', self.sign_off)}, about {self.words:,} words."

    def to_json(self) -> dict[str, Any]:
        intervals = {"greeting": self.greeting.to_json(), "sign_off": self.sign_off.to_json()}
        return asdict(self) | intervals | {"text": self.text}


def _habit(noun: str, share: Interval) -> str:
    if share.value >= MOSTLY:
        return f"a {noun}"
    return f"no {noun}" if share.value <= 1 - MOSTLY else f"a {noun} in {share.value:.0%} of texts"


def manners_by_recipient(documents: Sequence[Document]) -> tuple[RecipientManner, ...]:
    """Measure the manner to each recipient of at least LEAST_TEXTS texts, those with the most texts first."""
    texts: dict[str, list[Document]] = {}
    for document in documents:
        if document.recipient is not None:
            texts.setdefault(same_recipient_key(document.recipient), []).append(document)
    most = sorted((written for written in texts.values() if len(written) >= LEAST_TEXTS), key=len, reverse=True)
    return tuple(map(_manner, most[:MOST_RECIPIENTS]))


def _manner(documents: Sequence[Document]) -> RecipientManner:
    writings = [Writing(document.text) for document in documents]
    greetings = _found(greeting, writings)
    words, times = Counter(greetings).most_common(1)[0] if greetings else ("", 0)
    return RecipientManner(
        str(documents[-1].recipient),
        len(documents),
        _share(len(greetings), len(documents)),
        words if greetings and times / len(greetings) >= SAME_WORDS else None,
        _share(len(_found(sign_off, writings)), len(documents)),
        round(median(len(writing.words) for writing in writings)),
    )


def _found(find: Find, writings: Sequence[Writing]) -> list[str]:
    """The first place of each text that has one, on one line."""
    spots = ((writing, find(writing)) for writing in writings)
    return [" ".join(writing.text[slice(*found[0])].split()) for writing, found in spots if found]


def _share(count: int, total: int) -> Interval:
    share = wilson(count, total)
    assert share is not None, "there is at least one text"
    return share
