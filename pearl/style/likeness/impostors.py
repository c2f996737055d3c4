"""Impostors: statistics of how other people write in a register (kind of text), to tell a person apart from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from pearl.errors import InputError
from pearl.stats.bootstrap import Floats
from pearl.style.likeness.calibration import GIVEN, SHIPPED
from pearl.style.likeness.masking import Masking, Tokens, characters, distinct
from pearl.style.likeness.ngrams import Grams, NgramLevel, NgramModel
from pearl.text.words import count_words

WORDS_ORDER, CHARACTERS_ORDER = 3, 4
WORDS_DISCOUNT, CHARACTERS_DISCOUNT, REFERENCE_DISCOUNT = 0.6, 0.9, 0.75
FEW = 50  # people; docs/judging.md has the figures
AGAINST_FEW = f"against fewer than {FEW} probabilities come out too high, while texts keep their order."
TEXTS_OF_AN_AUTHOR = 200  # at most, or a few prolific authors dominate the register
SAME_PERSON = 0.2  # share of different texts in common
# Of a text's words, or it is in another language than the impostors write. Of 4,985 texts of commits, chat and mail in
# English 2 have less than .45 of a shipped vocabulary; half of the translated messages in Dutch or Portuguese
# have .3, about a tenth .45. The vocabulary of a few impostors of one's own is smaller.
LEAST_KNOWN_SHIPPED, LEAST_KNOWN_GIVEN = 0.45, 0.3
PARTS = ("grams", "counts", "contexts", "totals", "kinds")
FOLDER = Path(__file__).parent / "registers"


@dataclass(frozen=True, slots=True)
class Stream:
    """A way to tokenize texts, as masked words or as characters, and the impostors' n-gram model of these tokens."""

    order: int  # of the n-grams
    discount: float  # of the person's model
    impostors: NgramModel

    @property
    def rare(self) -> float:
        """Return the probability of a token that is in no text."""
        return 1.0 / (len(self.impostors.levels[0].grams) + 50)

    def read(self, texts: Sequence[Tokens]) -> ReadStream:
        grams = Grams.of(texts, self.order)
        return ReadStream(grams, self.impostors.probabilities(grams, self.rare))


@dataclass(frozen=True, slots=True)
class ReadStream:
    """Texts tokenized in one way, with the impostors' probability of each token."""

    grams: Grams
    impostors: Floats  # the impostors' probability of each token, (P,)

    @property
    def surprise(self) -> float:
        """Return the impostors' mean surprise per token (negative log probability), in nats."""
        return float(-np.log(self.impostors).mean())

    def ratio(self, person: NgramModel) -> float:
        """Return the mean log ratio, in nats, of a token's probability under the person's model and the impostors'."""
        return float(np.log(person.probabilities(self.grams, self.impostors) / self.impostors).mean())


@dataclass(frozen=True, slots=True)
class ReadText:
    """A tokenized text with the impostors' probability of each token, to be compared with any person's models."""

    words: ReadStream
    characters: ReadStream
    length: int  # in words


@dataclass(frozen=True, slots=True)
class Impostors:
    """The impostors of one register: their vocabulary, and their models of words and of characters."""

    name: str
    masking: Masking
    words: Stream
    characters: Stream
    authors: int  # how many
    removed: tuple[str, ...] = ()  # authors who turned out to be the person
    kind: str = GIVEN  # or SHIPPED

    @classmethod
    def of(
        cls,
        name: str,
        texts: Mapping[str, Sequence[str]],
        *,
        person: Sequence[str] = (),
        least_authors: int = 1,
        within: Impostors | None = None,
    ) -> Impostors:
        """Fit the impostors to texts by author. Authors who share a fifth of their texts with the ``person`` are taken
        for that person, and removed. Words and n-grams that fewer than ``least_authors`` authors use are left out.
        ``within``: impostors of more people; words and n-grams that they do not have are left out.

        Raises InputError where no impostor is left.
        """
        texts = {author: distinct(written) for author, written in texts.items()}
        of_person = set(distinct(person))
        removed = tuple(author for author, written in texts.items() if is_same_person(of_person, set(written)))
        kept = {author: written for author, written in texts.items() if written and author not in removed}
        others = {author: written[:TEXTS_OF_AN_AUTHOR] for author, written in kept.items()}
        if not others:
            raise InputError("There is no impostor: all texts are the person's own.", code="no_impostors")
        masking = Masking.of(others, least_authors=least_authors) if within is None else within.masking
        every = [text for written in others.values() for text in written]
        authors = np.repeat(np.arange(len(others)), [len(written) for written in others.values()])

        counted = authors if least_authors > 1 else None
        common = (within.words.impostors, within.characters.impostors) if within else (None, None)

        def stream(tokens: list[Tokens], order: int, discount: float, known: NgramModel | None) -> Stream:
            model = NgramModel.fit(Grams.of(tokens, order), REFERENCE_DISCOUNT, counted, least_authors, known)
            return Stream(order, discount, model)

        return cls(
            name,
            masking,
            stream([masking.tokens(text) for text in every], WORDS_ORDER, WORDS_DISCOUNT, common[0]),
            stream([characters(text) for text in every], CHARACTERS_ORDER, CHARACTERS_DISCOUNT, common[1]),
            len(others),
            removed,
            GIVEN if least_authors == 1 and within is None else SHIPPED,
        )

    @property
    def calibrated_by(self) -> str:
        """Return the name of the calibration that applies to probabilities against these impostors."""
        return self.name if self.kind == SHIPPED else GIVEN

    def reads_language(self, text: str) -> bool:
        """True if the impostors know enough of the text's words for it to be in their language."""
        least = LEAST_KNOWN_SHIPPED if self.kind == SHIPPED else LEAST_KNOWN_GIVEN
        return self.masking.known_share(text) >= least

    def read(self, text: str) -> ReadText:
        words = self.words.read([self.masking.tokens(text)])
        return ReadText(words, self.characters.read([characters(text)]), count_words(text))

    def save(self, path: Path) -> None:
        """Write the statistics: hashes of n-grams with their counts, and the words that are not masked."""
        arrays = {
            f"{name}.{k}.{part}": getattr(level, part)
            for name, stream in (("words", self.words), ("characters", self.characters))
            for k, level in enumerate(stream.impostors.levels)
            for part in PARTS
        }
        known = "\n".join(sorted(self.masking.vocabulary))
        save_file(arrays, path, {"vocabulary": known, "authors": str(self.authors), "kind": self.kind})

    @classmethod
    def load(cls, path: Path) -> Impostors:
        from safetensors import safe_open

        arrays = load_file(path)
        with safe_open(path, "np") as file:
            metadata = file.metadata()

        def stream(name: str, order: int, discount: float) -> Stream:
            levels = (NgramLevel(*(arrays[f"{name}.{k}.{part}"] for part in PARTS)) for k in range(order))
            return Stream(order, discount, NgramModel(tuple(levels), REFERENCE_DISCOUNT))

        return cls(
            path.stem,
            Masking(frozenset(metadata["vocabulary"].split("\n"))),
            stream("words", WORDS_ORDER, WORDS_DISCOUNT),
            stream("characters", CHARACTERS_ORDER, CHARACTERS_DISCOUNT),
            int(metadata["authors"]),
            kind=metadata["kind"],
        )


def is_same_person(first: set[str], second: set[str]) -> bool:
    """True if two authors' sets of texts share at least a fifth of the smaller set."""
    shared = len(first & second)
    return shared > 0 and shared >= SAME_PERSON * min(len(first), len(second))


@cache
def shipped_references() -> tuple[Impostors, ...]:
    """Load the registers that come with the package, written by the script that ``calibration.py`` names."""
    return tuple(Impostors.load(path) for path in sorted(FOLDER.glob("*.safetensors")))
