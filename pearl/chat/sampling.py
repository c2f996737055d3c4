"""From logits to text: the next token, and the characters that its bytes make."""

from __future__ import annotations

import codecs
import re
from collections import Counter, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pearl.chat.base import Decoding
from pearl.words import CLOSERS, FULL_STOPS

if TYPE_CHECKING:
    from pearl.chat.vocabulary import Vocabulary

TOP_K, MIN_P = 40, 0.05
# the end of a line or a sentence; that of "e.g.", of "J." and of "1." is none
SENTENCE = re.compile(
    rf"(?:(?<!\d)(?<!\b[A-Za-z])[.!?…][{CLOSERS}]*\s|[{FULL_STOPS}][{CLOSERS}]*[^{FULL_STOPS}{CLOSERS}]|\n\S?)\Z"
)
LAST = 8  # characters that tell whether a sentence has ended


class Sampler:
    """Chooses one token of an answer after the other. Its penalties count what it chose itself, not the prompt."""

    def __init__(
        self, vocabulary: Vocabulary, decoding: Decoding, penalty: float, window: int, frequency: float = 0.0
    ) -> None:
        """``penalty`` divides the logit of each of the last ``window`` tokens (below 0 it multiplies); ``frequency`` is
        taken off it for each time."""
        self._vocabulary = vocabulary
        self._temperature, self._top_p = decoding.temperature, decoding.top_p
        self._penalty, self._frequency = penalty, frequency
        self._recent: deque[int] = deque(maxlen=window)
        self._rests = [choice.encode() for choice in decoding.choices]  # what is left of each choice
        self._draw = np.random.default_rng(decoding.seed)

    def next(self, logits: NDArray[np.float32]) -> int:
        """The next token, of logits (words,) that are changed on the way."""
        counts = Counter(self._recent)
        tokens, times = np.array(list(counts), np.int64), np.array(list(counts.values()), np.float32)
        some = logits[tokens]
        logits[tokens] = np.where(some > 0, some / self._penalty, some * self._penalty) - self._frequency * times
        if self._rests:
            allowed = self._allowed()
            token = allowed[self._chosen(logits[allowed])]
            said = self._vocabulary.piece(token)
            self._rests = [rest.removeprefix(said) for rest in self._rests if rest.startswith(said)]
        else:
            token = self._chosen(logits)
        self._recent.append(token)
        return token

    def _allowed(self) -> list[int]:
        """The tokens that go on with a choice, and the end of the turn where one is complete or cannot be written."""
        beginnings = (rest[:end] for rest in self._rests for end in range(1, len(rest) + 1))
        allowed = {token for piece in beginnings if (token := self._vocabulary.token(piece)) is not None}
        if b"" in self._rests or not allowed:
            allowed.add(self._vocabulary.end)
        return sorted(allowed)

    def _chosen(self, logits: NDArray[np.float32]) -> int:
        """The place of the likeliest, or of one that is drawn from the likeliest."""
        if self._temperature == 0:
            return int(logits.argmax())
        kept = min(TOP_K, len(logits))
        best = np.argpartition(logits, -kept)[-kept:]
        best = best[np.argsort(-logits[best], kind="stable")]
        shares = np.exp(logits[best] - logits[best[0]])
        likelier = np.cumsum(shares) - shares
        wanted = (likelier < self._top_p * shares.sum()) & (shares >= MIN_P)
        wanted[0] = True
        best = best[wanted]
        shares = np.exp((logits[best] - logits[best[0]]).astype(np.float64) / self._temperature)
        return int(self._draw.choice(best, p=shares / shares.sum()))


class AnswerText:
    """The text of an answer while its bytes arrive; what may become a stop text is held back."""

    def __init__(self, stops: Sequence[str]) -> None:
        self.stopped = False
        self._stops = [stop for stop in stops if stop]
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._held = self._last = ""

    def ends_before(self, data: bytes) -> bool:
        """True where a sentence or a line has ended, and these bytes would begin another."""
        return SENTENCE.search(self._last + data.decode(errors="ignore")[:1]) is not None

    def add(self, data: bytes) -> str:
        """The text that these bytes let go."""
        added = self._decoder.decode(data)
        self._held += added
        self._last = (self._last + added)[-LAST:]
        places = [place for stop in self._stops if (place := self._held.find(stop)) >= 0]
        if places:
            self.stopped, self._held = True, self._held[: min(places)]
            return self.rest()
        begun = (size for stop in self._stops for size in range(1, len(stop)) if self._held.endswith(stop[:size]))
        free = len(self._held) - max(begun, default=0)
        text, self._held = self._held[:free], self._held[free:]
        return text

    def rest(self) -> str:
        """The text still held back, at the end."""
        text, self._held = self._held, ""
        return text
